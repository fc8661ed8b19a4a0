"""What of a batch is first not finite: an input, or an operation whose operands all are."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.engine.model import Model
from arrows.engine.planning import ApplyOperation, ElementOperation, ReadOperation
from arrows.engine.running.execute import Run


def first_not_finite(model: Model, batch: Any, ids: Any = None) -> str | None:
    """What is first not finite where a training step on a batch computes its loss, in words: an input, or
    what an operation computes of operands that are finite. None if all is.

    Args:
        model: with the parameters and the step that it had before that training step.
        batch: as `Model.train_step` takes it.
        ids: likewise.
    """
    with model._lock.mutex:
        given = model._batches.read(batch, "look for what is not finite", ids)
        first = 0
        for run, part in model._runs(model._executor((), training=True, gradients=True), given):
            found = _first_in(run)
            if found is not None:
                return f"{found[0]} of example {given.numbers[first + found[1]]} is not finite"
            first += len(part)
        return None


def _first_in(run: Run) -> tuple[str, int] | None:
    """Block and place in the source where the first number of a run was made that is not finite, and the
    number of an example in the batch that it belongs to; None if all numbers are finite.

    The run is one after its forward pass, with all slabs kept apart, as for gradients.
    """
    plan, merged = run.executor.plan, run.merged
    for operation in plan.operations:
        count = merged.operations[operation.index].count
        if isinstance(operation, ReadOperation) and count:
            row = _bad_row(run, run._rows(operation.index, 0))
            if row is not None:
                return f"what {_label(run, operation.index)} reads", _example(run, operation.index, row)
    for o, step in merged.steps:
        found = merged.operations[o]
        nodes = found.bounds[step : step + 2]
        for (owner, _), rows in zip(plan.result_places[o], run._outputs(run.slabs, o), strict=True):
            operation = plan.operations[owner]
            if isinstance(operation, ElementOperation):
                offsets = found.offsets[operation.domain]
            else:
                offsets = np.arange(found.count + 1)
            first, last = offsets[nodes]
            row = _bad_row(run, rows[first:last])
            if row is not None:
                node = int(np.searchsorted(offsets, first + row, side="right")) - 1
                return f"what {_label(run, o)} computes", _example(run, o, node)
    return None


def _bad_row(run: Run, rows: Any) -> int | None:
    """The first row that is not finite."""
    values = run.executor.device.to_numpy(rows)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return None
    return int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])


def _example(run: Run, operation: int, node: int) -> int:
    return int(run.merged.nodes(operation)[0][node])


def _label(run: Run, operation: int) -> str:
    labelled = run.executor.plan.operations[operation]
    assert isinstance(labelled, ApplyOperation | ReadOperation)
    return f"{labelled.name} ({labelled.typed.form.site})"
