"""How gradients flow back through one batch: for each operation, what its rows pull and what it pushes.

Planned before the batch runs, over the index arrays of the forward gathers;
`arrows.engine.running.transpose` plans one array of gradients, here it is settled which rows get what from
where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arrows.engine.device import Upload
from arrows.engine.planning import ElementOperation, Plan, StreamOperation
from arrows.engine.program import Program
from arrows.engine.program.operands import Gradients
from arrows.engine.reading import lengths_of
from arrows.engine.running.transpose import Push, plan_pull, plan_push
from arrows.engine.scheduling import Merged, OperationRows


@dataclass(frozen=True, slots=True)
class Sums:
    """A `Push` whose index arrays are on their way to the device.

    Attributes:
        order, rows, starts: handles of the arrays.
        bounds, places, longest, ranges: as there.
    """

    order: int
    rows: int
    starts: int
    bounds: list[int]
    places: list[int]
    longest: int
    ranges: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pulled:
    """What the rows of one result take from one array of gradients.

    Attributes:
        result: number of the result.
        reader: the operation that read it.
        number: which of its arrays.
        index: handle of the places.
        spans, more: as in `Pull`.
    """

    result: int
    reader: int
    number: int
    index: int
    spans: list[tuple[int, int, int]]
    more: Sums | None


@dataclass(frozen=True, slots=True)
class Flow:
    """One operation's part.

    Attributes:
        pulls: before each of its steps.
        pushes: for each of its arrays of gradients, when a component is done.
    """

    pulls: list[Pulled]
    pushes: list[Sums | None]


def flows(plan: Plan, merged: Merged, programs: Mapping[int, Program], upload: Upload) -> dict[int, Flow]:
    """Plans how the gradients of a batch flow.

    Args:
        plan: the model's plan.
        merged: the batch.
        programs: of the operations that have nodes in it.
        upload: takes the index arrays.
    """
    found = {o: Flow([], []) for o in programs}
    components: dict[int, np.ndarray] = {}
    for o, program in programs.items():
        rows = merged.operations[o]
        for number, gradients in enumerate(program.gradients):
            columns = [rows.side_by_side(operand.ports) for operand in gradients.operands]
            target = columns[0] if len(columns) == 1 else np.concatenate(columns)
            part = _parts(program, rows, gradients)
            pushed = target >= len(plan.slabs[gradients.slab].constants)  # nobody reads those of constants
            if not gradients.early:
                if gradients.slab not in components:
                    components[gradients.slab] = _components(plan, merged, gradients.slab)
                pulled = components[gradients.slab][target] == rows.components[part]
                pushed &= ~pulled
                (at,) = pulled.nonzero()
                _pulls(plan, merged, found, (o, number), gradients.slab, target, at, upload)
            (at,) = pushed.nonzero()
            push = plan_push(at, target[at], part[at], len(rows.components))
            found[o].pushes.append(_sent(push, upload))
    return found


def _parts(program: Program, rows: OperationRows, gradients: Gradients) -> np.ndarray:
    """The same for the part, the position in `OperationRows.components`, that each was read in."""
    if len(rows.components) == 1:
        count = sum(len(rows.ports[port].rows) for operand in gradients.operands for port in operand.ports)
        return np.zeros(count, np.intp)
    found = []
    for operand in gradients.operands:
        bounds = rows.bounds[rows.parts]
        domain = program.operation.ports[operand.ports[0]].domain
        if domain is not None:
            bounds = rows.offsets[domain][bounds]
        found.append(np.repeat(np.arange(len(bounds) - 1), lengths_of(bounds) * len(operand.ports)))
    return np.concatenate(found)


def _components(plan: Plan, merged: Merged, slab: int) -> np.ndarray:
    """For each row of a slab, the component that made it; -1: none that runs backwards."""
    found = np.full(merged.slab_rows[slab], -1, np.int64)
    for o, output in plan.slabs[slab].outputs:
        rows = merged.operations[o]
        if not isinstance(plan.operations[o], StreamOperation):
            first = rows.first_rows[output]
            found[first : first + rows.count] = np.repeat(
                rows.components, lengths_of(rows.bounds[rows.parts])
            )
    return found


def _pulls(
    plan: Plan,
    merged: Merged,
    found: Mapping[int, Flow],
    array: tuple[int, int],
    slab: int,
    target: np.ndarray,
    at: np.ndarray,
    upload: Upload,
) -> None:
    """Plans what the rows of a slab take from one array, whose places ``at`` were read in the component that
    made the rows."""
    if len(at) == 0:
        return
    zero = len(target)
    inverse = np.full(merged.slab_rows[slab], zero)
    inverse[target[at]] = at
    again = at[inverse[target[at]] != at]
    for o, output in plan.slabs[slab].outputs:
        operation, rows = plan.operations[o], merged.operations[o]
        owner = operation.parent if isinstance(operation, ElementOperation) else o
        if owner not in found or not rows.count:
            continue
        first = rows.first_rows[output]
        bounds = merged.operations[owner].bounds
        if isinstance(operation, ElementOperation):
            bounds = merged.operations[owner].offsets[operation.domain][bounds]
        more = None
        if len(again):
            mine = again[(target[again] >= first) & (target[again] < first + rows.count)]
            more = mine, target[mine] - first
        pull = plan_pull(inverse[first : first + rows.count], zero, bounds, more)
        if pull is not None:
            result = plan.result_places[owner].index((o, output))
            sums = _sent(pull.more, upload)
            index = upload.add(pull.index)
            found[owner].pulls.append(Pulled(result, *array, index, pull.spans, sums))


def _sent(push: Push | None, upload: Upload) -> Sums | None:
    if push is None:
        return None
    order, rows, starts = (upload.add(part) for part in (push.order, push.rows, push.starts))
    return Sums(order, rows, starts, push.bounds, push.places, push.longest, push.ranges)
