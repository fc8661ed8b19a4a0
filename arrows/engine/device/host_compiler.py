"""Compiles C with the host's compiler, where there is one, and calls what it has compiled on NumPy arrays."""

from __future__ import annotations

import contextlib
import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from arrows.engine.device import compile_cache
from arrows.ops.arrays import HostArray

_FLAGS = ("-O1", "-std=c11", "-ffp-contract=off", "-shared", "-fPIC")


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
        source: the functions.
        defines: macros to define.

    Raises:
        RuntimeError: there is no compiler, or it refuses the source; the message has what it says.
    """

    def __init__(self, source: str, defines: Sequence[str] = ()) -> None:
        compiler = host_compiler()
        if compiler is None:
            raise RuntimeError("the host has no C compiler (cc, gcc or clang)")
        flags = (*_FLAGS, *(f"-D{name}" for name in defines))
        key = repr((source, flags, _compiler_version(compiler), platform.machine())).encode()
        code = compile_cache.load(key)
        if code is None:
            code = _compile(compiler, source, flags)
            with contextlib.suppress(OSError, RuntimeError):  # without a folder, each process compiles
                compile_cache.save(key, code)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernels.so")
            path.write_bytes(code)
            self._library = ctypes.CDLL(str(path))  # the file may go once it is loaded

    def function(self, name: str) -> Callable[..., None]:
        """A function that takes one address and returns nothing."""
        function = self._library[name]
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
        return function

    def backwards(self, function: Callable[..., None]) -> Callable[..., None]:
        """A kernel compiled with ``BACKWARDS`` (see `arrows.engine.device.kernel`), its last loop first."""
        loop, turn = (ctypes.c_int.in_dll(self._library, name) for name in ("loop", "turn"))

        def one_loop(number: int, words: object) -> None:
            loop.value, turn.value = 0, number
            function(words)

        def every_loop(words: object) -> None:
            one_loop(-1, words)  # none, which counts them
            for number in reversed(range(loop.value)):
                one_loop(number, words)

        return every_loop

    def call(self, name: str, arguments: Sequence[HostArray | int]) -> None:
        """Calls a function that returns nothing: arrays become pointers, numbers ``long long``."""
        function = self._library[name]
        function.restype = None
        function(
            *(
                ctypes.c_void_p(argument.ctypes.data)
                if isinstance(argument, np.ndarray)
                else ctypes.c_longlong(argument)
                for argument in arguments
            )
        )
