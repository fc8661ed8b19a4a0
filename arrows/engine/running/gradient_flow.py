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

from arrows.engine.device import Buffer, Sent, Upload
from arrows.engine.planning import ApplyOperation, ElementOperation, Plan, StreamOperation
from arrows.engine.reading import lengths_of, stable_order
from arrows.engine.running.index import RowPulls, RowSums, plan_pulls, plan_sums
from arrows.engine.running.operation_code import OperationCode
from arrows.engine.scheduling import Merged, OperationRows
from arrows.ops.arrays import HostArray

_NOT_COMPUTED = -1


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperationFlow:
    """One operation's part.

    Attributes:
        waiting: where the gradients of its operands wait, one for each `ScatterGroup`: memory, the first row
            there, and how many rows; then comes a row of zeros, unless kernels read it.
        sums: for each of these, what is added to other rows when a component is done.
        pulls: before each of its steps, what rows take: the number of their result, the operation that has
            read them and the number of its array, and which gradients.
        places: in the place of ``pulls``, on a device with kernels, by result: for each row where its places
            start, and where the last end; the places, row after row; and the slab in whose array they are.
    """

    waiting: list[tuple[Buffer, int, int]] = field(default_factory=list)
    sums: list[RowSums | None] = field(default_factory=list)
    pulls: list[tuple[int, int, int, RowPulls]] = field(default_factory=list)
    places: dict[int, tuple[Sent, Sent, int]] = field(default_factory=dict)


def plan_flows(
    plan: Plan, merged: Merged, codes: Mapping[int, OperationCode], upload: Upload
) -> tuple[dict[int, OperationFlow], dict[int, Buffer]]:
    """Plans how the gradients of a batch flow.

    Args:
        plan: the model's plan.
        merged: the batch; of operands whose repeated rows are computed once, with the distinct rows alone.
        codes: of the operations that have nodes in it.
        upload: takes the index arrays.

    Returns:
        For each operation its part; and on a device with kernels, for each slab where the gradients of its
        rows wait.
    """
    flows = {o: OperationFlow() for o in codes}
    components: dict[int, HostArray] = {}
    pulled: dict[int, list[tuple[HostArray, HostArray]]] = {}  # by slab: places, and the rows that take them
    waiting: dict[int, int] = {}
    for o, code in codes.items():
        rows = merged.operations[o]
        for number, group in enumerate(code.scatter_groups):
            columns = [rows.side_by_side(operands) for operands in group.operands]
            target = columns[0] if len(columns) == 1 else np.concatenate(columns)
            part = _reading_parts(code, rows, group.operands)
            is_summed = target >= len(plan.slabs[group.slab].constants)  # nobody reads those of constants
            places = np.zeros(0, np.intp)
            if not group.early:
                if group.slab not in components:
                    components[group.slab] = _computing_components(plan, merged, group.slab)
                is_pulled = components[group.slab][target] == rows.components[part]
                is_summed &= ~is_pulled
                (places,) = is_pulled.nonzero()
            (summed,) = is_summed.nonzero()
            parts = len(rows.components)
            flows[o].sums.append(plan_sums(summed, target[summed], part[summed], parts, upload))
            slab = plan.slabs[group.slab].type
            first = 0
            if upload.device.has_kernels and len(places):
                first = waiting.get(group.slab, 0)
                waiting[group.slab] = first + len(target)
                pulled.setdefault(group.slab, []).append((places + first, target[places]))
                name: tuple[object, ...] = "waiting", group.slab
            else:
                # What is added to other rows right after the step that makes it needs its array no longer,
                # so operations share these. A component of several steps adds only after the last, though.
                shared = group.early and len(rows.parts) == len(rows.bounds)
                name = ("scatter", number) if shared else ("scatter", o, number)
                if len(places):
                    _plan_pulls(plan, merged, flows, (o, number), group.slab, target, places, upload)
            memory = Buffer(name, (first + len(target) + 1, *slab.shape), slab.dtype)
            flows[o].waiting.append((memory, first, len(target)))
    for s, lists in pulled.items():
        _plan_places(plan, merged, flows, s, lists, upload)
    types = {s: plan.slabs[s].type for s in waiting}
    return flows, {
        s: Buffer(("waiting", s), (count + 1, *types[s].shape), types[s].dtype)
        for s, count in waiting.items()
    }


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


