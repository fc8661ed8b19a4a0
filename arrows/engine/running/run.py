"""A batch that has run forwards, and its way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arrows.engine.device import Arena, ArrayWrite, write_arrays
from arrows.engine.planning import Plan
from arrows.engine.program.emitters.arrays import StepRefused
from arrows.engine.running.batch_plan import LossSeeds, PlannedBatch
from arrows.engine.running.bound_backward import (
    BoundBackward,
    ScatterArrays,
    WaitingArrays,
    bind_backward,
    bind_scatters,
)
from arrows.engine.running.bound_operation import BatchArrays, BoundOperation
from arrows.engine.running.gradient_memory import BatchGradients, Gradient, ParameterKey
from arrows.engine.scheduling import Merged, WiredBatch
from arrows.ops.arrays import Array, HostArray, quiet

if TYPE_CHECKING:
    from arrows.engine.running.executor import Executor


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A batch that has run forwards: every value is there.

    Attributes:
        executor: what ran it.
        planned: the batch.
        arrays: its slabs, and the memory that backward regions take.
        operations: those that have nodes in the batch, bound to their arrays.
    """

    executor: Executor
    planned: PlannedBatch
    arrays: BatchArrays
    operations: Mapping[int, BoundOperation]

    @property
    def merged(self) -> Merged:
        """The batch as it was scheduled."""
        return self.planned.merged

    @property
    def slabs(self) -> Sequence[Array]:
        """The rows of all operations."""
        return self.arrays.slabs

    def rows(self, operation: int, output: int) -> Array:
        """The rows of one output, as a range of its slab."""
        return rows_of_output(self.executor.plan, self.merged, self.slabs, operation, output)

    def results(self, operation: int) -> list[Array]:
        """For each result of an operation, its rows."""
        return [self.rows(owner, output) for owner, output in self.executor.plan.result_places[operation]]

    def gather(self, slab: int, rows: HostArray) -> Array:
        """Copies rows of a slab."""
        device = self.executor.device
        return device.take(self.slabs[slab], device.to_device(rows.astype(device.index_dtype)))

    def result_values(self, leaf: int) -> Array:
        """Copies what a leaf of the result has, over all examples."""
        rows = self.arrays.uploaded.get(self.planned.sent.results[leaf])
        return self.executor.device.take(self.slabs[self.executor.plan.results[leaf]], rows)

    def metric_values(self, metric: int) -> Array:
        """Copies the values of a metric stream, over all examples."""
        rows = self.arrays.uploaded.get(self.planned.sent.metrics[metric])
        return self.executor.device.take(self.slabs[self.executor.plan.metrics[metric]], rows)

    @quiet
    def loss(self, seeds: LossSeeds, metrics: Sequence[Array]) -> Array:
        """The weighted sum that the gradients are taken of, a scalar of the device.

        Args:
            seeds: the weights.
            metrics: `metric_values` of all streams.
        """
        terms = [(metrics[metric], weight) for metric, weight in seeds.metrics.items()]
        if seeds.result is not None:
            terms.append((self.result_values(0), seeds.result))
        sent = [self.arrays.uploaded.get(number) for number in self.planned.sent.terms]
        matmul = self.executor.device.xp.matmul
        if sent:
            total, *rest = (matmul(values, weights) for (values, _), weights in zip(terms, sent, strict=True))
        else:
            total, *rest = (values.sum() * weight for values, weight in terms)
        for term in rest:
            total = total + term
        return total

    def start_backward(self) -> BackwardRun:
        """The way back, with gradients that are zero everywhere."""
        gradients, writes = self._gradients({})
        write_arrays(self.executor.device, writes)
        return BackwardRun(self, gradients, None)

    def start_from_loss(self) -> BackwardRun:
        """The way back, with the gradients of the loss, by the weights that the batch was planned with."""
        gradients, writes = self._gradients(self.planned.sent.weights)
        totals = self.executor.parameter_gradients.begin(self.operations)
        write_arrays(self.executor.device, [*writes, *totals.blanks])
        return BackwardRun(self, gradients, totals)

    def _gradients(self, seeds: Mapping[int, int]) -> tuple[list[Array | None], list[ArrayWrite]]:
        """Memory for the gradients of all slabs, and what is to be written there.

        Args:
            seeds: by slab, the number in the upload of the gradients that come in.
        """
        plan, arena = self.executor.plan, self.arrays.arena
        slabs = [s for s in range(len(plan.slabs)) if s in self.executor.receiving]
        types = [plan.slabs[s].type for s in slabs]
        shapes = [
            ((self.merged.slab_rows[s], *type.shape), type.dtype)
            for s, type in zip(slabs, types, strict=True)
        ]
        gradients: list[Array | None] = [None] * len(plan.slabs)
        writes = []
        for s, array in zip(slabs, arena.side_by_side("gradients", shapes), strict=True):
            gradients[s] = array
            writes.append(ArrayWrite(array, self.arrays.uploaded.get(seeds[s]) if s in seeds else None))
        return gradients, writes


