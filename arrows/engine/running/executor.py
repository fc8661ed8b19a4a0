"""Runs merged batches on one device: the programs of all operations, forwards and backwards.

`Executors` are those of a model, one for each choice of what to differentiate, and the memory that they
share. A `Run` is a batch bound to its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from arrows.arrays import Array, HostArray, quiet
from arrows.engine.device import Arena, ArrayWrite, BufferRows, Device, Sent
from arrows.engine.planning import (
    LossWeights,
    Operation,
    Params,
    Plan,
    check_slab_types,
    layer_name,
    moving_slabs,
    read_sites,
    receiving_slabs,
)
from arrows.engine.program import (
    Clock,
    Frame,
    OperationCode,
    PlacesOfRows,
    Programs,
    StepRefused,
    make_code,
    make_program,
)
from arrows.engine.reading import computed_indices, lengths_of
from arrows.engine.running.batch_plan import LossSeeds, PlannedBatch, PlannedOperation
from arrows.engine.running.gradient_flow import (
    BatchGradients,
    Gradient,
    GradientMemory,
    ParameterKey,
    RunDeferred,
)
from arrows.engine.scheduling import DropoutSeed, Merged, WiredBatch, dropout_keys, merge
from arrows.ops import FEW_TRANSPOSED, IndexOutOfRange, Parameter
from arrows.typesys import ArrowValueError


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
        begun: where the gradients of parameters will be, if a loss is planned; with first gradients of rows.
    """

    executor: Executor
    planned: PlannedBatch
    slabs: Sequence[Array]
    gradients: Sequence[Array | None]
    operations: Mapping[int, BoundOperation]
    begun: BatchGradients | None

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

    def clear_gradients(self) -> None:
        """Writes zeros to all gradients of rows, so that others can be added: not where a loss is planned."""
        arrays = [array for array in self.gradients if array is not None]
        self.executor.device.write(map(ArrayWrite, arrays))

    @quiet
    def flow(self) -> dict[ParameterKey, Gradient]:
        """Computes the gradients of all parameters, from what is in ``gradients``; once, of a loss."""
        executor, totals = self.executor, self.begun
        if not executor.receiving:  # the loss depends on nothing that can change
            return {}
        if totals is None:
            totals = executor.parameter_gradients.begin(tuple(self.operations))
            executor.device.write(totals.blanks)
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


Carry = Callable[[Array, HostArray], None]
"""``carry(rows, ids)`` writes values of earlier runs to rows."""


# Copying 600 x 1500 numbers takes 1.9 ms; each product of more than a few rows with the copy takes 0.15 to
# 0.2 ms less. So fewer products do not repay it.
_FEWEST_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorChoices:
    """What programs are made for.

    Attributes:
        seeds: the slabs that gradients come into from outside; empty for inference.
        inputs: the read sites whose gradients are wanted.
        training: whether dropout acts.
        jit: whether element-wise equations are compiled.
        precision: of matrix products on a device with kernels.
    """

    seeds: frozenset[int] = frozenset()
    inputs: tuple[int, ...] = ()
    training: bool = False
    jit: bool = False
    precision: str = "float32"


