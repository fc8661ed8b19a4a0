"""Compiles fused chains with numba, once for all processes: what has been compiled is kept on disk.

numba is an extra (``arrows[jit]``).  A chain's source is written to a file of the cache folder, named by a
hash of what it says, and numba keeps the machine code beside it; a second start compiles nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# `tanh` by a quotient of polynomials, which a compiler turns into vector instructions (libm's is ten times
# slower): odd, of degrees 13 and 6, within 4e-7 of the true value for float32.
# Comparisons are written so that NaN passes through.
_HEAD = """\
import math

import numpy as np
from numba import njit

F = np.{dtype}


@njit(inline="always")
def relu(x):
    return F(0) if x < F(0) else x


@njit(inline="always")
def sign(x):
    return F(1) if x > F(0) else F(-1) if x < F(0) else x


@njit(inline="always")
def sqrt(x):
    return F(math.sqrt(x))

"""
_TANH32 = """
@njit(inline="always")
def tanh(x):
    x = F(7.90531110763549805) if x > F(7.90531110763549805) else x
    x = F(-7.90531110763549805) if x < F(-7.90531110763549805) else x
    y = x * x
    p = F(-2.76076847742355e-16) * y + F(2.00018790482477e-13)
    p = p * y + F(-8.60467152213735e-11)
    p = p * y + F(5.12229709037114e-08)
    p = p * y + F(1.48572235717979e-05)
    p = p * y + F(6.37261928875436e-04)
    p = p * y + F(4.89352455891786e-03)
    q = F(1.19825839466702e-06) * y + F(1.18534705686654e-04)
    q = q * y + F(2.26843463243900e-03)
    q = q * y + F(4.89352518554385e-03)
    return x * p / q

"""
_TANH64 = """
@njit(inline="always")
def tanh(x):
    return math.tanh(x)

"""
_DECORATOR = '@njit(cache={cache}, nogil=True, error_model="numpy", fastmath={{"contract", "nsz"}})\n'

Compiled = Callable[..., None]


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


def folder() -> Path:
    """Where compiled chains are kept: ``ARROWS_CACHE``, else ``arrows`` in the user's folder for caches."""
    own = os.environ.get("ARROWS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arrows"


@cache
def compiled(source: str, dtype: str) -> Compiled:
    """The function that a chain's source defines.

    Args:
        source: as `arrows.engine.fuse.Chain.source`.
        dtype: the element type, ``"float32"`` or ``"float64"``.
    """
    head = _HEAD.format(dtype=dtype) + (_TANH32 if dtype == "float32" else _TANH64)
    text = head + "\n" + _DECORATOR.format(cache=True) + source
    try:
        path = _kept(text)
    except OSError:  # no place to keep it: it is compiled anew in each process
        names: dict[str, Any] = {}
        exec(compile(head + "\n" + _DECORATOR.format(cache=False) + source, "<arrows chain>", "exec"), names)
        anew: Compiled = names["chain"]
        return anew
    spec = importlib.util.spec_from_file_location(f"arrows_chain_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # what numba keeps on disk refers to the module by its name
    spec.loader.exec_module(module)
    kept: Compiled = module.chain
    return kept


def _kept(text: str) -> Path:
    """The file with this text in the cache folder, written if it is not there."""
    where = folder()
    path = where / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.py"
    if not path.is_file():
        where.mkdir(parents=True, exist_ok=True)
        # Other processes may write the same: the file appears whole or not at all.
        handle, name = tempfile.mkstemp(dir=where, suffix=".tmp")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    return path
