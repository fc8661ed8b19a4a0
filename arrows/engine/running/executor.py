"""Runs merged batches: the programs of all operations, on one device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from arrows.arrays import Array, HostArray, quiet
from arrows.engine.device import Arena, ArrayWrite, Device
from arrows.engine.planning import (
    Operation,
    Plan,
    check_slab_types,
    moving_slabs,
    receiving_slabs,
)
from arrows.engine.program import Clock, make_code, make_program
from arrows.engine.reading import computed_indices, lengths_of
from arrows.engine.running.batch_plan import LossSeeds, PlannedBatch, PlannedOperation
from arrows.engine.running.gradient_memory import Gradient, GradientMemory
from arrows.engine.running.operation_code import OperationCode
from arrows.engine.running.run import BoundOperation, OperationRefused, Run
from arrows.engine.scheduling import DropoutSeed, WiredBatch, dropout_keys, merge
from arrows.ops import IndexOutOfRange, Parameter
from arrows.ops.sums import FEW_TRANSPOSED
from arrows.typesys import ArrowValueError

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
        receiving: the slabs that gradients come into.
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
        seeds, inputs = set(choices.seeds), set(choices.inputs)
        self._moving = moving_slabs(plan, inputs)
        self.receiving = receiving_slabs(plan, seeds, self._moving) if seeds else set()
        # Inputs whose gradients are wanted are told apart by their place, not by their value.
        # So are nodes whose results depend on chance.
        self.shares = not inputs and not plan.lowered.draws and not (choices.training and plan.has_dropout)
        # The CPU's kernels check all indices.
        self._computed_indices = {} if device.xp is np else computed_indices(plan)
        self._constants: dict[int, Array] = {}
        self._once: dict[int, tuple[Array, ...]] = {}
        self._transposes: dict[tuple[int, int], HostArray] = {}
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

    def no_gradient(self, owner: object, spec: Parameter) -> Gradient:
        """The gradient of a parameter that a batch does not reach: of the kind that it has otherwise."""
        return self.parameter_gradients.zero((id(owner), spec.name), spec)

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
        arena.reserve([*planned.slabs, *planned.waiting.values()])  # of these, parts are asked for
        slabs = [arena.array(*buffer) for buffer in planned.slabs]
        writes = self._first_writes(planned, slabs, carry)
        operations = {
            o: BoundOperation(operation, self.device, arena, self._invariants(operation), self.clock)
            for o, operation in planned.operations.items()
        }
        if self.clock is not None:
            self.clock.tick("host")
        self.device.write(writes)
        for o, first, stop, part in planned.ranges:
            operations[o].run(first, stop, part)
        gradients = {slab: arena.array(*buffer) for slab, buffer in planned.gradients.items()}
        return Run(self, planned, slabs, [gradients.get(slab) for slab in range(len(slabs))], operations)

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

    def _copied(self, key: tuple[int, int], view: HostArray) -> HostArray:
        """A copy of a transposed matrix in memory that is kept: OpenBLAS packs a view anew for each product.

        Without it a step of training takes 1.02 of the time (Tree-LSTM, state 300, batch 64) and 1.03 (two
        layers of bidirectional LSTMs, state 256; with state 128 on one thread 1.06 of the processor's time):
        `python -m benchmarks pair` with `treelstm` and `bilstm`.
        """
        if key not in self._transposes:
            self._transposes[key] = np.empty(view.shape, view.dtype)
        copy = self._transposes[key]
        for start in range(0, view.shape[1], 32):  # the columns that 32 rows fill stay in the cache
            copy[:, start : start + 32] = view[:, start : start + 32]
        return copy
