"""Compiles C with the host's compiler, where there is one, and calls what it has compiled on NumPy arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from arrows.ops.arrays import HostArray


@cache
def host_compiler() -> str | None:
    """The path of the host's C compiler; None where there is none."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class HostLibrary:
    """Functions in C that the host's compiler has compiled.

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
        with tempfile.TemporaryDirectory() as folder:
            text, library = Path(folder, "kernels.c"), Path(folder, "kernels.so")
            text.write_text(source, encoding="utf-8")
            flags = ["-O1", "-std=c11", "-ffp-contract=off", "-shared", "-fPIC"]
            macros = [f"-D{name}" for name in defines]
            command = [compiler, *flags, *macros, "-o", str(library), str(text), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{compiler} refuses the source: {done.stderr[:2000]}")
            self._library = ctypes.CDLL(str(library))  # the file may go once it is loaded

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
