"""The contexts of a Function: they bring the operands of an operation to equal ranks and levels."""

from __future__ import annotations

import builtins
from contextvars import Token
from typing import Any, Self

import numpy as np

from arrows.arrays import HostArray
from arrows.ops.context import Context
from arrows.ops.errors import ShapeError
from arrows.ops.innermost import current_context
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive, get
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor, is_float, masked_elements


class FunctionContext(Context):
    """Base of the contexts in which a Function runs; `with context:` makes it the innermost one.

    It may be entered twice.
    """

    in_function = True

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self._tokens: list[Token[Context | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(current_context.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        current_context.reset(self._tokens.pop())

    def checked(
        self, primitive: Primitive, operands: tuple[Operand, ...], attributes: Attributes, like: object
    ) -> tuple[tuple[Any, ...], Tensor, int]:
        """The operands as tensors of equal ranks and levels; the type and level of the result."""
        for operand in (*operands, like):
            if isinstance(operand, TensorLike) and operand.context is not self:
                operand.context.refuse_mixture(primitive)
        rows, values = _levels(primitive, _tensors(self, primitive, operands), attributes)
        return values, primitive.rule(*(value.type for value in values), **attributes), rows

    def refuse_mixture(self, primitive: Primitive) -> None:
        raise ShapeError(
            f"{primitive.name}: one operand is a tensor of another function call; "
            "a Function must not keep tensors between calls"
        )

    def call_block(self, block: Any, arguments: tuple[Any, ...]) -> Any:
        return block.compute(arguments)


def constant_array(value: object, beside: Tensor | None = None) -> HostArray:
    """Converts a Python number, a NumPy number or an array to an array; else a ShapeError.

    A Python number gets the element type of `beside`, the type of the tensor beside it, and a ShapeError if
    it does not fit that type.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value)
        if array.dtype.kind not in "biuf":
            raise ShapeError(f"a constant of element type {array.dtype} cannot be a tensor")
        if masked_elements(value):
            raise ShapeError("a constant has masked elements", hint="fill them first: x.filled(0)")
        return array
    if not isinstance(value, (bool, int, float)):
        refuse_wire(value)
        hint = "use arrows.ops.stack or numpy.array" if isinstance(value, (list, tuple)) else None
        if isinstance(value, (list, tuple)) and any(isinstance(item, TensorLike) for item in value):
            hint = "over a list of tensors: ar.Sum()(xs), ar.Mean()(xs); as one tensor: arrows.ops.stack(xs)"
        raise ShapeError(
            f"expected a tensor, a number or a NumPy array, got {type(value).__name__}", hint=hint
        )
    if beside is None:
        return np.asarray(value)
    dtype = beside.dtype
    hint = 'cast the tensor first: x.cast("float32")'
    if isinstance(value, float) and not is_float(dtype):
        raise ShapeError(f"{value!r} is not a whole number, but the tensor beside it is {beside}", hint=hint)
    if dtype == "bool" and not isinstance(value, bool):
        raise ShapeError(f"{value!r} beside a tensor of bool", hint=hint)
    try:
        with np.errstate(over="ignore", under="ignore"):  # 1e39 is infinite in float32
            return np.asarray(value, dtype)
    except OverflowError:
        raise ShapeError(f"{value!r} is out of range for {dtype}") from None


def type_beside(*operands: Operand) -> Tensor | None:
    """The type whose elements Python numbers take beside these: that of a tensor, or else of an array."""
    for operand in operands:
        if isinstance(operand, TensorLike):
            return operand.type
    arrays = [constant_array(x) for x in operands if isinstance(x, (np.ndarray, np.generic))]
    return Tensor(arrays[0].shape, arrays[0].dtype.name) if arrays else None


def refuse_wire(value: object) -> None:
    """Lets a wire of an arrow raise its own error: it stands for a value that does not exist yet."""
    refuse = getattr(value, "_no_tensor", None)
    if refuse is not None:
        refuse()


def _tensors(
    context: FunctionContext, primitive: Primitive, operands: tuple[Operand, ...]
) -> tuple[TensorLike, ...]:
    """The operands as tensors; for an element-wise primitive, of one rank, by axes of size 1 in front."""
    rank, beside, values = 0, None, []
    if primitive.elementwise:
        rank = builtins.max([x.ndim for x in operands if isinstance(x, (TensorLike, np.ndarray))], default=0)
    for x in operands:
        if not isinstance(x, TensorLike):
            try:
                beside = beside or type_beside(*operands)
                array = constant_array(x, beside)
            except ShapeError as error:
                raise ShapeError(f"{primitive.name}: {error.reason}", hint=error.hint) from None
            x = context.constant(array.reshape((1,) * (rank - array.ndim) + array.shape))
        elif x.ndim < rank:
            x = context.apply(get("reshape"), (x,), {"shape": (1,) * (rank - x.ndim) + x.shape}, None)
        values.append(x)
    return tuple(values)


def _levels(
    primitive: Primitive, values: tuple[TensorLike, ...], attributes: Attributes
) -> tuple[int, tuple[TensorLike, ...]]:
    """The level of the result, and the operands with their levels made equal."""
    if primitive.segmented:
        if "domain" in attributes:  # one row for each example becomes one for each element
            if values[0].rows >= 0:
                raise ShapeError(f"{primitive.name}: {values[0].type} has a value for each element already")
            domain = attributes["domain"]
            assert isinstance(domain, int)
            return domain, values
        if not values or values[0].rows < 0:
            kind = values[0].type if values else "nothing"
            raise ShapeError(
                f"{primitive.name} takes a sequence, but {kind} is one tensor for each example",
                hint="sum, max, mean and softmax work along the axes of one tensor",
            )
        if primitive.collapses:
            if any(value.rows >= 0 for value in values[1:]):
                raise ShapeError(
                    f"{primitive.name}: what stands beside the sequence has one value for each example, not "
                    f"one for each element"
                )
            return ROW, values
    levels = {value.rows for value in values}
    highest = builtins.max(levels, default=INVARIANT)
    if highest < 0:
        return highest, values
    ragged = sorted(level for level in levels if level >= 0)
    if len(ragged) > 1:
        raise ShapeError(
            f"{primitive.name}: sequences of different length: sequence {ragged[0]} and sequence "
            f"{ragged[1]} of the function's input are not known to have the same number of elements"
        )
    like = next(value for value in values if value.rows == highest)
    values = tuple(
        value.context.apply(get("segment_broadcast"), (value,), {"domain": highest}, like)
        if value.rows == ROW
        else value
        for value in values
    )
    return (ROW if primitive.collapses else highest), values
