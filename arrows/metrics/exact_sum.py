"""Sums of floats without rounding, so that the order of the numbers does not matter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

_DIGITS = 53  # bits of a float64's mantissa
_HALF = 32  # bits in the lower half of a mantissa: halves of 2**31 numbers at once do not overflow int64


class ExactSum:
    """The exact sum of any number of float64s.

    Each number is a whole mantissa times a power of two.  Mantissas of one power are added as integers, so
    that no addition rounds; only `value` does, once.

    >>> total = ExactSum()
    >>> total.add([1e100, 1.0])
    >>> total.add([-1e100])
    >>> total.value
    1.0
    """

    __slots__ = ("_sums", "count", "not_finite")

    def __init__(self) -> None:
        self._sums: dict[int, int] = {}  # for each exponent, the sum of the mantissas
        self.count = 0
        self.not_finite = 0.0  # the sum of infinities and NaNs, which are as they are

    def add(self, numbers: npt.ArrayLike) -> None:
        """Adds numbers of any shape."""
        array = np.asarray(numbers, np.float64).ravel()
        self.count += array.size
        finite = np.isfinite(array)
        if not finite.all():
            with np.errstate(invalid="ignore"):  # of infinities of both signs: NaN, as it should be
                self.not_finite += float(array[~finite].sum())
            array = array[finite]
        fractions, exponents = np.frexp(array)
        mantissas = np.ldexp(fractions, _DIGITS).astype(np.int64)
        powers, places = np.unique(exponents, return_inverse=True)
        for half, shift in ((mantissas >> _HALF, _HALF), (mantissas & ((1 << _HALF) - 1), 0)):
            sums = np.zeros(len(powers), np.int64)
            np.add.at(sums, places, half)
            for power, total in zip(powers.tolist(), sums.tolist(), strict=True):
                self._sums[power] = self._sums.get(power, 0) + (total << shift)

    def merge(self, other: ExactSum) -> None:
        """Adds what another sum has added."""
        self.count += other.count
        self.not_finite += other.not_finite
        for power, total in other._sums.items():
            self._sums[power] = self._sums.get(power, 0) + total

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return self._over(1)

    @property
    def mean(self) -> float:
        """The mean, rounded once; NaN of nothing."""
        return self._over(self.count) if self.count else float("nan")

    def _over(self, divisor: int) -> float:
        if self.not_finite != 0.0:
            return self.not_finite
        total = sum(
            (Fraction(2) ** (power - _DIGITS) * sum_ for power, sum_ in self._sums.items()), Fraction()
        )
        try:
            return float(total / divisor)
        except OverflowError:
            return float("inf") if total > 0 else float("-inf")
