"""Element-wise arithmetic, functions, rounding and remainders.

Shapes broadcast as in NumPy; element types do not mix.
"""

from __future__ import annotations

from math import pi
from typing import TypeAlias

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Gradients, HasRows, Run, SumRun, Types, bind, get, operation, with_primitive
from arrows.ops.shaping import arithmetic, elementwise, floating, sum_to
from arrows.ops.sums import sum_products
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor

Polynomial: TypeAlias = tuple[float, ...]
"""Coefficients, from the highest power down."""

# For |x| up to 0.46875 erf(x) / x is a quotient of polynomials in the square of x.
_SMALL: tuple[Polynomial, Polynomial] = (
    (
        1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip
# For larger |x|, (1 - erf(|x|)) * exp(x * x) is one in |x|.  Cody uses another quotient past 4, where 1 - erf
# is below 2e-8 and the error of this one far less.
_LARGE: tuple[Polynomial, Polynomial] = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip


def _ratio(above: Polynomial, below: Polynomial, z: Array) -> Array:
    top, bottom = above[0] * z, below[0] * z
    for a, b in zip(above[1:-1], below[1:-1], strict=True):
        top, bottom = (top + a) * z, (bottom + b) * z
    return (top + above[-1]) / (bottom + below[-1])


_TOGETHER = 1 << 14  # numbers; on NumPy what is made of so many at a time stays in the cache


def erf_kernel(xp: ArrayModule) -> Run:
    def erf(x: Array) -> Array:
        z = x.astype("float32") if x.dtype.name == "float16" else x
        size = xp.minimum(xp.abs(z), 6)
        small = xp.minimum(size, 0.46875)
        inner = small * _ratio(*_SMALL, small * small)
        outer = 1 - xp.exp(-size * size) * _ratio(*_LARGE, size)
        result = xp.copysign(xp.where(xp.less_equal(size, 0.46875), inner, outer), z)
        return result.astype(x.dtype, copy=False)

    def run(x: Array, out: Array | None = None) -> Array:
        if xp is not np or x.size <= _TOGETHER:
            return put(erf(x), out)
        out, rows = np.empty_like(x) if out is None else out, max(1, _TOGETHER * len(x) // x.size)
        for first in range(0, len(x), rows):
            out[first : first + rows] = erf(x[first : first + rows])
        return out

    return run


@elementwise(lambda g, result, a, b: (sum_to(g, a.shape), sum_to(g, b.shape)), c="{0} + {1}", additive=True)
def add(a: Operand, b: Operand) -> TensorLike:
    """Sum of two tensors.

    >>> import numpy as np
    >>> add(np.array([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """


@elementwise(lambda g, result, a, b: (sum_to(g, a.shape), -sum_to(g, b.shape)), c="{0} - {1}", additive=True)
def subtract(a: Operand, b: Operand) -> TensorLike:
    """Difference of two tensors.

    >>> import numpy as np
    >>> subtract(1, np.array([1.0, 2.0])).tolist()
    [0.0, -1.0]
    """


def _multiply_sum_rows(xp: ArrayModule, has_rows: HasRows, types: Types) -> SumRun | None:
    """Sums a * b over the rows without making the product, as the gradient of a gain needs it."""
    a, b = types
    if has_rows != (True, True) or a.shape != b.shape or a.ndim != 1:
        return None

    return lambda a, b, out=None: sum_products(xp, a, b, out)


@elementwise(
    lambda g, result, a, b: (sum_to(g * b, a.shape), sum_to(g * a, b.shape)),
    c="{0} * {1}",
    sum_rows=_multiply_sum_rows,
)
def multiply(a: Operand, b: Operand) -> TensorLike:
    """Product, element by element.

    >>> import numpy as np
    >>> multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """


def _divide_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    ga = g / b
    return sum_to(ga, a.shape), sum_to(negative(ga * result), b.shape)


@elementwise(_divide_vjp, floating, c="{0} / {1}")
def divide(a: Operand, b: Operand) -> TensorLike:
    """Quotient of floating tensors, element by element.

    >>> import numpy as np
    >>> divide(np.array([1.0, 2.0]), 2).tolist()
    [0.5, 1.0]
    """


@elementwise(lambda g, result, x: (-g,), c="-{0}", additive=True)
def negative(x: Operand) -> TensorLike:
    """-x.

    >>> import numpy as np
    >>> negative(np.array([1, -2])).tolist()
    [-1, 2]
    """


def _power_vjp(g: TensorLike, result: TensorLike, x: TensorLike, exponent: float) -> Gradients:
    return (g * (power(x, exponent - 1) * exponent) if exponent else None,)


def _power_rule(x: Tensor, exponent: float) -> Tensor:
    arithmetic("power", x)
    if not x.floating and (exponent < 0 or not isinstance(exponent, int)):
        raise ShapeError(
            f"power: {x} takes whole exponents >= 0, got {exponent}", hint='cast it: x.cast("float32")'
        )
    return x


@with_primitive(
    _power_rule,
    lambda xp, exponent: lambda x, out=None: xp.power(x, exponent, out=out),
    _power_vjp,
    elementwise=True,
)
def power(x: Operand, exponent: Operand) -> TensorLike:
    """x to the power of a Python number.

    Args:
        x: numbers, integers only to a whole power >= 0.
        exponent: a Python number; where it is a tensor, write `exp(exponent * log(x))`.

    >>> import numpy as np
    >>> power(np.array([1.0, 2.0]), 3).tolist()
    [1.0, 8.0]
    """
    if not isinstance(exponent, (int, float)) or isinstance(exponent, bool):
        kind = getattr(exponent, "type", type(exponent).__name__)
        raise ShapeError(
            f"power: the exponent is a Python number, not {kind}",
            hint="x ** y is ops.exp(y * ops.log(x)), and 2 ** y is ops.exp(y * math.log(2))",
        )
    if exponent == 1 and isinstance(x, TensorLike):
        return x
    if exponent == 2:
        return square(x)
    if exponent == 0.5:
        return sqrt(x)
    return bind(get("power"), x, exponent=exponent)


@elementwise(lambda g, result, x: (g * result,), floating, c="exp{f}({0})")
def exp(x: Operand) -> TensorLike:
    """e to the power of x.

    >>> import numpy as np
    >>> exp(np.array([0.0])).tolist()
    [1.0]
    """


@elementwise(lambda g, result, x: (g / x,), floating, c="log{f}({0})")
def log(x: Operand) -> TensorLike:
    """Natural logarithm.

    >>> import numpy as np
    >>> log(np.array([1.0])).tolist()
    [0.0]
    """


@elementwise(lambda g, result, x: (g / (result * 2),), floating, c="sqrt{f}({0})")
def sqrt(x: Operand) -> TensorLike:
    """Square root.

    >>> import numpy as np
    >>> sqrt(np.array([9.0])).tolist()
    [3.0]
    """


@elementwise(lambda g, result, x: (g * (x * 2),), c="{0} * {0}")
def square(x: Operand) -> TensorLike:
    """x * x.

    >>> import numpy as np
    >>> square(np.array([-3.0])).tolist()
    [9.0]
    """


@elementwise(c="({0} > 0 ? 1 : {0} < 0 ? -1 : {0})")
def sign(x: Operand) -> TensorLike:
    """-1, 0 or 1; no gradient passes.

    >>> import numpy as np
    >>> sign(np.array([-3.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """


@elementwise(lambda g, result, x: (g * sign(x),), kernel=lambda xp: xp.absolute)
def abs(x: Operand) -> TensorLike:
    """Absolute value; its derivative at 0 is taken as 0.

    >>> import numpy as np
    >>> abs(np.array([-1.0, 2.0])).tolist()
    [1.0, 2.0]
    """


@elementwise(lambda g, result, x: (g * (result + 1),), floating, c="expm1{f}({0})")
def expm1(x: Operand) -> TensorLike:
    """exp(x) - 1, exact near zero.

    >>> import numpy as np
    >>> expm1(np.array([0.0, 1e-12])).tolist()
    [0.0, 1.0000000000005e-12]
    """


@elementwise(lambda g, result, x: (g / (x + 1),), floating, c="log1p{f}({0})")
def log1p(x: Operand) -> TensorLike:
    """log(1 + x), exact near zero.

    >>> import numpy as np
    >>> log1p(np.array([0.0])).tolist()
    [0.0]
    """


def _cos_vjp(g: TensorLike, result: TensorLike, x: TensorLike) -> Gradients:
    return (-(g * sin(x)),)


@elementwise(_cos_vjp, floating, c="cos{f}({0})")
def cos(x: Operand) -> TensorLike:
    """Cosine, of radians.

    >>> import numpy as np
    >>> cos(np.array([0.0])).tolist()
    [1.0]
    """


@elementwise(lambda g, result, x: (g * cos(x),), floating, c="sin{f}({0})")
def sin(x: Operand) -> TensorLike:
    """Sine, of radians.

    >>> import numpy as np
    >>> sin(np.array([0.0])).tolist()
    [0.0]
    """


@elementwise(
    lambda g, result, x: (g * multiply(exp(negative(square(x))), 2 / pi**0.5),),
    floating,
    c="erf{f}({0})",
    kernel=erf_kernel,
)
def erf(x: Operand) -> TensorLike:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.

    Cody, "Rational Chebyshev Approximations for the Error Function", Mathematics of Computation 23, 1969; to
    within 1e-15 in float64.

    >>> import numpy as np
    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """


@elementwise(check=floating, c="floor{f}({0})")
def floor(x: Operand) -> TensorLike:
    """The greatest whole number that is not above x, in the same element type; no gradient passes.

    >>> import numpy as np
    >>> floor(np.array([1.7, -1.2])).tolist()
    [1.0, -2.0]
    """


@elementwise(check=floating, c="rint{f}({0})", kernel=lambda xp: xp.rint)
def round(x: Operand) -> TensorLike:
    """The nearest whole number, in the same element type; halves go to the even one, as in NumPy and PyTorch.

    No gradient passes.  To pass one as if nothing had been rounded (a straight-through estimator), write
    `x + stop_gradient(round(x) - x)`.

    >>> import numpy as np
    >>> round(np.array([0.5, 1.5, -1.2])).tolist()
    [0.0, 2.0, -1.0]
    """


def _mod_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    # (a - a % b) / b is whole but for its rounding.
    quotients = multiply(g, round((a - result) / b))
    return sum_to(g, a.shape), -sum_to(quotients, b.shape)


@elementwise(_mod_vjp, kernel=lambda xp: xp.remainder)
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


@elementwise()
def floor_divide(a: Operand, b: Operand) -> TensorLike:
    """The quotient rounded down, `a // b`, so that `a` is `a // b * b + a % b`; no gradient passes.

    Args:
        a: numbers.
        b: numbers of the same element type; division by zero gives an infinity or NaN, and 0 for integers.

    >>> import numpy as np
    >>> floor_divide(np.array([7, -7]), 3).tolist(), floor_divide(np.array([5.5, -5.5]), 2.0).tolist()
    ([2, -3], [2.0, -3.0])
    """


@operation(lambda x: x, lambda xp: put, view=True)
def stop_gradient(x: Operand) -> TensorLike:
    """x itself, through which no gradient passes: `detach` in PyTorch.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Scalar(name="x") >> ar.Function(lambda x: x * ar.ops.stop_gradient(x)))
    >>> value, grads = model.value_and_grad([3.0], inputs=["x"])
    >>> float(value), grads["x"].tolist()
    (9.0, [[3.0]])
    """
