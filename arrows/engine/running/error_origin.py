"""Traces an error in a run back to its example.

A step that a kernel refuses, or a number that is not finite, belongs to some example. Most errors in an
example show when it is read. An index that is computed, or a sequence that turns out to be empty, shows
when a step runs, on rows of many examples.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.lowering import Composed
from arrows.engine.planning import Operation, Plan
from arrows.engine.reference import out_of_range
from arrows.engine.running.run import OperationRefused, Run
from arrows.engine.scheduling import Merged
from arrows.ops import IndexOutOfRange
from arrows.typesys import ArrowValueError, InputError, input_message


def raise_input_error(
    plan: Plan,
    merged: Merged,
    refused: OperationRefused,
    *,
    numbers: HostArray,
    explain: Callable[[int], None],
    run_alone: Callable[[int], None],
) -> NoReturn:
    """Raises the `InputError` of a refused step: block and example, and the path if the example is at hand.

    Args:
        plan: the model's plan.
        merged: its schedule.
        refused: what went wrong.
        numbers: what the examples are called in messages.
        explain: raises the error of one of the examples, with the path, if the example is at hand.
        run_alone: runs one of the examples by itself.
    """
    cause = refused.__cause__
    suspects = _suspects(merged, refused)
    place = suspects[0] if len(suspects) == 1 else None
    for suspect in suspects:
        if place is None:
            try:
                run_alone(suspect)
            except OperationRefused as again:
                place, cause = suspect, again.__cause__
    number = None if place is None else int(numbers[place])
    if place is not None:
        with suppress(ArrowValueError):  # errors of the reference's kernels name no place in the example
            explain(place)
    operation = plan.operations[refused.operation]
    typed = operation.typed
    steps = typed.steps if isinstance(typed, Composed) else (typed,)
    label = " >> ".join(step.form.label for step in steps)
    reason, hint = str(cause), ""
    if isinstance(cause, IndexOutOfRange) and len(steps) == 1:
        reason, hint = out_of_range(steps[0], cause)
    raise InputError(input_message(number, "", reason, label, typed.form.site, hint=hint)) from cause


def _suspects(merged: Merged, refused: OperationRefused) -> list[int]:
    """The examples whose rows were in the step; the one example if the kernel says which row it refused."""
    rows = merged.operations[refused.operation]
    examples, _ = merged.nodes(refused.operation)
    if refused.step is not None:
        start, stop = rows.bounds[refused.step], rows.bounds[refused.step + 1]
        row = getattr(refused.__cause__, "row", None)
        if row is not None and not rows.offsets:  # with sequences, the row may be an element's
            start, stop = start + row, start + row + 1
        examples = examples[start:stop]
    return sorted(set(examples.tolist()))


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
        if operation.kind == "read" and merged.operations[operation.index].count:
            row = _first_row(run, run.rows(operation.index, 0))
            if row is not None:
                return f"what {_label(operation)} reads", _example(run, operation.index, row)
    for o, step in merged.steps:
        rows_of = merged.operations[o]
        nodes = rows_of.bounds[step : step + 2]
        for owner, output in plan.result_places[o]:
            rows = run.rows(owner, output)
            operation = plan.operations[owner]
            if operation.kind == "element":
                offsets = rows_of.offsets[operation.site.domain]
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
    return f"{operation.name} ({operation.typed.form.site})"
