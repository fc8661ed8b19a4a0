"""Collects the outputs of a call of a model: results, metrics, labels and tapped values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Device
from arrows.engine.lowering import Streams, ValueStreams
from arrows.engine.planning import Plan
from arrows.engine.reading import Column, Outputs
from arrows.engine.running.run import Run
from arrows.engine.values import NamedResults, Ragged, collate, get_row, to_numpy, unflatten
from arrows.typesys import types as T

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
