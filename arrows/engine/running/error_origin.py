"""Traces an error in a run back to its example, or says for what memory ran out.

A step that a kernel refuses, or a number that is not finite, belongs to some example. Most errors in an
example show when it is read. An index that is computed, or a sequence that turns out to be empty, shows
when a step runs, on rows of many examples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import NoReturn

import numpy as np

from arrows.engine.device import ArenaFull, UploadFull
from arrows.engine.lowering import Composed
from arrows.engine.planning import ApplyOperation, ElementOperation, Operation, Plan, ReadOperation
from arrows.engine.reference import out_of_range
from arrows.engine.running.batch_plan import PlannedBatch
from arrows.engine.running.bound_operation import OperationRefused
from arrows.engine.running.executor import Executor
from arrows.engine.running.executors import arena_sizes, in_words
from arrows.engine.running.run import Run
from arrows.engine.scheduling import Merged
from arrows.ops import IndexOutOfRange
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import input_message, message


class BatchMemoryError(MemoryError):
    """A batch needs more memory than there is, or than the limit of the model allows.

    Nothing is lost: model and optimizer are as they were, and a smaller batch may run.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Vector(100)) >> ar.Sum(), memory_limit=1000)
        >>> try:
        ...     model([[[0.0] * 100] * 1000])
        ... except ar.BatchMemoryError as error:
        ...     print(str(error).splitlines()[0])
        cannot run example 0
    """


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
    assert isinstance(operation, ApplyOperation)
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
        if isinstance(operation, ReadOperation) and merged.operations[operation.index].count:
            row = _first_row(run, run.rows(operation.index, 0))
            if row is not None:
                return f"what {_label(operation)} reads", _example(run, operation.index, row)
    for o, step in merged.steps:
        rows_of = merged.operations[o]
        nodes = rows_of.bounds[step : step + 2]
        for (owner, _), rows in zip(plan.result_places[o], run.results(o), strict=True):
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


def refuse_example(executor: Executor, planned: PlannedBatch, number: int, need: int, limit: int) -> None:
    """Refuses an example that takes more memory than the limit, all alone.

    Raises:
        BatchMemoryError: says which, and what is largest of what it takes.
    """
    largest, size = largest_array(executor, planned)
    raise BatchMemoryError(
        message(
            f"cannot run example {number}",
            reason=f"it takes {in_words(need)} alone, and memory_limit is {in_words(limit)}; the largest "
            f"part, {in_words(size)}, is {largest}",
            hint="raise the limit: model.memory_limit = ..., or leave the example out",
        )
    )


def no_memory_to_plan(count: int, device: str) -> BatchMemoryError:
    """What to say when memory ran out before a batch could run."""
    return BatchMemoryError(
        message(
            f"cannot run a batch of {count} example{'' if count == 1 else 's'} on {device!r}",
            reason="memory of the host ran out while it was planned",
            hint="run fewer examples at a time",
        )
    )


def out_of_memory(executor: Executor, planned: PlannedBatch, error: MemoryError) -> BatchMemoryError:
    """What to say when memory ran out in a batch: for what, how much, and how many examples would fit."""
    sizes = arena_sizes(executor, planned)
    need = executor.arena.bytes_with(sizes) + planned.upload.bytes
    held, count = executor.arena.bytes, planned.merged.examples
    if isinstance(error, ArenaFull):
        reason = f"memory ran out at {in_words(error.bytes)} for {describe(executor, error.name)}"
    elif isinstance(error, UploadFull):
        reason = f"memory ran out while {in_words(error.bytes)} of indices and inputs were sent"
    else:
        name, size = largest_array(executor, planned)
        reason = f"memory ran out for a temporary array; the largest other one, {in_words(size)}, is {name}"
    examples = f"{count} example{'' if count == 1 else 's'}"
    hint = "this example alone is too large for the device"
    if count > 1:
        # What could be had until then would be enough for so many examples; at least one is tried.
        fits = min(max(count * held // max(need, 1), 1), count - 1)
        limit = in_words(max(held, need // count)).replace(" ", "")
        hint = (
            f"about {fits} would fit; compile(..., memory_limit={limit!r}), or model.memory_limit, runs "
            "larger batches in parts"
        )
    return BatchMemoryError(
        message(
            f"cannot run a batch of {examples} on {executor.device.name!r}",
            reason=f"{reason}; the batch takes {in_words(need)} in all",
            hint=hint,
        )
    )


def largest_array(executor: Executor, planned: PlannedBatch) -> tuple[str, int]:
    """The largest array of a batch in words, and its bytes."""
    sizes = arena_sizes(executor, planned)
    bytes_of = {key: size * np.dtype(key[1]).itemsize for key, size in sizes.items()}
    largest = max(bytes_of, key=bytes_of.__getitem__)
    return describe(executor, largest[0]), bytes_of[largest]


def describe(executor: Executor, name: Hashable) -> str:
    """An array of the arena in words."""
    plan = executor.plan
    if name == "gradients":
        return "the gradients of all slabs"
    if isinstance(name, tuple) and len(name) > 1 and isinstance(name[1], int):
        if name[0] in ("slab", "waiting"):
            slabs = [name[1]]
            if name[0] == "slab":
                slabs = [s for s, number in enumerate(executor.memory.slabs) if number == name[1]]
            makers = [
                operation.name
                for operation in plan.operations
                if isinstance(operation, (ApplyOperation, ReadOperation))
                and set(slabs) & set(operation.slabs)
            ]
            kind = "slab" if name[0] == "slab" else "the gradients that come into slab"
            return f"{kind} {name[1]} ({', '.join(dict.fromkeys(makers)) or 'constants'})"
        if name[0] in ("saved", "sums"):
            operation = plan.operations[name[1]]
            return f"what {getattr(operation, 'name', 'an operation')} keeps for its gradients"
        if name[0] in ("kept", "operand"):
            owners = [
                getattr(plan.operations[o], "name", "")
                for o, number in enumerate(executor.memory.operations)
                if number == name[1] and o in executor.codes
            ]
            return f"what {', '.join(dict.fromkeys(owners))} keeps for all rows"
    return "what an operation computes meanwhile"
