"""Kernels and matrix products on addresses, on the host: what the fake device with kernels runs."""

from __future__ import annotations

import contextlib
import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.device import PRELUDE, KernelSource, Launch, ProductLayout, load_code, save_code

FLAGS = ["-O1", "-std=c11", "-ffp-contract=off", "-shared", "-fPIC"]
"""What the host's compiler is called with."""


@cache
def host_compiler() -> str | None:
    """The path of the host's C compiler; None where there is none."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@cache
def _compiler_version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def _compile(compiler: str, source: str, flags: Sequence[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "kernels.c"), Path(folder, "kernels.so")
        text.write_text(source, encoding="utf-8")
        command = [compiler, *flags, "-o", str(library), str(text), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{compiler} refuses the source: {done.stderr[:2000]}")
        return library.read_bytes()


class HostLibrary:
    """Functions in C that the host's compiler has compiled, now or in an earlier process.

    Args:
        source: the functions; each takes one address and returns nothing.
        defines: macros to define.

    Raises:
        RuntimeError: there is no compiler, or it refuses the source; the message has what it says.
    """

    def __init__(self, source: str, defines: Sequence[str] = ()) -> None:
        compiler = host_compiler()
        if compiler is None:
            raise RuntimeError("the host has no C compiler (cc, gcc or clang)")
        flags = [*FLAGS, *(f"-D{name}" for name in defines)]
        key = repr((source, flags, _compiler_version(compiler), platform.machine())).encode()
        code = load_code(key)
        if code is None:
            code = _compile(compiler, source, flags)
            with contextlib.suppress(OSError, RuntimeError):  # without a folder, each process compiles
                save_code(key, code)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernels.so")
            path.write_bytes(code)
            self._library = ctypes.CDLL(str(path))  # the file may go once it is loaded

    def function(self, name: str) -> Callable[..., None]:
        """A function of the library."""
        function = self._library[name]
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
        return function

    def backwards(self, name: str) -> Callable[..., None]:
        """A kernel compiled with ``BACKWARDS`` (see `arrows.engine.device.kernel`), its last loop first."""
        loop, turn = (ctypes.c_int.in_dll(self._library, name) for name in ("loop", "turn"))
        function = self.function(name)

        def one_loop(number: int, words: object) -> None:
            loop.value, turn.value = 0, number
            function(words)

        def every_loop(words: object) -> None:
            one_loop(-1, words)  # none, which counts them
            for number in reversed(range(loop.value)):
                one_loop(number, words)

        return every_loop


@dataclass(frozen=True, eq=False)
class HostKernel:
    """A kernel that the host's compiler has compiled.

    Attributes:
        function: takes the address of the words.
        launched: called at each launch.
    """

    source: KernelSource
    function: Callable[..., None]
    launched: Callable[[], None]

    def bind(self, words: HostArray) -> Launch:
        """Plans launches; see `Kernel`."""
        assert words.dtype == np.int64 and words.flags.c_contiguous and words.shape[1] == self.source.words

        def launch(number: int) -> None:
            if words[number, 0]:
                self.launched()
                self.function(ctypes.c_void_p(words.ctypes.data + number * words.strides[0]))

        return launch


def host_kernels(
    sources: Sequence[KernelSource], launched: Callable[[], None], *, backwards: bool = False
) -> dict[str, HostKernel]:
    """Kernels by name, compiled in one unit.

    Args:
        sources: the kernels.
        launched: called at each launch.
        backwards: whether each launch runs its loops, and the items of each, from the last to the first.
    """
    text = PRELUDE + "".join(source.text for source in sources)
    library = HostLibrary(text, ["BACKWARDS"] if backwards else [])
    function = library.backwards if backwards else library.function
    return {source.name: HostKernel(source, function(source.name), launched) for source in sources}


def host_products(layout: ProductLayout, words: HostArray, launched: Callable[[], None]) -> Launch:
    """Plans matrix products of arrays on the host; see `Device.products`."""

    def launch(number: int) -> None:
        m, n, k, a, b, c = words[number].tolist()
        if not m or not n:
            return
        launched()
        left = _operand(layout, a, m, k, layout.a_stride, layout.a_transposed)
        right = _operand(layout, b, k, n, layout.b_stride, layout.b_transposed)
        target = _matrix(layout.dtype, c, m, n, layout.c_stride)
        target[...] = target + left @ right if layout.accumulate else left @ right

    return launch


def rounded(matrix: HostArray, precision: str) -> HostArray:
    """A matrix as a tensor core multiplies it; to the nearest number, of two the even one."""
    if precision == "float32" or matrix.dtype != np.float32:
        return matrix
    if precision == "float16":
        with np.errstate(over="ignore"):
            return matrix.astype(np.float16).astype(np.float32)
    dropped = np.uint32({"tf32": 13, "bfloat16": 16}[precision])  # of the 24 bits
    bits = np.ascontiguousarray(matrix).view(np.uint32)
    bits = bits + ((bits >> dropped) & np.uint32(1)) + (np.uint32(1) << dropped - np.uint32(1)) - np.uint32(1)
    finite = (bits >> dropped << dropped).view(np.float32)
    return np.where(np.isfinite(matrix), finite, matrix)


def _operand(
    layout: ProductLayout, address: int, height: int, width: int, stride: int, transposed: bool
) -> HostArray:
    """A factor, as it is multiplied."""
    shape = (width, height) if transposed else (height, width)
    matrix = rounded(_matrix(layout.dtype, address, *shape, stride), layout.precision)
    return matrix.T if transposed else matrix


def _matrix(dtype: str, address: int, height: int, width: int, stride: int) -> HostArray:
    """The matrix at an address of the host."""
    item = np.dtype(dtype).itemsize
    if not height or not width:
        return np.zeros((height, width), dtype)
    memory = (ctypes.c_char * (((height - 1) * stride + width) * item)).from_address(address)
    return np.ndarray((height, width), dtype, memoryview(memory), 0, (stride * item, item))
