"""How gradients flow back through one batch: what the rows of an operation pull, and what it adds to others.

Planned before the batch runs, over the index arrays of the forward gathers.  `arrows.engine.running.scatters`
plans the gradients of one array; here it is settled which rows get what from where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arrows.engine.device import Upload
from arrows.engine.planning import ElementOperation, Plan, StreamOperation
from arrows.engine.reading import lengths_of
from arrows.engine.running.operation_code import OperationCode, ScatterGroup
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


@dataclass(frozen=True, eq=False, slots=True)
class OperationFlow:
    """One operation's part.

    Attributes:
        pulls: before each of its steps.
        sums: for each of its arrays of gradients, what is added to other rows when a component is done.
    """

    pulls: tuple[GradientPulls, ...]
    sums: tuple[UploadedSums | None, ...]


NO_FLOW = OperationFlow((), ())


def plan_flows(
    plan: Plan, merged: Merged, codes: Mapping[int, OperationCode], upload: Upload
) -> dict[int, OperationFlow]:
    """Plans how the gradients of a batch flow.

    Args:
        plan: the model's plan.
        merged: the batch; of operands whose repeated rows are computed once, with the distinct rows alone.
        codes: of the operations that have nodes in it.
        upload: takes the index arrays.
    """
    pulls: dict[int, list[GradientPulls]] = {o: [] for o in codes}
    sums: dict[int, list[UploadedSums | None]] = {o: [] for o in codes}
    components: dict[int, HostArray] = {}
    for o, code in codes.items():
        rows = merged.operations[o]
        for number, group in enumerate(code.scatter_groups):
            columns = [rows.side_by_side(operands) for operands in group.operands]
            target = columns[0] if len(columns) == 1 else np.concatenate(columns)
            part = _parts(code, rows, group, len(target))
            is_summed = target >= len(plan.slabs[group.slab].constants)  # nobody reads those of constants
            if not group.early:
                if group.slab not in components:
                    components[group.slab] = _components(plan, merged, group.slab)
                is_pulled = components[group.slab][target] == rows.components[part]
                is_summed &= ~is_pulled
                (places,) = is_pulled.nonzero()
                if len(places):
                    _plan_pulls(plan, merged, pulls, (o, number), group.slab, target, places, upload)
            (places,) = is_summed.nonzero()
            row_sums = plan_sums(places, target[places], part[places], len(rows.components))
            sums[o].append(None if row_sums is None else row_sums.send(upload))
    return {o: OperationFlow(tuple(pulls[o]), tuple(sums[o])) for o in codes}


def _parts(code: OperationCode, rows: OperationRows, group: ScatterGroup, count: int) -> HostArray:
    """For each place of an array, the position in `OperationRows.components` that its row was read in."""
    if len(rows.components) == 1:
        return np.zeros(count, np.intp)
    parts = []
    for operands in group.operands:
        bounds = rows.bounds[rows.parts]
        domain = code.operation.ports[operands[0]].domain
        if domain is not None:
            bounds = rows.offsets[domain][bounds]
        parts.append(np.repeat(np.arange(len(bounds) - 1), lengths_of(bounds) * len(operands)))
    return np.concatenate(parts)


def _components(plan: Plan, merged: Merged, slab: int) -> HostArray:
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
    array: tuple[int, int],
    slab: int,
    target: HostArray,
    places: HostArray,
    upload: Upload,
) -> None:
    """Plans what the rows of a slab take from one array.

    Args:
        plan: the model's plan.
        merged: the batch.
        pulls: by operation, what its rows take; more is added.
        array: the reader, and the number of its array.
        slab: the slab.
        target: for each place of the array, the row that was read.
        places: those whose rows were computed in the component that has read them.
        upload: takes the index arrays.
    """
    reader, group = array
    zero = len(target)
    inverse = np.full(merged.slab_rows[slab], zero)
    inverse[target[places]] = places
    again = places[inverse[target[places]] != places]
    for o, output in plan.slabs[slab].outputs:
        operation, rows = plan.operations[o], merged.operations[o]
        owner = operation.parent if isinstance(operation, ElementOperation) else o
        if owner not in pulls or not rows.count:
            continue
        first, stop = rows.first_rows[output], rows.first_rows[output] + rows.count
        bounds = merged.operations[owner].bounds
        if isinstance(operation, ElementOperation):
            bounds = merged.operations[owner].offsets[operation.domain][bounds]
        more = None
        if len(again):
            inside = again[(target[again] >= first) & (target[again] < stop)]
            more = inside, target[inside] - first
        row_pulls = plan_pulls(inverse[first:stop], zero, bounds, more)
        if row_pulls is not None:
            result = plan.result_places[owner].index((o, output))
            pulls[owner].append(
                GradientPulls(result=result, reader=reader, group=group, pulls=row_pulls.send(upload))
            )
