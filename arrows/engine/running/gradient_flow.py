"""How gradients flow back through one batch: what the rows of an operation pull, and what it adds to others.

An operation keeps the gradients of its operands, those of one slab in one array, until the rows that were
read take them: the transpose of a gather.  Rows that the operation's own component made *pull* theirs:
before a step runs backwards, all readers of its rows have run, and the rows take their gradients in one
gather, without a search for repeats.  All other rows (words, leaves, rows of earlier components) get theirs
in one sum over all steps of the component, when it is done.

The gradients that rows of a slab pull wait in one array, whoever has read them.  On a device with kernels one
list of places says for each row what it takes: the kernel that reads the row's gradient adds them up, in
their order.

All is planned on the host, over the index arrays of the forward gathers; `bind` takes the arrays when the
upload has been sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Arena, Buffer, BufferRows, Device, Sent, Upload
from arrows.engine.reading import lengths_of, ranges_of, stable_order, starts_of_runs, with_stop
from arrows.engine.running.operation_code import OperationCode, ScatterGroup
from arrows.engine.scheduling import OperationRows
from arrows.ops.segments import Segments, reduce_segments

if TYPE_CHECKING:
    from arrows.engine.running.batch_plan import PlannedBatch

_NOT_COMPUTED = -1


class RowSums:
    """Sums of gradients that are added to rows, in parts that are added one after another.

    Args:
        order: places of gradients, one at least.
        rows: for each, the row it goes to.
        part: for each, its part; not looked at where there is one part.
        parts: how many there are.
        upload: takes the index arrays.

    Attributes:
        order: places in the array of gradients, part by part, sorted by the row they go to.
        rows: the distinct rows, ascending in each part.
        starts: for each of ``rows``, where its places start in ``order``; and where the last end.
        bounds: where the rows of each part start in ``rows``, and where the last end.
        places: likewise its places in ``order``.
        first_rows, first_places: for each part its first row and its first place, each where they are a range
            in this order, else -1.
    """

    def __init__(
        self, order: HostArray, rows: HostArray, part: HostArray, parts: int, upload: Upload
    ) -> None:
        span = int(rows.max()) + 1
        key = rows if parts == 1 else part * np.int64(span) + rows
        if lengths_of(key).min(initial=1) < 0:
            by_key = stable_order(key, parts * span)
            order, key = order[by_key], key[by_key]
        starts = starts_of_runs(key)
        ends, key = with_stop(starts, len(key)), key[starts]
        cuts = np.array([0, len(key)])
        if parts > 1:
            part_of_row, key = np.divmod(key, span)
            cuts = np.searchsorted(part_of_row, np.arange(parts + 1))
        places = ends[cuts]
        self.bounds, self.places = cuts.tolist(), places.tolist()
        self.first_rows: list[int] = ranges_of(key, cuts[:-1], cuts[1:]).tolist()
        self.first_places: list[int] = ranges_of(order, places[:-1], places[1:]).tolist()
        self.order, self.rows, self.starts = upload.add(order), upload.add(key), upload.add(ends)

    @property
    def most(self) -> int:
        """For how many rows memory is needed: those of the longest part that are taken by index, one each."""
        spans = zip(pairwise(self.bounds), pairwise(self.places), self.first_places, strict=True)
        single = (z - a for (a, z), (first, stop), place in spans if place < 0 and z - a == stop - first)
        return max(single, default=0)

    def bind(self, device: Device, arena: Arena, target: Array, values: Array) -> Callable[[int], None]:
        """A function that adds the sums of one part to rows.

        Args:
            device: where the arrays are.
            arena: gives memory.
            target: the rows.
            values: what is summed, by place.
        """
        launch = device.sums_by_row(target, values, self.rows, self.order, self.starts, self.bounds)
        if launch is not None:
            return launch
        xp, order, all_rows, all_starts = device.xp, self.order.array, self.rows.array, self.starts.array
        # Nobody reads these rows, which are on their way to others, after the step.
        scratch: Array = arena.array("pull", (self.most, *values.shape[1:]), str(values.dtype))

        def add(part: int) -> None:
            first_row, stop_row = self.bounds[part], self.bounds[part + 1]
            if first_row == stop_row:
                return
            first, stop = self.places[part], self.places[part + 1]
            row, place = self.first_rows[part], self.first_places[part]
            if stop - first > stop_row - first_row:
                segments = Segments.of(xp, all_starts[first_row : stop_row + 1] - first, stop - first)
                addends = reduce_segments(xp, "add", values, segments, 0, order=order[first:stop])
            elif place >= 0:
                addends = values[place : place + stop - first]
            else:
                addends = device.take(values, order[first:stop], scratch[: stop - first])
            if row >= 0:
                target_rows = target[row : row + stop_row - first_row]
                target_rows += addends
            else:
                device.scatter_add_unique(target, all_rows[first_row:stop_row], addends)

        return add


def _filled(
    places: HostArray, rows: HostArray, bounds: HostArray, zero: int
) -> tuple[HostArray, HostArray, HostArray]:
    """Places, the rows that take them, and of each the step; rows between that have none take zeros.

    So the rows of a step are a range, to which their gradients are added without a search.

    Args:
        places: of gradients, one at least.
        rows: for each, the row that takes it.
        bounds: where each step's rows start, and where the last end.
        zero: the place of a row of zeros.
    """
    taking = np.zeros(bounds[-1], bool)
    taking[rows] = True
    (some,) = taking.nonzero()
    count = np.searchsorted(some, bounds)
    (steps,) = (count[1:] > count[:-1]).nonzero()
    inside = np.zeros(bounds[-1] + 1, np.intp)
    inside[some[count[steps]]] += 1
    inside[some[count[steps + 1] - 1] + 1] -= 1
    (missing,) = ((np.cumsum(inside[:-1]) > 0) & ~taking).nonzero()
    places, rows = np.append(places, np.full(len(missing), zero)), np.append(rows, missing)
    return places, rows, np.searchsorted(bounds, rows, side="right") - 1


class Transfer(NamedTuple):
    """Gradients on their way to the rows that were read: to which, which, and how."""

    target: BufferRows
    values: BufferRows
    sums: RowSums

    def bind(self, device: Device, arena: Arena) -> Callable[[int], None]:
        """A function that adds those of one component, or of one step."""
        values = arena.rows(self.values)
        if device.kernels is None:
            values[-1] = 0
        return self.sums.bind(device, arena, arena.rows(self.target), values)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperationFlow:
    """One operation's part.

    Attributes:
        waiting: where the gradients of its operands wait, one for each `ScatterGroup`; at the array's end is
            a row of zeros.
        sums: what is added to other rows when a component is done.
        pulls: what its rows take before each of its steps.
        places: in the place of ``pulls``, on a device with kernels, by result: for each row where its places
            start, and where the last end; the places, row after row; and the array in which they are.
    """

    waiting: list[BufferRows] = field(default_factory=list)
    sums: list[Transfer] = field(default_factory=list)
    pulls: list[Transfer] = field(default_factory=list)
    places: dict[int, tuple[Sent, Sent, Buffer]] = field(default_factory=dict)

    def buffers(self) -> Iterator[Buffer]:
        """All that it takes of an arena."""
        for each in (*self.sums, *self.pulls):
            _, (_, *row), dtype = each.values.buffer
            yield Buffer("pull", (each.sums.most, *row), dtype)
        yield from (waiting.buffer for waiting in self.waiting)


class FlowPlanner:
    """Plans how the gradients of a batch flow.

    Args:
        batch: the batch.
        codes: of the operations that have nodes in it.

    Attributes:
        flows: for each operation its part.
        waiting: for each slab where gradients wait until its rows pull them.
    """

    def __init__(self, batch: PlannedBatch, codes: Mapping[int, OperationCode]) -> None:
        self.batch, self._codes = batch, codes
        self.flows = {o: OperationFlow() for o in codes}
        self.waiting: dict[int, Buffer] = {}
        self._components: dict[int, HostArray] = {}  # by slab: for each row, the component that computed it
        self._pulled: dict[int, list[tuple[HostArray, HostArray]]] = {}  # by slab: places, who takes them
        for o, code in codes.items():
            for number, group in enumerate(code.scatter_groups):
                self._plan_group(o, code, number, group)
        for slab in self._pulled:
            self._plan_pulls(slab)

    def _plan_group(self, o: int, code: OperationCode, number: int, group: ScatterGroup) -> None:
        """Plans where the gradients of one array go."""
        rows, slab = self.batch.read.operations[o], group.slab
        columns = [rows.side_by_side(operands) for operands in group.operands]
        target = columns[0] if len(columns) == 1 else np.concatenate(columns)
        part = _reading_parts(code, rows, group.operands)
        is_summed = target >= len(self.batch.plan.slabs[slab].constants)  # nobody reads those of constants
        name: tuple[object, ...] = "scatter", o, number
        first, gradients = 0, self.batch.gradients[slab]
        if not group.early:
            is_pulled = self._computing_components(slab)[target] == rows.components[part]
            is_summed &= ~is_pulled
            (places,) = is_pulled.nonzero()
            if len(places):
                name = "waiting", slab
                first = self.waiting[slab].shape[0] - 1 if slab in self.waiting else 0
                self._pulled.setdefault(slab, []).append((places + first, target[places]))
        elif len(rows.parts) == len(rows.bounds):
            # What is added to other rows right after the step that makes it needs its array no longer, so
            # operations share these. A component of several steps adds only after the last, though.
            name = "scatter", number
        values = BufferRows(
            Buffer(name, (first + len(target) + 1, *gradients.shape[1:]), gradients.dtype),
            first,
            first + len(target) + 1,
        )
        if name == ("waiting", slab):
            self.waiting[slab] = values.buffer
        self.flows[o].waiting.append(values)
        (summed,) = is_summed.nonzero()
        if len(summed):
            parts = len(rows.components)
            sums = RowSums(summed, target[summed], part[summed], parts, self.batch.upload)
            every = BufferRows(gradients, 0, gradients.shape[0])
            self.flows[o].sums.append(Transfer(every, values, sums))

    def _computing_components(self, slab: int) -> HostArray:
        """For each row of a slab, the component that computed it, if one did."""
        if slab not in self._components:
            plan, merged = self.batch.plan, self.batch.read
            self._components[slab] = components = np.full(merged.slab_rows[slab], _NOT_COMPUTED, np.int64)
            for o, output in plan.slabs[slab].outputs:
                rows = merged.operations[o]
                if plan.operations[o].kind not in ("read", "carried"):
                    first = rows.first_rows[output]
                    components[first : first + rows.count] = np.repeat(
                        rows.components, lengths_of(rows.bounds[rows.parts])
                    )
        return self._components[slab]

    def _plan_pulls(self, slab: int) -> None:
        """Plans what the rows of a slab take of its array, for the flows of their operations."""
        upload, waiting = self.batch.upload, self.waiting[slab]
        places, rows = (np.concatenate(columns) for columns in zip(*self._pulled[slab], strict=True))
        sent = None
        if any(code.program.kernels for code in self._codes.values()):
            order = stable_order(rows, self.batch.read.slab_rows[slab])
            places, rows = places[order], rows[order]
            sent = upload.add(places)
        zero = waiting.shape[0] - 1
        for owner, result, start, stop, bounds in self._computed_rows(slab):
            if sent is not None:
                offsets = np.searchsorted(rows, np.arange(start, stop + 1))
                if offsets[-1] > offsets[0]:
                    self.flows[owner].places[result] = upload.add(offsets), sent, waiting
                continue
            (inside,) = ((rows >= start) & (rows < stop)).nonzero()
            if len(inside):
                filled = _filled(places[inside], rows[inside] - start, bounds, zero)
                pulls = RowSums(*filled, len(bounds) - 1, upload)
                target = BufferRows(self.batch.gradients[slab], start, stop)
                values = BufferRows(waiting, 0, zero + 1)
                self.flows[owner].pulls.append(Transfer(target, values, pulls))

    def _computed_rows(self, slab: int) -> Iterator[tuple[int, int, int, int, HostArray]]:
        """The ranges of a slab that hold results of operations: the operation, the number of the result, the
        first row, the one after the last, and where the rows of each step start and the last end."""
        plan, merged = self.batch.plan, self.batch.read
        for o, output in plan.slabs[slab].outputs:
            operation, rows = plan.operations[o], merged.operations[o]
            owner = operation.owner
            if owner not in self.flows or not rows.count:
                continue
            bounds = merged.operations[owner].bounds
            if operation.kind == "element":
                bounds = merged.operations[owner].offsets[operation.site.domain][bounds]
            first, result = rows.first_rows[output], plan.result_places[owner].index((o, output))
            yield owner, result, first, first + rows.count, bounds


def _reading_parts(
    code: OperationCode, rows: OperationRows, gathered: Sequence[tuple[int, ...]]
) -> HostArray:
    """For each row that operands read, the position in `OperationRows.components` of the reading component.

    Args:
        code, rows: of the operation.
        gathered: operands, those that are read side by side together.
    """
    if len(rows.components) == 1:
        count = sum(len(rows.ports[port].rows) for operands in gathered for port in operands)
        return np.zeros(count, np.intp)
    parts = []
    for operands in gathered:
        bounds = rows.bounds[rows.parts]
        domain = code.operation.ports[operands[0]].domain
        if domain is not None:
            bounds = rows.offsets[domain][bounds]
        parts.append(np.repeat(np.arange(len(bounds) - 1), lengths_of(bounds) * len(operands)))
    return np.concatenate(parts)
