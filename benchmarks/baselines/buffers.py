"""Arrays that hand-written systems in NumPy use again from batch to batch."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Buffers:
    """Arrays of one element type by name, whose memory the next batch uses again.

    >>> buffers = Buffers(np.dtype("float32"))
    >>> first = buffers("gates", 4, 3)
    >>> np.shares_memory(first, buffers("gates", 2, 5))
    True
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._held: dict[str, Array] = {}

    def __call__(self, name: str, *shape: int) -> Array:
        """An array of this shape, of unspecified content."""
        size = prod(shape)
        held = self._held.get(name)
        if held is None or len(held) < size:
            capacity = size if held is None else size + size // 4  # batches of trees differ in size
            held = self._held[name] = np.empty(capacity, self._dtype)
        return held[:size].reshape(shape)
