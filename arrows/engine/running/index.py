"""The index arrays of a batch: which rows the steps of an operation read, and the bounds of its sequences.

All is planned on the host; `bind` takes the arrays when the upload has been sent.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.device import Buffer, BufferRows, Upload
from arrows.engine.program import DistinctIndices, Place, RowIndex, SegmentBounds
from arrows.engine.reading import lengths_of, range_of, ranges_of, starts_of_runs, with_stop
from arrows.engine.running.operation_code import OperationCode
from arrows.ops import ROW, Segments

if TYPE_CHECKING:
    from arrows.engine.running.batch_plan import PlannedBatch


def plan_gather(
    batch: PlannedBatch,
    code: OperationCode,
    number: int,
    parts: HostArray,
    memory: dict[tuple[str, int], Buffer | BufferRows],
) -> RowIndex:
    """Plans what a gather reads, and adds its memory.

    This is the range of the slab that it reads; or memory for what is copied: for all rows, if later regions
    read them, else for those of the longest step; none where nothing is copied, as kernels load what they
    read.

    Args:
        batch: the batch.
        code: the operation's.
        number: that of the gather in the program.
        parts: where the rows of each component start, and where the last end.
        memory: that of the operation.
    """
    program, rows = code.program, batch.read.operations[code.operation.index]
    region, gather = program.gathers[number]
    bounds = parts if region in ("early", "late") else rows.bounds
    if gather.result.rows != ROW:
        bounds = rows.offsets[gather.result.rows][bounds]
    read, slab_number = rows.side_by_side(gather.operands), program.operands[gather.operands[0]].slab
    indices = sort_indices(batch, slab_number, read) if number in code.indexed else None
    memory["slab", number] = slab = batch.slabs[slab_number]
    width, type, count = len(gather.operands), gather.result.type, int(bounds[-1])
    whole = range_of(read)
    if whole >= 0:
        shape = None if width == 1 else (count, *type.shape)
        memory["gathered", number] = BufferRows(slab, whole, whole + count * width, shape)
        return RowIndex(None, None, indices)
    if program.kernels or len(bounds) == 2:
        # A kernel reads by index, whatever the rows of a step are.
        first, longest = [-1] * (len(bounds) - 1), count
    else:
        cuts = bounds * width
        first = ranges_of(read, cuts[:-1], cuts[1:]).tolist()
        longest = int(lengths_of(bounds).max())
    index = batch.upload.add(read) if -1 in first else None
    if program.memory.get(gather.result) == Place("gathered", number):
        memory["gathered", number] = Buffer(
            ("operand", code.operation.index, number), (count, *type.shape), type.dtype
        )
    elif index is not None and not program.kernels:
        # Nobody reads the rows after the step, so operations share these.
        memory["gathered", number] = Buffer(("gather", number), (longest, *type.shape), type.dtype)
    return RowIndex(first, index, indices)


def sort_indices(batch: PlannedBatch, slab: int, rows: HostArray) -> DistinctIndices | None:
    """Sorts indices that examples hold, so that the device need not; None if it computes some of them.

    Args:
        batch: the batch.
        slab: where the indices lie.
        rows: those that are gathered.
    """
    plan, merged, upload = batch.plan, batch.read, batch.upload
    values = np.zeros(merged.slab_rows[slab], plan.slabs[slab].type.dtype)
    for row, number in enumerate(plan.slabs[slab].constants):
        values[row] = plan.lowered.constants[number]
    for o, output in plan.slabs[slab].outputs:
        operation, own = plan.operations[o], merged.operations[o]
        if not own.count:
            continue
        if operation.kind != "read":
            return None
        first = own.first_rows[output]
        values[first : first + own.count] = merged.raw[operation.stream]
    indices = values[rows]
    order = np.argsort(indices, kind="stable")
    indices = indices[order]
    starts = starts_of_runs(indices)
    return DistinctIndices(
        upload.add(indices[starts]), upload.add(order), upload.add(with_stop(starts, len(order)))
    )


class PlannedSegments:
    """The bounds of one sequence of an operation, step by step.

    Args:
        offsets: where the elements of each row start, and where the last end.
        bounds: where the rows of each step start, and where the last end.
        upload: takes the index arrays.

    Attributes:
        bounds: the same.
        elements: likewise the elements of each step.
        offsets: as above, but counted from 0 in each step, one step after another.
        ids: each element's row, counted from 0 in each step.
        longest: the most elements of a row.
    """

    def __init__(self, offsets: HostArray, bounds: HostArray, upload: Upload) -> None:
        lengths = lengths_of(offsets)
        rows = len(lengths)
        rows_of_steps = lengths_of(bounds)
        # One entry more than rows for each step.
        places = np.arange(rows + len(rows_of_steps)) - np.repeat(
            np.arange(len(rows_of_steps)), rows_of_steps + 1
        )
        in_steps = offsets[places] - np.repeat(offsets[bounds[:-1]], rows_of_steps + 1)
        ids = np.repeat(np.arange(rows) - np.repeat(bounds[:-1], rows_of_steps), lengths)
        self.bounds, self.elements = bounds.tolist(), offsets[bounds].tolist()
        self.offsets, self.ids = upload.add(in_steps), upload.add(ids)
        self.longest = int(lengths.max(initial=0))

    @property
    def most(self) -> int:
        """The most elements of a step."""
        return max((stop - start for start, stop in pairwise(self.elements)), default=0)

    def bind(self) -> list[SegmentBounds]:
        """The bounds at each step."""
        offsets, ids = self.offsets.array, self.ids.array
        bound = []
        for step, (first, last) in enumerate(pairwise(self.bounds)):
            start, stop = self.elements[step], self.elements[step + 1]
            segments = Segments(
                offsets=offsets[first + step : last + step + 1],
                ids=ids[start:stop],
                count=last - first,
                total=stop - start,
                longest=self.longest,
            )
            bound.append((start, stop, segments))
        return bound
