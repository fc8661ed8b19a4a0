"""A batch bound to its arrays: operations that run, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arrows.arrays import Array, HostArray, quiet
from arrows.engine.device import Arena, ArrayWrite, BufferRows, Device, Sent
from arrows.engine.program import Clock, Frame, PlacesOfRows, StepRefused
from arrows.engine.running.batch_plan import PlannedBatch, PlannedOperation
from arrows.engine.running.gradient_memory import Gradient, ParameterKey, RunDeferred
from arrows.engine.scheduling import Merged, WiredBatch

if TYPE_CHECKING:
    from arrows.engine.running.executor import Executor


class OperationRefused(Exception):
    """A kernel refused the operands of a step; None: of what an operation computes once a batch."""

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


class BoundOperation:
    """An operation whose regions are bound to arrays, forward and backward ones to the same.

    Args:
        planned: the operation.
        device: where the arrays are.
        arena: has memory for all that the batch takes.
        once: the values of the region ``once``.
        clock: is told when gradients have been added to other rows, for a profile.

    Attributes:
        operation: its number.
        step, step_back, deferred: run these regions; None where the program has none.
        before: called with the number of a component before its first step.
        after: likewise after its last step backwards.
    """

    def __init__(
        self,
        planned: PlannedOperation,
        device: Device,
        arena: Arena,
        once: Sequence[Array],
        clock: Clock | None,
    ) -> None:
        code, flow = planned.code, planned.flow
        memory = {
            key: arena.rows(rows) if isinstance(rows, BufferRows) else arena.array(*rows)
            for key, rows in planned.memory.items()
        }
        steps = whole = {domain: each.bind() for domain, each in planned.segments.items()}
        if planned.whole_segments is not planned.segments:
            whole = {domain: each.bind() for domain, each in planned.whole_segments.items()}
        frame = Frame(
            device=device,
            once=once,
            bounds=planned.bounds,
            segments={"step": steps, "step_back": steps, "deferred": whole},
            gathers=planned.gathers,
            memory=memory,
            keys=None if planned.keys is None else planned.keys.array,
            pulls=[each.bind(device, arena) for each in flow.pulls],
            places={
                result: PlacesOfRows(offsets, places, arena.array(*waiting))
                for result, (offsets, places, waiting) in flow.places.items()
            },
            ones=arena.ones,
        )
        regions = {name: region.make(frame) for name, region in code.regions.items()}
        self.before = [_component(regions["early"])] if "early" in regions else []
        self.after = [_component(regions["late"])] if "late" in regions else []
        if planned.distinct is not None:
            pairs: dict[str, list[tuple[Array, Array]]] = {"spread": [], "sums": []}
            for key, place in code.program.distinct_places.items():
                pairs[key[0]].append((memory[key], memory[place.kind, place.number]))
            self.before.append(planned.distinct.spread(device, pairs["spread"]))
            self.after.insert(0, planned.distinct.add_up(device, arena, pairs["sums"]))
        self.after += [each.bind(device, arena) for each in flow.sums]
        if clock is not None:
            self.after.append(lambda _part: clock.tick("scatter", code.operation.index))
        self.operation = code.operation.index
        self.step: Callable[[int, int], None] = regions["step"]
        self.step_back: Callable[[int, int], None] | None = regions.get("step_back")
        self.deferred: RunDeferred | None = regions.get("deferred")

    def run(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps, and before the first step of a component what runs early.

        Raises:
            OperationRefused: a kernel refused its operands; of what runs early, the component's first step.
        """
        early = part is not None
        try:
            if part is not None:
                for run in self.before:
                    run(part)
            early = False
            self.step(first, stop)
        except StepRefused as refused:
            raise OperationRefused(self.operation, first if early else refused.step) from refused.__cause__

    def run_back(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps in the reverse order, and what is left to do after the first of a component."""
        if self.step_back is not None:
            self.step_back(first, stop)
        if part is not None:
            for run in self.after:
                run(part)


def _component(run: Callable[[int, int], None]) -> Callable[[int], None]:
    """Runs a region on one component."""
    return lambda part: run(part, part + 1)


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

    def gather(self, slab: int, rows: HostArray | Sent) -> Array:
        """Copies rows of a slab."""
        device = self.executor.device
        if isinstance(rows, Sent):
            return device.take(self.slabs[slab], rows.array)
        return device.take(self.slabs[slab], device.to_device(rows.astype(device.index_dtype)))

    @quiet
    def loss(self, metrics: Sequence[Array]) -> Array:
        """The weighted sum that the gradients are taken of, a scalar of the device.

        Args:
            metrics: the values of all metric streams.
        """
        device, total = self.executor.device, None
        for metric, weights in self.planned.terms:
            if metric is None:
                values = self.gather(self.executor.plan.results[0], self.planned.results[0])
            else:
                values = metrics[metric]
            term = device.weighted_sum(values, weights.array)
            total = term if total is None else total + term
        assert total is not None, "a loss has terms"
        return total

    def first_gradients(self) -> list[ArrayWrite]:
        """What is to be written to gradients first: those of the loss that the batch was planned with, else
        zeros."""
        weights = self.planned.weights
        return [
            ArrayWrite(array, weights[slab].array if slab in weights else None)
            for slab, array in enumerate(self.gradients)
            if array is not None
        ]

    @quiet
    def flow(self, first: Sequence[ArrayWrite] = ()) -> dict[ParameterKey, Gradient]:
        """Computes the gradients of all parameters, from what is in ``gradients``; writes ``first`` there."""
        executor = self.executor
        if not executor.receiving:  # the loss depends on nothing that can change
            return {}
        totals = executor.parameter_gradients.begin(self.operations)
        executor.device.write([*first, *totals.blanks])
        if executor.clock is not None:
            executor.clock.tick("host")
        try:
            for o, start, stop, part in reversed(self.planned.ranges):
                self.operations[o].run_back(start, stop, part)
        except StepRefused as refused:
            raise refused.__cause__ or refused from None
        for o, operation in self.operations.items():
            if operation.deferred is not None:
                totals.add(o, operation.deferred)
        return totals.total()

    def input_gradients(self, batch: WiredBatch, sites: Sequence[int]) -> tuple[Array, HostArray]:
        """The gradients of what some read sites read, in the order of the visits, and where each example
        starts."""
        plan, device, merged = self.executor.plan, self.executor.device, self.merged
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
