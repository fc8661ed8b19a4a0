"""Compiles fused chains with numba, an extra (``arrows[jit]``).

What has been compiled is kept on disk (`compile_cache.py`), so a second start compiles nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from arrows.engine.compile_cache import CodeCache

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
_DECORATOR = '@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})\n'

Compiled = Callable[..., None]


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


@cache
def compiled(source: str, dtype: str) -> Compiled:
    """The function that a chain's source defines.

    Args:
        source: as `arrows.engine.fuse.Chain.source`.
        dtype: the element type, ``"float32"`` or ``"float64"``.
    """
    head = _HEAD.format(dtype=dtype) + (_TANH32 if dtype == "float32" else _TANH64)
    text = head + "\n" + _DECORATOR + source
    module = ModuleType(f"arrows_chain_{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    sys.modules[module.__name__] = module  # what is kept on disk refers to the module by its name
    exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))
    dispatcher: Any = module.chain
    dispatcher._cache = CodeCache(text)  # numba's own trusts its files
    chain: Compiled = dispatcher
    return chain
