"""How much memory a batch takes, and what is said when that is more than the limit, or than there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import NoReturn

import numpy as np

from arrows.engine.device import Buffer
from arrows.engine.program import SumRows
from arrows.engine.running.batch_plan import PlannedBatch, PlannedOperation
from arrows.engine.running.executor import Executor
from arrows.ops import ROW, Equation
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
