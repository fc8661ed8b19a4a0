"""Plans a batch before it runs: the index arrays of all operations, and the calls that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from arrows.engine.device import Upload
from arrows.engine.planning import Plan
from arrows.engine.running.distinct import PlannedDistinct, plan_distinct
from arrows.engine.running.gathers import PlannedGather, PlannedSegments, plan_gather, plan_segments
from arrows.engine.running.gradient_flow import NO_FLOW, OperationFlow, plan_flows
from arrows.engine.running.operation_code import OperationCode
from arrows.engine.scheduling import Merged, OperationRows
from arrows.ops import INVARIANT, ROW
from arrows.ops.arrays import HostArray


class StepRange(NamedTuple):
    """Consecutive steps of one operation within one component: one call of its function.

    Attributes:
        operation: the operation.
        first, stop: the numbers of the first step, and of the step after the last.
        part: if the operation's steps in a component begin here, the component's number among those of the
            operation.
    """

    operation: int
    first: int
    stop: int
    part: int | None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedOperation:
    """One operation of a batch.

    Attributes:
        code: what it runs.
        rows: its part of the batch; of an operand whose repeated rows are computed once, the distinct rows.
        bounds: where the rows of each step start, and where the last end.
        parts: likewise of each component, in ``early`` and ``late``.
        first_steps: for each component, the first step.
        gathers: by their number in the program.
        segments: for each sequence, its bounds at each step.
        whole_segments: for each sequence, its bounds for all rows, if ``deferred`` runs.
        distinct: how repeated rows are computed once, if they are.
        flow: how its gradients flow.
    """

    code: OperationCode
    rows: OperationRows
    bounds: list[int]
    parts: list[int]
    first_steps: list[int]
    gathers: tuple[PlannedGather, ...]
    segments: Mapping[int, PlannedSegments]
    whole_segments: Mapping[int, PlannedSegments]
    distinct: PlannedDistinct | None
    flow: OperationFlow

    def total(self, level: int) -> int:
        """How many rows a value of a level has, over the whole batch; `INVARIANT` has none."""
        return self.rows.count if level == ROW else int(self.rows.offsets[level][-1])

    def shape(self, level: int, row: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a value for all rows of the operation."""
        return row if level == INVARIANT else (self.total(level), *row)

    def scratch_shape(self, region: str, level: int, row: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a scratch array of a region: for its longest step, component, or all rows."""
        if region == "deferred" or level == INVARIANT:
            return self.shape(level, row)
        if region in ("early", "late"):
            assert level == ROW, "what runs for a component at once has no sequences"
            return (max(stop - start for start, stop in pairwise(self.parts)), *row)
        return (self.rows.longest if level == ROW else self.segments[level].most, *row)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedBatch:
    """A merged batch, planned for a device, whose index arrays are there.

    Attributes:
        merged: the batch.
        operations: those that have nodes in it.
        spans: for each component, in the order of execution: its number, and what runs in it.
        keys: dropout keys, by operation, still on the host.
        upload: the index arrays.
    """

    merged: Merged
    operations: Mapping[int, PlannedOperation]
    spans: Sequence[tuple[int, Sequence[StepRange]]]
    keys: Mapping[int, HostArray]
    upload: Upload


def plan_batch(
    plan: Plan,
    merged: Merged,
    codes: Mapping[int, OperationCode],
    keys: Mapping[int, HostArray],
    upload: Upload,
    *,
    backward: bool,
) -> PlannedBatch:
    """Plans a merged batch and sends its index arrays.

    Args:
        plan: the model's plan.
        merged: the batch.
        codes: of all operations that compute.
        keys: dropout keys, by operation.
        upload: takes the index arrays, and sends them.
        backward: whether gradients will be asked for.
    """
    present = {o: code for o, code in codes.items() if merged.operations[o].count}
    distinct: dict[int, PlannedDistinct | None] = {}
    rows_of = list(merged.operations)
    for o, code in present.items():
        distinct[o] = None
        if code.distinct is not None:
            distinct[o] = plan_distinct(code.distinct, o, rows_of[o], upload)
        if (repeated := distinct[o]) is not None:
            rows_of[o] = repeated.rows
    flows: Mapping[int, OperationFlow] = {}
    if backward:
        flows = plan_flows(plan, replace(merged, operations=tuple(rows_of)), present, upload)
    planned = {
        o: _plan_operation(code, rows_of[o], distinct[o], flows.get(o, NO_FLOW), upload)
        for o, code in present.items()
    }
    upload.send()
    spans = step_ranges(merged, {o: operation.first_steps for o, operation in planned.items()})
    return PlannedBatch(merged=merged, operations=planned, spans=spans, keys=keys, upload=upload)


def _plan_operation(
    code: OperationCode,
    rows: OperationRows,
    distinct: PlannedDistinct | None,
    flow: OperationFlow,
    upload: Upload,
) -> PlannedOperation:
    parts = rows.bounds[rows.parts] if distinct is None else np.array([0, distinct.count])
    gathers = []
    for layout in code.gathers:
        bounds = parts if layout.by_component else rows.bounds
        if layout.level != ROW:
            bounds = rows.offsets[layout.level][bounds]
        gathers.append(plan_gather(layout, rows, bounds, upload))
    segments, whole_segments = {}, {}
    for domain in code.operation.domains:
        segments[domain] = plan_segments(rows.offsets[domain], rows.bounds, upload)
        if code.deferred is not None:
            one_step = len(rows.bounds) == 2
            whole = np.array([0, rows.count])
            whole_segments[domain] = (
                segments[domain] if one_step else plan_segments(rows.offsets[domain], whole, upload)
            )
    return PlannedOperation(
        code=code,
        rows=rows,
        bounds=rows.bounds.tolist(),
        parts=parts.tolist(),
        first_steps=rows.parts[:-1].tolist(),
        gathers=tuple(gathers),
        segments=segments,
        whole_segments=whole_segments,
        distinct=distinct,
        flow=flow,
    )


def step_ranges(
    merged: Merged, first_steps: Mapping[int, Sequence[int]]
) -> list[tuple[int, list[StepRange]]]:
    """The steps of a batch by component, consecutive steps of one operation as one range.

    Args:
        merged: the batch.
        first_steps: for each operation, the first step of each component that it runs in.
    """
    parts = {o: {step: part for part, step in enumerate(steps)} for o, steps in first_steps.items()}
    spans = []
    for component, position, end in merged.spans:
        ranges = []
        while position < end:
            operation, first = merged.steps[position]
            position += 1
            stop = first + 1
            while position < end and merged.steps[position] == (operation, stop):
                position += 1
                stop += 1
            ranges.append(StepRange(operation, first, stop, parts[operation].get(first)))
        spans.append((component, ranges))
    return spans