def _computing_components(plan: Plan, merged: Merged, slab: int) -> HostArray:
    """For each row of a slab, the component that computed it, if one did."""
    components = np.full(merged.slab_rows[slab], _NOT_COMPUTED, np.int64)
    for o, output in plan.slabs[slab].outputs:
        rows = merged.operations[o]
        if not isinstance(plan.operations[o], StreamOperation):
            first = rows.first_rows[output]
            components[first : first + rows.count] = np.repeat(
                rows.components, lengths_of(rows.bounds[rows.parts])
            )
    return components


def _plan_pulls(
    plan: Plan,
    merged: Merged,
    flows: Mapping[int, OperationFlow],
    reader: tuple[int, int],
    slab: int,
    target: HostArray,
    places: HostArray,
    upload: Upload,
) -> None:
    """Plans what rows take from one array, for the flows of their operations.

    Args:
        plan, merged, upload: as for `plan_flows`.
        flows: those of all operations.
        reader: the operation that has read the rows, and the number of its array.
        slab: the slab whose rows were read.
        target: for each place of the array, the row that was read.
        places: the places that are pulled.
    """
    zero = len(target)
    inverse = np.full(merged.slab_rows[slab], zero)
    inverse[target[places]] = places
    again = places[inverse[target[places]] != places]
    for owner, result, first, stop, bounds in _computed_rows(plan, merged, slab):
        if owner not in flows:
            continue
        more = None
        if len(again):
            inside = again[(target[again] >= first) & (target[again] < stop)]
            more = inside, target[inside] - first
        pulls = plan_pulls(inverse[first:stop], zero, bounds, more, upload)
        if pulls is not None:
            flows[owner].pulls.append((result, *reader, pulls))


def _plan_places(
    plan: Plan,
    merged: Merged,
    flows: Mapping[int, OperationFlow],
    slab: int,
    lists: Sequence[tuple[HostArray, HostArray]],
    upload: Upload,
) -> None:
    """Plans which places the rows of one slab have in its array, for the flows of their operations.

    Args:
        plan, merged, flows, slab, upload: as for `_plan_pulls`.
        lists: places, and for each the row of the slab.
    """
    places, rows = (np.concatenate(columns) for columns in zip(*lists, strict=True))
    order = stable_order(rows, merged.slab_rows[slab])
    rows = rows[order]
    sent = upload.add(places[order])
    for owner, result, start, stop, _ in _computed_rows(plan, merged, slab):
        offsets = np.searchsorted(rows, np.arange(start, stop + 1))
        if owner in flows and offsets[-1] > offsets[0]:
            flows[owner].places[result] = upload.add(offsets), sent, slab


def _computed_rows(plan: Plan, merged: Merged, slab: int) -> Iterator[tuple[int, int, int, int, HostArray]]:
    """The ranges of a slab that hold results of operations: the operation, the number of the result, the
    first row, the one after the last, and where the rows of each step start and the last end."""
    for o, output in plan.slabs[slab].outputs:
        operation, rows = plan.operations[o], merged.operations[o]
        owner = operation.parent if isinstance(operation, ElementOperation) else o
        if not isinstance(plan.operations[owner], ApplyOperation) or not rows.count:
            continue
        bounds = merged.operations[owner].bounds
        if isinstance(operation, ElementOperation):
            bounds = merged.operations[owner].offsets[operation.domain][bounds]
        first = rows.first_rows[output]
        yield owner, plan.result_places[owner].index((o, output)), first, first + rows.count, bounds
