"""How much memory a batch takes, and what is said when that is more than the limit, or than there is."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import prod

import numpy as np

from arrows.engine.device import ArenaFull, Buffer, UploadFull
from arrows.engine.program import SumRows
from arrows.engine.running.batch_plan import PlannedBatch
from arrows.engine.running.executor import Executor
from arrows.ops import ROW
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


def bytes_beside(executor: Executor, planned: PlannedBatch) -> int:
    """The bytes that a batch takes beside the arena, what it sends and the gradients of parameters.

    These are copies of what is handed out, before and after it is joined with that of other parts; rows of
    gradients, as they come, sorted and added up; inputs and index arrays of the host, where it computes; and
    one temporary array as large as the largest of the arena.
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
            for instruction in operation.code.program.region("deferred"):
                if isinstance(instruction, SumRows) and instruction.sparse:
                    rows, index = instruction.reads
                    for var, copies in ((rows, 4), (index, 8)):
                        level = max(rows.rows, index.rows)
                        count = operation.rows.count if level == ROW else operation.rows.offsets[level][-1]
                        total += copies * int(count) * _row_bytes(var.type)
    return total + max(map(_bytes, planned.buffers()), default=0)


def _row_bytes(type: Tensor) -> int:
    return type.size * np.dtype(type.dtype).itemsize


def refuse_example(executor: Executor, planned: PlannedBatch, number: int, need: int, limit: int) -> None:
    """Refuses an example that takes more memory than the limit, all alone.

    Raises:
        BatchMemoryError: says which, and what is largest of what it takes.
    """
    largest, size = _largest_array(executor, planned)
    raise BatchMemoryError(
        message(
            f"cannot run example {number}",
            reason=f"it takes {in_words(need)} alone, and memory_limit is {in_words(limit)}; the largest "
            f"part, {in_words(size)}, is {largest}",
            hint="raise the limit: model.memory_limit = ..., or leave the example out",
        )
    )


def no_memory_to_plan(count: int, device: str) -> BatchMemoryError:
    """What to say when memory ran out before a batch could run."""
    return BatchMemoryError(
        message(
            f"cannot run a batch of {counted(count, 'example')} on {device!r}",
            reason="memory of the host ran out while it was planned",
            hint="run fewer examples at a time",
        )
    )


@contextmanager
def explained_memory(executor: Executor, planned: PlannedBatch) -> Iterator[None]:
    """Says what a batch needs if memory runs out, and lets go of what it holds.

    Raises:
        BatchMemoryError: it does.
    """
    try:
        yield
    except MemoryError as error:
        refusal = _out_of_memory(executor, planned, error)
        executor.arena.clear()
        raise refusal from error


def _out_of_memory(executor: Executor, planned: PlannedBatch, error: MemoryError) -> BatchMemoryError:
    """What to say when memory ran out in a batch: for what, how much, and how many examples would fit."""
    need = executor.arena.bytes_with(planned.buffers()) + planned.upload.bytes
    held, count = executor.arena.bytes, planned.merged.examples
    if isinstance(error, ArenaFull):
        reason = f"memory ran out at {in_words(error.bytes)} for {_describe(executor, error.name)}"
    elif isinstance(error, UploadFull):
        reason = f"memory ran out while {in_words(error.bytes)} of indices and inputs were sent"
    else:
        name, size = _largest_array(executor, planned)
        reason = f"memory ran out for a temporary array; the largest other one, {in_words(size)}, is {name}"
    examples = counted(count, "example")
    hint = "this example alone is too large for the device"
    if count > 1:
        # What could be had until then would be enough for so many examples; at least one is tried.
        fits = min(max(count * held // max(need, 1), 1), count - 1)
        limit = in_words(max(held, need // count)).replace(" ", "")
        hint = (
            f"about {fits} would fit; compile(..., memory_limit={limit!r}), or model.memory_limit, runs "
            "larger batches in parts"
        )
    return BatchMemoryError(
        message(
            f"cannot run a batch of {examples} on {executor.device.name!r}",
            reason=f"{reason}; the batch takes {in_words(need)} in all",
            hint=hint,
        )
    )


def _largest_array(executor: Executor, planned: PlannedBatch) -> tuple[str, int]:
    """The largest array of a batch in words, and its bytes."""
    largest = max(planned.buffers(), key=_bytes)
    return _describe(executor, largest.name), _bytes(largest)


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * np.dtype(buffer.dtype).itemsize


def _describe(executor: Executor, name: Hashable) -> str:
    """An array of the arena in words."""
    operations, memory = executor.plan.operations, executor.memory
    match name:
        case ("slab" | "gradients" | "waiting" as kind, number):
            slabs = {slab for slab, shared in enumerate(memory.slabs) if shared == number}
            makers = dict.fromkeys(
                operation.name
                for operation in operations
                if operation.kind in ("apply", "read") and slabs & {*operation.slabs}
            )
            slab = "slab" if kind == "slab" else "the gradients that come into slab"
            return f"{slab} {number} ({', '.join(makers) or 'constants'})"
        case ("kept" | "operand" | "sums", number, _):
            sharing = [o for o, shared in enumerate(memory.operations) if shared == number]
            owners = dict.fromkeys(operations[o].name for o in sharing if o in executor.codes)
            return f"what {', '.join(owners)} keeps for all rows"
    return "what an operation computes meanwhile"
