"""Runs a block inside of a batch: the reference interpreter, with lazy tensors in place of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.combinators import Constant
from arrows.engine.reference import Semantics, interpret
from arrows.engine.values import convert, make_tuple
from arrows.inference import Typed
from arrows.onthefly.nested import holds_tensors
from arrows.onthefly.tensor import LazyTensor
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch


class LazySemantics(Semantics):
    """Interprets a block with the lazy tensors of a batch.

    Metrics and taps are ignored: on the fly, the program itself holds every value that they would record.
    """

    def __init__(self, batch: LazyBatch) -> None:
        self.batch = batch

    def constant(self, typed: Typed) -> Any:
        form = typed.form
        assert isinstance(form, Constant)
        if form.trainable:
            return self.batch.call_typed(typed, ())
        if form.value is None or not isinstance(typed.output, T.Tensor):
            return self._zeros(typed.output)
        return self.batch.constant(np.asarray(form.value, typed.output.dtype))

    def _zeros(self, type: T.Type) -> Any:
        if isinstance(type, T.Tuple):
            return tuple(self._zeros(item) for item in type.items)
        if isinstance(type, T.Sequence):
            return []
        return self.batch.constant(np.zeros(type.shape, type.dtype)) if isinstance(type, T.Tensor) else None

    def read(self, typed: Typed, leaf: object) -> LazyTensor:
        assert isinstance(typed.output, T.Tensor)
        return self.batch.read_as(typed.output, convert(leaf, typed.output))

    def apply(self, typed: Typed, value: object) -> Any:
        return self.batch.call_typed(typed, value)


def run_block(batch: LazyBatch, block: object, arguments: tuple[Any, ...]) -> Any:
    """See `LazyBatch.__call__`."""
    lazy = holds_tensors(arguments)
    if not lazy and len(arguments) > 1:
        raise ArrowTypeError(
            message(
                f"cannot run a block at {SourceLine.here()}",
                reason=f"it reads one example, and {len(arguments)} were given",
                hint="several examples: [g(block, x) for x in examples]",
            )
        )
    argument = arguments[0] if len(arguments) == 1 else arguments
    if not lazy:
        typed = batch.net.typed(block, None)
        return _with_keys(typed.output, interpret(typed, argument, LazySemantics(batch)))
    value = _read(batch, argument)
    typed = batch.net.typed(block, _known_type(value))
    return _with_keys(typed.output, interpret(typed, value, LazySemantics(batch)))


def _read(batch: LazyBatch, x: object) -> Any:
    """Nested tuples and lists of tensors; reads the numbers among them, and constants, as tensors."""
    if isinstance(x, tuple):
        return tuple([_read(batch, item) for item in x])
    if isinstance(x, list) and (not x or holds_tensors(x)):
        return [_read(batch, item) for item in x]
    return batch.whole(x)


def _known_type(x: object) -> T.Type:
    """The type of nested tuples and lists of tensors; refuses a list whose elements have no known type.

    An empty list inside of a list takes its type from the other lists there.
    """
    type = _type_if_known(x)
    if type is None:
        raise ArrowTypeError(
            message(
                f"cannot run a block at {SourceLine.here()}",
                reason="a sequence without elements has no type",
                hint="treat an empty list apart: `if xs: ... else: ...`",
            )
        )
    return type


def _type_if_known(x: Any) -> T.Type | None:
    if isinstance(x, tuple):
        items = [_type_if_known(item) for item in x]
        types = [item for item in items if item is not None]
        return T.Tuple(types) if len(types) == len(items) else None
    if isinstance(x, list):
        element = next((type for type in map(_type_if_known, x) if type is not None), None)
        return None if element is None else T.Sequence(element)
    type: T.Type = x.type
    return type


def _with_keys(type: T.Type, value: Any) -> Any:
    """The result of a block, with the keys of records."""
    if isinstance(type, T.Tuple):
        items = [_with_keys(item, part) for item, part in zip(type.items, value, strict=True)]
        return make_tuple(items, type.labels)
    if isinstance(type, T.Sequence) and isinstance(type.element, (T.Tuple, T.Sequence)):
        return [_with_keys(type.element, element) for element in value]
    return value
