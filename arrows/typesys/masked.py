"""Masked arrays: NumPy turns them into plain arrays without a word, so arrows looks for them first."""

from __future__ import annotations

import numpy as np


def masked_elements(value: object) -> int:
    """How many elements of an array are masked, or of the arrays and values in nested lists, each list once.

    Example:
        >>> pair = np.ma.array([1, 2], mask=[False, True])
        >>> masked_elements(pair), masked_elements([pair, [np.ma.masked, 3]]), masked_elements([1, 2])
        (1, 2, 0)
    """
    count = 0
    seen: set[int] = set()  # a list may hold itself
    todo = [value]
    while todo:
        x = todo.pop()
        if isinstance(x, np.ma.MaskedArray):
            count += int(np.count_nonzero(np.ma.getmaskarray(x)))
        elif isinstance(x, (list, tuple)) and id(x) not in seen:
            seen.add(id(x))
            kinds = set(map(type, x))
            if any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
                todo.extend(x)
    return count
