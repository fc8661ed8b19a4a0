"""Runs a merged batch: forward steps in order, backward steps in reverse, deferred parts at the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from arrows.engine.device import Arena, Device, Upload
from arrows.engine.planning import (
    ApplyOperation,
    CarriedOperation,
    Plan,
    StreamOperation,
    moving_slabs,
    receiving_slabs,
)
from arrows.engine.program import Clock, Program, make_program
from arrows.engine.program.slab_memory import separate_memory, shared_memory
from arrows.engine.reading import lengths_of
from arrows.engine.running.binding import Binding
from arrows.engine.running.dropout_keys import DropoutSeed, dropout_keys
from arrows.engine.running.flow_back import Flow, flows
from arrows.engine.running.gradients import Gradient, GradientMemory, ParameterKey
from arrows.engine.running.unlike import unlike
from arrows.engine.scheduling import Merged, OperationRows, WiredBatch, merge
from arrows.ops import IndexOutOfRange, Parameter
from arrows.ops.arrays import quiet
from arrows.ops.linear import FEW_TRANSPOSED
from arrows.typesys import ArrowValueError

Array = Any


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where gradients come in: how much a metric stream's values, or a result, weigh in the loss."""

    metrics: Mapping[int, float]
    result: float | None = None


class StepRefused(Exception):
    """A kernel refused the operands of a step; None: of what an operation computes once a batch."""

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


