"""The finaliser of SplitMix64, the hash behind dropout masks, dropout keys and structural hashes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray

Words = TypeVar("Words", bound=Array)

GOLDEN = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, made odd: the step of SplitMix64's counter."""

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def finalise(
    xp: ArrayModule,
    words: Words,
    first: np.uint64 | HostArray = _FIRST,
    second: np.uint64 | HostArray = _SECOND,
) -> Words:
    """Hashes words in place and returns them: every bit of a result depends on every bit of its word.

    Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 14. It is a
    bijection, so different words (uint64, of any shape) stay different. The odd factors `first` and `second`
    are by default those of the paper; an array of factors gives each row of words its own.

    >>> finalise(np, np.array([GOLDEN], np.uint64)).tolist() == [0xE220A8397B1DCDAF]  # of the seed 0
    True
    """
    shifted = xp.right_shift(words, np.uint64(30))
    xp.bitwise_xor(words, shifted, out=words)
    xp.multiply(words, first, out=words)
    xp.bitwise_xor(words, xp.right_shift(words, np.uint64(27), out=shifted), out=words)
    xp.multiply(words, second, out=words)
    xp.bitwise_xor(words, xp.right_shift(words, np.uint64(31), out=shifted), out=words)
    return words


def hashed(xp: ArrayModule, keys: Array, count: int, offset: int = 0) -> Array:
    """Hashed words [n, count] of the keys [n], each of its key, its place, and a number added to the key."""
    # Arrays throughout: NumPy's scalars would warn where the hash wraps around.
    rows = finalise(xp, keys.reshape((-1, 1)) + np.uint64((GOLDEN + offset) % 2**64))
    places = xp.multiply(xp.arange(1, count + 1, dtype="uint64"), np.uint64(GOLDEN))
    return finalise(xp, rows + places)
