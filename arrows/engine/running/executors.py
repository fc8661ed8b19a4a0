"""The executors of a model, one for each choice of what to differentiate, and the memory that they share."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

import numpy as np

from arrows.engine.device import Arena
from arrows.engine.planning import LossWeights, Params, Plan, layer_name, read_sites
from arrows.engine.program import Clock, Programs, RowCounts, row_counts
from arrows.engine.program.instructions import SumRows
from arrows.engine.running.batch_plan import PlannedBatch, PlannedOperation
from arrows.engine.running.bound_operation import scratch_name
from arrows.engine.running.executor import Executor, ExecutorChoices
from arrows.engine.scheduling import WiredBatch, merge
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.types import Tensor

_UNITS = {"": 1, "b": 1, "bytes": 1}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class Executors:
    """Makes each executor when it is first needed, and keeps executors and memory from call to call.

    Attributes:
        device: where the parameters were when the memory was taken.
        clock: of a profile that is being made; None at other times.
        memory_limit: the bytes that a batch may take; one that would take more runs in parts. None: no limit.
        arena: the memory that the executors share.
        kept: those that have been asked for.
    """

    def __init__(
        self, plan: Plan, params: Params, weights: LossWeights, *, jit: bool, precision: str
    ) -> None:
        self.plan, self.device, self.params, self.weights = plan, params.device, params, weights
        self.jit, self.precision = jit, precision
        self.clock: Clock | None = None
        self.memory_limit: int | None = None
        self.arena = Arena(self.device)
        self.kept: dict[tuple[bool, frozenset[int], tuple[str, ...]], Executor] = {}
        self._lost_holders = params.lock.lost_holders

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
        if self._lost_holders != self.params.lock.lost_holders:
            # The process was forked while a thread, which is lost here, was writing to this memory.
            self.release()
        if self.device is not self.params.device:  # a model that shares the parameters has moved
            self.release()
        seeds = self._seeds() if gradients else seeds
        key = (training, seeds, tuple(sorted(inputs)))
        if key not in self.kept:
            self.kept[key] = Executor(
                self.plan,
                self.device,
                self.arena,
                self.params.of,
                ExecutorChoices(
                    seeds=seeds,
                    inputs=[site.index for name in inputs for site in read_sites(self.plan, name)],
                    training=training,
                    jit=self.jit and self.device.name == "cpu",
                    precision=self.precision,
                ),
                clock=self.clock,
            )
        return self.kept[key]

    def programs(self, name: str | None, batch: WiredBatch | None, counts: Sequence[RowCounts]) -> Programs:
        """The programs that compute gradients, or results if there is no loss.

        Args:
            name: as for `Programs.named`; None: all.
            batch: is counted.
            counts: those to show where there is no batch.
        """
        differentiated = self.weights.missing is None
        codes = self.get(training=differentiated, gradients=differentiated).codes
        if batch is not None:
            # As the executor does.
            share = not self.plan.lowered.draws and not (differentiated and self.plan.has_dropout)
            counts = (row_counts(merge(self.plan, batch, share=share)),)
        programs = {number: code.code.program for number, code in codes.items()}
        listed = Programs(programs, partial(layer_name, self.params), counts)
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
        self._lost_holders = self.params.lock.lost_holders
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


def parse_memory(limit: object) -> int | None:
    """A number of bytes from a number or a text; None for no limit.

    Raises:
        ArrowTypeError: it is neither.
        ArrowValueError: no such unit, or not above 0.

    >>> parse_memory("8GB"), parse_memory("1.5 GiB"), parse_memory(4096)
    (8000000000, 1610612736, 4096)
    """
    if limit is None:
        return None
    if isinstance(limit, str):
        parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*", limit)
        unit = _UNITS.get(parts[2].lower()) if parts is not None else None
        if parts is None or unit is None:
            raise ArrowValueError(f"memory_limit is {limit!r}; write it as '8GB', '512MiB' or in bytes")
        size = float(parts[1]) * unit
    elif isinstance(limit, (int, np.integer)) and not isinstance(limit, bool):
        size = float(limit)
    else:
        raise ArrowTypeError(f"memory_limit must be a number of bytes or a text such as '8GB', not {limit!r}")
    if size < 1:
        raise ArrowValueError(f"memory_limit is {limit!r}, and should be above 0")
    return int(size)


def in_words(size: float) -> str:
    """A number of bytes for a message.

    >>> in_words(1_234_000_000), in_words(700)
    ('1.23 GB', '700 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


def arena_sizes(executor: Executor, planned: PlannedBatch) -> dict[tuple[Hashable, Any], int]:
    """The arrays that a batch will take from the arena: how many numbers each has, by name and element type.

    Indices are left out, and what lives for one step alone beside scratch memory: both are small.
    """
    sizes: dict[tuple[Hashable, Any], int] = {}

    def need(name: Hashable, shape: tuple[int, ...], dtype: object) -> None:
        sizes[name, dtype] = max(sizes.get((name, dtype), 0), prod(shape))

    gradients = 0
    slabs = zip(executor.memory.slabs, executor.plan.slabs, planned.merged.slab_rows, strict=True)
    for s, (number, slab, rows) in enumerate(slabs):
        shape = (rows, *slab.type.shape)
        need(("slab", number), shape, slab.type.dtype)
        if s in executor.receiving:  # side by side, each from a line of the cache on
            gradients += -(-prod(shape) * np.dtype(slab.type.dtype).itemsize // 64) * 64
    need("gradients", (gradients,), "uint8")
    for o, operation in planned.operations.items():
        _need_forward(operation, executor.memory.operations[o], need)
        if executor.receiving:
            _need_backward(operation, planned, executor.plan, need)
    for s, rows in planned.waiting.count.items():
        row = executor.plan.slabs[s].type
        need(("waiting", s), (rows, *row.shape), row.dtype)
    return sizes


def bytes_beside(executor: Executor, planned: PlannedBatch, sizes: Mapping[tuple[Hashable, Any], int]) -> int:
    """The bytes that a batch takes beside the arena, what it sends and `Executor.fixed_bytes`.

    These are copies of what is handed out, before and after it is joined with that of other parts; rows of
    gradients, as they come, sorted and added up; inputs and index arrays of the host, where it computes; and
    one temporary array as large as the largest of ``sizes``, which are those of `arena_sizes`.
    """
    merged, plan = planned.merged, executor.plan
    slabs = [*zip(plan.results, merged.outputs.results, strict=True)]
    slabs += zip(plan.metrics, merged.outputs.metrics, strict=True)
    total = 2 * sum(_row_bytes(plan.slabs[slab].type) * len(column.values) for slab, column in slabs)
    if executor.device.name == "cpu":
        ports = [port.rows for operation in merged.operations for port in operation.ports]
        total += 2 * sum(rows.nbytes for rows in ports) + sum(values.nbytes for values in merged.raw)
    if executor.receiving:
        for operation in planned.operations.values():
            for instruction in operation.code.code.program.region("deferred"):
                if isinstance(instruction, SumRows) and instruction.sparse:
                    rows, index = instruction.reads
                    for var, copies in ((rows, 4), (index, 8)):
                        count = prod(operation.shape(max(rows.rows, index.rows), ()))
                        total += copies * count * _row_bytes(var.type)
    return total + max((size * np.dtype(dtype).itemsize for (_, dtype), size in sizes.items()), default=0)


def _row_bytes(type: Tensor) -> int:
    return type.size * np.dtype(type.dtype).itemsize


def _need_forward(operation: PlannedOperation, memory: int, need: Any) -> None:
    code, distinct = operation.code, operation.distinct
    for number, gather in enumerate(operation.gathers):
        layout = gather.layout
        if gather.has_memory:
            need(("operand", memory, number), (gather.count, *layout.type.shape), layout.type.dtype)
        elif gather.start is None and gather.index is not None and gather.buffered:
            need(("gather", number), (gather.buffered, *layout.type.shape), layout.type.dtype)
    for number, kept in enumerate(code.kept):
        if kept is not None:
            need(("kept", memory, number), operation.shape(kept.level, kept.shape), kept.dtype)
            if distinct is not None and number in distinct.layout.spread:
                need(("distinct", number), (distinct.count, *kept.shape), kept.dtype)
    for region in ("early", "step"):
        _need_scratch(operation, region, need)


def _need_backward(operation: PlannedOperation, planned: PlannedBatch, plan: Plan, need: Any) -> None:
    code, distinct, index = operation.code, operation.distinct, operation.code.operation.index
    for number, slot in enumerate(code.saved):
        if slot is not None:
            need(("saved", index, number), operation.shape(slot.level, slot.shape), slot.dtype)
            if distinct is not None and number in distinct.layout.summed:
                need(("sums", index, number), (distinct.count, *slot.shape), slot.dtype)
    for region in ("step_back", "late", "deferred"):
        _need_scratch(operation, region, need)
    for number, group in enumerate(code.scatter_groups):
        if (index, number) in planned.waiting.first:
            continue
        counts = [len(operation.rows.ports[port].rows) for operands in group.operands for port in operands]
        slab = plan.slabs[group.slab].type
        shared = group.early and len(operation.first_steps) == len(operation.bounds) - 1
        need(("scatter", number if shared else (index, number)), (sum(counts) + 1, *slab.shape), slab.dtype)


def _need_scratch(operation: PlannedOperation, region: str, need: Any) -> None:
    name = scratch_name(region, operation.code.operation.index)
    for number, slot in enumerate(operation.code.scratch(region)):
        need((name, number), operation.scratch_shape(region, slot.level, slot.shape), slot.dtype)