class Run:
    """One batch on one device: its slabs and bound operations, from the forward pass to the gradients."""

    def __init__(
        self,
        executor: Executor,
        merged: Merged,
        bindings: dict[int, Binding],
        upload: Upload,
        keys: Mapping[int, np.ndarray],
        flows: Mapping[int, Flow],
        arena: Arena,
        carry: Callable[[Array, np.ndarray], None] | None,
    ) -> None:
        self.executor, self.merged, self.bindings, self.upload = executor, merged, bindings, upload
        self.keys, self.flows, self.arena, self.carry = keys, flows, arena, carry
        self.slabs: list[Array] = []

    @quiet
    def forward(self) -> None:
        """Computes every value of the batch.

        Raises:
            StepRefused: a kernel refused what an example gave it.
        """
        executor, merged = self.executor, self.merged
        plan, device, arena = executor.plan, executor.device, self.arena
        for place, slab, rows in zip(executor.memory.slabs, plan.slabs, merged.slab_rows, strict=True):
            self.slabs.append(arena.array(("slab", place), (rows, *slab.type.shape), slab.type.dtype))
        for operation in plan.operations:
            if isinstance(operation, StreamOperation):
                found = merged.operations[operation.index]
                if found.count:
                    values, rows = merged.raw[operation.stream], self._rows(operation.index, 0)
                    if isinstance(operation, CarriedOperation):
                        assert self.carry is not None
                        self.carry(rows, values)
                    else:
                        rows[...] = device.to_device(np.ascontiguousarray(values))
        running: tuple[int, int | None] = 0, None
        try:
            for o, binding in self.bindings.items():
                running = o, None
                program = binding.program
                invariants = executor.invariants(program, binding.rows)
                keys = self.keys.get(o)
                binding.bind(
                    device,
                    arena,
                    executor.memory.operations[o],
                    invariants,
                    self.slabs,
                    self._outputs(self.slabs, o),
                    None if keys is None else device.to_device(keys),
                )
            openings = deque(executor.memory.constants)
            for component, first, last in merged.spans:
                self._write_constants(openings, component)
                for running in merged.steps[first:last]:
                    o, step = running
                    self.bindings[o].run(step)
            self._write_constants(openings, None)
        except (IndexOutOfRange, ArrowValueError) as error:
            raise StepRefused(*running) from error

    def _write_constants(self, openings: deque[tuple[int, int]], component: int | None) -> None:
        """Writes the constants of the slabs that are needed from a component on; None: of all others."""
        while openings and (component is None or openings[0][0] <= component):
            _, slab = openings.popleft()
            for row, constant in enumerate(self.executor.plan.slabs[slab].constants):
                self.slabs[slab][row] = self.executor.constant(constant)

    def _rows(self, operation: int, output: int, of: Sequence[Array] | None = None) -> Array:
        """The rows of one output, as a range of its slab."""
        plan, found = self.executor.plan, self.merged.operations[operation]
        first = found.first_rows[output]
        slab = (self.slabs if of is None else of)[plan.operations[operation].slabs[output]]
        return slab[first : first + found.count]

    def _outputs(self, of: Sequence[Array], operation: int) -> list[Array]:
        """For each result of an operation, its rows in ``of``: one array for each slab, or None."""
        plan = self.executor.plan
        return [
            None if of[plan.operations[owner].slabs[output]] is None else self._rows(owner, output, of)
            for owner, output in plan.result_places[operation]
        ]

    def gather(self, slab: int, rows: np.ndarray) -> Array:
        """Copies rows of a slab."""
        index = self.executor.device.to_device(rows.astype(self.executor.device.index_dtype))
        return self.executor.device.take(self.slabs[slab], index)

    def backward(self, seeds: Seeds) -> dict[ParameterKey, Gradient]:
        """Computes the gradients of all parameters, from the weights of the values that make the loss."""
        self.begin_backward()
        if not self.executor.receiving:  # the loss depends on nothing that can change
            return {}
        self._seed(seeds)
        return self.flow_back()

    def begin_backward(self) -> None:
        """Makes slabs of gradients, zero everywhere."""
        plan, executor = self.executor.plan, self.executor
        self.gradients: list[Array] = [
            self.arena.zeros(("gradient", s), (rows, *slab.type.shape), slab.type.dtype)
            if s in executor.receiving
            else None
            for s, (slab, rows) in enumerate(zip(plan.slabs, self.merged.slab_rows, strict=True))
        ]

    @quiet
    def flow_back(self) -> dict[ParameterKey, Gradient]:
        """Computes the gradients of all parameters, from what has been put into the slabs of gradients."""
        executor, merged = self.executor, self.merged
        for o, binding in self.bindings.items():
            binding.bind_backward(self.gradients, self._outputs(self.gradients, o))
        for o, binding in self.bindings.items():
            binding.bind_flow(self.flows[o], self.bindings)
        for o, step in reversed(merged.steps):
            self.bindings[o].run_backward(step)
        gradients = executor.gradients.begin(self.bindings)
        for o, binding in self.bindings.items():
            if binding.program.deferred is not None:
                targets = gradients.targets(o, len(binding.program.pieces))
                gradients.add(o, binding.run_deferred(targets))
        return gradients.total()

    @quiet
    def loss(self, seeds: Seeds) -> Array:
        """The weighted sum that the gradients are taken of, a scalar of the device."""
        return sum(self.gather(slab, rows).sum() * weight for slab, rows, weight in self._loss_parts(seeds))

    def _loss_parts(self, seeds: Seeds) -> list[tuple[int, np.ndarray, float]]:
        """What the loss is the sum of: slabs, rows of them, and their weights."""
        plan, outputs = self.executor.plan, self.merged.outputs
        parts = [(plan.metrics[m], outputs.metrics[m].values, weight) for m, weight in seeds.metrics.items()]
        if seeds.result is not None:
            parts.append((plan.results[0], outputs.results[0].values, seeds.result))
        return parts

    def input_gradients(self, chosen: WiredBatch, sites: Sequence[int]) -> tuple[Array, np.ndarray]:
        """The gradients of what some read sites read, in the order of the visits, and where each example
        starts."""
        plan, device = self.executor.plan, self.executor.device
        operation = plan.operations[plan.sites.operation[sites[0]]]
        site = chosen.wirings.site.select(chosen.indices)
        wanted = np.isin(site.values, sites)
        rank = np.zeros(len(wanted), np.intp)
        example, number = self.merged.nodes(operation.index)
        rank[site.offsets[example] + number] = np.arange(len(number))
        rows = rank[wanted]
        before = np.concatenate(([0], np.cumsum(wanted)))
        gradients = self.gradients[operation.slabs[0]]
        found = self.merged.operations[operation.index]
        if gradients is None:
            values = device.zeros((len(rows), *operation.outputs[0].shape), operation.outputs[0].dtype)
        else:
            index = device.to_device((rows + found.first_rows[0]).astype(device.index_dtype))
            values = device.take(gradients, index)
        return values, before[site.offsets]

    def _seed(self, seeds: Seeds) -> None:
        plan, merged, device = self.executor.plan, self.merged, self.executor.device
        weights: dict[int, np.ndarray] = {}
        for slab, rows, weight in self._loss_parts(seeds):
            # A value may count more than once: under two names, or returned by two branches.
            counted = np.bincount(rows, minlength=merged.slab_rows[slab]) * weight
            weights[slab] = weights[slab] + counted if slab in weights else counted
        for slab, total in weights.items():
            if self.gradients[slab] is not None:
                of = plan.slabs[slab].type
                column = total.astype(of.dtype).reshape(-1, *(1 for _ in of.shape))
                self.gradients[slab][...] = device.to_device(column)


