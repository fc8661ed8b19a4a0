"""A scramble of 64-bit words, for structural hashes and keys of chance."""

from __future__ import annotations

from typing import Any

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def scramble(words: np.ndarray, first: Any = FIRST, second: Any = SECOND) -> np.ndarray:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection; ``words`` stay as they are.

    Args:
        words: uint64, any shape.
        first, second: odd factors, the original's by default; arrays give each lane its own.
    """
    words = words ^ (words >> np.uint64(30))
    words *= first
    words ^= words >> np.uint64(27)
    words *= second
    words ^= words >> np.uint64(31)
    return words
