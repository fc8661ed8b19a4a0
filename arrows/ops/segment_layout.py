"""Where the sequences of a batch begin and end, as arrays on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.typesys.errors import ArrowValueError
from arrows.typesys.runtime import cached_property


@dataclass(frozen=True, eq=False)
class Segments:
    """The bounds of `count` sequences whose elements lie one after another in `total` rows.

    Args:
        offsets: integers [count + 1], from 0 to total, not falling.
        ids: integers [total], the sequence that each row belongs to.
        count: number of sequences, known on the host.
        total: number of rows, known on the host.
        longest: a bound on the length of a sequence, known on the host; it bounds the rounds that devices
            without `reduceat` take (their number is its logarithm).  `total` by default.
        gapless: the host knows that no sequence is empty.

    >>> segments = Segments.of(np, np.array([0, 2, 2, 5]))
    >>> segments.ids.tolist(), segments.count, segments.total, segments.longest
    ([0, 0, 2, 2, 2], 3, 5, 3)
    """

    offsets: Any
    ids: Any
    count: int
    total: int
    longest: int = -1
    gapless: bool = False

    def __post_init__(self) -> None:
        if self.longest < 0:
            object.__setattr__(self, "longest", self.total)

    @classmethod
    def of(cls, xp: Any, offsets: Any, total: int | None = None) -> Segments:
        """Segments from offsets, which may lie on the device if `total` is given.

        Args:
            xp: the array module of the result.
            offsets: integers [count + 1]; a NumPy array is sent to the device of `xp` with `xp.asarray`.
            total: the last offset; read from a NumPy array if not given.

        Raises:
            ArrowValueError: offsets on a device without `total`, or NumPy offsets that do not rise from 0.
        """
        count = len(offsets) - 1
        if isinstance(offsets, np.ndarray):
            lengths = np.diff(offsets)
            if count < 0 or offsets[0] != 0 or (count and lengths.min() < 0):
                raise ArrowValueError(f"offsets rise from 0, got {offsets.tolist()[:8]}")
            ids = np.repeat(np.arange(count), lengths)
            longest = int(lengths.max(initial=0))
            gapless = not count or int(lengths.min()) > 0
            return cls(xp.asarray(offsets), xp.asarray(ids), count, len(ids), longest, gapless)
        if total is None:
            raise ArrowValueError(
                "give the total with offsets that lie on a device: reading it would wait for the device"
            )
        ids = xp.searchsorted(offsets[1:], xp.arange(total), side="right")
        return cls(offsets, ids, count, total)

    @cached_property
    def lengths(self) -> Any:
        """The number of elements of each sequence, integers [count]."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def by_length(self) -> tuple[Any, Any, Any]:
        """NumPy only: the sequences that are not empty, longest first: their numbers, starts and lengths.

        >>> [a.tolist() for a in Segments.of(np, np.array([0, 1, 1, 4])).by_length]
        [[2, 0], [1, 0], [3, 1]]
        """
        order = np.argsort(-self.lengths, kind="stable")
        order = order[: np.count_nonzero(self.lengths)]
        return order, self.offsets[:-1][order], self.lengths[order]
