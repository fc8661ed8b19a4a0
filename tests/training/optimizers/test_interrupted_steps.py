"""An exception at any line of a step leaves all of it undone or done, or says that it came in between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import get_device
from arrows.ops import RowSparse
from arrows.training import SGD, Adam, Optimizer
from tests.interrupts import Line, interrupted, lines_of
from tests.profile import draws

KINDS: dict[str, Any] = {
    "sgd": lambda: SGD(0.1, momentum=0.9),
    "adam": lambda: Adam(0.1, clip_norm=0.5, average=0.9),
    "dense": lambda: Adam(0.1, dense=True),
}
LINES: dict[str, list[Line]] = {}


def gradients() -> dict[str, Any]:
    rows = RowSparse(np.array([0, 2, 0]), np.ones((3, 2), "f"), (3, 2))
    return {"table": rows, "weight": np.full((2, 2), 2.0, "f"), "bias": np.ones(2, "f")}


def begun(kind: str) -> tuple[Any, Optimizer]:
    """A model and an optimizer after one step."""
    shapes = {"table": (3, 2), "weight": (2, 2), "bias": (2,)}
    params = {name: np.ones(shape, "f") for name, shape in shapes.items()}
    model, optimizer = SimpleNamespace(params=params, device=get_device("cpu")), KINDS[kind]()
    optimizer.step(model, gradients())
    return model, optimizer


def content(model: Any, optimizer: Optimizer) -> str:
    """All that a step changes."""
    averages = optimizer.averages
    kept = (averages.values, averages.since) if averages is not None else ()
    return repr((model.params, optimizer.state, optimizer.counts, optimizer.steps, kept))


@draws(30, 3000)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_a_step_that_is_interrupted_is_undone_or_done_or_says_so(kind: str, data: st.DataObject) -> None:
    model, optimizer = begun(kind)
    before = content(model, optimizer)
    if kind not in LINES:
        LINES[kind] = lines_of(lambda: optimizer.step(model, gradients()))
        model, optimizer = begun(kind)
    other, done = begun(kind)
    done.step(other, gradients())
    line = data.draw(st.sampled_from(LINES[kind]))
    notes: list[str] = []

    def step() -> None:
        try:
            optimizer.step(model, gradients())
        except BaseException as error:
            notes.extend(getattr(error, "__notes__", ()))
            raise

    interrupted(step, line, data.draw(st.integers(1, line.visits)))
    if not any("in the middle of a step" in note for note in notes):
        assert content(model, optimizer) in (before, content(other, done))