class Executor:
    """Programs and memory of a model on one device, for one choice of what to differentiate.

    Args:
        plan: the model's plan.
        device: the device.
        arena: memory, shared by the executors of a model.
        parameter: gives the live array of a layer's parameter.
        choices: what the programs are made for.
        clock: notes where the time goes, for a profile.
        codes: those of operations that did not change since an earlier executor, by what they depend on.

    Attributes:
        codes: by operation that computes.
        seeds, receiving: the slabs that gradients come into, from outside, and at all.
        shares: whether equal nodes are computed once.
        parameter_gradients: where the gradients of parameters are kept.
    """

    def __init__(
        self,
        plan: Plan,
        device: Device,
        arena: Arena,
        parameter: Callable[[object, Parameter], Array],
        choices: ExecutorChoices,
        *,
        clock: Clock | None = None,
        codes: dict[Hashable, OperationCode] | None = None,
    ) -> None:
        self.plan, self.device, self.arena, self.parameter, self.clock = plan, device, arena, parameter, clock
        check_slab_types(plan.slabs, device)
        self.seeds, inputs = choices.seeds, set(choices.inputs)
        self._moving = moving_slabs(plan, inputs)
        self.receiving = receiving_slabs(plan, {*self.seeds}, self._moving)
        # Inputs whose gradients are wanted are told apart by their place, not by their value.
        # So are nodes whose results depend on chance.
        self.shares = not inputs and not plan.lowered.draws and not (choices.training and plan.has_dropout)
        # The CPU's kernels check all indices.
        self._computed_indices = {} if device.xp is np else computed_indices(plan)
        self._constants: dict[int, Array] = {}
        self._once: dict[int, tuple[Array, ...]] = {}
        self._transposes: dict[tuple[int, int], Array] = {}
        self.codes = {
            operation.index: self._code(operation, choices, {} if codes is None else codes)
            for operation in plan.operations
            if operation.computes
        }
        if sources := [kernel.source for code in self.codes.values() for kernel in code.kernels]:
            device.compile(sources)  # all in one unit
        accumulates = {o: code.accumulates for o, code in self.codes.items()}
        self.parameter_gradients = GradientMemory(accumulates, device)

    def _code(
        self, operation: Operation, choices: ExecutorChoices, codes: dict[Hashable, OperationCode]
    ) -> OperationCode:
        """The code of an operation: one that is there already, or a new one."""
        plan = self.plan
        wanted = [port.slab in self._moving and port.slab in self.receiving for port in operation.ports]
        places = plan.result_places[operation.index]
        seeded = [plan.operations[owner].slabs[output] in self.receiving for owner, output in places]
        check = self._computed_indices.get(operation.index, frozenset())
        key = operation.index, operation.early, operation.ports, check, *wanted, None, *seeded
        if key not in codes:
            program = make_program(
                operation,
                wanted,
                seeded,
                training=choices.training,
                jit=choices.jit,
                kernels=self.device.kernels,
                check_indices=check,
            )
            clock = self.clock
            tick = None if clock is None else partial(clock.tick_instruction, operation.index)
            regions = make_code(program, self.device, precision=choices.precision, tick=tick)
            codes[key] = OperationCode(operation, program, regions, self.device)
        return codes[key]

    @property
    def kept(self) -> list[Array]:
        """The arrays that are kept from batch to batch, beside the arena; parameters may be among them."""
        return [
            *self._constants.values(),
            *self._transposes.values(),
            *(array for arrays in self._once.values() for array in arrays),
            *self.parameter_gradients.kept,
        ]

    def refresh(self) -> None:
        """Forgets what was computed of parameters, which may have changed since: once a call of the model."""
        self._once.clear()

    # ------------------------------------------------------------------------------------------- planning

    def merge(self, batch: WiredBatch, seed: DropoutSeed, seeds: LossSeeds = ()) -> PlannedBatch:
        """Merges a batch and plans it; computes nothing yet.

        Args:
            batch: the batch.
            seed: what dropout depends on, if it acts.
            seeds: where gradients come in, if they come from a loss.
        """
        if self.clock is not None:
            self.clock.tick("prepare")
        merged = merge(self.plan, batch, share=self.shares)
        draws = self.plan.lowered.draws
        keys = {
            o: dropout_keys(batch, merged, o, seed, draws if code.operation.trace.draws else {})
            for o, code in self.codes.items()
            if code.has_keys
        }
        planned = PlannedBatch(self, merged, keys, seeds)
        if self.clock is not None:
            self.clock.count(merged)
            self.clock.tick("merge")
        return planned

    # -------------------------------------------------------------------------------------------- running

    @quiet
    def forward(self, planned: PlannedBatch, arena: Arena | None = None, carry: Carry | None = None) -> Run:
        """Sends a batch to the device and computes every value of it.

        Args:
            planned: the batch.
            arena: the memory of the run; None: what all runs share.
            carry: brings values of earlier runs.

        Raises:
            OperationRefused: a kernel refused what an example gave it.
        """
        arena = self.arena if arena is None else arena
        planned.upload.send()
        arena.reserve(planned.waiting.values())  # of these, parts are asked for
        slabs = [arena.array(*buffer) for buffer in planned.slabs]
        writes = self._first_writes(planned, slabs, carry)
        operations = {
            o: BoundOperation(operation, self.device, arena, self._invariants(operation), self.clock)
            for o, operation in planned.operations.items()
        }
        gradients = {slab: arena.array(*buffer) for slab, buffer in planned.gradients.items()}
        begun = None
        if planned.terms and self.receiving:
            begun = self.parameter_gradients.begin(tuple(operations))
            seeds = {slab: weights.array for slab, weights in planned.weights.items()}
            writes += [*begun.blanks, *(ArrayWrite(array, seeds.get(n)) for n, array in gradients.items())]
        if self.clock is not None:
            self.clock.tick("host")
        self.device.write(writes)
        for o, first, stop, part in planned.ranges:
            operations[o].run(first, stop, part)
        return Run(self, planned, slabs, [*map(gradients.get, range(len(slabs)))], operations, begun)

    def _first_writes(
        self, planned: PlannedBatch, slabs: Sequence[Array], carry: Carry | None
    ) -> list[ArrayWrite]:
        """What is there before anything is computed; what is carried is written at once."""
        merged, writes = planned.merged, []
        for operation in self.plan.streams:
            if merged.operations[operation.index].count:
                first = merged.operations[operation.index].first_rows[0]
                rows = slabs[operation.slabs[0]][first : first + merged.operations[operation.index].count]
                if operation.kind == "carried":
                    assert carry is not None
                    carry(rows, merged.raw[operation.stream])
                else:
                    writes.append(ArrayWrite(rows, planned.streams[operation.index].array))
        for slab, array in zip(self.plan.slabs, slabs, strict=True):
            for row, number in enumerate(slab.constants):
                if number not in self._constants:
                    self._constants[number] = self.device.to_device(self.plan.lowered.constants[number])
                writes.append(ArrayWrite(array[row : row + 1], self._constants[number][None]))
        return writes

    def _invariants(self, planned: PlannedOperation) -> tuple[Array, ...]:
        """What an operation computes of constants and parameters alone; the first batch after `refresh` says
        how many steps there are."""
        code, o = planned.code, planned.code.operation.index
        if o not in self._once:
            try:
                values = code.once(self.parameter)
            except (IndexOutOfRange, ArrowValueError) as error:
                raise OperationRefused(o, None) from error
            if code.transposed:
                steps = lengths_of(np.array(planned.bounds["step"]))
                if np.count_nonzero(steps > FEW_TRANSPOSED) >= _FEWEST_STEPS:
                    values = [
                        self._copied((o, number), value) if number in code.transposed else value
                        for number, value in enumerate(values)
                    ]
            self._once[o] = tuple(
                value.copy() if number in code.read_by_kernels and not value.flags.c_contiguous else value
                for number, value in enumerate(values)
            )
        return self._once[o]

    def _copied(self, key: tuple[int, int], view: Array) -> Array:
        """A copy of a transposed matrix in memory that is kept: OpenBLAS packs a view anew for each product.

        Without it a step of training takes 1.02 of the time (Tree-LSTM, state 300, batch 64) and 1.03 (two
        layers of bidirectional LSTMs, state 256; with state 128 on one thread 1.06 of the processor's time):
        `python -m benchmarks pair` with `treelstm` and `bilstm`.
        """
        if key not in self._transposes:
            self._transposes[key] = self.device.empty(view.shape, view.dtype)
        copy = self._transposes[key]
        for start in range(0, view.shape[1], 32):  # the columns that 32 rows fill stay in the cache
            copy[:, start : start + 32] = view[:, start : start + 32]
        return copy


