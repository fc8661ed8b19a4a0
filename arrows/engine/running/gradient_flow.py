"""How gradients flow back through one batch: what the rows of an operation pull, and what it adds to others.

Planned before the batch runs, over the index arrays of the forward gathers.  `arrows.engine.running.scatters`
plans the gradients of one array; here it is settled which rows get what from where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arrows.engine.device import Upload
from arrows.engine.planning import ApplyOperation, ElementOperation, Plan, StreamOperation
from arrows.engine.reading import lengths_of, stable_order
from arrows.engine.running.kernel_sums import KernelSums, PlannedPlaces, WaitingRows, send_sums
from arrows.engine.running.operation_code import OperationCode
from arrows.engine.running.scatters import UploadedPulls, UploadedSums, plan_pulls, plan_sums
from arrows.engine.scheduling import Merged, OperationRows
from arrows.ops.arrays import HostArray

_NOT_COMPUTED = -1


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class GradientPulls:
    """What the rows of one result take from one array of gradients.

    Attributes:
        result: the number of the result.
        reader: the operation that has read them.
        group: the number of its array.
        pulls: which rows take which gradients.
    """

    result: int
    reader: int
    group: int
    pulls: UploadedPulls


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperationFlow:
    """One operation's part.

    Attributes:
        pulls: before each of its steps.
        sums: for each of its arrays of gradients, what is added to other rows when a component is done.
        pulled: in the place of ``pulls``, on a device with kernels.
    """

    pulls: tuple[GradientPulls, ...] = ()
    sums: tuple[UploadedSums | KernelSums | None, ...] = ()
    pulled: tuple[PlannedPlaces, ...] = ()


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ArrayTargets:
    """Where the gradients of one array of one operation go.

    Attributes:
        operation: the operation.
        group: the number of the array.
        slab: the slab whose rows were read.
        row: for each place of the array, the row that was read.
        part: for each place, the position in `OperationRows.components` of the component that has read it.
        pulled: the places that their rows pull, as the same component has computed them.
        summed: the places that are added to their rows when the component is done.
    """

    operation: int
    group: int
    slab: int
    row: HostArray
    part: HostArray
    pulled: HostArray
    summed: HostArray


def array_targets(plan: Plan, merged: Merged, codes: Mapping[int, OperationCode]) -> Iterator[ArrayTargets]:
    """Settles where all gradients of a batch go.

    Args:
        plan: the model's plan.
        merged: the batch; of operands whose repeated rows are computed once, with the distinct rows alone.
        codes: of the operations that have nodes in it.
    """
    components: dict[int, HostArray] = {}
    for o, code in codes.items():
        rows = merged.operations[o]
        for number, group in enumerate(code.scatter_groups):
            columns = [rows.side_by_side(operands) for operands in group.operands]
            target = columns[0] if len(columns) == 1 else np.concatenate(columns)
            part = reading_parts(code, rows, group.operands)
            is_summed = target >= len(plan.slabs[group.slab].constants)  # nobody reads those of constants
            pulled = np.zeros(0, np.intp)
            if not group.early:
                if group.slab not in components:
                    components[group.slab] = computing_components(plan, merged, group.slab)
                is_pulled = components[group.slab][target] == rows.components[part]
                is_summed &= ~is_pulled
                (pulled,) = is_pulled.nonzero()
            (summed,) = is_summed.nonzero()
            yield ArrayTargets(
                operation=o,
                group=number,
                slab=group.slab,
                row=target,
                part=part,
                pulled=pulled,
                summed=summed,
            )


def plan_flows(
    plan: Plan, merged: Merged, codes: Mapping[int, OperationCode], upload: Upload
) -> dict[int, OperationFlow]:
    """Plans how the gradients of a batch flow.

    Args:
        plan, merged, codes: as for `array_targets`.
        upload: takes the index arrays.
    """
    pulls: dict[int, list[GradientPulls]] = {o: [] for o in codes}
    sums: dict[int, list[UploadedSums | None]] = {o: [] for o in codes}
    for targets in array_targets(plan, merged, codes):
        o, places = targets.operation, targets.summed
        if len(targets.pulled):
            _plan_pulls(plan, merged, pulls, targets, upload)
        parts = len(merged.operations[o].components)
        row_sums = plan_sums(places, targets.row[places], targets.part[places], parts)
        sums[o].append(None if row_sums is None else row_sums.send(upload))
    return {o: OperationFlow(pulls=tuple(pulls[o]), sums=tuple(sums[o])) for o in codes}


def reading_parts(code: OperationCode, rows: OperationRows, gathered: Sequence[tuple[int, ...]]) -> HostArray:
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


def computing_components(plan: Plan, merged: Merged, slab: int) -> HostArray:
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
    pulls: Mapping[int, list[GradientPulls]],
    targets: ArrayTargets,
    upload: Upload,
) -> None:
    """Plans what rows take from one array.

    Args:
        plan: the model's plan.
        merged: the batch.
        pulls: by operation, what its rows take; more is added.
        targets: where the gradients of the array go.
        upload: takes the index arrays.
    """
    target, places, zero = targets.row, targets.pulled, len(targets.row)
    inverse = np.full(merged.slab_rows[targets.slab], zero)
    inverse[target[places]] = places
    again = places[inverse[target[places]] != places]
    for owner, result, first, stop, bounds in computed_rows(plan, merged, targets.slab):
        if owner not in pulls:
            continue
        more = None
        if len(again):
            inside = again[(target[again] >= first) & (target[again] < stop)]
            more = inside, target[inside] - first
        row_pulls = plan_pulls(inverse[first:stop], zero, bounds, more)
        if row_pulls is not None:
            pulls[owner].append(
                GradientPulls(
                    result=result,
                    reader=targets.operation,
                    group=targets.group,
                    pulls=row_pulls.send(upload),
                )
            )


def computed_rows(plan: Plan, merged: Merged, slab: int) -> Iterator[tuple[int, int, int, int, HostArray]]:
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


def plan_kernel_flows(
    plan: Plan, merged: Merged, codes: Mapping[int, OperationCode], upload: Upload
) -> tuple[dict[int, OperationFlow], WaitingRows]:
    """Plans how the gradients of a batch flow.

    Args:
        plan: the model's plan.
        merged: the batch.
        codes: of the operations that have nodes in it.
        upload: takes the index arrays.
    """
    sums: dict[int, list[KernelSums | None]] = {o: [] for o in codes}
    count: dict[int, int] = {}
    first: dict[tuple[int, int], int] = {}
    pulled: dict[int, list[tuple[HostArray, HostArray]]] = {}  # by slab: places, and the rows that take them
    for targets in array_targets(plan, merged, codes):
        o, places = targets.operation, targets.summed
        parts = len(merged.operations[o].components)
        row_sums = plan_sums(places, targets.row[places], targets.part[places], parts)
        sums[o].append(None if row_sums is None else send_sums(row_sums, upload))
        if len(targets.pulled):
            start = count.get(targets.slab, 0)
            first[o, targets.group] = start
            count[targets.slab] = start + len(targets.row)
            pulled.setdefault(targets.slab, []).append((targets.pulled + start, targets.row[targets.pulled]))
    pulls: dict[int, list[PlannedPlaces]] = {o: [] for o in codes}
    for slab, lists in pulled.items():
        plan_places(plan, merged, slab, lists, pulls, upload)
    flows = {o: OperationFlow(pulled=tuple(pulls[o]), sums=tuple(sums[o])) for o in codes}
    return flows, WaitingRows(count, first)


def plan_places(
    plan: Plan,
    merged: Merged,
    slab: int,
    lists: Sequence[tuple[HostArray, HostArray]],
    planned: Mapping[int, list[PlannedPlaces]],
    upload: Upload,
) -> None:
    """Plans which places the rows of one slab have in another array.

    Args:
        plan, merged: as for `plan_kernel_flows`.
        slab: the slab.
        lists: places, and for each the row of the slab.
        planned: by operation; those of its results are added.
        upload: takes the index arrays.
    """
    places, rows = (np.concatenate(columns) for columns in zip(*lists, strict=True))
    order = stable_order(rows, merged.slab_rows[slab])
    rows = rows[order]
    sent = upload.add(places[order])
    for owner, result, start, stop, _ in computed_rows(plan, merged, slab):
        offsets = np.searchsorted(rows, np.arange(start, stop + 1))
        if owner in planned and offsets[-1] > offsets[0]:
            planned[owner].append(
                PlannedPlaces(result=result, slab=slab, offsets=upload.add(offsets), places=sent)
            )
