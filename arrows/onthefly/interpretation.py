"""Runs a block inside of a batch: the reference's walk, with lazy tensors for tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.combinators import Constant
from arrows.engine.reference import Semantics, interpret
from arrows.engine.values import convert
from arrows.inference import Typed
from arrows.onthefly.arguments import type_of
from arrows.onthefly.tensor import LazyTensor
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.calls import LazyCalls


class LazySemantics(Semantics):
    """Tensors as lazy tensors of a batch.

    Metrics and taps are ignored: on the fly the program has every value in its hands.
    """

    def __init__(self, batch: LazyCalls) -> None:
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

    def apply(self, typed: Typed, value: Any) -> Any:
        return self.batch.call_typed(typed, value)


def run_block(batch: LazyCalls, block: Any, arguments: tuple[Any, ...]) -> Any:
    """See `LazyBatch.__call__`."""
    lazy = _holds_tensors(arguments)
    if not lazy and len(arguments) > 1:
        raise ArrowTypeError(
            message(
                f"cannot run a block at {SourceLine.here()}",
                reason=f"it reads one example, and {len(arguments)} were given",
                hint="several examples: [g(block, x) for x in examples]",
            )
        )
    argument = arguments[0] if len(arguments) == 1 else arguments
    input = type_of(argument) if lazy else None
    typed = batch.net.typed(block, input)
    value = batch.whole(argument) if lazy else argument
    return interpret(typed, value, LazySemantics(batch))


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_tensors, value))
    return isinstance(value, LazyTensor)
