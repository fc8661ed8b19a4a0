"""What comes out of a call of a model: results, metrics, labels and what was tapped, from the rows of its
runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.device import Device
from arrows.engine.planning import Plan
from arrows.engine.reading.wiring import Outputs
from arrows.engine.running.execute import Run
from arrows.engine.running.taps import collect_taps, collect_values
from arrows.engine.values import NamedResults, Ragged
from arrows.typesys import types as T

Array = Any


@dataclass(frozen=True, eq=False, slots=True)
class OutputRows:
    """Copies of the rows that a run hands out: its slabs are the next batch's.

    Attributes:
        run: the run.
        leaves: for each leaf stream, the result's first, then those of taps; None where nobody reads it.
        metrics: for each metric stream.
    """

    run: Run
    leaves: tuple[Array, ...]
    metrics: tuple[Array, ...]


@dataclass(frozen=True, eq=False, slots=True)
class CallRecord:
    """What a call leaves beside its result; attributes as those of `Model`."""

    metrics: dict[str, Ragged]
    labels: dict[str, list[list[Any]]]
    taps: dict[str, Any]


class OutputCollector:
    """Puts together what comes out of the calls of a model.

    Args:
        plan: the model's plan.
        device: its device.
    """

    def __init__(self, plan: Plan, device: Device) -> None:
        self.plan, self.device = plan, device

    def rows(self, run: Run, *, result: bool) -> OutputRows:
        """The rows that a run hands out, those of the result only where somebody reads it."""
        plan, outputs = self.plan, run.merged.outputs
        unread = 0 if result else len(plan.lowered.streams.result.leaves)
        leaves = [
            None if number < unread else run.gather(slab, column.values)
            for number, (slab, column) in enumerate(zip(plan.results, outputs.results, strict=True))
        ]
        metrics = [
            run.gather(slab, column.values)
            for slab, column in zip(plan.metrics, outputs.metrics, strict=True)
        ]
        return OutputRows(run, tuple(leaves), tuple(metrics))

    def result(self, parts: Sequence[OutputRows], outputs: Outputs) -> Any:
        """The result of a batch, which ran in these parts."""
        result = self.plan.lowered.streams.result
        arrays = [self._leaf(parts, number) for number in result.leaves]
        return collect_values(result, arrays, [column.values for column in outputs.levels])

    def seen(self, parts: Sequence[OutputRows], outputs: Outputs | None) -> CallRecord:
        """What a batch leaves beside its result; `outputs` are None if there has not been any."""
        metrics: dict[str, Ragged] = {}
        labels: dict[str, list[list[Any]]] = {}
        for number, stream in enumerate(self.plan.lowered.streams.metrics):
            offsets = outputs.metrics[number].offsets if outputs is not None else np.zeros(1, np.int64)
            values = self.joined([part.metrics[number] for part in parts], stream.type)
            metrics[stream.name] = Ragged(values, offsets - offsets[0])
            if stream.labelled:
                found = outputs.labels[number] if outputs is not None else ()
                labels[stream.name] = list(found or ())
        lowered = self.plan.lowered
        tapped = {}
        if lowered.streams.taps.streams:
            result, count = len(lowered.streams.result.leaves), len(lowered.streams.leaves)
            arrays = [None if number < result else self._leaf(parts, number) for number in range(count)]
            tapped = collect_taps(lowered.streams.taps, arrays, outputs)
        return CallRecord(NamedResults("metric", metrics), labels, NamedResults("tap", tapped))

    def joined(self, pieces: Sequence[Array], of: T.Tensor) -> Array:
        """The rows of all parts, one after another."""
        if not pieces:
            return self.device.zeros((0, *of.shape), of.dtype)
        return pieces[0] if len(pieces) == 1 else self.device.xp.concatenate(list(pieces))

    def _leaf(self, parts: Sequence[OutputRows], number: int) -> Array:
        return self.joined(
            [part.leaves[number] for part in parts], self.plan.lowered.streams.leaves[number].type
        )
