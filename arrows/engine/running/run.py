"""A batch that has run forwards, and its way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arrows.engine.device import ArrayWrite, Sent, write_arrays
from arrows.engine.program.emitters.arrays import StepRefused
from arrows.engine.running.batch_plan import LossSeeds, PlannedBatch
from arrows.engine.running.bound_operation import BoundOperation
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
        slabs: the rows of all operations.
        gradients: for each slab, memory for the gradients of its rows; None where none come in.
        operations: those that have nodes in the batch, bound to their arrays.
    """

    executor: Executor
    planned: PlannedBatch
    slabs: Sequence[Array]
    gradients: Sequence[Array | None]
    operations: Mapping[int, BoundOperation]

    @property
    def merged(self) -> Merged:
        """The batch as it was scheduled."""
        return self.planned.merged

    def rows(self, operation: int, output: int) -> Array:
        """The rows of one output, as a range of its slab."""
        rows, slab = self.merged.operations[operation], self.executor.plan.operations[operation].slabs[output]
        first = rows.first_rows[output]
        return self.slabs[slab][first : first + rows.count]

    def results(self, operation: int) -> list[Array]:
        """For each result of an operation, its rows."""
        return [self.rows(owner, output) for owner, output in self.executor.plan.result_places[operation]]

    def gather(self, slab: int, rows: HostArray) -> Array:
        """Copies rows of a slab."""
        device = self.executor.device
        return device.take(self.slabs[slab], device.to_device(rows.astype(device.index_dtype)))

    def result_values(self, leaf: int) -> Array:
        """Copies what a leaf of the result has, over all examples."""
        rows = self.planned.results[leaf].array
        return self.executor.device.take(self.slabs[self.executor.plan.results[leaf]], rows)

    def metric_values(self, metric: int) -> Array:
        """Copies the values of a metric stream, over all examples."""
        rows = self.planned.metrics[metric].array
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
        total: Array
        if sent := self.planned.terms:
            matmul = self.executor.device.xp.matmul
            total, *rest = (
                matmul(each, weights.array) for (each, _), weights in zip(terms, sent, strict=True)
            )
        else:
            total, *rest = (values.sum() * weight for values, weight in terms)
        for term in rest:
            total = total + term
        return total

    def start_backward(self) -> BackwardRun:
        """The way back, with gradients that are zero everywhere."""
        write_arrays(self.executor.device, self._first_gradients({}))
        return BackwardRun(self, self.gradients, None)

    def start_from_loss(self) -> BackwardRun:
        """The way back, with the gradients of the loss, by the weights that the batch was planned with."""
        totals = self.executor.parameter_gradients.begin(self.operations)
        writes = [*self._first_gradients(self.planned.weights), *totals.blanks]
        write_arrays(self.executor.device, writes)
        return BackwardRun(self, self.gradients, totals)

    def _first_gradients(self, seeds: Mapping[int, Sent]) -> list[ArrayWrite]:
        """What is to be written to the gradients of slabs: what comes in from the loss, else zeros."""
        return [
            ArrayWrite(array, seeds[s].array if s in seeds else None)
            for s, array in enumerate(self.gradients)
            if array is not None
        ]


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
        if executor.clock is not None:
            executor.clock.tick("host")
        try:
            for _, ranges in reversed(self.run.planned.spans):
                for o, first, stop, part in reversed(ranges):
                    operations[o].run_back(first, stop, part)
        except StepRefused as refused:
            raise refused.__cause__ or refused from None
        for o, operation in operations.items():
            if operation.deferred is not None:
                totals.add(o, operation.deferred)
        return totals.total()

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
