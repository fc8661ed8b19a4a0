"""What a model makes of tapped values: from the streams of a batch to one result for each name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from arrows.engine.lowering import ObjectTap, Taps, ValueStreams, holds_objects
from arrows.engine.reading.wiring import Outputs, Visits
from arrows.engine.values import Ragged, collate, get_row, to_numpy, unflatten
from arrows.typesys import types as T

Array = Any


def collect_taps(taps: Taps, arrays: Sequence[Array], outputs: Outputs | None) -> dict[str, Any]:
    """For each name what was tapped, by example, then visit.

    Args:
        taps: the taps of the model.
        arrays: one array for each leaf stream of the model.
        outputs: what comes out of the batch; None if there has not been any.
    """
    found: dict[str, Any] = {}
    if not taps.streams:
        return found
    visits = outputs.visits if outputs is not None else None
    if visits is None:
        visits = Visits.none(len(taps.streams))
    of_visit = np.array([stream for stream, _ in taps.sites], np.int64)[visits.sites.values]
    nothing = np.zeros(0, np.int64)
    for number, stream in enumerate(taps.streams):
        if isinstance(stream, ObjectTap):
            found[stream.name] = [list(some) for some in visits.objects[stream.stream]]
            continue
        counted = np.concatenate(([0], np.cumsum(of_visit == number, dtype=np.int64)))
        offsets = counted[visits.sites.offsets - visits.sites.offsets[0]]
        lengths = (
            [column.values for column in outputs.levels]
            if outputs is not None
            else [nothing] * stream.values.levels.stop
        )
        found[stream.name] = Ragged(collect_values(stream.values, arrays, lengths), offsets)
    return found


def show_taps(taps: Taps, collected: dict[str, Any], outputs: Outputs) -> None:
    """Shows the values of those taps that show them, in the order of the examples and of the visits."""
    if outputs.visits is None or not any(show for _, show in taps.sites):
        return
    shown = {stream for stream, show in taps.sites if show is not None}
    values: dict[int, Iterator[Any]] = {
        number: _one_by_one(collected[stream.name])
        for number, stream in enumerate(taps.streams)
        if number in shown
    }
    for site in outputs.visits.sites.values.tolist():
        stream, show = taps.sites[site]
        if stream in values:
            value = next(values[stream])
            if show is not None:
                show(value)


def collect_values(streams: ValueStreams, arrays: Sequence[Array], lengths: Sequence[np.ndarray]) -> Any:
    """All values that went in, as one result: of the arrays of all leaves, the lengths of all levels."""
    levels = [lengths[level] for level in streams.levels]
    offsets = [np.concatenate(([0], np.cumsum(column, dtype=np.int64))) for column in levels]
    return unflatten(streams.type, [arrays[leaf] for leaf in streams.leaves], offsets)


def _one_by_one(collected: Any) -> Iterator[Any]:
    """What was tapped, visit by visit, on the host."""
    if isinstance(collected, list):
        return chain.from_iterable(collected)
    values = to_numpy(collected.values)
    return (get_row(values, i) for i in range(int(collected.offsets[-1])))


def show_tapped(tapped: Sequence[tuple[Any, T.Type, Any]]) -> None:
    """Shows what the reference tapped of one example: for each visit the `Tap`, its type and the value."""
    for tap, of, value in tapped:
        if tap.show is not None:
            tap.show(value if holds_objects(of) else get_row(collate(of, [value]), 0))
