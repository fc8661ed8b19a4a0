"""Compiled code: kernels in C, and loops that numba compiles; what is compiled is kept on disk.

A kernel is a C function of a list of 64-bit words: numbers, and addresses of arrays.  NVRTC turns its loops
over items into a grid of threads; a C compiler of the host turns them into loops, so that what a GPU would
run is executed where there is none.  A kernel needs no barrier: a thread reads nothing that another thread
of the same launch writes.

Launches are planned for a whole batch: a table has one line of words for each launch, and `Kernel.bind` makes
of it a function that costs a microsecond or so to call.

numba, an extra (``arrows[jit]``), compiles fused chains for the CPU. A second start compiles nothing; the
code of kernels for the host is kept in the same way. numba has a cache of its own, but trusts its files: a
truncated file breaks every later run, and a flipped bit of machine code is run. Here each file begins with a
hash of its key and its content. A file that does not match its hash is compiled anew and replaced. A file
that cannot be written is skipped with one warning.

numba writes the content with pickle, and a pickle can run anything when it is loaded. So the folder is used
only if it belongs to the user alone, as `~/.ssh` does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import stat
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from arrows.arrays import HostArray
from arrows.ops import Equation
from arrows.storage import replacing

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
        emit: writes a region, as `program.region.emit`: ``emit(program, region, device, precision, tick)``.
        index_of: the number of the gather of a program by whose index an instruction, `SumRows`, sums the
            rows of a table; None where the gradient of no table is summed.
    """

    compute: Callable[[Equation], bool]
    reduce: Callable[[Equation], bool]
    emit: Callable[..., Any]
    index_of: Callable[[Any, Any], int | None]


HASH = 32  # bytes of a SHA-256


def folder() -> Path:
    """Where compiled chains are kept: ``ARROWS_CACHE``, else ``arrows`` in the user's folder for caches.

    Raises:
        RuntimeError: the user has no home.
    """
    own = os.environ.get("ARROWS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arrows"


class CodeCache:
    """Stores the machine code of one function; has the interface of `numba.core.caching`.

    Args:
        source: everything that the function is compiled from; each source has files of its own.
    """

    cache_path = ""  # which numba shows in its statistics

    def __init__(self, source: str) -> None:
        self.source = source

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Loads the function compiled for a signature; None if there is none that can be used."""
        target.refresh()
        code = load_code(self._key(signature, target.codegen()))
        if code is None:
            return None
        from numba.core import compiler

        result: Any = compiler.CompileResult
        try:
            return result._rebuild(target, *pickle.loads(code))
        except Exception:  # noqa: BLE001 - another build of numba may raise anything; recompile
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Writes a compiled function to disk; warns if the folder refuses it."""
        from numba.core import serialize

        pickling: Any = serialize
        if compiled.library.has_dynamic_globals:  # it holds addresses that only this process has
            return
        try:
            save_code(self._key(signature, compiled.codegen), pickling.dumps(compiled._reduce()))
        except (OSError, RuntimeError) as error:
            _warn(str(error))

    def _key(self, signature: Any, codegen: Any) -> bytes:
        """Everything that the machine code depends on: source, types, processor and versions."""
        import llvmlite
        import numba

        versions = (sys.version, numba.__version__, llvmlite.__version__)
        return repr((self.source, signature, codegen.magic_tuple(), versions)).encode()


def load_code(key: bytes) -> bytes | None:
    """The machine code that was kept under a key; None if there is none that can be used."""
    try:
        content = (_private_folder() / _name(key)).read_bytes()
    except (OSError, RuntimeError):  # there is no file; if the folder cannot be used, saving warns
        return None
    code = content[HASH:]
    return code if content[:HASH] == _hash(key, code) else None


def save_code(key: bytes, code: bytes) -> None:
    """Keeps machine code under a key, which says everything that it depends on.

    Raises:
        OSError: it cannot be written.
        RuntimeError: the user has no home.
    """
    with replacing(_private_folder() / _name(key)) as file:
        file.write(_hash(key, code) + code)


def _hash(key: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + payload).digest()


def _name(key: bytes) -> str:
    return f"{hashlib.sha256(key).hexdigest()[:32]}.code"


def _private_folder() -> Path:
    """Returns the folder and creates it if it is missing.

    Raises:
        OSError: it cannot be created, or others have access to it.
    """
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "posix":
        return where
    status = where.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError(f"the folder {where} is another user's")
    if stat.S_IMODE(status.st_mode) & 0o077:
        # They may have put a file there, so that to close the folder now would not do.
        raise PermissionError(f"others have access to the folder {where}")
    return where


@cache
def _warn(reason: str) -> None:
    """Warns, once a process for each reason."""
    warnings.warn(
        f"compiled code is not kept: {reason}. Every start compiles it anew; the environment "
        "variable ARROWS_CACHE names another folder.",
        RuntimeWarning,
        stacklevel=2,
    )


_DECORATOR = '@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})\n'

Compiled = Callable[..., None]


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


@cache
def compiled(source: str) -> Compiled:
    """The function that a chain's source defines, as `program.numbers.python_source` writes it."""
    text = FUNCTIONS + _DECORATOR + source
    module = ModuleType(f"arrows_chain_{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    sys.modules[module.__name__] = module  # what is kept on disk refers to the module by its name
    exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))
    dispatcher: Any = module.chain
    dispatcher._cache = CodeCache(text)  # numba's own trusts its files
    chain: Compiled = dispatcher
    return chain


