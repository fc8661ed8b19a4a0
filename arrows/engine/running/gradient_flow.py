"""How gradients flow back through one batch: what the rows of an operation pull, and what it adds to others.

Planned before the batch runs, over the index arrays of the forward gathers.  `arrows.engine.running.index`
plans the gradients of one array; here it is settled which rows get what from where.

On a device with kernels the gradients that rows pull wait in one array for each slab, whoever has read them.
So one list of places says for each row what it takes: the kernel that reads the row's gradient adds them up,
in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from arrows.engine.device import Buffer, BufferRows, Sent
from arrows.engine.planning import ElementOperation, StreamOperation
from arrows.engine.reading import lengths_of, stable_order
from arrows.engine.running.index import BatchLayout, RowPulls, RowSums, plan_pulls, plan_sums
from arrows.engine.running.operation_code import OperationCode, ScatterGroup
from arrows.engine.scheduling import OperationRows
from arrows.ops.arrays import HostArray

_NOT_COMPUTED = -1


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperationFlow:
    """One operation's part.

    Attributes:
        waiting: where the gradients of its operands wait, one for each `ScatterGroup`; at its end is a row of
            zeros, unless kernels read it.
        sums: what is added to other rows when a component is done: to which, what, and how.
        pulls: what its rows take before each of its steps: which result, what, and how.
        places: in the place of ``pulls``, on a device with kernels, by result: for each row where its places
            start, and where the last end; the places, row after row; and the array in which they are.
    """

    waiting: list[BufferRows] = field(default_factory=list)
    sums: list[tuple[Buffer, BufferRows, RowSums]] = field(default_factory=list)
    pulls: list[tuple[int, BufferRows, RowPulls]] = field(default_factory=list)
    places: dict[int, tuple[Sent, Sent, Buffer]] = field(default_factory=dict)

    def buffers(self) -> Iterator[Buffer]:
        """All that it takes of an arena."""
        most = [(rows.buffer, sums.most) for _, rows, sums in self.sums]
        most += [(rows.buffer, pulls.most) for _, rows, pulls in self.pulls]
        yield from (Buffer("pull", (count, *row), dtype) for (_, (_, *row), dtype), count in most)
        yield from (waiting.buffer for waiting in self.waiting)


NO_FLOW = OperationFlow()


class FlowPlanner:
    """Plans how the gradients of a batch flow.

    Args:
        batch: the batch.
        codes: of the operations that have nodes in it.

    Attributes:
        flows: for each operation its part.
        waiting: on a device with kernels, for each slab where gradients wait until its rows pull them.
    """

    def __init__(self, batch: BatchLayout, codes: Mapping[int, OperationCode]) -> None:
        self.flows = {o: OperationFlow() for o in codes}
        self._plan, self._merged, self._upload = batch.plan, batch.merged, batch.upload
        self._gradients = batch.gradients
        self._components: dict[int, HostArray] = {}  # by slab: for each row, the component that computed it
        self._pulled: dict[int, list[tuple[HostArray, HostArray]]] = {}  # by slab: places, who takes them
        self.waiting: dict[int, Buffer] = {}
        for o, code in codes.items():
            for number, group in enumerate(code.scatter_groups):
                self._plan_group(o, code, number, group)
        for slab in self._pulled:
            self._plan_places(slab)

    def _plan_group(self, o: int, code: OperationCode, number: int, group: ScatterGroup) -> None:
        """Plans where the gradients of one array go."""
        rows, upload, slab = self._merged.operations[o], self._upload, group.slab
        columns = [rows.side_by_side(operands) for operands in group.operands]
        target = columns[0] if len(columns) == 1 else np.concatenate(columns)
        part = _reading_parts(code, rows, group.operands)
        is_summed = target >= len(self._plan.slabs[slab].constants)  # nobody reads those of constants
        places = np.zeros(0, np.intp)
        if not group.early:
            is_pulled = self._computing_components(slab)[target] == rows.components[part]
            is_summed &= ~is_pulled
            (places,) = is_pulled.nonzero()
        first = 0
        if upload.device.has_kernels and len(places):
            name: tuple[object, ...] = "waiting", slab
            first = self.waiting[slab].shape[0] - 1 if slab in self.waiting else 0
            self._pulled.setdefault(slab, []).append((places + first, target[places]))
        else:
            # What is added to other rows right after the step that makes it needs its array no longer, so
            # operations share these. A component of several steps adds only after the last, though.
            shared = group.early and len(rows.parts) == len(rows.bounds)
            name = ("scatter", number) if shared else ("scatter", o, number)
        stop, gradients = first + len(target) + 1, self._gradients[slab]
        buffer = Buffer(name, (stop, *gradients.shape[1:]), gradients.dtype)
        if name == ("waiting", slab):
            self.waiting[slab] = buffer
        waiting = BufferRows(buffer, first, stop)
        self.flows[o].waiting.append(waiting)
        if not upload.device.has_kernels and len(places):
            self._plan_pulls(slab, waiting, target, places)
        (summed,) = is_summed.nonzero()
        sums = plan_sums(summed, target[summed], part[summed], len(rows.components), upload)
        if sums is not None:
            self.flows[o].sums.append((gradients, waiting, sums))

    def _computing_components(self, slab: int) -> HostArray:
        """For each row of a slab, the component that computed it, if one did."""
        if slab not in self._components:
            self._components[slab] = components = np.full(
                self._merged.slab_rows[slab], _NOT_COMPUTED, np.int64
            )
            for o, output in self._plan.slabs[slab].outputs:
                rows = self._merged.operations[o]
                if not isinstance(self._plan.operations[o], StreamOperation):
                    first = rows.first_rows[output]
                    components[first : first + rows.count] = np.repeat(
                        rows.components, lengths_of(rows.bounds[rows.parts])
                    )
        return self._components[slab]

    def _plan_pulls(self, slab: int, waiting: BufferRows, target: HostArray, places: HostArray) -> None:
        """Plans what rows take from one array, for the flows of their operations.

        Args:
            slab: the slab whose rows were read.
            waiting: the array.
            target: for each place of the array, the row that was read.
            places: the places that are pulled.
        """
        zero = len(target)
        inverse = np.full(self._merged.slab_rows[slab], zero)
        inverse[target[places]] = places
        again = places[inverse[target[places]] != places]
        for owner, result, first, stop, bounds in self._computed_rows(slab):
            more = None
            if len(again):
                inside = again[(target[again] >= first) & (target[again] < stop)]
                more = inside, target[inside] - first
            pulls = plan_pulls(inverse[first:stop], zero, bounds, more, self._upload)
            if pulls is not None:
                self.flows[owner].pulls.append((result, waiting, pulls))

    def _plan_places(self, slab: int) -> None:
        """Plans which places the rows of one slab have in its array, for the flows of their operations."""
        places, rows = (np.concatenate(columns) for columns in zip(*self._pulled[slab], strict=True))
        order = stable_order(rows, self._merged.slab_rows[slab])
        rows = rows[order]
        sent = self._upload.add(places[order])
        for owner, result, start, stop, _ in self._computed_rows(slab):
            offsets = np.searchsorted(rows, np.arange(start, stop + 1))
            if offsets[-1] > offsets[0]:
                self.flows[owner].places[result] = self._upload.add(offsets), sent, self.waiting[slab]

    def _computed_rows(self, slab: int) -> Iterator[tuple[int, int, int, int, HostArray]]:
        """The ranges of a slab that hold results of operations: the operation, the number of the result, the
        first row, the one after the last, and where the rows of each step start and the last end."""
        for o, output in self._plan.slabs[slab].outputs:
            operation, rows = self._plan.operations[o], self._merged.operations[o]
            owner = operation.parent if isinstance(operation, ElementOperation) else o
            if owner not in self.flows or not rows.count:
                continue
            bounds = self._merged.operations[owner].bounds
            if isinstance(operation, ElementOperation):
                bounds = self._merged.operations[owner].offsets[operation.domain][bounds]
            first, result = rows.first_rows[output], self._plan.result_places[owner].index((o, output))
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
