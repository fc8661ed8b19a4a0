"""Kernels that no instruction has: what a batch fills and copies around its steps."""

from __future__ import annotations

from arrows.engine.device import KernelSource, kernel_source
from arrows.engine.program.emitters.c.functions import FUNCTIONS, TYPES, number


def fill_kernel(width: int, dtype: str, value: float = 0) -> KernelSource:
    """The kernel that fills rows with a number.  Its words: how many rows, and where they start.

    Args:
        width: how many numbers a row has.
        dtype: their element type.
        value: the number.
    """
    body = f"  ITEMS(i, WORD(0) * {width}) (({TYPES[dtype]}*)WORD(1))[i] = {number(value, dtype)};"
    return kernel_source(body, words=2, columns=width, functions=FUNCTIONS)


def copy_kernel(width: int, dtype: str) -> KernelSource:
    """The kernel that copies rows.

    Its words: how many rows, target, numbers from one row of the target to the next, source, numbers from one
    row of the source to the next, and an int32 index: row r of the target is row ``index[r]`` of the source,
    or row r where the index is 0.  Source and target do not overlap.

    Args:
        width: how many numbers of a row are copied.
        dtype: their element type.
    """
    type = TYPES[dtype]
    body = f"""\
  {type}* target = ({type}*)WORD(1);
  const {type}* source = (const {type}*)WORD(3);
  const int* index = (const int*)WORD(5);
  ITEMS(i, WORD(0) * {width}) {{
    const long long r = i / {width}, j = i % {width};
    const long long s = index ? index[r] : r;
    target[r * WORD(2) + j] = source[s * WORD(4) + j];
  }}"""
    return kernel_source(body, words=6, columns=width)
