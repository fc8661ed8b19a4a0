"""The index arrays of a batch: which rows the steps of an operation read, and who takes their gradients.

An operation keeps the gradients of its operands, those of one slab in one array, until the rows that were
read take them: the transpose of a gather.  Rows that the operation's own component made *pull* theirs:
before a step runs backwards, all readers of its rows have run, and the rows take their gradients in one
gather, without a search for repeats.  All other rows (words, leaves, rows of earlier components) get theirs
in one sum over all steps of the component, when it is done.

All is planned on the host; `bind` takes the arrays when the upload has been sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrows.engine.cuda import segment_sum_kernel
from arrows.engine.device import Arena, Buffer, BufferRows, Device, Launch, Sent, Upload
from arrows.engine.planning import CarriedOperation, Plan, StreamOperation
from arrows.engine.program import Program
from arrows.engine.program.emitters.arrays import DistinctIndices, RowIndex, SegmentBounds
from arrows.engine.program.program import Place
from arrows.engine.reading import lengths_of, range_of, ranges_of, stable_order, starts_of_runs, with_stop
from arrows.engine.scheduling import Merged
from arrows.ops import Segments
from arrows.ops.arrays import Array, HostArray


def plan_index(
    program: Program,
    number: int,
    slab: Buffer,
    port_rows: HostArray,
    bounds: HostArray,
    upload: Upload,
    *,
    memory: int,
    indices: DistinctIndices | None,
) -> tuple[RowIndex, Buffer | BufferRows | None]:
    """Plans what a gather reads.

    Args:
        program: its program.
        number: that of the gather in the program.
        slab: where the rows lie.
        port_rows: those that are read.
        bounds: where the rows of each step (of each component) start, and where the last end.
        upload: takes the index array.
        memory: the number of the memory for what the operation keeps.
        indices: see `RowIndex`.

    Returns:
        Which rows are read.  And the range of the slab that they are, or what they are copied to: all of
        them, if later regions read them, else those of the longest step; None where nothing is copied, as
        kernels load what they read.
    """
    _, gather = program.gathers[number]
    width, type, count = len(gather.operands), gather.result.type, int(bounds[-1])
    whole = range_of(port_rows)
    if whole >= 0:
        shape = None if width == 1 else (count, *type.shape)
        rows_of_slab = BufferRows(slab, whole, whole + count * width, shape)
        return RowIndex(None, None, indices), rows_of_slab
    if program.kernels or len(bounds) == 2:
        # A kernel reads by index, whatever the rows of a step are.
        first, longest = [-1] * (len(bounds) - 1), count
    else:
        cuts = bounds * width
        first = ranges_of(port_rows, cuts[:-1], cuts[1:]).tolist()
        longest = int(lengths_of(bounds).max())
    index = upload.add(port_rows) if -1 in first else None
    rows = None
    if program.memory.get(gather.result) == Place("gathered", number):
        rows = Buffer(("operand", memory, number), (count, *type.shape), type.dtype)
    elif index is not None and not program.kernels:
        # Nobody reads the rows after the step, so operations share these.
        rows = Buffer(("gather", number), (longest, *type.shape), type.dtype)
    return RowIndex(first, index, indices), rows


@dataclass(frozen=True, eq=False, slots=True)
class BatchLayout:
    """A batch that is being planned, and where its rows lie.

    Attributes:
        plan: the model's plan.
        merged: the batch; of operands whose repeated rows are computed once, with the distinct rows alone.
        slabs: the memory of each slab.
        gradients: of each slab that gradients come into.
        upload: takes index arrays.
    """

    plan: Plan
    merged: Merged
    slabs: Sequence[Buffer]
    gradients: Mapping[int, Buffer]
    upload: Upload


def sort_indices(batch: BatchLayout, slab: int, rows: HostArray) -> DistinctIndices | None:
    """Sorts indices that examples hold, so that the device need not; None if it computes some of them.

    Args:
        batch: the batch.
        slab: where the indices lie.
        rows: those that are gathered.
    """
    plan, merged, upload = batch.plan, batch.merged, batch.upload
    values = np.zeros(merged.slab_rows[slab], plan.slabs[slab].type.dtype)
    for row, number in enumerate(plan.slabs[slab].constants):
        values[row] = plan.lowered.constants[number]
    for o, output in plan.slabs[slab].outputs:
        operation, own = plan.operations[o], merged.operations[o]
        if not own.count:
            continue
        if not isinstance(operation, StreamOperation) or isinstance(operation, CarriedOperation):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSegments:
    """The bounds of one sequence of an operation, step by step.

    Attributes:
        bounds: where the rows of each step start, and where the last end.
        elements: likewise the elements.
        offsets: where the elements of each row start, and where the last end; counted from 0 in each step,
            one step after another.
        ids: each element's row, counted from 0 in each step.
        longest: the most elements of a row.
        gapless: whether no row is without.
    """

    bounds: list[int]
    elements: list[int]
    offsets: Sent
    ids: Sent
    longest: int
    gapless: bool

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


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class RowSums:
    """Sums of gradients that are added to rows, in parts that are added one after another.

    Attributes:
        order: places in the array of gradients, part by part, sorted by the row they go to.
        rows: the distinct rows, ascending in each part.
        starts: for each of ``rows``, where its places start in ``order``; and where the last end.
        bounds: where the rows of each part start in ``rows``, and where the last end.
        places: likewise its places in ``order``.
        longest: the most places of a row.
        ranges: if no row has more than one place, for each part its first row and its first place, each where
            they are a range in this order, else -1; otherwise empty.
    """

    order: Sent
    rows: Sent
    starts: Sent
    bounds: list[int]
    places: list[int]
    longest: int
    ranges: list[tuple[int, int]]

    @property
    def most(self) -> int:
        """For how many rows memory is needed: those of the longest part that are taken by index."""
        ranges = zip(pairwise(self.places), self.ranges, strict=False)
        return max((stop - first for (first, stop), (_, place) in ranges if place < 0), default=0)

    def bind(self, device: Device, arena: Arena, target: Array, values: Array) -> Callable[[int], None]:
        """A function that adds the sums of one part to rows.

        Args:
            device: where the arrays are.
            arena: gives memory.
            target: the rows.
            values: what is summed, by place.
        """
        if device.has_kernels:
            return self._launch(device, target, values)
        order, all_rows, all_starts = self.order.array, self.rows.array, self.starts.array
        scratch = _pulled(arena, self.most, values)

        def add(part: int) -> None:
            first_row, stop_row = self.bounds[part], self.bounds[part + 1]
            if first_row == stop_row:
                return
            first, stop = self.places[part], self.places[part + 1]
            if self.longest > 1:
                rows, starts = all_rows[first_row:stop_row], all_starts[first_row:stop_row] - first
                device.scatter_add(target, rows, values, order[first:stop], starts, self.longest)
                return
            row, place = self.ranges[part]
            if place >= 0:
                addends = values[place : place + stop - first]
            else:
                addends = device.take(values, order[first:stop], scratch[: stop - first])
            if row >= 0:
                target_rows = target[row : row + stop_row - first_row]
                target_rows += addends
            else:
                device.scatter_add_unique(target, all_rows[first_row:stop_row], addends)

        return add

    def _launch(self, device: Device, target: Array, values: Array) -> Launch:
        """The same as one launch for each part."""
        width = target.size // max(len(target), 1)
        kernel = segment_sum_kernel(width, str(target.dtype))
        bounds = np.asarray(self.bounds, np.int64)
        words = np.empty((len(bounds) - 1, 8), np.int64)
        words[:, 0] = lengths_of(bounds)
        words[:, 1] = device.address(target)
        words[:, 2] = self.rows.address + 4 * bounds[:-1]
        words[:, 3] = device.address(values)
        words[:, 4] = width
        words[:, 5] = self.order.address
        words[:, 6] = self.starts.address + 4 * bounds[:-1]
        words[:, 7] = len(target)
        return device.compile([kernel])[kernel.name].bind(words)


def plan_sums(
    order: HostArray, rows: HostArray, part: HostArray, parts: int, upload: Upload
) -> RowSums | None:
    """Plans sums of gradients by row.

    Args:
        order: places of gradients.
        rows: for each, the row it goes to.
        part: for each, its part; not looked at where there is one part.
        parts: how many there are.
        upload: takes the index arrays.

    Returns:
        None where there is nothing to add.
    """
    if len(order) == 0:
        return None
    span = int(rows.max()) + 1
    key = rows if parts == 1 else part * np.int64(span) + rows
    least = int(lengths_of(key).min(initial=1))
    if least < 0:
        by_key = stable_order(key, parts * span)
        order, key = order[by_key], key[by_key]
    starts = np.arange(len(key)) if least > 0 else starts_of_runs(key)
    ends = with_stop(starts, len(key))
    longest = int(lengths_of(ends).max()) if len(starts) < len(key) else 1
    key = key[starts]
    if parts == 1:
        bounds, places = [0, len(starts)], [0, len(order)]
    else:
        part_of_row, key = np.divmod(key, span)
        cuts = np.searchsorted(part_of_row, np.arange(parts + 1))
        bounds, places = cuts.tolist(), ends[cuts].tolist()
    ranges = []
    if longest == 1:
        ranges = [
            (range_of(key[first_row:stop_row]), range_of(order[first_row:stop_row]))
            for first_row, stop_row in pairwise(bounds)
        ]
    return RowSums(
        order=upload.add(order),
        rows=upload.add(key),
        starts=upload.add(ends),
        bounds=bounds,
        places=places,
        longest=longest,
        ranges=ranges,
    )


@dataclass(frozen=True, eq=False, slots=True)
class RowPulls:
    """What the rows of one output take from one array of gradients, step by step.

    Attributes:
        index: for each row, the place of its gradient; rows without have that of a row of zeros.
        spans: for each step, the first of its rows that has one and the end of the last, and the place of the
            first where the places are a range, else -1.
        again: for rows that are read again, the sums of the other places, with a part for each step.
    """

    index: Sent
    spans: list[tuple[int, int, int]]
    again: RowSums | None

    @property
    def most(self) -> int:
        """For how many rows memory is needed: see `RowSums.most`."""
        again = 0 if self.again is None else self.again.most
        return max([again, *(stop - start for start, stop, place in self.spans if place < 0)])

    def bind(self, device: Device, arena: Arena, target: Array, values: Array) -> Callable[[int], None]:
        """A function that adds to the rows of one step what they take; arguments as for `RowSums.bind`."""
        index, spans, scratch = self.index.array, self.spans, _pulled(arena, self.most, values)
        again = None if self.again is None else self.again.bind(device, arena, target, values)

        def pull(step: int) -> None:
            start, stop, place = spans[step]
            if stop > start:
                rows = target[start:stop]
                if place >= 0:
                    rows += values[place : place + stop - start]
                else:
                    rows += device.take(values, index[start:stop], scratch[: stop - start])
            if again is not None:
                again(step)

        return pull


def plan_pulls(
    inverse: HostArray,
    zero: int,
    bounds: HostArray,
    again: tuple[HostArray, HostArray] | None,
    upload: Upload,
) -> RowPulls | None:
    """Plans what the rows of one output take.

    Args:
        inverse: for each row, the place of its gradient, or ``zero``.
        zero: the place of a row of zeros.
        bounds: where each step's rows start, and where the last end.
        again: places and rows of the gradients that rows get besides, if any.
        upload: takes the index arrays.

    Returns:
        None where no row has any.
    """
    (with_gradient,) = (inverse != zero).nonzero()
    if len(with_gradient) == 0:
        return None
    count = np.searchsorted(with_gradient, bounds)
    has_any = count[1:] > count[:-1]
    first = np.where(has_any, with_gradient[np.minimum(count[:-1], len(with_gradient) - 1)], 0)
    stop = np.where(has_any, with_gradient[np.maximum(count[1:] - 1, 0)] + 1, 0)
    # In a range nothing is missing: places go on by one, and zeros have the same place.
    places = ranges_of(inverse, first, stop)
    spans = list(zip(first.tolist(), stop.tolist(), places.tolist(), strict=True))
    more = None
    if again is not None:
        again_places, rows = again
        step = np.searchsorted(bounds, rows, side="right") - 1
        more = plan_sums(again_places, rows, step, len(bounds) - 1, upload)
    return RowPulls(upload.add(inverse), spans, more)


def _pulled(arena: Arena, most: int, values: Array) -> Array:
    """Memory for rows on their way to others: nobody reads it after the step."""
    array: Array = arena.array("pull", (most, *values.shape[1:]), str(values.dtype))
    return array
