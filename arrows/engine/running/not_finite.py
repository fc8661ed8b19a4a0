"""Finds what is first not finite in a run: an input, or an operation whose operands all are."""

from __future__ import annotations

import numpy as np

from arrows.engine.planning import ApplyOperation, ElementOperation, Operation, ReadOperation
from arrows.engine.running.execute import Run
from arrows.ops.arrays import Array


def first_not_finite(run: Run) -> tuple[str, int] | None:
    """Where the first number of a run that is not finite was made.

    Args:
        run: after its forward pass, with no slab's memory used again, as for gradients.

    Returns:
        Block and place in the source, in words; and the place in the batch of an example that the number
        belongs to.  None if all numbers are finite.
    """
    plan, merged = run.executor.plan, run.merged
    for operation in plan.operations:
        if isinstance(operation, ReadOperation) and merged.operations[operation.index].count:
            row = _first_row(run, run._rows(operation.index, 0))
            if row is not None:
                return f"what {_label(operation)} reads", _example(run, operation.index, row)
    for o, step in merged.steps:
        rows_of = merged.operations[o]
        nodes = rows_of.bounds[step : step + 2]
        for (owner, _), rows in zip(plan.result_places[o], run._outputs(run.slabs, o), strict=True):
            operation = plan.operations[owner]
            if isinstance(operation, ElementOperation):
                offsets = rows_of.offsets[operation.domain]
            else:
                offsets = np.arange(rows_of.count + 1)
            first, stop = offsets[nodes]
            row = _first_row(run, rows[first:stop])
            if row is not None:
                node = int(np.searchsorted(offsets, first + row, side="right")) - 1
                return f"what {_label(plan.operations[o])} computes", _example(run, o, node)
    return None


def _first_row(run: Run, rows: Array) -> int | None:
    """The first row that is not finite."""
    values = run.executor.device.to_numpy(rows)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return None
    return int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])


def _example(run: Run, operation: int, node: int) -> int:
    return int(run.merged.nodes(operation)[0][node])


def _label(operation: Operation) -> str:
    assert isinstance(operation, ApplyOperation | ReadOperation)
    return f"{operation.name} ({operation.typed.form.site})"
