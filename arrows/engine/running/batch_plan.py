"""Plans a batch before it runs: index arrays, the memory that it takes, and the calls that run it.

An `Index` says which rows the steps of an operation read, and the bounds of its sequences. Repeated rows of
an operand are computed once (see `arrows.engine.program.passes.hoist`).

All is planned on the host; `bind` takes the arrays when the upload has been sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Arena, Buffer, BufferRows, Device, Sent, Upload
from arrows.engine.program import DistinctIndices, OperationCode, Place, Program, RowIndex, SegmentBounds
from arrows.engine.reading import (
    joined_ranges,
    lengths_of,
    range_of,
    ranges_of,
    stable_order,
    starts_of_runs,
    with_stop,
)
from arrows.engine.running.gradient_flow import FlowPlanner, OperationFlow, RowSums
from arrows.engine.scheduling import Merged, OperationRows
from arrows.ops import ROW, Segments

if TYPE_CHECKING:
    from arrows.engine.running.executor import Executor

# What products save grows with the width of the rows and with the share of them that need not be computed;
# what copying and summing cost does not. Measured: docs/results.md.
_WORTH = 32


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class DistinctRows:
    """The distinct rows of an operand in one batch.

    Attributes:
        rows: the operation's part of the batch, of whose operand the distinct rows alone are left.
        count: how many these are.
        row_of: for each place, which of them it reads.
        sums: how the places of each are summed.
    """

    rows: OperationRows
    count: int
    row_of: Sent
    sums: RowSums

    def spread(self, device: Device, pairs: Sequence[tuple[Array, Array]]) -> Callable[[int], None]:
        """A function that copies values of distinct rows to all places, in the one component.

        Args:
            device: where the arrays are.
            pairs: from where to where.
        """
        row_of = self.row_of.array

        def spread(_part: int) -> None:
            for source, target in pairs:
                device.take(source, row_of, target)

        return spread

    def add_up(
        self, device: Device, arena: Arena, pairs: Sequence[tuple[Array, Array]]
    ) -> Callable[[int], None]:
        """A function that sums the values of all places by distinct row; ``pairs``: where to, and of what."""
        adds = [(total, self.sums.bind(device, arena, total, values)) for total, values in pairs]

        def add_up(part: int) -> None:
            for total, add in adds:
                total[...] = 0
                add(part)

        return add_up


def find_distinct(program: Program, rows: OperationRows, upload: Upload) -> DistinctRows | None:
    """The distinct rows of a batch; None where it is as well to compute all.

    Args:
        program: the operation's.
        rows: the operation's part of the batch.
        upload: takes the index arrays.
    """
    if program.distinct is None:
        return None
    operand = program.distinct.operand
    read, width = rows.ports[operand], program.operands[operand].type.size
    if len(rows.components) != 1 or width < _WORTH or len(read) < 2:
        return None
    order = stable_order(read, int(read.max()) + 1)
    starts = starts_of_runs(read[order])
    count = len(starts)
    if width * (len(read) - count) < _WORTH * len(read):
        return None
    row_of = np.empty(len(read), np.intp)
    row_of[order] = np.repeat(np.arange(count), lengths_of(with_stop(starts, len(read))))
    sums = RowSums(np.arange(len(read)), row_of, np.zeros(0, np.intp), 1, upload)
    ports = list(rows.ports)
    ports[operand] = read[order[starts]]
    return DistinctRows(
        rows=replace(rows, ports=tuple(ports)), count=count, row_of=upload.add(row_of), sums=sums
    )


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
    whole, held = range_of(read), gather.result in program.memory
    if whole >= 0 and (held or program.kernels):
        wide = None if width == 1 else (count, *type.shape)
        memory["gathered", number] = BufferRows(slab, whole, whole + count * width, wide)
    if whole >= 0 and held:
        return RowIndex(None, None, indices)
    cuts = bounds * width
    if whole >= 0:
        first = (cuts[:-1] + whole).tolist()
    elif program.kernels or len(bounds) == 2:  # a kernel reads by index, whatever the rows of a step are
        first = [-1] * (len(bounds) - 1)
    else:
        first = ranges_of(read, cuts[:-1], cuts[1:]).tolist()
    index = batch.upload.add(read) if -1 in first else None
    if program.memory.get(gather.result) == Place("gathered", number):
        name = "operand", code.operation.index, number
        memory["gathered", number] = Buffer(name, (count, *type.shape), type.dtype)
    elif index is not None and not program.kernels:
        # Nobody reads the rows after the step, so operations share these.
        shape = width * int(lengths_of(bounds).max()), *slab.shape[1:]
        memory["gathered", number] = Buffer(("gather", number), shape, type.dtype)
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
        places = joined_ranges(bounds[:-1], rows_of_steps + 1)
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


class StepRange(NamedTuple):
    """Consecutive steps of one operation within one component: one call of its function.

    Attributes:
        operation: the operation.
        first, stop: the numbers of the first step, and of the step after the last.
        part: if the operation's steps in a component begin here, the component's number among those of the
            operation.
    """

    operation: int
    first: int
    stop: int
    part: int | None


class PlannedOperation:
    """One operation of a batch.

    Args:
        batch: the batch.
        code, distinct, flow, keys: see below.

    Attributes:
        code: what it runs.
        rows: its part of the batch; of an operand whose repeated rows are computed once, the distinct rows.
        bounds: by region, where the rows of each step start, and where the last end: of each component in
            ``early`` and ``late``, of all rows in ``deferred``.
        gathers: by their number in the program.
        segments: for each sequence, its bounds at each step.
        whole_segments: its bounds for all rows, if ``deferred`` runs.
        distinct: how repeated rows are computed once, if they are.
        flow: how its gradients flow.
        keys: the dropout keys of all rows, if the program reads them.
        memory: its arrays, by kind and number, as in `Frame`.
    """

    def __init__(
        self,
        batch: PlannedBatch,
        code: OperationCode,
        distinct: DistinctRows | None,
        flow: OperationFlow,
        keys: Sent | None,
    ) -> None:
        o, program = code.operation.index, code.program
        plan, merged, upload = batch.plan, batch.read, batch.upload
        rows = merged.operations[o]
        parts = rows.bounds[rows.parts] if distinct is None else np.array([0, distinct.count])
        domains = code.operation.domains
        steps = {domain: PlannedSegments(rows.offsets[domain], rows.bounds, upload) for domain in domains}
        whole = steps
        if program.region("deferred") and len(rows.bounds) > 2:
            all_rows = np.array([0, rows.count])
            whole = {domain: PlannedSegments(rows.offsets[domain], all_rows, upload) for domain in domains}
        in_steps, in_parts = rows.bounds.tolist(), parts.tolist()
        memory = _own_memory(code, rows, in_parts, steps, distinct)
        for number, (owner, output) in enumerate(plan.result_places[o]):
            first, slab = merged.operations[owner].first_rows[output], plan.operations[owner].slabs[output]
            stop = first + merged.operations[owner].count
            memory["result", number] = BufferRows(batch.slabs[slab], first, stop)
            if slab in batch.gradients:
                memory["gradient", number] = BufferRows(batch.gradients[slab], first, stop)
        for group, waiting in zip(code.scatter_groups, flow.waiting, strict=False):
            start = waiting.first
            for number, operands in zip(group.scatters, group.operands, strict=True):
                (_, scatter), width = program.scatters[number], len(operands)
                count = len(rows.ports[operands[0]])
                shape = None if width == 1 else (count, *scatter.operand.type.shape)
                memory["scatter", number] = BufferRows(waiting.buffer, start, start + count * width, shape)
                start += count * width
        numbers = range(len(program.gathers))
        self.gathers = [plan_gather(batch, code, number, parts, memory) for number in numbers]
        self.code, self.rows, self.distinct, self.flow, self.keys = code, rows, distinct, flow, keys
        self.segments, self.whole_segments, self.memory = steps, whole, memory
        self.bounds = {"step": in_steps, "step_back": in_steps, "early": in_parts, "late": in_parts}
        self.bounds["deferred"] = [0, rows.count]

    def buffers(self) -> Iterator[Buffer]:
        """All that it takes of an arena."""
        for rows in self.memory.values():
            yield rows.buffer if isinstance(rows, BufferRows) else rows
        yield from self.flow.buffers()


LossSeeds: TypeAlias = Sequence[tuple[int | None, float]]
"""Where gradients come in: the number of a metric stream, None: the result; and how much each of its values
weighs in the loss."""


class PlannedBatch:
    """A merged batch, planned for a device: nothing is computed or sent yet.

    Args:
        executor: what will run it.
        merged: the batch.
        keys: dropout keys, by operation.
        seeds: where gradients come in, if they come from a loss.

    Attributes:
        plan: the model's.
        merged: the batch.
        read: the same; of operands whose repeated rows are computed once, with the distinct rows alone.
        operations: those that have nodes in it.
        ranges: what runs, in the order of execution.
        slabs: the memory of each slab.
        gradients: of each slab that gradients come into.
        seeds: the slabs that they come into from outside.
        waiting: of each slab whose rows pull gradients, where these wait.
        streams: by operation, the values that are read from examples.
        results, metrics: for each leaf of the result, for each metric stream, the rows of its slab.
        weights: by slab, how much each of its rows weighs in the loss.
        terms: for each term of the loss the number of its metric, None: the result; and how much each of its
            values weighs.
        upload: all that is sent.
    """

    def __init__(
        self,
        executor: Executor,
        merged: Merged,
        keys: Mapping[int, HostArray] = MappingProxyType({}),
        seeds: LossSeeds = (),
    ) -> None:
        self.plan, self.merged, self.read = executor.plan, merged, merged
        self.upload = upload = Upload(executor.device)
        plan = executor.plan
        present = {o: code for o, code in executor.codes.items() if merged.operations[o].count}
        distinct = {
            o: find_distinct(code.program, merged.operations[o], upload) for o, code in present.items()
        }
        if any(distinct.values()):
            rows_of = list(merged.operations)
            for o, repeated in distinct.items():
                rows_of[o] = rows_of[o] if repeated is None else repeated.rows
            self.read = replace(merged, operations=tuple(rows_of))
        self.slabs = [
            Buffer(("slab", number), (rows, *slab.type.shape), slab.type.dtype)
            for number, (slab, rows) in enumerate(zip(plan.slabs, merged.slab_rows, strict=True))
        ]
        receiving, self.seeds = sorted(executor.receiving), executor.seeds
        self.gradients = {slab: self.slabs[slab]._replace(name=("gradients", slab)) for slab in receiving}
        planner = FlowPlanner(self, present)
        self.waiting = planner.waiting
        self.operations: dict[int, PlannedOperation] = {}
        for o, code in present.items():
            sent = None if o not in keys else upload.add_values(keys[o])
            self.operations[o] = PlannedOperation(self, code, distinct[o], planner.flows[o], sent)
        self.ranges = _step_ranges(merged)
        self.streams = {
            operation.index: upload.add_values(np.ascontiguousarray(merged.raw[operation.stream]))
            for operation in plan.operations
            if operation.kind == "read" and merged.operations[operation.index].count
        }
        self.results = [upload.add(column.values) for column in merged.outputs.results]
        self.metrics = [upload.add(column.values) for column in merged.outputs.metrics]
        self.terms: list[tuple[int | None, Sent]] = []
        weights: dict[int, HostArray] = {}
        for metric, weight in seeds:
            slab = plan.results[0] if metric is None else plan.metrics[metric]
            column = merged.outputs.results[0] if metric is None else merged.outputs.metrics[metric]
            type, wide = plan.slabs[slab].type, (-1, *(1 for _ in plan.slabs[slab].type.shape))
            each = np.full(len(column.values), weight, type.dtype).reshape(wide)
            self.terms.append((metric, upload.add_values(each)))
            # A value may count more than once: under two names, or returned by two branches.
            counted = np.bincount(column.values, minlength=merged.slab_rows[slab]).reshape(wide)
            weights[slab] = weights.get(slab, 0) + counted * weight
        self.weights = {
            slab: upload.add_values(total.astype(plan.slabs[slab].type.dtype))
            for slab, total in weights.items()
        }

    def buffers(self) -> Iterator[Buffer]:
        """All that it takes of an arena."""
        yield from self.slabs
        yield from self.gradients.values()
        yield from self.waiting.values()
        for operation in self.operations.values():
            yield from operation.buffers()


def _own_memory(
    code: OperationCode,
    rows: OperationRows,
    parts: Sequence[int],
    segments: Mapping[int, PlannedSegments],
    distinct: DistinctRows | None,
) -> dict[tuple[str, int], Buffer | BufferRows]:
    """The arrays of an operation alone; operations share what does not outlive a step or a component."""
    o = code.operation.index
    memory: dict[tuple[str, int], Buffer | BufferRows] = {}
    for (kind, number), slot in code.slots.items():
        if kind in ("step", "step_back"):
            name: tuple[object, ...] = "step", number
            count = rows.longest if slot.level == ROW else segments[slot.level].most
        elif kind in ("early", "late"):
            name = "component", number
            count = max(stop - start for start, stop in pairwise(parts))
        else:
            name = kind, o, number
            count = rows.count if slot.level == ROW else int(rows.offsets[slot.level][-1])
        memory[kind, number] = Buffer(name, (count, *slot.shape), slot.dtype)
    for (kind, number), place in code.program.distinct_places.items():
        held = memory[place.kind, place.number]
        assert isinstance(held, Buffer)
        if distinct is not None:
            name = (kind, number) if kind == "spread" else (kind, o, number)
            held = Buffer(name, (distinct.count, *held.shape[1:]), held.dtype)
        memory[kind, number] = held
    return memory


def _step_ranges(merged: Merged) -> list[StepRange]:
    """The steps of a batch, consecutive steps of one operation in one component as one range."""
    starts = [rows.parts[:-1].tolist() for rows in merged.operations]
    parts = [{step: part for part, step in enumerate(steps)} for steps in starts]
    ranges = []
    for _, position, end in merged.spans:
        while position < end:
            operation, first = merged.steps[position]
            position += 1
            stop = first + 1
            while position < end and merged.steps[position] == (operation, stop):
                position += 1
                stop += 1
            ranges.append(StepRange(operation, first, stop, parts[operation].get(first)))
    return ranges
