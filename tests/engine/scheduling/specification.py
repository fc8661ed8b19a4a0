"""A specification of schedules: what must hold of every merged batch, whatever rule scheduled it.

The tests run it after each scheduling.  It looks at the merged arrays alone and knows nothing of the rules.
"""

from __future__ import annotations

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.scheduling import Merged


class ScheduleError(AssertionError):
    """A merged batch that cannot be executed correctly."""


def verify(plan: Plan, merged: Merged) -> None:
    """Checks a merged batch.

    Every row of every slab is written once, by a constant, an input, or one step. A step reads only rows that
    are written before it; an early operand reads only rows that are written before the first step of its
    component, which runs before the others. Every node runs in exactly one step. Every port and every result
    reads rows that exist.

    Args:
        plan: the model's plan.
        merged: the result of `arrows.engine.scheduling.merge`.

    Raises:
        ScheduleError: one of these does not hold; the message says which, and where.
    """
    written = [np.zeros(rows, bool) for rows in merged.slab_rows]
    for slab_written, slab in zip(written, plan.slabs, strict=True):
        slab_written[: len(slab.constants)] = True
    for operation in plan.operations:
        if operation.kind == "read":
            count = merged.operations[operation.index].count
            _write(plan, merged, written, operation.index, 0, count)
    run = [np.zeros(rows.count, bool) for rows in merged.operations]
    component_of = [component for component, first, last in merged.spans for _ in range(first, last)]
    for position, (o, step) in enumerate(merged.steps):
        rows, operation = merged.operations[o], plan.operations[o]
        start, stop = int(rows.bounds[step]), int(rows.bounds[step + 1])
        where = f"step {position} ({operation.name}, rows {start} to {stop})"
        if stop <= start:
            raise ScheduleError(f"{where} has no rows")
        if run[o][start:stop].any():
            raise ScheduleError(f"{where} runs rows that have run")
        run[o][start:stop] = True
        part = int(np.searchsorted(rows.parts, step, side="right")) - 1
        if component_of[position : position + 1] != [rows.components[part]]:
            raise ScheduleError(f"{where} runs in another component than its own")
        opening = step == rows.parts[part]
        last_row = int(rows.bounds[rows.parts[part + 1]]) if opening else stop
        for number, (port, port_rows) in enumerate(zip(operation.ports, rows.ports, strict=True)):
            # An early operand is read once for all steps of the component, before the first of them.
            first, last = start, last_row if number in operation.early else stop
            if port.domain is not None:
                first, last = (int(rows.offsets[port.domain][i]) for i in (first, last))
            wanted = port_rows[first:last]
            size = len(written[port.slab])
            if len(wanted) and not (wanted.min() >= 0 and wanted.max() < size):
                raise ScheduleError(f"{where} reads rows outside of slab {port.slab}")
            if not written[port.slab][wanted].all():
                raise ScheduleError(f"{where} reads rows of slab {port.slab} that are not written yet")
        if operation.early and not opening and not run[o][rows.bounds[rows.parts[part]]]:
            raise ScheduleError(f"{where} runs before the first step of its component")
        _write(plan, merged, written, o, start, stop)
        for (parent, domain), element in plan.elements.items():
            if parent == o:
                offsets = rows.offsets[domain]
                _write(plan, merged, written, element, int(offsets[start]), int(offsets[stop]))
    for o, ran in enumerate(run):
        if plan.applies[o] and not ran.all():
            raise ScheduleError(f"{plan.operations[o].name}: {int((~ran).sum())} nodes never run")
    for number, slab_written in enumerate(written):
        if not slab_written.all():
            raise ScheduleError(f"{int((~slab_written).sum())} rows of slab {number} are never written")
    outputs = [
        *zip(plan.results, merged.outputs.results, strict=True),
        *zip(plan.metrics, merged.outputs.metrics, strict=True),
    ]
    for number, column in outputs:
        if len(column.values) and not 0 <= column.values.min() <= column.values.max() < len(written[number]):
            raise ScheduleError(f"a result reads rows outside of slab {number}")


def _write(
    plan: Plan, merged: Merged, written: list[np.ndarray], operation: int, start: int, stop: int
) -> None:
    for slab, first in zip(
        plan.operations[operation].slabs, merged.operations[operation].first_rows, strict=True
    ):
        rows = written[slab][first + start : first + stop]
        if len(rows) != stop - start or rows.any():
            raise ScheduleError(
                f"{plan.operations[operation].name} writes rows of slab {slab} that are not its own"
            )
        rows[...] = True
