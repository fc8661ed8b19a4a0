"""Applies primitives: `bind` asks the context of the tensors; where there are only numbers it computes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

import numpy as np

from arrows.ops.arrays import HostArray
from arrows.ops.evaluate import EagerEvaluation, Value
from arrows.ops.function_context import constant
from arrows.ops.primitive import Attributes, Primitive
from arrows.ops.tensorlike import Operand, TensorLike


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

    >>> from arrows.ops.extend import get
    >>> bind(get("add"), np.array([1.0, 2.0]), 3.0).tolist()
    [4.0, 5.0]
    """
    for operand in operands:
        if isinstance(operand, TensorLike):
            return operand.context.apply(primitive, operands, attributes, like)
    if like is not None:
        return like.context.apply(primitive, operands, attributes, like)
    return cast("TensorLike", _compute(primitive, operands, attributes))


def _compute(primitive: Primitive, operands: tuple[Operand, ...], attributes: Attributes) -> HostArray:
    """Computes a primitive at once, as NumPy would, since no operand is a tensor of a Function."""
    evaluation = EagerEvaluation()
    beside = next((operand for operand in operands if isinstance(operand, (np.ndarray, np.generic))), None)
    like = None if beside is None else evaluation.constant(np.asarray(beside)).type
    values = [evaluation.constant(constant(operand, like)) for operand in operands]
    result = bind(primitive, *values, like=None, **attributes)
    assert isinstance(result, Value)
    return result.array
