"""Runs a block inside of a batch: the reference interpreter, with lazy tensors in place of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.combinators import Constant
from arrows.engine.reference import Semantics, interpret, unwrap
from arrows.engine.values import build, convert
from arrows.inference import Typed
from arrows.onthefly.operands import holds_tensors, read, type_of
from arrows.onthefly.tensor import LazyTensor
from arrows.typesys import ArrowTypeError, SourceLine, message, types as T

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

        def filled(type: T.Tensor) -> LazyTensor:
            value = form.value
            zeros = np.zeros(type.shape, type.dtype)
            return self.batch.constant(zeros if value is None else np.asarray(value, type.dtype))

        return build(typed.output, filled, lambda element: [])

    def read(self, typed: Typed, leaf: object) -> LazyTensor:
        assert isinstance(typed.output, T.Tensor)
        return self.batch.read_as(typed.output, convert(leaf, typed.output))

    def apply(self, typed: Typed, value: object) -> Any:
        return self.batch.call_typed(typed, value)


def run_block(batch: LazyBatch, block: object, arguments: tuple[Any, ...]) -> Any:
    """See `LazyBatch.__call__`."""
    value: Any = arguments[0] if len(arguments) == 1 else arguments
    input = None
    if holds_tensors(arguments):
        value = read(batch, value)
        input = type_of(value)
    elif len(arguments) > 1:
        raise ArrowTypeError(
            message(
                f"cannot run a block at {SourceLine.here()}",
                reason=f"it reads one example, and {len(arguments)} were given",
                hint="several examples: [g(block, x) for x in examples]",
            )
        )
    typed = batch.net.typed(block, input)
    return unwrap(typed.output, interpret(typed, value, LazySemantics(batch)), lambda x: x)