# The functions that chains call: arithmetic that becomes vector instructions; libm's cost ten times as much.
# Over all of float32 they are within 4e-7 of the true values, relative to them, and within three units in the
# last place where the result is less than the smallest normal number. Measured on rows in the cache: `tanh`
# 0.29 ns an element, `sigmoid` 0.46 ns.
# Comparisons are written so that NaN passes through.
#
# `tanh` is an odd quotient of polynomials of degrees 9 and 8, up to where it is 1 but for 8e-8.
# `sigmoid` is e / (1 + e), with e = exp(x): so it is as exact where it is small as where it is not. The
# exponential is 2**k times a polynomial in the rest; adding 1.5 * 2**23 rounds to a whole number, and 2**k is
# made of its bits, in two factors, since numbers below 2**-126 have no exponent of their own.
FUNCTIONS = """\
from numba import njit
from numpy import float32 as F, floor, int32, rint, sign, sqrt


@njit(inline="always")
def relu(x):
    return F(0) if x < F(0) else x


@njit(inline="always")
def tanh(x):
    y = x * x
    p = F(1.394553628e-8) * y + F(2.102733560e-5)
    p = p * y + F(3.520756727e-3)
    p = p * y + F(1.340216100e-1)
    p = p * y + F(1)
    q = F(8.015776984e-7) * y + F(3.326951409e-4)
    q = q * y + F(2.597254514e-2)
    q = q * y + F(4.673548340e-1)
    q = q * y + F(1)
    t = x * p / q
    t = F(1) if t > F(1) or x > F(8.5) else t
    return F(-1) if t < F(-1) or x < F(-8.5) else t


@njit(inline="always")
def exp(x):
    n = (x * F(1.44269504088896341) + F(12582912)) - F(12582912)
    r = x - n * F(0.693359375)
    r = r - n * F(-2.12194440e-4)
    p = F(1.9875691500e-4) * r + F(1.3981999507e-3)
    p = p * r + F(8.3334519073e-3)
    p = p * r + F(4.1665795894e-2)
    p = p * r + F(1.6666665459e-1)
    p = p * r + F(5.0000001201e-1)
    p = p * r * r + r + F(1)
    k = int32(n)
    half = k >> int32(1)
    first = int32((half + int32(127)) << int32(23)).view(F)
    second = int32((k - half + int32(127)) << int32(23)).view(F)
    return p * first * second


@njit(inline="always")
def sigmoid(x):
    x = F(88) if x > F(88) else x
    e = exp(F(-104) if x < F(-104) else x)
    return e / (F(1) + e)

"""