@dataclass(frozen=True, eq=False, slots=True)
class BackwardRun:
    """The way back through a batch.

    Attributes:
        run: the batch, after it has run forwards.
        gradients: for each slab, the gradients of its rows; None where none come in.
        totals: the gradients of parameters, if they are ready to be written.
    """

    run: Run
    gradients: Sequence[Array | None]
    totals: BatchGradients | None

    @quiet
    def flow(self) -> dict[ParameterKey, Gradient]:
        """Computes the gradients of all parameters, from what has been put into ``gradients``."""
        if not self.run.executor.receiving:  # the loss depends on nothing that can change
            return {}
        operations, totals, executor = self.run.operations, self.totals, self.run.executor
        if totals is None:
            totals = executor.parameter_gradients.begin(operations)
            write_arrays(executor.device, totals.blanks)
        waiting = self._waiting()
        scatters = {o: bind_scatters(operation, waiting) for o, operation in operations.items()}
        bound = {o: self._bind(o, operation, scatters, waiting) for o, operation in operations.items()}
        if executor.clock is not None:
            executor.clock.tick("host")
        try:
            for _, ranges in reversed(self.run.planned.spans):
                for o, first, stop, part in reversed(ranges):
                    bound[o].run(first, stop, part)
        except StepRefused as refused:
            raise refused.__cause__ or refused from None
        for o, backward in bound.items():
            if backward.run_deferred is not None:
                count = len(operations[o].planned.code.accumulates)
                values = backward.run_deferred(totals.targets(o, count), totals.added(o, count))
                totals.add(o, values)
        return totals.total()

    def _waiting(self) -> WaitingArrays:
        """The arrays in which gradients wait for the rows of each slab, on a device with kernels."""
        plan, rows = self.run.executor.plan, self.run.planned.waiting
        arena = self.run.arrays.arena
        arrays = {s: slab_array(arena, "waiting", plan, s, count) for s, count in rows.count.items()}
        return WaitingArrays(rows, arrays)

    def _bind(
        self,
        o: int,
        operation: BoundOperation,
        scatters: Mapping[int, ScatterArrays],
        waiting: WaitingArrays,
    ) -> BoundBackward:
        plan, merged = self.run.executor.plan, self.run.merged
        gradients: list[Array | None] = []
        for owner, output in plan.result_places[o]:
            slab = self.gradients[plan.operations[owner].slabs[output]]
            if slab is not None:
                first = merged.operations[owner].first_rows[output]
                slab = slab[first : first + merged.operations[owner].count]
            gradients.append(slab)
        return bind_backward(operation, scatters, waiting, self.gradients, gradients, self._tick(o))

    def _tick(self, operation: int) -> Callable[[], None] | None:
        clock = self.run.executor.clock
        return None if clock is None else lambda: clock.tick("scatter", operation)

    def input_gradients(self, batch: WiredBatch, sites: Sequence[int]) -> tuple[Array, HostArray]:
        """The gradients of what some read sites read, in the order of the visits, and where each example
        starts."""
        plan, device, merged = self.run.executor.plan, self.run.executor.device, self.run.merged
        operation = plan.operations[plan.sites.operation[sites[0]]]
        site = batch.wirings.site.select(batch.indices)
        wanted = np.isin(site.values, sites)
        rank = np.zeros(len(wanted), np.intp)
        example, number = merged.nodes(operation.index)
        rank[site.offsets[example] + number] = np.arange(len(number))
        rows = rank[wanted]
        before = np.concatenate(([0], np.cumsum(wanted)))
        gradients = self.gradients[operation.slabs[0]]
        if gradients is None:
            values = device.zeros((len(rows), *operation.outputs[0].shape), operation.outputs[0].dtype)
        else:
            first = merged.operations[operation.index].first_rows[0]
            values = device.take(gradients, device.to_device((rows + first).astype(device.index_dtype)))
        return values, before[site.offsets]


def rows_of_output(plan: Plan, merged: Merged, slabs: Sequence[Array], operation: int, output: int) -> Array:
    """The rows of one output of an operation, as a range of its slab."""
    rows = merged.operations[operation]
    first = rows.first_rows[output]
    return slabs[plan.operations[operation].slabs[output]][first : first + rows.count]


def slab_array(arena: Arena, name: str, plan: Plan, slab: int, rows: int) -> Array:
    """Memory for so many rows like those of a slab."""
    row = plan.slabs[slab].type
    array: Array = arena.array((name, slab), (rows, *row.shape), row.dtype)
    return array
