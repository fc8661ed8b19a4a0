"""Writes to many ranges of arrays at once: one launch on a device with kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from arrows.engine.device.device import Device
from arrows.engine.device.kernel import kernel_source
from arrows.ops.arrays import Array

# The ranges of one launch.  What a launch takes lies in 4 kB of constant memory, which is far more.
_MOST = 16
_WORDS = 6  # of a range


@dataclass(frozen=True, slots=True)
class ArrayWrite:
    """``target[...] = source``.

    Attributes:
        target: an array, or a range of one.
        source: an array of the same device; None: zeros.
    """

    target: Array
    source: Array | None = None


# The words after the first are, for each range: how many units it has, how many are in a row, how many lie
# between the starts of rows, the addresses of target and source, and how many bytes a unit has.  The first
# word counts the units of all.
WRITE_RANGES = kernel_source(
    """\
  ITEMS(i, WORD(0)) {
    long long k = i;
    int n = 1;
    while (k >= WORD(n)) { k -= WORD(n); n += 6; }
    const long long at = k / WORD(n + 1) * WORD(n + 2) + k % WORD(n + 1);
    const long long target = WORD(n + 3), source = WORD(n + 4);
    if (WORD(n + 5) == 8) ((long long*)target)[at] = source ? ((const long long*)source)[k] : 0;
    else if (WORD(n + 5) == 4) ((int*)target)[at] = source ? ((const int*)source)[k] : 0;
    else ((char*)target)[at] = source ? ((const char*)source)[k] : 0;
  }""",
    words=1 + _WORDS * _MOST,
    columns=1,
)
"""Writes to so many ranges, of any element type."""


def write_arrays(device: Device, writes: Sequence[ArrayWrite]) -> None:
    """Writes to ranges of arrays that have no number in common.

    Args:
        device: where the arrays are.
        writes: what is written where.

    >>> from arrows.engine.device import get_device
    >>> numbers = np.arange(4)
    >>> write_arrays(get_device("cpu"), [ArrayWrite(numbers[:1]), ArrayWrite(numbers[2:], numbers[:2] + 7)])
    >>> numbers.tolist()
    [0, 1, 7, 8]
    """
    lines: list[list[int]] = []
    for write in writes:
        line = _line(device, write) if device.has_kernels else None
        if line is not None:
            lines.append(line)
        elif write.target.size:
            write.target[...] = 0 if write.source is None else write.source
    for each in _launched(lines):
        words = np.zeros((1, WRITE_RANGES.words), np.int64)
        words[0, 0] = sum(line[0] for line in each)
        flat = [word for line in each for word in line]
        words[0, 1 : 1 + len(flat)] = flat
        device.compile([WRITE_RANGES])[WRITE_RANGES.name].bind(words)(0)


def _launched(lines: Sequence[list[int]]) -> Iterator[Sequence[list[int]]]:
    """The ranges of each launch, those that have content."""
    filled = [line for line in lines if line[0]]
    for first in range(0, len(filled), _MOST):
        yield filled[first : first + _MOST]


def _line(device: Device, write: ArrayWrite) -> list[int] | None:
    """The words of a range; None if the kernel cannot write it."""
    target, source = write.target, write.source
    if not target.size:
        return [0] * _WORDS
    item = target.itemsize
    if target.flags.c_contiguous:
        width = stride = target.size * item
    elif target.ndim == 2 and target.strides[1] == item:
        width, stride = target.shape[1] * item, target.strides[0]
    else:
        return None
    if source is not None:
        same = source.shape == target.shape and source.dtype == target.dtype
        if not same or not source.flags.c_contiguous:
            return None
    addresses = [device.address(target), 0 if source is None else device.address(source)]
    unit = gcd(8, width, stride, *addresses)
    unit = unit if unit in (4, 8) else 1
    return [target.size * item // unit, width // unit, stride // unit, *addresses, unit]
