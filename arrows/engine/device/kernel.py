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
from typing import Protocol, TypeAlias

import numpy as np

from arrows.ops.arrays import HostArray

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
class StoredType:
    """How a device keeps numbers of float32 in fewer bits; what computes loads them as float32.

    Attributes:
        dtype: of the arrays of the device, which hold bits.
        c_type: the same in C.
        functions: in C, ``float load_NAME(c_type)`` and ``c_type store_NAME(float)``, which rounds to the
            nearest number, of two the even one.
        store, load: the same of arrays of the host.
    """

    dtype: str
    c_type: str
    functions: str
    store: Callable[[HostArray], HostArray]
    load: Callable[[HostArray], HostArray]


# Kernels include no headers: neither cuda_fp16.h, which NVRTC does not bring, nor C's own.
_BITS = """\
#ifndef ARROWS_BITS
#define ARROWS_BITS
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  FUNCTION float number_of(unsigned int bits) { return __uint_as_float(bits); }
  FUNCTION unsigned int bits_of(float number) { return __float_as_uint(number); }
#else
  typedef union { float number; unsigned int bits; } number_and_bits;
  FUNCTION float number_of(unsigned int bits) { number_and_bits x; x.bits = bits; return x.number; }
  FUNCTION unsigned int bits_of(float number) { number_and_bits x; x.number = number; return x.bits; }
#endif
#endif
"""
# The upper half of a float32. What is dropped carries into it from its middle on; not-a-number stays that.
_BFLOAT16 = f"""\
{_BITS}#ifndef ARROWS_BFLOAT16
#define ARROWS_BFLOAT16
FUNCTION float load_bfloat16(unsigned short stored) {{ return number_of((unsigned int)stored << 16); }}
FUNCTION unsigned short store_bfloat16(float number) {{
  unsigned int bits = bits_of(number);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}}
#endif
"""
# A GPU has an instruction for each. On the host: numbers below 2**-14 are multiples of 2**-24, to which
# adding 0.5 rounds; 65,520 and above become infinite.
_FLOAT16 = f"""\
{_BITS}#ifndef ARROWS_FLOAT16
#define ARROWS_FLOAT16
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
FUNCTION float load_float16(unsigned short stored) {{
  float number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(stored));
  return number;
}}
FUNCTION unsigned short store_float16(float number) {{
  unsigned short stored;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(number));
  return stored;
}}
#else
FUNCTION float load_float16(unsigned short stored) {{
  unsigned int size = stored & 0x7fffu, sign = (unsigned int)(stored & 0x8000u) << 16;
  if (size >= 0x7c00u) return number_of(sign | 0x7f800000u | (size & 0x3ffu) << 13);
  if (size >= 0x400u) return number_of(sign | ((size << 13) + 0x38000000u));
  return number_of(sign | bits_of((float)size * 5.9604644775390625e-8f));
}}
FUNCTION unsigned short store_float16(float number) {{
  unsigned int bits = bits_of(number), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (size < 0x38800000u) return (unsigned short)(sign | (bits_of(number_of(size) + 0.5f) - 0x3f000000u));
  return (unsigned short)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}}
#endif
#endif
"""


def _store_bfloat16(numbers: HostArray) -> HostArray:
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    nearest = (bits + even + np.uint32(0x7FFF)) >> np.uint32(16)
    stored = np.where(np.isnan(numbers), bits >> np.uint32(16) | np.uint32(0x40), nearest)
    return stored.astype(np.uint16)


def _load_bfloat16(stored: HostArray) -> HostArray:
    return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _store_float16(numbers: HostArray) -> HostArray:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(numbers.astype(np.float16)).view(np.uint16)


def _load_float16(stored: HostArray) -> HostArray:
    return np.ascontiguousarray(stored).view(np.float16).astype(np.float32)


STORED_TYPES = {
    "bfloat16": StoredType(
        dtype="uint16",
        c_type="unsigned short",
        functions=_BFLOAT16,
        store=_store_bfloat16,
        load=_load_bfloat16,
    ),
    "float16": StoredType(
        dtype="uint16",
        c_type="unsigned short",
        functions=_FLOAT16,
        store=_store_float16,
        load=_load_float16,
    ),
}
"""What a device can keep numbers of float32 in."""


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
        stored: the type, one of `STORED_TYPES`, in which the numbers of a and b lie; None: their own.  What
            lies so is multiplied as it is, whatever ``precision`` says.
        c_stored: likewise of c; the same type, or its own.
    """

    dtype: str
    a_stride: int
    b_stride: int
    c_stride: int
    a_transposed: bool = False
    b_transposed: bool = False
    accumulate: bool = False
    precision: str = "float32"
    stored: str | None = None
    c_stored: str | None = None
