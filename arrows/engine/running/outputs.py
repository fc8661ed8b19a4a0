"""Collects the outputs of a call of a model, and traces an error in a run back to its example.

Outputs are results, metrics, labels and tapped values.

A step that a kernel refuses, or a number that is not finite, belongs to some example. Most errors in an
example show when it is read. An index that is computed, or a sequence that turns out to be empty, shows
when a step runs, on rows of many examples.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Device
from arrows.engine.lowering import Composed, Streams, ValueStreams
from arrows.engine.planning import Operation, Plan
from arrows.engine.reading import Column, Outputs
from arrows.engine.reference import out_of_range
from arrows.engine.running.executor import OperationRefused, Run
from arrows.engine.scheduling import Merged
from arrows.engine.values import NamedResults, Ragged, collate, get_row, to_numpy, unflatten
from arrows.ops import IndexOutOfRange
from arrows.typesys import ArrowValueError, InputError, input_message, types as T

_NOTHING = Column(np.zeros(0, np.int64), np.zeros(1, np.int64))  # a stream of no examples


@dataclass(frozen=True, eq=False, slots=True)
class OutputRows:
    """Copies of the rows that a run hands out, since the next run reuses the memory of its slabs.

    Attributes:
        outputs: what came out of the examples.
        leaves: for each leaf stream, the result's first, then those of taps; None where nobody reads it.
        metrics: for each metric stream.
    """

    outputs: Outputs
    leaves: tuple[Array | None, ...]
    metrics: tuple[Array, ...]


@dataclass(frozen=True, eq=False, slots=True)
class CallRecord:
    """What a call leaves beside its result.

    Attributes:
        metrics, labels, taps: those of `Model`.
    """

    metrics: Mapping[str, Ragged]
    labels: Mapping[str, list[list[Any]]]
    taps: Mapping[str, Any]


class Records:
    """The records of the last calls: each thread sees its own; one that has made no call, the last of all."""

    def __init__(self, first: CallRecord) -> None:
        self._of_all, self._of_thread = first, threading.local()

    @property
    def latest(self) -> CallRecord:
        """What the last call left that this thread has made, or any."""
        record: CallRecord = getattr(self._of_thread, "record", self._of_all)
        return record

    @latest.setter
    def latest(self, record: CallRecord) -> None:
        self._of_thread.record = self._of_all = record

    @property
    def state(self) -> tuple[CallRecord, CallRecord]:
        """The records, to be set again where the calls that follow do not count."""
        return self.latest, self._of_all

    @state.setter
    def state(self, state: tuple[CallRecord, CallRecord]) -> None:
        self._of_thread.record, self._of_all = state


def copy_rows(run: Run, *, result: bool) -> OutputRows:
    """Copies the rows that a run hands out, those of the result only if asked."""
    plan = run.executor.plan
    unread = 0 if result else len(plan.lowered.streams.result.leaves)
    leaves = [
        None if number < unread else run.gather(slab, run.planned.results[number])
        for number, slab in enumerate(plan.results)
    ]
    metrics = [run.gather(slab, rows) for slab, rows in zip(plan.metrics, run.planned.metrics, strict=True)]
    return OutputRows(run.merged.outputs, tuple(leaves), tuple(metrics))


def join_rows(device: Device, pieces: Sequence[Array], row: T.Tensor) -> Array:
    """The rows of all pieces, one after another; ``row`` is the type of one."""
    joined: Array
    if not pieces:
        joined = device.zeros((0, *row.shape), row.dtype)
    else:
        joined = pieces[0] if len(pieces) == 1 else device.xp.concatenate(list(pieces))
    return joined


def collect_result(plan: Plan, device: Device, parts: Sequence[OutputRows], outputs: Outputs) -> Any:
    """The result of a batch, from the rows of the runs that it took."""
    result = plan.lowered.streams.result
    arrays = [_leaf(plan, device, parts, number) for number in result.leaves]
    return _collect_values(result, arrays, [column.values for column in outputs.levels])


def collect_record(
    plan: Plan, device: Device, parts: Sequence[OutputRows], outputs: Outputs | None
) -> CallRecord:
    """What a batch leaves beside its result; before the first call, ``outputs`` is None."""
    metrics: dict[str, Ragged] = {}
    labels: dict[str, list[list[Any]]] = {}
    label_columns = iter(outputs.labels if outputs is not None else ())
    for number, stream in enumerate(plan.lowered.streams.metrics):
        offsets = outputs.metrics[number].offsets if outputs is not None else np.zeros(1, np.int64)
        values = join_rows(device, [part.metrics[number] for part in parts], stream.type)
        metrics[stream.name] = Ragged(values, offsets - offsets[0])
        if stream.labelled:
            labels[stream.name] = next(label_columns, _NOTHING).lists()
    tapped = {}
    streams = plan.lowered.streams
    if streams.taps:
        # The leaves of the result come first; taps do not read them.
        arrays = [
            None if number < len(streams.result.leaves) else _leaf(plan, device, parts, number)
            for number in range(len(streams.leaves))
        ]
        tapped = _collect_taps(streams, arrays, outputs)
    return CallRecord(NamedResults("metric", metrics), labels, NamedResults("tap", tapped))


def _leaf(plan: Plan, device: Device, parts: Sequence[OutputRows], number: int) -> Array:
    pieces = [array for part in parts if (array := part.leaves[number]) is not None]
    return join_rows(device, pieces, plan.lowered.streams.leaves[number].type)


def _collect_taps(
    streams: Streams, arrays: Sequence[Array | None], outputs: Outputs | None
) -> dict[str, Any]:
    """For each name what was tapped, by example, then visit; ``arrays`` are by leaf stream of the model."""
    visits = outputs.visits[0] if outputs is not None else _NOTHING
    stream_of_visit = np.array([stream for stream, _ in streams.tap_sites], np.int64)[visits.values]
    collected: dict[str, Any] = {}
    for number, stream in enumerate(streams.taps):
        if isinstance(stream.values, int):
            objects = outputs.objects[stream.values] if outputs is not None else _NOTHING
            collected[stream.name] = objects.lists()
            continue
        counted = np.concatenate(([0], np.cumsum(stream_of_visit == number, dtype=np.int64)))
        offsets = counted[visits.offsets - visits.offsets[0]]
        if outputs is not None:
            lengths = [column.values for column in outputs.levels]
        else:
            lengths = [np.zeros(0, np.int64)] * stream.values.levels.stop
        collected[stream.name] = Ragged(_collect_values(stream.values, arrays, lengths), offsets)
    return collected


def _collect_values(
    streams: ValueStreams, arrays: Sequence[Array | None], lengths: Sequence[HostArray]
) -> Any:
    """All values that went into some streams, as one result; arrays and lengths are those of all streams."""
    levels = [lengths[level] for level in streams.levels]
    offsets = [np.concatenate(([0], np.cumsum(column, dtype=np.int64))) for column in levels]
    return unflatten(streams.type, [arrays[leaf] for leaf in streams.leaves], offsets)


def show_taps(streams: Streams, collected: Mapping[str, Any], outputs: Outputs) -> None:
    """Calls the ``show`` of taps, in the order of the examples and of the visits."""
    if not outputs.visits or not any(show for _, show in streams.tap_sites):
        return
    shown = {stream for stream, show in streams.tap_sites if show is not None}
    values: dict[int, Iterator[Any]] = {
        number: _one_by_one(collected[stream.name])
        for number, stream in enumerate(streams.taps)
        if number in shown
    }
    for site in outputs.visits[0].values.tolist():
        stream, show = streams.tap_sites[site]
        if stream in values:
            value = next(values[stream])
            if show is not None:
                show(value)


def _one_by_one(collected: Any) -> Iterator[Any]:
    """Iterates over the tapped values on the host, visit by visit."""
    if isinstance(collected, list):
        return chain.from_iterable(collected)
    values = to_numpy(collected.values)
    return (get_row(values, visit) for visit in range(int(collected.offsets[-1])))


def show_tapped(tapped: Sequence[tuple[Any, T.Type, Any]]) -> None:
    """Calls the ``show`` of taps with what the reference tapped of one example.

    Args:
        tapped: for each visit the `Tap`, the type of the value and the value.
    """
    for tap, type_tapped, value in tapped:
        show: Callable[[Any], object] | None = tap.show
        if show is not None:
            objects = T.holds(type_tapped, T.Input)
            show(value if objects else get_row(collate(type_tapped, [value]), 0))


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
    typed = operation.site.typed
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
    return f"{operation.name} ({operation.site.typed.form.site})"
