"""Runs batches of examples for a model: results, or the loss and its gradients.

A batch that takes more memory than the limit is run in parts, and what does not fit is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, NoReturn

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Arena, Buffer
from arrows.engine.planning import LossWeights, read_sites
from arrows.engine.program import SumRows
from arrows.engine.reading import Outputs
from arrows.engine.reference import Explainer
from arrows.engine.running.batch_plan import LossSeeds, PlannedBatch, PlannedOperation
from arrows.engine.running.executor import Executor, Executors, OperationRefused, Run
from arrows.engine.running.gradient_flow import Gradient, ParameterKey, add_gradients, own
from arrows.engine.running.outputs import (
    CallRecord,
    OutputRows,
    collect_record,
    collect_result,
    copy_rows,
    first_not_finite,
    join_rows,
    raise_input_error,
)
from arrows.engine.scheduling import (
    AtOnce,
    BatchInput,
    BatchReader,
    DropoutSeed,
    Examples,
    WiredBatch,
    place_of,
)
from arrows.engine.values import Ragged
from arrows.ops import ROW, Equation, RowSparse
from arrows.typesys import ArrowTypeError, ArrowValueError, Tensor, counted, message

_UNITS = {"": 1, "b": 1, "bytes": 1}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class BatchMemoryError(MemoryError):
    """A batch needs more memory than there is, or than the limit of the model allows.

    Nothing is lost: model and optimizer are as they were, and a smaller batch may run.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Vector(100)) >> ar.Sum(), memory_limit=1000)
        >>> try:
        ...     model([[[0.0] * 100] * 1000])
        ... except ar.BatchMemoryError as error:
        ...     print(str(error).splitlines()[0])
        cannot run example 0
    """


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


def batch_bytes(executor: Executor, planned: PlannedBatch) -> int:
    """The bytes that a batch takes, without the gradients of parameters; what the arena holds counts."""
    return (
        executor.arena.bytes_with(planned.buffers()) + planned.upload.bytes + bytes_beside(executor, planned)
    )


def bytes_beside(executor: Executor, planned: PlannedBatch) -> int:
    """The bytes that a batch takes beside the arena, what it sends and the gradients of parameters.

    These are copies of what is handed out, before and after it is joined with that of other parts; rows of
    gradients, as they come, sorted and added up; inputs and index arrays of the host, where it computes; and
    two temporary arrays as large as the largest of the arena, as the kernels of NumPy make.
    """
    merged, plan = planned.merged, executor.plan
    slabs = [*zip(plan.results, merged.outputs.results, strict=True)]
    slabs += zip(plan.metrics, merged.outputs.metrics, strict=True)
    total = 2 * sum(_row_bytes(plan.slabs[slab].type) * len(column.values) for slab, column in slabs)
    if executor.device.name == "cpu":
        indices = sum(rows.nbytes for operation in merged.operations for rows in operation.ports)
        total += 2 * indices + sum(values.nbytes for values in merged.raw)
    if executor.receiving:
        for operation in planned.operations.values():
            for instruction in operation.code.program.region("deferred"):
                if isinstance(instruction, SumRows) and instruction.sparse:
                    rows, index = instruction.reads
                    for var, copies in ((rows, 4), (index, 8)):
                        level = max(rows.rows, index.rows)
                        count = operation.rows.count if level == ROW else operation.rows.offsets[level][-1]
                        total += copies * int(count) * _row_bytes(var.type)
    if executor.device.name != "cpu":
        total += max(map(_padded_bytes, planned.operations.values()), default=0)
    return total + 2 * max(map(_bytes, planned.buffers()), default=0)


def _padded_bytes(operation: PlannedOperation) -> int:
    """The bytes of attention on a device, which pads sequences: four arrays of all weights, and what they are
    made of."""
    most = 0
    for _, instruction in operation.code.program:
        if isinstance(instruction, Equation) and instruction.primitive.name.startswith("segment_attention"):
            heads, x = dict(instruction.attributes)["heads"], instruction.result
            longest = operation.segments[x.rows].longest
            each = 4 * int(str(heads)) * longest * np.dtype(x.type.dtype).itemsize + 8 * _row_bytes(x.type)
            most = max(most, operation.rows.longest * longest * each)
    return most


def _row_bytes(type: Tensor) -> int:
    return type.size * np.dtype(type.dtype).itemsize


def refuse_example(number: int, need: int, limit: int) -> NoReturn:
    """Refuses an example that takes more memory than the limit, all alone.

    Raises:
        BatchMemoryError: says which.
    """
    raise BatchMemoryError(
        message(
            f"cannot run example {number}",
            reason=f"it takes {in_words(need)} alone, and memory_limit is {in_words(limit)}",
            hint="raise the limit: model.memory_limit = ..., or leave the example out",
        )
    )


@contextmanager
def explained_memory(executor: Executor, count: int, planned: PlannedBatch | None = None) -> Iterator[None]:
    """Says what a batch needs if memory runs out, and lets go of what it holds.

    Args:
        executor: runs it.
        count: how many examples it has.
        planned: the batch; None while it is planned.

    Raises:
        BatchMemoryError: memory has run out.
    """
    try:
        yield
    except MemoryError as error:
        reason = "memory of the host ran out while it was planned"
        hint = "run fewer examples at a time"
        if planned is not None:
            held, need = executor.arena.bytes, batch_bytes(executor, planned)
            reason = f"it takes {in_words(need)}, and memory ran out at {in_words(held)}"
            hint = "this example alone is too large for the device"
            if count > 1:
                # What could be had until then would be enough for so many examples; at least one is tried.
                fits = min(max(count * held // max(need, 1), 1), count - 1)
                limit = in_words(max(held, need // count)).replace(" ", "")
                hint = (
                    f"about {fits} would fit; compile(..., memory_limit={limit!r}), or model.memory_limit, "
                    "runs larger batches in parts"
                )
        executor.arena.clear()
        subject = f"cannot run a batch of {counted(count, 'example')} on {executor.device.name!r}"
        raise BatchMemoryError(message(subject, reason=reason, hint=hint)) from error


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * np.dtype(buffer.dtype).itemsize


NODE_BYTES = 64
"""Where memory has a limit, no more nodes are planned at a time than have so many bytes of it each: about
what their schedule takes."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelCall:
    """The arguments of a call of a model.

    Attributes:
        examples: the batch, as the user hands it in.
        ids: what the dropout masks of each example depend on; None: its number.
        seed, step: the model's.
        at_once: how much runs at once at most; None: all, or one without batching.
    """

    examples: Examples
    ids: Any
    seed: int
    step: int
    at_once: AtOnce = None


