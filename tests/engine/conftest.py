"""In the tests of the engine memory that nobody has written is poison, and every program is verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from arrows.engine.device import Arena
from arrows.engine.program.pipeline import checked_passes
from arrows.engine.running.gradient_memory import BatchGradients, GradientMemory
from arrows.testing import verify_program


@pytest.fixture(autouse=True, scope="module")
def poisoned() -> Iterator[None]:
    """Whatever the arena hands out is full of NaN, or of numbers out of every range."""
    plain = Arena.array

    def array(self: Arena, name: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        made = plain(self, name, shape, dtype)
        if made.size > 10_000:  # the tests of huge data would take minutes
            return made
        if str(dtype).startswith("float"):
            made[...] = float("nan")
        elif str(dtype) == "uint16":  # bits of not-a-number, in bfloat16 as in float16
            made[...] = 0xFFFF
        elif str(dtype).startswith("int"):
            made[...] = 99
        return made

    plain_begin = GradientMemory.begin

    def begin(self: GradientMemory, operations: Any) -> BatchGradients:
        # An optimizer that has seen the arrays may have left anything in them.
        for gradient in self._arrays.values():
            gradient[...] = float("nan")
        return plain_begin(self, operations)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Arena, "array", array)
        patch.setattr(GradientMemory, "begin", begin)
        yield


@pytest.fixture(autouse=True)
def verified() -> Iterator[None]:
    """After each pass, every program that a test makes is right."""
    with checked_passes(verify_program):
        yield
