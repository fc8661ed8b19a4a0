"""Compiles fused chains with numba, an extra (``arrows[jit]``), and keeps machine code on disk.

A second start compiles nothing. The code of kernels for the host is kept in the same way.

numba has a cache of its own, but trusts its files: a truncated file breaks every later run, and a flipped bit
of machine code is run. Here each file begins with a hash of its key and its content. A file that does not
match its hash is compiled anew and replaced. A file that cannot be written is skipped with one warning.

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
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from arrows.storage import replacing

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
        code = load(self._key(signature, target.codegen()))
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
            save(self._key(signature, compiled.codegen), pickling.dumps(compiled._reduce()))
        except (OSError, RuntimeError) as error:
            _warn(str(error))

    def _key(self, signature: Any, codegen: Any) -> bytes:
        """Everything that the machine code depends on: source, types, processor and versions."""
        import llvmlite
        import numba

        versions = (sys.version, numba.__version__, llvmlite.__version__)
        return repr((self.source, signature, codegen.magic_tuple(), versions)).encode()


def load(key: bytes) -> bytes | None:
    """The machine code that was kept under a key; None if there is none that can be used."""
    try:
        content = (_private_folder() / _name(key)).read_bytes()
    except (OSError, RuntimeError):  # there is no file; if the folder cannot be used, saving warns
        return None
    code = content[HASH:]
    return code if content[:HASH] == _hash(key, code) else None


def save(key: bytes, code: bytes) -> None:
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
    """The function that a chain's source defines, as `program.emitters.numbers.python_source` writes it."""
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