class Executor:
    """Programs and memory of a model on one device, for one choice of what to differentiate.

    Args:
        plan: the model's plan.
        device: the device.
        arena: memory, shared by the executors of a model.
        parameter: gives the live array of a layer's parameter.
        seeds: the slabs that gradients come into from outside; empty for inference.
        inputs: the read sites whose gradients are wanted.
        keep_values: whether all slabs are to be there when a batch has run.
        programs: those of operations that did not change since an earlier executor, by what they depend on.
        training: whether dropout acts.
        jit: whether element-wise chains are compiled.
        clock: notes where the time goes, for a profile.
    """

    def __init__(
        self,
        plan: Plan,
        device: Device,
        arena: Arena,
        parameter: Callable[[object, Parameter], Array],
        seeds: Collection[int] = (),
        inputs: Sequence[int] = (),
        training: bool = False,
        jit: bool = False,
        clock: Clock | None = None,
        keep_values: bool = False,
        programs: dict[Hashable, Program] | None = None,
    ) -> None:
        self.clock = clock
        self.plan, self.device, self.arena, self.parameter = plan, device, arena, parameter
        self.moving = moving_slabs(plan, set(inputs))
        self.receiving = receiving_slabs(plan, set(seeds), self.moving) if seeds else set()
        # Gradients need the values of all slabs; without them, memory that is no longer read is used again.
        self.memory = separate_memory(plan) if self.receiving or keep_values else shared_memory(plan)
        # Inputs whose gradients are wanted are told apart by their place, not by their value.
        self.share = not inputs and not (training and plan.has_dropout)
        self._constants: dict[int, Array] = {}
        self._invariants: dict[int, tuple[Array, ...]] = {}
        self.programs: dict[int, Program] = {}
        for operation in plan.operations:
            if not isinstance(operation, ApplyOperation):
                continue
            wanted = [port.slab in self.moving and port.slab in self.receiving for port in operation.ports]
            places = plan.result_places[operation.index]
            seeded = [plan.operations[owner].slabs[output] in self.receiving for owner, output in places]
            key = operation.index, operation.early, operation.ports, *wanted, None, *seeded
            program = None if programs is None else programs.get(key)
            if program is None:
                program = make_program(
                    operation, device.xp, wanted, seeded, training=training, jit=jit, clock=clock
                )
                if programs is not None:
                    programs[key] = program
            self.programs[operation.index] = program
        self.gradients = GradientMemory(self.programs, device)
        self._program_constants = {
            o: tuple(device.to_device(np.asarray(array)) for array in program.constants)
            for o, program in self.programs.items()
        }

    @property
    def kept(self) -> list[Array]:
        """The arrays that are kept from batch to batch, beside the arena; parameters may be among them."""
        computed = [*self._program_constants.values(), *self._invariants.values()]
        return [
            *self._constants.values(),
            *(array for arrays in computed for array in arrays),
            *self.gradients.kept,
        ]

    def constant(self, number: int) -> Array:
        """A constant of the expression, on the device."""
        if number not in self._constants:
            self._constants[number] = self.device.to_device(self.plan.lowered.constants[number])
        return self._constants[number]

    def refresh(self) -> None:
        """Forgets what was computed of parameters, which may have changed since: once a call of the model."""
        self._invariants.clear()

    def invariants(self, program: Program, rows: OperationRows) -> tuple[Array, ...]:
        """What a program computes of constants and parameters alone; the first batch after `refresh` says how
        many rows its steps have."""
        o = program.operation.index
        if o not in self._invariants:
            parameters = [self.parameter(owner, spec) for owner, spec, _ in program.trace.parameters]
            steps = int((lengths_of(rows.bounds) > FEW_TRANSPOSED).sum())
            self._invariants[o] = program.compute_invariants(self._program_constants[o], parameters, steps)
        return self._invariants[o]

    def no_gradient(self, owner: object, spec: Parameter) -> Gradient:
        """The gradient of a parameter that a batch does not reach: of the kind that it has otherwise."""
        return self.gradients.zero((id(owner), spec.name), spec)

    def run(self, chosen: WiredBatch, chance: DropoutSeed) -> Run:
        """Merges a batch and prepares it; computes nothing yet.

        Args:
            chosen: the batch.
            chance: what dropout depends on, if it acts.
        """
        if self.clock is not None:
            self.clock.tick("prepare")
        merged = merge(self.plan, chosen, share=self.share)
        keys = {
            o: dropout_keys(chosen, merged, o, chance)
            for o, program in self.programs.items()
            if program.trace.dropout_key is not None
        }
        bound = self.bound(merged, keys)
        if self.clock is not None:
            self.clock.count(merged)
            self.clock.tick("merge")
        return bound

    def bound(
        self,
        merged: Merged,
        keys: Mapping[int, np.ndarray] = MappingProxyType({}),
        arena: Arena | None = None,
        carry: Callable[[Array, np.ndarray], None] | None = None,
    ) -> Run:
        """Binds the operations of a merged batch and sends its index arrays.

        Args:
            merged: the batch.
            keys: dropout keys, by operation.
            arena: the memory of the run; None: what all runs share.
            carry: ``carry(rows, ids)`` writes values of earlier runs to rows.
        """
        upload = Upload(self.device)
        bindings = {}
        operations = list(merged.operations)
        for o, program in self.programs.items():
            if operations[o].count:
                some = None if program.ahead is None else unlike(program.ahead, operations[o])
                bindings[o] = Binding(program, operations[o], upload, some)
                operations[o] = bindings[o].rows
        found = {}
        if self.receiving:
            present = {o: binding.program for o, binding in bindings.items()}
            found = flows(self.plan, replace(merged, operations=tuple(operations)), present, upload)
        upload.send()
        return Run(self, merged, bindings, upload, keys, found, self.arena if arena is None else arena, carry)
