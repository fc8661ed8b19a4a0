"""Copies the transpose of a parameter that many steps multiply by, so that OpenBLAS need not pack it in each.

Without the copy a training step takes 1.03 to 1.04 of the time (Tree-LSTM, state 300, batch 64) and 1.05 to
1.07 (two layers of bidirectional LSTMs, state 256, batch 64): medians of alternating pairs, `python -m
benchmarks pair` with `treelstm` and `bilstm`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arrows.ops.arrays import Array, HostArray

# Rows of the matrix that are copied at once: the columns of the result that they fill stay in the cache.
_ROWS = 32

# Fewer products do not repay the copy. Copying 600 x 1500 numbers takes 1.9 ms within a training step; each
# product of more than a few rows with the copy takes 0.15 to 0.2 ms less.
_FEWEST_STEPS = 10


class ContiguousTranspose:
    """A kernel that transposes a matrix: as a view, or for many steps as a copy in memory that it keeps.

    Args:
        kernel: gives the view; arrays of a device stay views.

    >>> transpose = ContiguousTranspose(np.transpose)
    >>> transpose(np.eye(2), steps=1).flags.c_contiguous, transpose(np.eye(2), steps=100).flags.c_contiguous
    (False, True)
    """

    def __init__(self, kernel: Callable[..., Array]) -> None:
        self.kernel = kernel
        self.memory: HostArray | None = None

    def __call__(self, value: Array, steps: int) -> Array:
        """The transpose.

        Args:
            value: the matrix.
            steps: how many steps of more than a few rows multiply by it.
        """
        view = self.kernel(value)
        if not isinstance(view, np.ndarray) or view.ndim != 2 or steps < _FEWEST_STEPS:
            return view
        if self.memory is None:
            self.memory = np.empty(view.shape, view.dtype)
        for start in range(0, view.shape[1], _ROWS):
            self.memory[:, start : start + _ROWS] = view[:, start : start + _ROWS]
        return self.memory
