"""Special functions: exponential and logarithm near zero, sine, cosine, and the error function."""

from __future__ import annotations

from math import pi
from typing import TypeAlias

from arrows.ops.arrays import Array, ArrayModule, put, ufunc
from arrows.ops.bind import bind
from arrows.ops.elementwise import exp, multiply, negative, square, unary
from arrows.ops.primitive import (
    Run,
)
from arrows.ops.tensorlike import Operand, TensorLike


def expm1(x: Operand) -> TensorLike:
    """exp(x) - 1, exact near zero.

    >>> import numpy as np
    >>> expm1(np.array([0.0, 1e-12])).tolist()
    [0.0, 1.0000000000005e-12]
    """
    return bind(_expm1, x)


def log1p(x: Operand) -> TensorLike:
    """log(1 + x), exact near zero.

    >>> import numpy as np
    >>> log1p(np.array([0.0])).tolist()
    [0.0]
    """
    return bind(_log1p, x)


def sin(x: Operand) -> TensorLike:
    """Sine, of radians.

    >>> import numpy as np
    >>> sin(np.array([0.0])).tolist()
    [0.0]
    """
    return bind(_sin, x)


def cos(x: Operand) -> TensorLike:
    """Cosine, of radians.

    >>> import numpy as np
    >>> cos(np.array([0.0])).tolist()
    [1.0]
    """
    return bind(_cos, x)


def erf(x: Operand) -> TensorLike:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.

    Cody, "Rational Chebyshev Approximations for the Error Function", Mathematics of Computation 23, 1969; to
    within 1e-15 in float64.

    >>> import numpy as np
    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    return bind(_erf, x)


Ratio: TypeAlias = tuple[tuple[float, ...], float, tuple[float, ...], float]
"""Coefficients of a quotient of polynomials: numerator and its last term, denominator and its last term."""

_SMALL: Ratio = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2),
    3.20937758913846947e3,
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3),
    2.84423683343917062e3,
)
"""Up to 0.46875, in the square of x."""

_LARGE: Ratio = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
    ),
    1.23033935479799725e3,
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
    ),
    1.23033935480374942e3,
)  # fmt: skip
"""From there on, in x, times exp(-x * x): 1 - erf(x).  Past 4 that is below 2e-8, and the error far less."""


def _ratio(table: Ratio, z: Array) -> Array:
    above, last_above, below, last_below = table
    top, bottom = above[0] * z, below[0] * z
    for a, b in zip(above[1:], below[1:], strict=True):
        top, bottom = (top + a) * z, (bottom + b) * z
    return (top + last_above) / (bottom + last_below)


def _erf_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        z = x.astype("float32") if x.dtype.name == "float16" else x
        size = xp.minimum(xp.abs(z), 6)
        small = xp.minimum(size, 0.46875)
        inner = small * _ratio(_SMALL, small * small)
        outer = 1 - xp.exp(-size * size) * _ratio(_LARGE, size)
        result = xp.copysign(xp.where(xp.less_equal(size, 0.46875), inner, outer), z)
        return put(result if result.dtype == x.dtype else result.astype(x.dtype), out)

    return run


_expm1 = unary("expm1", ufunc("expm1"), lambda g, result, x: (g * (result + 1),))
_log1p = unary("log1p", ufunc("log1p"), lambda g, result, x: (g / (x + 1),))
_sin = unary("sin", ufunc("sin"), lambda g, result, x: (g * cos(x),))
_cos = unary("cos", ufunc("cos"), lambda g, result, x: (negative(g * sin(x)),))
_erf = unary("erf", _erf_kernel, lambda g, result, x: (g * multiply(exp(negative(square(x))), 2 / pi**0.5),))
