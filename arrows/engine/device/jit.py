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

from arrows.engine.device.compile_cache import CodeCache

_DECORATOR = '@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})\n'

Compiled = Callable[..., None]


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


@cache
def compiled(source: str, dtype: str) -> Compiled:
    """The function that a chain's source defines.

    Args:
        source: what `arrows.engine.program.emitters.loops.python_source` writes.
        dtype: the element type, ``"float32"`` or ``"float64"``.
    """
    text = function_source(dtype) + "\n" + _DECORATOR + source
    module = ModuleType(f"arrows_chain_{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    sys.modules[module.__name__] = module  # what is kept on disk refers to the module by its name
    exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))
    dispatcher: Any = module.chain
    dispatcher._cache = CodeCache(text)  # numba's own trusts its files
    chain: Compiled = dispatcher
    return chain


def function_source(dtype: str) -> str:
    """The source of the functions that chains of an element type call, with the imports that both need.

    >>> "def tanh(x)" in function_source("float32")
    True
    """
    return _HEAD.format(dtype=dtype) + (_FLOAT32 if dtype == "float32" else _FLOAT64)


# The functions that chains call: arithmetic that becomes vector instructions; libm's cost ten times as much.
# Over all of float32 they are within 4e-7 of the true values, relative to them, and within three units in the
# last place where the result is less than the smallest normal number. Measured on rows in the cache: `tanh`
# 0.29 ns an element, `sigmoid` 0.46 ns.
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


@njit(inline="always")
def floor(x):
    return F(np.floor(x))


@njit(inline="always")
def rint(x):
    return F(np.rint(x))

"""
# `tanh` is an odd quotient of polynomials of degrees 9 and 8, up to where it is 1 but for 8e-8.
# `sigmoid` is e / (1 + e), with e = exp(x): so it is as exact where it is small as where it is not. The
# exponential is 2**k times a polynomial in the rest; adding 1.5 * 2**23 rounds to a whole number, and 2**k is
# made of its bits, in two factors, since numbers below 2**-126 have no exponent of their own.
_FLOAT32 = """
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
    k = np.int32(n)
    half = k >> np.int32(1)
    first = np.int32((half + np.int32(127)) << np.int32(23)).view(np.float32)
    second = np.int32((k - half + np.int32(127)) << np.int32(23)).view(np.float32)
    return p * first * second


@njit(inline="always")
def sigmoid(x):
    x = F(88) if x > F(88) else x
    e = exp(F(-104) if x < F(-104) else x)
    return e / (F(1) + e)

"""
_FLOAT64 = """
@njit(inline="always")
def tanh(x):
    return math.tanh(x)


@njit(inline="always")
def sigmoid(x):
    e = math.exp(F(700) if x > F(700) else x)
    return e / (F(1) + e)

"""
