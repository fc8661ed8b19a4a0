"""Memory that nobody has written is poison in the tests of the engine: what reads it gives no number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from arrows.engine.memory import Arena


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
        elif str(dtype).startswith("int"):
            made[...] = 99
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Arena, "array", array)
        yield