@dataclass(frozen=True, eq=False, slots=True)
class Differentiated:
    """A loss and its gradients.

    Attributes:
        loss: a scalar of the device.
        grads: by parameter name.
        lent: of those, what is the engine's memory, until the next call.
        inputs: for each named input the gradients of what was read there.
        parts: the rows that each run hands out.
    """

    loss: Array
    grads: dict[str, Gradient]
    lent: frozenset[str]
    inputs: dict[str, Ragged]
    parts: list[OutputRows]

    def own_grads(self) -> dict[str, Gradient]:
        """The gradients in memory of their own."""
        return {name: own(grad) if name in self.lent else grad for name, grad in self.grads.items()}


@dataclass(frozen=True, eq=False, slots=True)
class PartialRun:
    """A part of a batch that has run forwards.

    Attributes:
        run: the run.
        part: its examples.
        last: whether it is the last part.
    """

    run: Run
    part: WiredBatch
    last: bool


@dataclass(frozen=True, eq=False, slots=True)
class BatchRunner:
    """Runs the batches of a model.

    Attributes:
        batches: reads what the user hands in.
        executors: run what was read.
        weights: of what the loss is made of.
        explain: says what is wrong with an example.
    """

    batches: BatchReader
    executors: Executors
    weights: LossWeights
    explain: Explainer

    def evaluate(
        self, call: ModelCall, *, training: bool, batch: BatchInput | None = None
    ) -> tuple[Any, CallRecord, Outputs]:
        """Returns the result of a batch, the record of the call, and the outputs of the examples.

        ``batch`` is what was read of the call's examples, if they were read before.
        """
        if batch is None:
            batch = self.batches.read(call.examples, "run a model", call.ids)
        executor = self.executors.get(training=training)
        parts: list[OutputRows] = []
        for each in self.runs(executor, batch, call, kept=lambda: _kept_bytes(parts, {})):
            with explained_memory(executor, len(each.part), each.run.planned):
                parts.append(copy_rows(each.run, result=True))
            del each
        outputs = batch.outputs([part.outputs for part in parts])
        result = collect_result(self.executors.plan, self.executors.device, parts, outputs)
        return result, self.record(parts, outputs), outputs

    def differentiate(
        self, call: ModelCall, inputs: tuple[str, ...]
    ) -> tuple[Differentiated, CallRecord, Outputs]:
        """Returns the loss of a batch and its gradients, the record of the call, the outputs of the examples.

        Raises:
            ArrowTypeError: the model has no loss.
        """
        if self.weights.missing is not None:
            raise ArrowTypeError(self.weights.missing)
        executor = self.executors.get(inputs, training=True, gradients=True)
        batch = self.batches.read(call.examples, "differentiate", call.ids)
        seeds = self._seeds(len(batch.wired))
        differentiated = self._sum_gradients(executor, batch, call, inputs, seeds)
        outputs = batch.outputs([part.outputs for part in differentiated.parts])
        return differentiated, self.record(differentiated.parts, outputs), outputs

    def first_not_finite(self, call: ModelCall) -> str | None:
        """Does the work of `Model.first_not_finite`."""
        batch = self.batches.read(call.examples, "look for what is not finite", call.ids)
        first = 0
        executor = self.executors.get(training=True, gradients=True)
        for each in self.runs(executor, batch, call):
            origin = first_not_finite(each.run)
            if origin is not None:
                subject, example = origin
                number = int(batch.numbers[first + example])
                place = place_of(call.examples, number)
                return f"{subject} of example {number}{place and f' ({place})'} is not finite"
            first += len(each.part)
        return None

    def _seeds(self, examples: int) -> LossSeeds:
        """The weights of a loss that is the mean over so many examples."""
        weights, count = self.weights, max(examples, 1)
        terms: list[tuple[int | None, float]] = [*weights.metrics.items()]
        if weights.result is not None:
            terms.append((None, weights.result))
        return [(metric, weight / count) for metric, weight in terms]

    def _sum_gradients(
        self,
        executor: Executor,
        batch: BatchInput,
        call: ModelCall,
        inputs: Sequence[str],
        seeds: LossSeeds,
    ) -> Differentiated:
        """Sums losses and gradients of the runs of a batch.

        Each run is done with before the next takes its memory.
        """
        plan, device, params, weights = executor.plan, executor.device, self.executors.params, self.weights
        loss: Array | None = None
        sums: dict[ParameterKey, Gradient] = {}
        parts: list[OutputRows] = []
        pieces: dict[str, list[tuple[Array, HostArray]]] = {name: [] for name in inputs}
        lent: set[ParameterKey] = set()
        for each in self.runs(executor, batch, call, seeds, kept=lambda: _kept_bytes(parts, sums)):
            run = each.run
            with explained_memory(executor, len(each.part), run.planned):
                parts.append(copy_rows(run, result=False))
                part = run.loss(parts[-1].metrics)
                loss = part if loss is None else loss + part
                gradients = run.flow()
                if each.last:
                    lent = gradients.keys() - sums.keys()
                add_gradients(device, sums, gradients, lend=each.last)
                for name in inputs:
                    sites = [site.index for site in read_sites(plan, name)]
                    pieces[name].append(run.input_gradients(each.part, sites))
            del each, run  # the next run may need the memory
        grads, of_engine = {}, set()
        for name in params:
            owner, spec = params.owner(name)
            if spec.has_gradient:
                key = id(owner), spec.name
                grads[name] = sums[key] if key in sums else executor.parameter_gradients.zero(key, spec)
                if key in lent or key not in sums:
                    of_engine.add(name)
        return Differentiated(
            loss=device.zeros((), weights.dtype) if loss is None else loss,
            grads=grads,
            lent=frozenset(of_engine),
            inputs={name: _joined(executor, name, pieces[name]) for name in inputs},
            parts=parts,
        )

    def record(self, parts: Sequence[OutputRows], outputs: Outputs) -> CallRecord:
        """What a batch leaves beside its result."""
        return collect_record(self.executors.plan, self.executors.device, parts, outputs)

    def runs(
        self,
        executor: Executor,
        batch: BatchInput,
        call: ModelCall,
        seeds: LossSeeds = (),
        *,
        kept: Callable[[], int] = int,
        own: Callable[[], Arena] | None = None,
    ) -> Iterator[PartialRun]:
        """Runs a batch, in parts where its memory has a limit or the call says so.

        Unless runs have memory of their own, each is done with before the next takes its memory.

        Args:
            executor: what runs it.
            batch: what was read.
            call: the arguments of the call.
            seeds: where gradients of the loss come in, if they will be asked for.
            kept: the bytes that the parts before have left for the caller.
            own: gives each run memory of its own, so that it stays as it is; None: all runs share theirs.
        """
        executor.refresh()
        dropout = DropoutSeed(call.seed, call.step, batch.ids)
        most = 1 if executor.plan.schedule == "none" else call.at_once
        parts = list(batch.parts(most))[::-1]
        while parts:
            first, part = parts.pop()
            part_dropout = dropout.part(first, len(part))
            pieces = self._pieces_to_plan(part)
            planned: PlannedBatch | None = None
            if pieces == 1:
                with explained_memory(executor, len(part)):
                    planned = executor.merge(part, part_dropout, seeds)
                if self.executors.memory_limit is not None:
                    alone = int(batch.numbers[first]) if len(part) == 1 else None
                    pieces = self._pieces(executor, planned, alone, kept())
            if planned is None or pieces > 1:
                cuts = np.linspace(0, len(part), pieces + 1).astype(int).tolist()
                smaller = [(first + a, part.select(slice(a, b))) for a, b in pairwise(cuts)]
                parts.extend(reversed(smaller))
                del planned  # the next plan may need the memory
                continue
            try:
                with explained_memory(executor, len(part), planned):
                    run = executor.forward(planned, None if own is None else own())
            except OperationRefused as refused:
                raise_input_error(
                    executor.plan,
                    planned.merged,
                    refused,
                    numbers=batch.numbers[first : first + len(part)],
                    explain=partial(self._explain, batch, first),
                    run_alone=partial(_run_alone, executor, part, part_dropout),
                )
            yield PartialRun(run, part, last=not parts)
            del run  # the next run may need the memory

    def _explain(self, batch: BatchInput, first: int, place: int) -> None:
        """Raises the error of an example whose values are wrong, if the example is at hand."""
        if batch.objects is not None:
            self.explain(batch.objects[first + place], int(batch.numbers[first + place]))

    def _pieces_to_plan(self, part: WiredBatch) -> int:
        """Into how many pieces a part has to be cut so that its schedule alone stays within the limit."""
        limit = self.executors.memory_limit
        return 1 if limit is None else max(1, min(len(part), -(-part.nodes * NODE_BYTES // limit)))

    def _pieces(self, executor: Executor, planned: PlannedBatch, alone: int | None, kept: int) -> int:
        """Into how many pieces a part of a batch has to be cut, so that its memory stays within the limit.

        Args:
            executor: runs it.
            planned: the part.
            alone: what the example is called that a part of one consists of.
            kept: the bytes that the parts before have left for the caller.
        """
        limit, arena = self.executors.memory_limit, executor.arena
        assert limit is not None
        # The gradients of parameters are the engine's, and once more the caller's or the sum of the parts.
        fixed = 2 * executor.parameter_gradients.dense_bytes + kept
        if batch_bytes(executor, planned) + fixed <= limit:
            return 1
        arena.clear()  # what other batches have left there may be in the way
        need = batch_bytes(executor, planned)
        if need + fixed <= limit:
            return 1
        if alone is not None:
            refuse_example(alone, need + fixed, limit)
        return min(-(-need // max(limit - fixed, 1)), planned.merged.examples)


def _kept_bytes(parts: Sequence[OutputRows], sums: Mapping[ParameterKey, Gradient]) -> int:
    """The bytes that parts of a batch leave for the caller: what they hand out, once more when it is joined;
    and rows of gradients, which are sorted and summed with those of the next part."""
    arrays = [array for part in parts for array in (*part.leaves, *part.metrics) if array is not None]
    rows = [
        each
        for gradient in sums.values()
        if isinstance(gradient, RowSparse)
        for each in (gradient.rows, gradient.values)
    ]
    return 2 * sum(int(array.nbytes) for array in arrays) + sum(8 * int(each.nbytes) for each in rows)


def _run_alone(executor: Executor, batch: WiredBatch, dropout: DropoutSeed, place: int) -> None:
    """Runs one example of a batch by itself."""
    executor.forward(executor.merge(batch.select(slice(place, place + 1)), dropout.part(place, 1)))


def _joined(executor: Executor, name: str, pieces: Sequence[tuple[Array, HostArray]]) -> Ragged:
    """The gradients of a named input, of all runs."""
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for _, offsets in pieces)])
    (row,) = read_sites(executor.plan, name)[0].outputs
    values = join_rows(executor.device, [values for values, _ in pieces], row)
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def only_reads(optimizer: object) -> bool:
    """Whether an optimizer only reads gradients and keeps none: one of this package, with a rule of its own.

    Only these see gradients in the engine's memory; others get copies.
    """
    says = getattr(type(optimizer), "only_reads_gradients", None)
    return says is not None and says(optimizer) is True
