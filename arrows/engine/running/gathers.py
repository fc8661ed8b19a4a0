"""Gathers of a batch: how the rows of operands, and the bounds of sequences, come to an operation's steps.

Each is planned on the host before the batch runs, and bound to arrays when its index arrays are on the
device.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrows.engine.device import Arena, Upload, Uploaded
from arrows.engine.program.emitters.arrays import GatherArrays, SegmentBounds
from arrows.engine.reading import lengths_of, range_of, ranges_of
from arrows.engine.running.kernel_sums import PlannedIndices
from arrows.engine.running.operation_code import GatherLayout
from arrows.engine.scheduling import OperationRows
from arrows.ops import Segments
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGather:
    """One gather of a batch.

    Attributes:
        layout: the gather in the program.
        start: the first row if the rows of all steps are one range, else None.
        first: for each step, the first row if its rows are a range, else -1; None where all are one range.
        index: the number of the index array in the upload; None where every step reads a range.
        count: how many rows the value has, over all steps.
        buffered: for how many rows, the most of one step, a buffer is needed; 0 for kernels, which need none.
        indices: the gathered numbers, if the host knows them and a gradient is summed by them.
    """

    layout: GatherLayout
    start: int | None
    first: list[int] | None
    index: int | None
    count: int
    buffered: int
    indices: PlannedIndices | None = None

    @property
    def has_memory(self) -> bool:
        """Whether it has memory of its own for all rows."""
        return self.layout.held and self.start is None

    def bind(self, arena: Arena, uploaded: Uploaded, slab: Array, memory: int, number: int) -> GatherArrays:
        """The arrays of the gather.

        Args:
            arena: gives memory.
            uploaded: has the index arrays.
            slab: the rows.
            memory: the number of the memory for what the operation keeps.
            number: that of the gather in the program.
        """
        layout, held = self.layout, None
        indices = None if self.indices is None else self.indices.bind(uploaded)
        if self.has_memory:
            held = arena.array(
                ("operand", memory, number), (self.count, *layout.type.shape), layout.type.dtype
            )
        if self.start is not None:
            width = len(layout.operands)
            rows = slab[self.start : self.start + self.count * width]
            if width > 1:
                rows = rows.reshape(self.count, *layout.type.shape)
            return GatherArrays(slab=slab, index=None, first=None, rows=rows, buffer=None, indices=indices)
        buffer = None
        if not layout.held and self.index is not None and self.buffered:
            # Nobody reads the rows after the step, so all operations share these arrays.
            shape = (self.buffered, *layout.type.shape)
            buffer = arena.array(("gather", number), shape, layout.type.dtype)
        index = None if self.index is None else uploaded.get(self.index)
        return GatherArrays(
            slab=slab, index=index, first=self.first, rows=held, buffer=buffer, indices=indices
        )


def plan_gather(
    layout: GatherLayout, rows: OperationRows, bounds: HostArray, upload: Upload, *, kernels: bool
) -> PlannedGather:
    """Plans a gather.

    Args:
        layout: the gather.
        rows: the operation's part of the batch.
        bounds: where the rows of each step (of each component) start, and where the last end.
        upload: takes the index array.
        kernels: whether kernels read the rows: by index, unless the rows of all steps are one range.
    """
    port_rows = rows.side_by_side(layout.operands)
    count = int(bounds[-1])
    whole = range_of(port_rows)
    if whole >= 0:
        return PlannedGather(layout=layout, start=whole, first=None, index=None, count=count, buffered=0)
    if kernels:
        by_index = [-1] * (len(bounds) - 1)
        sent = upload.add(port_rows)
        return PlannedGather(layout=layout, start=None, first=by_index, index=sent, count=count, buffered=0)
    if len(bounds) == 2:
        first, longest = [-1], count
    else:
        cuts = bounds if len(layout.operands) == 1 else bounds * len(layout.operands)
        first = ranges_of(port_rows, cuts[:-1], cuts[1:]).tolist()
        longest = int(lengths_of(bounds).max())
    index = upload.add(port_rows) if -1 in first else None
    return PlannedGather(layout=layout, start=None, first=first, index=index, count=count, buffered=longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSegments:
    """The bounds of one sequence of an operation, step by step.

    Attributes:
        bounds: where the rows of each step start, and where the last end.
        elements: likewise the elements.
        offsets: the number, in the upload, of where the elements of each row start, and where the last end;
            counted from 0 in each step, one step after another.
        ids: likewise, of each element's row, counted from 0 in each step.
        longest: the most elements of a row.
        gapless: whether no row is without.
    """

    bounds: list[int]
    elements: list[int]
    offsets: int
    ids: int
    longest: int
    gapless: bool

    @property
    def most(self) -> int:
        """The most elements of a step."""
        return max((stop - start for start, stop in pairwise(self.elements)), default=0)

    def bind(self, uploaded: Uploaded) -> list[SegmentBounds]:
        """The bounds at each step."""
        offsets, ids = uploaded.get(self.offsets), uploaded.get(self.ids)
        bound = []
        for step, (first, last) in enumerate(pairwise(self.bounds)):
            start, stop = self.elements[step], self.elements[step + 1]
            segments = Segments(
                offsets=offsets[first + step : last + step + 1],
                ids=ids[start:stop],
                count=last - first,
                total=stop - start,
                longest=self.longest,
                gapless=self.gapless,
            )
            bound.append((start, stop, segments))
        return bound


def plan_segments(offsets: HostArray, bounds: HostArray, upload: Upload) -> PlannedSegments:
    """Plans the bounds of a sequence.

    Args:
        offsets: where the elements of each row start, and where the last end.
        bounds: where the rows of each step start, and where the last end.
        upload: takes the index arrays.
    """
    lengths = lengths_of(offsets)
    rows = len(lengths)
    if len(bounds) == 2:
        in_steps, ids = offsets, np.repeat(np.arange(rows), lengths)
    else:
        rows_of_steps = lengths_of(bounds)
        # One entry more than rows for each step.
        places = np.arange(rows + len(rows_of_steps)) - np.repeat(
            np.arange(len(rows_of_steps)), rows_of_steps + 1
        )
        in_steps = offsets[places] - np.repeat(offsets[bounds[:-1]], rows_of_steps + 1)
        ids = np.repeat(np.arange(rows) - np.repeat(bounds[:-1], rows_of_steps), lengths)
    return PlannedSegments(
        bounds=bounds.tolist(),
        elements=offsets[bounds].tolist(),
        offsets=upload.add(in_steps),
        ids=upload.add(ids),
        longest=int(lengths.max(initial=0)),
        gapless=bool(rows == 0 or lengths.min() > 0),
    )
