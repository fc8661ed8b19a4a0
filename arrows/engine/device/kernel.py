"""Kernels in C: one source for the GPU and for the host's compiler, and how a batch launches them.

A kernel is a C function of a list of 64-bit words: numbers, and addresses of arrays.  NVRTC turns its loops
over items into a grid of threads; a C compiler of the host turns them into loops, so that what a GPU would
run is executed where there is none.  A kernel needs no barrier: a thread reads nothing that another thread
of the same launch writes.

Launches are planned for a whole batch: a table has one line of words for each launch, and `Kernel.bind` makes
of it a function that costs a microsecond or so to call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from arrows.arrays import HostArray
from arrows.ops import Equation

Launch: TypeAlias = Callable[[int], None]
"""``launch(number)`` starts the launch of that number, a line of the table that it was bound to."""

# `long long`, since `long` has 32 bits on Windows.  A launch has as many threads as items, up to a limit,
# above which a thread takes several items.
PRELUDE = """\
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  #define KERNEL(name, count) \\
    struct name##_words { long long word[count]; }; \\
    extern "C" __global__ void name(const name##_words words)
  #define WORD(i) words.word[i]
  #define FUNCTION __device__ static inline
  #define ITEMS(i, count) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (count); \\
         i += gridDim.x * (long long)blockDim.x)
#else
  #include <math.h>
  #include <stdint.h>
  #define KERNEL(name, count) void name(const long long* words)
  #define WORD(i) words[i]
  #define FUNCTION static inline
  #ifndef BACKWARDS
    #define ITEMS(i, count) for (long long i = 0; i < (count); ++i)
  #else
    int loop, turn;
    #define ITEMS(i, count) for (long long i = loop++ == turn ? (count) - 1 : -1; i >= 0; --i)
  #endif
#endif
"""
"""What stands before the kernels of a unit.

``KERNEL(name, count) { ... }`` defines a kernel of ``count`` words; ``WORD(i)`` is one of them.
``ITEMS(i, count) { ... }`` runs its body for each item, on a GPU in parallel.

On the host, ``BACKWARDS`` runs the items from the last to the first, of the loop whose number is ``turn``;
`HostLibrary.backwards` takes a kernel's last loop first.  What is right in both orders has no item that reads
what another one writes.
"""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel in C.

    Attributes:
        name: of the function; equal sources have equal names.
        text: the function, with the functions that it calls alone; `PRELUDE` stands before it.
        words: how many words it takes.  Word 0 is the number of rows.
        columns: how many items a row has; a launch has ``columns`` times word 0 of them.
    """

    name: str
    text: str
    words: int
    columns: int


def kernel_source(body: str, *, words: int, columns: int, functions: str = "") -> KernelSource:
    """A kernel whose name is a hash of its source.

    Args:
        body: C between the braces of the function.
        words, columns: as in `KernelSource`.
        functions: what stands before the kernel.  Kernels share a unit, so that the names in it are unique
            to their text; wrap each in ``#ifndef``.

    >>> kernel_source("  ITEMS(i, WORD(0)) ((float*)WORD(1))[i] = 0;", words=2, columns=1).name[:7]
    'kernel_'
    """
    name = f"kernel_{hashlib.sha256(f'{words} {functions} {body}'.encode()).hexdigest()[:16]}"
    return KernelSource(name, f"{functions}KERNEL({name}, {words}) {{\n{body}\n}}\n", words, columns)


class Kernel(Protocol):
    """A kernel that a device has compiled."""

    @property
    def source(self) -> KernelSource:
        """What was compiled."""

    def bind(self, words: HostArray) -> Launch:
        """Plans launches.

        Args:
            words: int64 [launches, words], C-contiguous; a launch reads its line when it starts.  The caller
                keeps the arrays alive whose addresses these are, and must not change the table.  A line with
                no rows launches nothing.
        """


PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
"""How exact the numbers are that a matrix product multiplies: with 24, 11, 8 and 11 bits; float16 has a small
range besides, up to 65,504."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLayout:
    """Matrix products that a device computes on addresses: ``c = a @ b``, or ``c += a @ b``.

    A launch is six words: m, n, k, and the addresses of a [m, k], b [k, n], c [m, n].  A matrix lies row by
    row, ``stride`` numbers from one row to the next; or it is the transpose of one that does.

    Attributes:
        dtype: ``"float32"`` or ``"float64"``.
        a_stride, b_stride, c_stride: from one row of the matrix in memory to the next, in numbers.
        a_transposed, b_transposed: whether the matrix in memory is the transpose of a [m, k], of b [k, n].
        accumulate: whether the product is added to what is there.
        precision: of float32, to what the numbers that are multiplied are rounded; one of `PRECISIONS`. Sums
            are of float32.
    """

    dtype: str
    a_stride: int
    b_stride: int
    c_stride: int
    a_transposed: bool = False
    b_transposed: bool = False
    accumulate: bool = False
    precision: str = "float32"


@dataclass(frozen=True, slots=True)
class Kernels:
    """How programs for a device with kernels are written; `arrows.engine.cuda` has the one of these.

    Attributes:
        compute: whether a kernel can compute an equation with rows.
        reduce: whether it reduces rows then.
        emit: writes a region, as `emitters.numpy.emit`: ``emit(program, region, device, precision, tick)``.
        index_of: the number of the gather of a program by whose index an instruction, `SumRows`, sums the
            rows of a table; None where the gradient of no table is summed.
    """

    compute: Callable[[Equation], bool]
    reduce: Callable[[Equation], bool]
    emit: Callable[..., Any]
    index_of: Callable[[Any, Any], int | None]
