"""Arrays that a hand-written system reuses from batch to batch, and the size of NumPy's own buffer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def short_buffer() -> Iterator[None]:
    """Within it, NumPy's buffer has 1,024 numbers instead of 8,192.

    Operands that are not contiguous go through the buffer as long as some of their rows fit in, which for
    rows of 300 to 1,200 numbers takes longer than the work itself. By hand, a Tree-LSTM of state 300 trains
    a twentieth faster with the shorter one (measured). `arrows` hardly reads slices, and leaves it alone.
    """
    before = np.setbufsize(1024)
    try:
        yield
    finally:
        np.setbufsize(before)
