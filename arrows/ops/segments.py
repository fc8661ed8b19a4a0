"""Segments: where the sequences of a batch begin and end, and reductions of the rows of each.

`np.add.reduceat` over rows of 300 numbers costs ten times a plain pass (measured).  So on NumPy the segments
are sorted by falling length: for each r, the r-th rows of all short segments are combined at once, and each
long segment is reduced by itself.  A device reduces by doubling: after round r each row holds the reduction
of the 2**r rows from it on within its segment.  So the logarithm of the longest segment bounds the number of
rounds, and no array's size depends on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.arrays import Array, ArrayModule, Function, HostArray, on_host, put, take
from arrows.ops.sums import sum_rows
from arrows.typesys import cached_property


@dataclass(frozen=True, eq=False)
class Segments:
    """The bounds of `count` sequences whose elements lie one after another in `total` rows.

    Args:
        offsets: integers [count + 1], from 0 to total, not falling.
        ids: integers [total], the sequence that each row belongs to.
        count: number of sequences, known on the host.
        total: number of rows, known on the host.
        longest: a bound on the length of a sequence, known on the host; a device reduces in as many rounds as
            its logarithm.

    >>> segments = Segments.of(np, np.array([0, 2, 2, 5]))
    >>> segments.ids.tolist(), segments.count, segments.total, segments.longest
    ([0, 0, 2, 2, 2], 3, 5, 3)
    """

    offsets: Array
    ids: Array
    count: int
    total: int
    longest: int

    @classmethod
    def of(cls, xp: ArrayModule, offsets: Array, total: int | None = None) -> Segments:
        """Segments from offsets, which may lie on the device if `total` is given.

        Args:
            xp: the array module of the result.
            offsets: integers [count + 1]; a NumPy array is sent to the device of `xp` with `xp.asarray`.
            total: the last offset; read from a NumPy array if not given.
        """
        count = len(offsets) - 1
        if on_host(offsets):
            lengths = np.diff(offsets)
            ids = np.repeat(np.arange(count), lengths)
            longest = int(lengths.max(initial=0))
            return cls(xp.asarray(offsets), xp.asarray(ids), count, len(ids), longest)
        assert total is not None, "to read it would wait for the device"
        row_ids = xp.searchsorted(offsets[1:], xp.arange(total), side="right")
        return cls(offsets, row_ids, count, total, longest=total)

    @cached_property
    def lengths(self) -> Array:
        """The number of elements of each sequence, integers [count]."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def by_length(self) -> tuple[HostArray, HostArray, HostArray]:
        """The numbers, starts and lengths of the sequences that are not empty, longest first; NumPy only.

        >>> [a.tolist() for a in Segments.of(np, np.array([0, 1, 1, 4])).by_length]
        [[2, 0], [1, 0], [3, 1]]
        """
        offsets, lengths = np.asarray(self.offsets), np.asarray(self.lengths)
        order = np.argsort(-lengths, kind="stable")
        order = order[: np.count_nonzero(lengths)]
        return order, offsets[:-1][order], lengths[order]


SHORT = 16
"""Segments of one length, up to this, are reduced without a look at their bounds."""

LONG = 64
"""Longer segments are reduced one by one: of so many rows, added one after the other, sums lose digits."""

NARROW = 8
"""Rows of up to this many numbers are reduced by `reduceat`, if no segment is longer than `REDUCED`."""

REDUCED = 1024


def reduce_segments(
    xp: ArrayModule,
    combine: str,
    values: Array,
    segments: Segments,
    fill: float,
    out: Array | None = None,
    order: Array | None = None,
) -> Array:
    """Reduces the rows of each segment with "add", "maximum" or "minimum"; `fill` for empty ones.

    [total, ...] becomes [count, ...]. `order`, integers [total], says where in `values` the rows of the
    segments lie; without it they lie one after another.

    >>> reduce_segments(np, "add", np.array([1, 2, 3]), Segments.of(np, np.array([0, 2, 2, 3])), 0).tolist()
    [3, 0, 3]
    """
    if segments.total and segments.count:
        if on_host(values):
            return _on_host(getattr(np, combine), values, segments, fill, out, order)
        if order is not None:
            values = take(xp, values, order, 0, None)
        return put(_by_doubling(xp, getattr(xp, combine), values, segments, fill), out)
    if out is None:
        out = xp.empty((segments.count, *values.shape[1:]), values.dtype)
    out[...] = fill
    return out


def _on_host(
    function: np.ufunc,
    values: Array,
    segments: Segments,
    fill: float,
    out: Array | None,
    places: Array | None,
) -> Array:
    order, starts, lengths = segments.by_length
    if out is None:
        out = np.empty((segments.count, *values.shape[1:]), values.dtype)
    if len(order) < segments.count:
        out[...] = fill
    first = int(lengths[0])
    even = first == int(lengths[-1]) and first <= SHORT and len(order) == segments.count
    narrow = values.size <= NARROW * len(values) and first <= REDUCED
    if places is not None and (even or narrow):
        values = take(np, values, places, 0, None)
    if even:
        # All of one length, such as two children each: no row needs to be looked up.
        parts = values.reshape((segments.count, first, *values.shape[1:]))
        if first == 1:
            out[...] = parts[:, 0]
            return out
        function(parts[:, 0], parts[:, 1], out=out)
        for r in range(2, first):
            function(out, parts[:, r], out=out)
        return out
    if narrow:
        full = np.sort(order)
        out[full] = function.reduceat(values, segments.offsets[:-1][full], axis=0, dtype=values.dtype)
        return out

    def rows(which: slice | HostArray) -> Array:
        if isinstance(which, slice):
            return values[which] if places is None else take(np, values, places[which], 0, None)
        return values.take(which if places is None else places[which], 0)

    sums = rows(starts)
    # The longest are reduced one by one, the others together, row by row: one call for each of the former,
    # and calls that cost four times as much for each row of the longest of the latter.
    long = int((np.arange(len(lengths) + 1) + 4 * np.append(lengths, 0)).argmin())
    long = max(long, int(np.searchsorted(-lengths, -LONG)))
    for s in range(long):
        segment = rows(slice(starts[s], starts[s] + lengths[s]))
        sums[s] = sum_rows(segment) if function is np.add else function.reduce(segment, axis=0)
    for r in range(1, int(lengths[long]) if long < len(lengths) else 0):
        end = int(np.searchsorted(-lengths, -r))  # the number of segments with an r-th row
        function(sums[long:end], rows(starts[long:end] + r), out=sums[long:end])
    out[order] = sums
    return out


def _by_doubling(
    xp: ArrayModule, function: Function, values: Array, segments: Segments, fill: float
) -> Array:
    column = (-1, *(1,) * (values.ndim - 1))
    stops = take(xp, segments.offsets[1:], segments.ids, 0, None)
    at = xp.arange(segments.total)
    step = 1
    while step < segments.longest:
        inside = (at[:-step] + step < stops[:-step]).reshape(column)
        head, tail = values[:-step], values[step:]
        # A new array each round: rows of one round must not see each other's results.
        values = xp.concatenate([xp.where(inside, function(head, tail), head), values[-step:]], axis=0)
        step *= 2
    firsts = take(xp, values, xp.minimum(segments.offsets[:-1], segments.total - 1), 0, None)
    return xp.where((segments.lengths > 0).reshape(column), firsts, fill)