class Executors:
    """Makes each executor when it is first needed, and keeps executors and memory from call to call.

    Attributes:
        device: where the parameters were when the memory was taken.
        clock: of a profile that is being made; None at other times.
        memory_limit: the bytes that a batch may take; one that would take more runs in parts. None: no limit.
        arena: the memory that the executors share.
        kept: those that have been asked for, by the arguments of `get`.
    """

    def __init__(
        self, plan: Plan, params: Params, weights: LossWeights, *, jit: bool, precision: str
    ) -> None:
        self.plan, self.device, self.params, self.weights = plan, params.device, params, weights
        self.jit, self.precision = jit, precision
        self.clock: Clock | None = None
        self.memory_limit: int | None = None
        self.arena = Arena(self.device)
        self.kept: dict[Hashable, Executor] = {}

    def get(
        self,
        inputs: tuple[str, ...] = (),
        *,
        training: bool = False,
        gradients: bool = False,
        seeds: frozenset[int] = frozenset(),
    ) -> Executor:
        """The executor for one choice.

        Args:
            inputs: the named inputs whose gradients are wanted.
            training: whether dropout acts.
            gradients: whether the loss is differentiated.
            seeds: the slabs that gradients come into, if it is something else than the loss.
        """
        if self.device is not self.params.device:  # a model that shares the parameters has moved
            self.release()
        wanted = tuple(sorted(inputs)), training, gradients, seeds
        if wanted not in self.kept:
            choices = ExecutorChoices(
                seeds=self._seeds() if gradients else seeds,
                inputs=tuple(site.index for name in wanted[0] for site in read_sites(self.plan, name)),
                training=training,
                jit=self.jit and self.device.name == "cpu",
                precision=self.precision,
            )
            made_of = self.plan, self.device, self.arena, self.params.of, choices
            self.kept[wanted] = Executor(*made_of, clock=self.clock)
        return self.kept[wanted]

    def programs(self, name: str | None) -> Programs:
        """The programs that compute gradients, or results if there is no loss.

        Args:
            name: as for `Programs.named`; None: all.
        """
        differentiated = self.weights.missing is None
        executor = self.get(training=differentiated, gradients=differentiated)
        programs = {number: code.program for number, code in executor.codes.items()}
        listed = Programs(programs, partial(layer_name, self.params))
        return listed if name is None else listed.named(name)

    def _seeds(self) -> frozenset[int]:
        """The slabs of what the loss is made of."""
        seeds = frozenset(self.plan.metrics[metric] for metric in self.weights.metrics)
        return seeds if self.weights.result is None else seeds | {self.plan.results[0]}

    @property
    def bytes(self) -> int:
        """The bytes of device memory that are kept, without the parameters."""
        spans = [(self.device.address(array), int(array.nbytes)) for array in self.params.values()]
        arrays = [array for executor in self.kept.values() for array in executor.kept]
        size = self.arena.bytes
        for array in sorted(arrays, key=lambda array: -array.nbytes):  # a view comes after what it shows
            address = self.device.address(array)
            if not any(start <= address < start + length for start, length in spans):
                spans.append((address, int(array.nbytes)))
                size += int(array.nbytes)
        return size

    def tick(self, part: str) -> None:
        """Counts the time since the last tick as spent on a part, while a profile is made."""
        if self.clock is not None:
            self.clock.tick(part)

    def release(self) -> None:
        """Drops all executors and their memory."""
        self.device = self.params.device
        self.arena, self.kept = Arena(self.device), {}

    @contextmanager
    def set_aside(self, clock: Clock | None = None) -> Iterator[None]:
        """Keeps executors and memory from being used meanwhile: calls of the model make others.

        An optimizer that reads gradients in this memory may call the model, and a profile needs programs with
        a clock between their lines.
        """
        kept = self.arena, self.kept, self.clock, self.device
        self.clock = clock if clock is not None else self.clock
        self.release()
        try:
            yield
        finally:
            self.arena, self.kept, self.clock, self.device = kept
