"""In the tests of the engine memory that nobody has written is poison, and every program is verified."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import Arena
from arrows.engine.program.pipeline import checked_passes
from arrows.engine.running import Executor, Run
from arrows.engine.running.batch_plan import PlannedBatch
from arrows.engine.running.gradient_flow import BatchGradients, GradientMemory
from tests.engine.program.verify import verify_program


@pytest.fixture(autouse=True, scope="module")
def poisoned() -> Iterator[None]:
    """Whatever a batch takes of the arena is full of NaN at first, or of numbers out of every range."""
    plain = Executor.forward

    def forward(self: Executor, planned: PlannedBatch, arena: Arena | None = None, *carry: Any) -> Run:
        for made in itertools.starmap((arena or self.arena).array, planned.buffers()):
            if made.size > 10_000:  # the tests of huge data would take minutes
                continue
            if str(made.dtype).startswith("float"):
                made[...] = float("nan")
            elif str(made.dtype).startswith("int"):
                made[...] = 99
        return plain(self, planned, arena, *carry)

    plain_begin = GradientMemory.begin

    def begin(self: GradientMemory, operations: Any) -> BatchGradients:
        # An optimizer that has seen the arrays may have left anything in them.
        for gradient in self._arrays.values():
            gradient[...] = float("nan")
        return plain_begin(self, operations)

    plain_empty = np.empty

    def empty(*arguments: Any, **options: Any) -> Any:
        made = plain_empty(*arguments, **options)
        if made.dtype.kind == "f" and made.size < 10_000:
            made.fill(7.5)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", empty)
        patch.setattr(Executor, "forward", forward)
        patch.setattr(GradientMemory, "begin", begin)
        yield


@pytest.fixture(autouse=True)
def verified() -> Iterator[None]:
    """After each pass, every program that a test makes is right."""
    with checked_passes(verify_program):
        yield
