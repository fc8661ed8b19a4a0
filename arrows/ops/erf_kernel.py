"""The kernel of `erf`, a function that NumPy does not have."""

from __future__ import annotations

from typing import TypeAlias

from arrows.ops.arrays import Array, ArrayModule, put
from arrows.ops.primitive import Run

Ratio: TypeAlias = tuple[tuple[float, ...], float, tuple[float, ...], float]
"""Coefficients of a quotient of polynomials, from the highest power down: those of the numerator, its
constant term, those of the denominator, its constant term."""

_SMALL: Ratio = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2),
    3.20937758913846947e3,
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3),
    2.84423683343917062e3,
)
"""For |x| up to 0.46875: erf(x) / x, in the square of x."""

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
"""For larger |x|: (1 - erf(|x|)) * exp(x * x), in |x|.  Cody uses another quotient past 4, where 1 - erf is
below 2e-8 and the error of this one far less."""


def _ratio(table: Ratio, z: Array) -> Array:
    above, last_above, below, last_below = table
    top, bottom = above[0] * z, below[0] * z
    for a, b in zip(above[1:], below[1:], strict=True):
        top, bottom = (top + a) * z, (bottom + b) * z
    return (top + last_above) / (bottom + last_below)


def erf_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        z = x.astype("float32") if x.dtype.name == "float16" else x
        size = xp.minimum(xp.abs(z), 6)
        small = xp.minimum(size, 0.46875)
        inner = small * _ratio(_SMALL, small * small)
        outer = 1 - xp.exp(-size * size) * _ratio(_LARGE, size)
        result = xp.copysign(xp.where(xp.less_equal(size, 0.46875), inner, outer), z)
        return put(result if result.dtype == x.dtype else result.astype(x.dtype), out)

    return run
