"""Applies primitives: `bind` makes tensors of constants, makes ranks and levels equal, and asks the rule."""

from __future__ import annotations

import builtins
from collections.abc import Hashable
from typing import cast

import numpy as np

from arrows.ops.arrays import HostArray
from arrows.ops.context import Context, LazyContext
from arrows.ops.errors import ShapeError
from arrows.ops.evaluate import EagerEvaluation, Value
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive, get
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.dtypes import is_float, masked_elements
from arrows.typesys.types import Tensor


def bind(
    primitive: Primitive, *operands: Operand, like: TensorLike | None = None, **attributes: Hashable
) -> TensorLike:
    """Apply a primitive to tensors of a Function, NumPy constants and Python numbers.

    Python numbers take the element type of the tensor beside them, NumPy constants keep theirs.  Operands of
    an element-wise primitive get leading axes of size 1 until their ranks agree.  Where one operand has a
    value for each element of a sequence, operands with one for each example are repeated for the elements.

    Args:
        primitive: what to apply.
        operands: its operands, in the order of its rule.
        like: for `segment_broadcast`, a tensor of the sequence to broadcast to.
        attributes: hashable keyword arguments of the rule, the kernel and the vjp.

    Returns:
        A tensor of the same Function; if all operands are arrays and numbers, the computed array.

    Raises:
        ShapeError: the operands do not fit.

    >>> bind(get("add"), np.array([1.0, 2.0]), 3.0).tolist()
    [4.0, 5.0]
    """
    context = _context(primitive, operands, like)
    if context is None:
        return cast("TensorLike", _compute(primitive, operands, attributes))
    if isinstance(context, LazyContext):
        return context.call_primitive(primitive, operands, attributes)
    values = _tensors(context, primitive, operands)
    if primitive.elementwise:
        values = _equal_rank(values)
    rows, values = _levels(primitive, values, attributes)
    kind = primitive.rule(*(value.type for value in values), **attributes)
    return context.emit(primitive, values, attributes, kind, rows, like)


def constant(value: object, beside: Tensor | None = None) -> HostArray:
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
        hint = None
        if isinstance(value, (list, tuple)):
            hint = "use arrows.ops.stack or numpy.array"
            if any(isinstance(item, TensorLike) for item in value):
                hint = (
                    "over a list of tensors: ar.Sum()(xs), ar.Mean()(xs); as one tensor: arrows.ops.stack(xs)"
                )
        raise ShapeError(
            f"expected a tensor, a number or a NumPy array, got {type(value).__name__}", hint=hint
        )
    if beside is None:
        return np.asarray(value)
    dtype = beside.dtype
    if isinstance(value, float) and not is_float(dtype):
        raise ShapeError(
            f"{value!r} is not a whole number, but the tensor beside it is {beside}",
            hint='cast the tensor first: x.cast("float32")',
        )
    if dtype == "bool" and not isinstance(value, bool):
        raise ShapeError(
            f"{value!r} beside a tensor of bool", hint='cast the tensor first: x.cast("float32")'
        )
    try:
        with np.errstate(over="ignore", under="ignore"):  # 1e39 is infinite in float32
            return np.asarray(value, dtype)
    except OverflowError:
        raise ShapeError(f"{value!r} is out of range for {dtype}") from None


def refuse_wire(value: object) -> None:
    """Lets a wire of an arrow raise its own error: it stands for a value that does not exist yet."""
    refuse = getattr(value, "_no_tensor", None)
    if refuse is not None:
        refuse()


def _context(
    primitive: Primitive, operands: tuple[Operand, ...], like: TensorLike | None
) -> Context | LazyContext | None:
    context: Context | LazyContext | None = None
    for operand in (*operands, like):
        if isinstance(operand, TensorLike):
            if context is None:
                context = operand.context
            elif context is not operand.context:
                if isinstance(context, LazyContext) or isinstance(operand.context, LazyContext):
                    raise ShapeError(
                        f"{primitive.name}: its operands belong to different batches, or one of them to a "
                        "Function",
                        hint="compute with tensors of one `with net.batch()`; bring the value of another by "
                        "x.numpy(); give a Function its tensors as arguments",
                    )
                raise ShapeError(
                    f"{primitive.name}: one operand is a tensor of another function call; "
                    "a Function must not keep tensors between calls"
                )
    return context


def _tensors(context: Context, primitive: Primitive, operands: tuple[Operand, ...]) -> tuple[TensorLike, ...]:
    if not [operand for operand in operands if not isinstance(operand, TensorLike)]:
        return cast("tuple[TensorLike, ...]", operands)
    beside = next((operand for operand in operands if isinstance(operand, TensorLike)), None)
    rank = builtins.max((x.ndim for x in operands if isinstance(x, (TensorLike, np.ndarray))), default=0)
    values = []
    for operand in operands:
        if not isinstance(operand, TensorLike):
            try:
                array = constant(operand, None if beside is None else beside.type)
            except ShapeError as error:
                raise ShapeError(f"{primitive.name}: {error.reason}", hint=error.hint) from None
            if primitive.elementwise:
                array = array.reshape((1,) * (rank - array.ndim) + array.shape)
            operand = context.constant(array)
        values.append(operand)
    return tuple(values)


def _equal_rank(values: tuple[TensorLike, ...]) -> tuple[TensorLike, ...]:
    ranks = {len(value.type.shape) for value in values}
    if len(ranks) == 1:
        return values
    rank = builtins.max(ranks)
    return tuple(
        value
        if value.ndim == rank
        else bind(get("reshape"), value, shape=(1,) * (rank - value.ndim) + value.shape)
        for value in values
    )


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
    domain = ragged[0]
    like = next(value for value in values if value.rows == domain)
    values = tuple(
        bind(get("segment_broadcast"), value, like=like, domain=domain) if value.rows == ROW else value
        for value in values
    )
    return (ROW if primitive.collapses else domain), values


def _compute(primitive: Primitive, operands: tuple[Operand, ...], attributes: Attributes) -> HostArray:
    """Computes a primitive at once, as NumPy would, since no operand is a tensor of a Function."""
    evaluation = EagerEvaluation()
    beside = next((operand for operand in operands if isinstance(operand, (np.ndarray, np.generic))), None)
    like = None if beside is None else evaluation.constant(np.asarray(beside)).type
    values = [evaluation.constant(constant(operand, like)) for operand in operands]
    result = bind(primitive, *values, like=None, **attributes)
    assert isinstance(result, Value)
    return result.array
