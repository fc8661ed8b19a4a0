"""Compiled loops as plain Python on float64: to compile them in tests would take minutes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from arrows.engine.program import numbers, region as emitter

compiling = importlib.import_module("arrows.engine.compile")  # the function has its name


def interpreted(source: str) -> Any:
    """A loop nest's function as plain Python, on float64."""
    names: dict[str, Any] = {
        "F": float,
        "tanh": math.tanh,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x),
        "sqrt": math.sqrt,
        "relu": lambda x: max(x, 0.0),
        "sign": lambda x: float(np.sign(x)),
        "floor": lambda x: float(np.floor(x)),
        "rint": lambda x: float(np.rint(x)),
    }
    exec(source, names)
    return names["chain"]


@contextmanager
def loops_as_python() -> Iterator[list[str]]:
    """Models on the CPU run their loops as plain Python, unless `jit=False`; gives the sources."""
    sources: list[str] = []

    def compiled(source: str) -> Any:
        sources.append(source)
        return interpreted(source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "LOOP_TYPE", "float64")
        patch.setattr(emitter, "compiled", compiled)
        patch.setattr(compiling, "use_jit", lambda jit, device: device == "cpu" and jit is not False)
        yield sources
