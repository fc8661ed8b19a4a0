"""Transposed parameters laid out anew: BLAS would do it again in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any

# Rows of the matrix that are copied at once: columns of the result, which stay in cache.
_ROWS = 32


class Transposed:
    """A kernel that gives a view, and copies it to memory of its own, the same each time.

    Args:
        xp: the array module.
        kernel: gives the view.

    >>> turned = Transposed(np, np.transpose)
    >>> turned(np.array([[1.0, 2.0]])).flags.c_contiguous, turned.memory.tolist()
    (True, [[1.0], [2.0]])
    """

    def __init__(self, xp: Any, kernel: Callable[[Array], Array]) -> None:
        self.xp, self.kernel = xp, kernel
        self.memory: Array = None

    def __call__(self, value: Array) -> Array:
        view = self.kernel(value)
        if self.memory is None:
            self.memory = self.xp.empty(view.shape, view.dtype)
        if self.xp is np and view.ndim == 2:
            for start in range(0, view.shape[1], _ROWS):
                self.memory[:, start : start + _ROWS] = view[:, start : start + _ROWS]
        else:
            self.memory[...] = view
        return self.memory
