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
from arrows.engine.device.vector_functions import functions

_DECORATOR = '@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})\n'

Compiled = Callable[..., None]


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


@cache
def compiled(source: str, dtype: str) -> Compiled:
    """The function that a chain's source defines.

    Args:
        source: as `arrows.engine.program.fuse.Chain.source`.
        dtype: the element type, ``"float32"`` or ``"float64"``.
    """
    text = functions(dtype) + "\n" + _DECORATOR + source
    module = ModuleType(f"arrows_chain_{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    sys.modules[module.__name__] = module  # what is kept on disk refers to the module by its name
    exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))
    dispatcher: Any = module.chain
    dispatcher._cache = CodeCache(text)  # numba's own trusts its files
    chain: Compiled = dispatcher
    return chain
