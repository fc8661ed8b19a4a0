"""Rounding, remainders, and `stop_gradient`: what reverse mode takes for constants."""

from __future__ import annotations

from typing import cast

import numpy as np

from arrows.ops.arrays import Array, put, ufunc
from arrows.ops.bind import bind
from arrows.ops.elementwise import multiply, negative
from arrows.ops.function_context import constant
from arrows.ops.primitive import Gradients, Primitive, declare
from arrows.ops.shape_rules import checked, elementwise, floating
from arrows.ops.shaping import sum_to
from arrows.ops.tensorlike import Operand, TensorLike


def _rounded(primitive: Primitive, x: Operand) -> TensorLike:
    """What a primitive gives; integers are whole already."""
    x = x if isinstance(x, TensorLike) else constant(x)
    integral = np.dtype(x.dtype).kind in "iu"
    return cast("TensorLike", x) if integral else bind(primitive, x)


_floor = elementwise("floor", check=floating, c="floor{f}({0})")


def floor(x: Operand) -> TensorLike:
    """The greatest whole number that is not above x, in the same element type; no gradient passes.

    Integers stay as they are.

    >>> import numpy as np
    >>> floor(np.array([1.7, -1.2])).tolist()
    [1.0, -2.0]
    """
    return _rounded(_floor, x)


_round = elementwise("round", check=floating, c="rint{f}({0})", kernel=ufunc("rint"))


def round(x: Operand) -> TensorLike:
    """The nearest whole number, in the same element type; halves go to the even one, as in NumPy and PyTorch.

    No gradient passes.  Integers stay as they are.  To pass one as if nothing had been rounded (a
    straight-through estimator), write `x + stop_gradient(round(x) - x)`.

    >>> import numpy as np
    >>> round(np.array([0.5, 1.5, -1.2])).tolist()
    [0.0, 2.0, -1.0]
    """
    return _rounded(_round, x)


def _mod_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    # (a - a % b) / b is whole but for its rounding.
    quotients = multiply(g, round((a - result) / b))
    return sum_to(g, a.shape), negative(sum_to(quotients, b.shape))


_mod = elementwise("mod", _mod_vjp, kernel=ufunc("remainder"))


def mod(a: Operand, b: Operand) -> TensorLike:
    """The remainder of a division that rounds down, `a % b`: it has the sign of b, as in Python and NumPy.

    The gradient of a is that of the result; that of b is multiplied by `-floor(a / b)`.

    Args:
        a: numbers.
        b: numbers of the same element type; division by zero gives NaN, and 0 for integers.

    >>> import numpy as np
    >>> mod(np.array([7, -7]), 3).tolist(), mod(np.array([5.5, -5.5]), -2.0).tolist()
    ([1, 2], [-0.5, -1.5])
    """
    return bind(_mod, a, b)


_floor_divide = elementwise("floor_divide")


def floor_divide(a: Operand, b: Operand) -> TensorLike:
    """The quotient rounded down, `a // b`, so that `a` is `a // b * b + a % b`; no gradient passes.

    Args:
        a: numbers.
        b: numbers of the same element type; division by zero gives an infinity or NaN, and 0 for integers.

    >>> import numpy as np
    >>> floor_divide(np.array([7, -7]), 3).tolist(), floor_divide(np.array([5.5, -5.5]), 2.0).tolist()
    ([2, -3], [2.0, -3.0])
    """
    return bind(_floor_divide, a, b)


def _unchanged(x: Array, out: Array | None = None) -> Array:
    return put(x, out)


_stop_gradient = declare(
    "stop_gradient", checked("stop_gradient", floating), lambda xp: _unchanged, view=True
)


def stop_gradient(x: Operand) -> TensorLike:
    """x itself, through which no gradient passes: `detach` in PyTorch.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Scalar(name="x") >> ar.Function(lambda x: x * ar.ops.stop_gradient(x)))
    >>> value, grads = model.value_and_grad([3.0], inputs=["x"])
    >>> float(value), grads["x"].tolist()
    (9.0, [[3.0]])
    """
    if isinstance(x, TensorLike) and not x.type.floating:
        return x
    return bind(_stop_gradient, x)
