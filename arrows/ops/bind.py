"""Applies primitives: `bind` asks the context of the tensors; where there are only numbers it computes.

An `operation` is a function that binds a primitive and does nothing else; `with_primitive` stands above those
that do more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from arrows.ops.evaluate import EagerEvaluation
from arrows.ops.primitive import Kernel, Primitive, ShapeRule, Vjp, declare, no_gradient
from arrows.ops.tensorlike import Operand, TensorLike

Operation = TypeVar("Operation", bound=Callable[..., TensorLike])


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

    >>> import numpy as np
    >>> from arrows.ops.extend import get
    >>> bind(get("add"), np.array([1.0, 2.0]), 3.0).tolist()
    [4.0, 5.0]
    """
    for operand in operands:
        if isinstance(operand, TensorLike):
            return operand.context.apply(primitive, operands, attributes, like)
    return cast("TensorLike", EagerEvaluation().apply(primitive, operands, attributes, None).array)


def with_primitive(
    rule: ShapeRule, kernel: Kernel, vjp: Vjp = no_gradient, **flags: Any
) -> Callable[[Operation], Operation]:
    """Declares the primitive that a function applies: a decorator that leaves the function as it is.

    The primitive has the function's name, this rule, kernel and vjp, and the fields `flags`.
    """

    def declared(function: Operation) -> Operation:
        declare(function.__name__, rule, kernel, vjp, **flags)
        return function

    return declared


def operation(
    rule: ShapeRule, kernel: Kernel, vjp: Vjp = no_gradient, **flags: Any
) -> Callable[[Operation], Operation]:
    """Declares an operation: a decorator of a function of one or two operands with a docstring, but no body.

    It applies the primitive of its name, which has this rule, kernel and vjp, and the fields `flags`.
    """

    def declared(function: Operation) -> Operation:
        primitive = declare(function.__name__, rule, kernel, vjp, **flags)
        unary = len(signature(function).parameters) == 1
        call = (lambda x: bind(primitive, x)) if unary else (lambda a, b: bind(primitive, a, b))
        return cast("Operation", wraps(function)(call))

    return declared
