"""What a device with kernels does in one launch each, and how its programs are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from arrows.arrays import Array
from arrows.engine.cuda.kernels import in_c
from arrows.engine.cuda.products import table_index
from arrows.engine.cuda.reductions import is_reduction
from arrows.engine.cuda.region import emit_kernels
from arrows.engine.cuda.segments import segment_sum_kernel
from arrows.engine.device import (
    ArrayWrite,
    Device,
    Kernel,
    Kernels,
    KernelSource,
    Launch,
    Sent,
    kernel_source,
)
from arrows.engine.reading import lengths_of

KERNELS = Kernels(in_c, is_reduction, emit_kernels, table_index)

# The ranges of one launch.  What a launch takes lies in 4 kB of constant memory, which is far more.
_MOST = 16
_WORDS = 4  # of a range

# The words after the first are, for each range: how many units it has, the addresses of target and source,
# and how many bytes a unit has.  The first word counts the units of all.
WRITE_RANGES = kernel_source(
    """\
  ITEMS(i, WORD(0)) {
    long long k = i;
    int n = 1;
    while (k >= WORD(n)) { k -= WORD(n); n += 4; }
    const long long target = WORD(n + 1), source = WORD(n + 2);
    if (WORD(n + 3) == 4) ((int*)target)[k] = source ? ((const int*)source)[k] : 0;
    else ((char*)target)[k] = source ? ((const char*)source)[k] : 0;
  }""",
    words=1 + _WORDS * _MOST,
    columns=1,
)
"""Writes to so many ranges, of any element type."""


class KernelDevice(Device):
    """A device that compiles and launches kernels in C: a GPU, or the fake one."""

    kernels = KERNELS
    lacks = frozenset({"float16"})

    def __init__(self) -> None:
        self._compiled: dict[str, Kernel] = {}

    def compile_unit(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        """Kernels by name, none of which has been compiled before, in one unit."""
        raise NotImplementedError

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        wanted = {source.name: source for source in (*sources, WRITE_RANGES)}
        new = [source for name, source in wanted.items() if name not in self._compiled]
        if new:
            self._compiled |= self.compile_unit(new)
        return self._compiled

    def write(self, writes: Iterable[ArrayWrite]) -> None:
        lines: list[list[int]] = []
        for write in writes:
            if not write.target.size:
                continue
            line = self._line(write)
            if line is None:
                super().write([write])
            else:
                lines.append(line)
        for first in range(0, len(lines), _MOST):
            each = lines[first : first + _MOST]
            words = np.zeros((1, WRITE_RANGES.words), np.int64)
            words[0, 0] = sum(line[0] for line in each)
            words[0, 1 : 1 + _WORDS * len(each)] = np.ravel(each)
            self.compile([WRITE_RANGES])[WRITE_RANGES.name].bind(words)(0)

    def _line(self, write: ArrayWrite) -> list[int] | None:
        """The words of a range; None if the kernel cannot write it."""
        target, source = write.target, write.source
        if not target.flags.c_contiguous:
            return None
        if source is not None:
            same = source.shape == target.shape and source.dtype == target.dtype
            if not same or not source.flags.c_contiguous:
                return None
        addresses = [self.address(target), 0 if source is None else self.address(source)]
        unit = 1 if any(number % 4 for number in (target.nbytes, *addresses)) else 4
        return [target.nbytes // unit, *addresses, unit]

    def weighted_sum(self, values: Array, weights: Array) -> Array:
        # One launch. NumPy sums more exactly than it multiplies matrices.
        rows = values.reshape((len(values), prod(values.shape[1:])))
        total = self.xp.matmul(weights.reshape((-1,)), rows)
        return total.sum() if total.size > 1 else total.reshape(())

    def sums_by_row(
        self, target: Array, values: Array, rows: Sent, order: Sent, starts: Sent, bounds: Sequence[int]
    ) -> Launch:
        width = target.size // max(len(target), 1)
        kernel = segment_sum_kernel(width, str(target.dtype))
        first = np.asarray(bounds, np.int64)
        words = np.empty((len(first) - 1, 8), np.int64)
        words[:, 0] = lengths_of(first)
        words[:, 1] = self.address(target)
        words[:, 2] = rows.address + 4 * first[:-1]
        words[:, 3] = self.address(values)
        words[:, 4] = width
        words[:, 5] = order.address
        words[:, 6] = starts.address + 4 * first[:-1]
        words[:, 7] = len(target)
        return self.compile([kernel])[kernel.name].bind(words)
