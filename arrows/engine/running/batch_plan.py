"""Plans a batch before it runs: the index arrays of all operations, and the calls that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from arrows.engine.device import Upload
from arrows.engine.planning import CarriedOperation, Plan, StreamOperation
from arrows.engine.running.distinct import PlannedDistinct, plan_distinct
from arrows.engine.running.gathers import PlannedGather, PlannedSegments, plan_gather, plan_segments
from arrows.engine.running.gradient_flow import OperationFlow, plan_flows, plan_kernel_flows
from arrows.engine.running.kernel_sums import NOTHING_WAITS, WaitingRows, plan_indices
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


@dataclass(frozen=True, slots=True)
class LossSeeds:
    """Where gradients come in: how much a metric stream's values, or a result, weigh in the loss."""

    metrics: Mapping[int, float]
    result: float | None = None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class SentValues:
    """The numbers in the upload of what a batch needs beside index arrays of operations.

    Attributes:
        streams: by operation, the values that are read from examples.
        keys: by operation, the dropout keys.
        results, metrics: for each leaf of the result, for each metric stream, the rows of its slab.
        weights: by slab, how much each of its rows weighs in the loss.
        terms: on a device with kernels, for each term of the loss, how much each of its values weighs.
    """

    streams: Mapping[int, int]
    keys: Mapping[int, int]
    results: Sequence[int]
    metrics: Sequence[int]
    weights: Mapping[int, int]
    terms: Sequence[int]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedBatch:
    """A merged batch, planned for a device: all of it is on the host still.

    Attributes:
        merged: the batch.
        operations: those that have nodes in it.
        spans: for each component, in the order of execution: its number, and what runs in it.
        sent: what is sent beside the index arrays of the operations.
        waiting: where gradients wait until rows pull them, on a device with kernels.
        upload: all that is sent.
    """

    merged: Merged
    operations: Mapping[int, PlannedOperation]
    spans: Sequence[tuple[int, Sequence[StepRange]]]
    sent: SentValues
    waiting: WaitingRows
    upload: Upload


def plan_batch(
    plan: Plan,
    merged: Merged,
    codes: Mapping[int, OperationCode],
    keys: Mapping[int, HostArray],
    upload: Upload,
    *,
    backward: bool,
    seeds: LossSeeds | None = None,
) -> PlannedBatch:
    """Plans a merged batch.

    Args:
        plan: the model's plan.
        merged: the batch.
        codes: of all operations that compute.
        keys: dropout keys, by operation.
        upload: takes what the host knows of the batch.
        backward: whether gradients will be asked for.
        seeds: where they come in, if they come from a loss.
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
    waiting = NOTHING_WAITS
    if backward and upload.device.has_kernels:
        flows, waiting = plan_kernel_flows(plan, merged, present, upload)
    elif backward:
        flows = plan_flows(plan, replace(merged, operations=tuple(rows_of)), present, upload)
    gathers = {o: _plan_gathers(code, rows_of[o], distinct[o], upload) for o, code in present.items()}
    if backward and upload.device.has_kernels:
        _plan_indices(plan, merged, gathers, upload)
    planned = {
        o: _plan_operation(code, rows_of[o], gathers[o], distinct[o], flows.get(o, OperationFlow()), upload)
        for o, code in present.items()
    }
    sent = SentValues(
        streams={
            operation.index: upload.add_values(np.ascontiguousarray(merged.raw[operation.stream]))
            for operation in plan.operations
            if isinstance(operation, StreamOperation)
            and not isinstance(operation, CarriedOperation)
            and merged.operations[operation.index].count
        },
        keys={o: upload.add_values(array) for o, array in keys.items()},
        results=[upload.add(column.values) for column in merged.outputs.results],
        metrics=[upload.add(column.values) for column in merged.outputs.metrics],
        weights={} if seeds is None else _send_weights(plan, merged, seeds, upload),
        terms=[]
        if seeds is None or not upload.device.has_kernels
        else _send_terms(plan, merged, seeds, upload),
    )
    spans = step_ranges(merged, {o: operation.first_steps for o, operation in planned.items()})
    return PlannedBatch(
        merged=merged,
        operations=planned,
        spans=spans,
        sent=sent,
        waiting=waiting,
        upload=upload,
    )


def _send_terms(plan: Plan, merged: Merged, seeds: LossSeeds, upload: Upload) -> list[int]:
    """Sends how much each value of a term weighs in the loss, which then is one product."""
    return [
        upload.add_values(np.full(len(rows), weight, plan.slabs[slab].type.dtype))
        for slab, rows, weight in _terms(plan, merged, seeds)
    ]


def _terms(plan: Plan, merged: Merged, seeds: LossSeeds) -> list[tuple[int, HostArray, float]]:
    """What the loss is made of: the slab of each term, its rows there, and how much it weighs."""
    outputs = merged.outputs
    terms = [(plan.metrics[m], outputs.metrics[m].values, weight) for m, weight in seeds.metrics.items()]
    if seeds.result is not None:
        terms.append((plan.results[0], outputs.results[0].values, seeds.result))
    return terms


def _send_weights(plan: Plan, merged: Merged, seeds: LossSeeds, upload: Upload) -> dict[int, int]:
    """Sends how much each row weighs in the loss, by slab."""
    weights: dict[int, HostArray] = {}
    for slab, rows, weight in _terms(plan, merged, seeds):
        # A value may count more than once: under two names, or returned by two branches.
        counted = np.bincount(rows, minlength=merged.slab_rows[slab]) * weight
        weights[slab] = weights[slab] + counted if slab in weights else counted
    sent = {}
    for slab, total in weights.items():
        row = plan.slabs[slab].type
        sent[slab] = upload.add_values(total.astype(row.dtype).reshape(-1, *(1 for _ in row.shape)))
    return sent


def _parts(rows: OperationRows, distinct: PlannedDistinct | None) -> HostArray:
    return rows.bounds[rows.parts] if distinct is None else np.array([0, distinct.count])


def _plan_gathers(
    code: OperationCode, rows: OperationRows, distinct: PlannedDistinct | None, upload: Upload
) -> list[PlannedGather]:
    parts, gathers = _parts(rows, distinct), []
    for layout in code.gathers:
        bounds = parts if layout.by_component else rows.bounds
        if layout.level != ROW:
            bounds = rows.offsets[layout.level][bounds]
        gathers.append(plan_gather(layout, rows, bounds, upload, kernels=code.code.program.kernels))
    return gathers


def _plan_indices(
    plan: Plan, merged: Merged, gathers: Mapping[int, list[PlannedGather]], upload: Upload
) -> None:
    """Sorts the indices of tables whose gradients are row-sparse."""
    for o, own in gathers.items():
        for number, gather in enumerate(own):
            layout = gather.layout
            if layout.indexes:
                rows = merged.operations[o].side_by_side(layout.operands)
                own[number] = replace(gather, indices=plan_indices(plan, merged, layout.slab, rows, upload))


def _plan_operation(
    code: OperationCode,
    rows: OperationRows,
    gathers: Sequence[PlannedGather],
    distinct: PlannedDistinct | None,
    flow: OperationFlow,
    upload: Upload,
) -> PlannedOperation:
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
        parts=_parts(rows, distinct).tolist(),
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
