"""Gradients with respect to what an example holds, wherever it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_nobody_wrote_is_no_gradient(
    schedule: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = np.empty

    def stale(*args: Any, **options: Any) -> Any:
        made = empty(*args, **options)
        if made.dtype.kind == "f":
            made.fill(7.5)
        return made

    monkeypatch.setattr(np, "empty", stale)
    times = ar.Function(lambda a, b: a * b)

    @ar.arrow
    def step(x: Any, state: Any) -> Any:
        return ar.Identity()(state), times(x, state)

    start = ar.GetItem(1) >> ar.Vector(3, name="u")
    states = (ar.GetItem(0) >> ar.Map(ar.Scalar("int32") >> ar.Embedding(4, 3)) & start) >> ar.Scan(
        step, initial_state_from_input=True, reverse=True
    )
    block = states >> ar.GetItem(0) >> ar.Reverse() >> ar.Fold(times, ar.Zeros([3]))
    model = ar.compile(block >> ar.Function(lambda x: x.sum()), schedule=schedule, device=device)
    for example in (([0], [1, 2, 3]), ([0, 1], [1, 2, 3])):
        _, grads = model.value_and_grad([example], inputs=["u"])
        assert ar.to_numpy(grads["u"]).tolist() == [[[0, 0, 0]]]
