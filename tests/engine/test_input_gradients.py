"""Gradients with respect to what an example holds, wherever it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES

fn = ar.Function
tanh, add = fn(ar.ops.tanh), fn(lambda a, b: ar.ops.tanh(a + b * 0.5))
total = fn(lambda x: x.sum())


def x(size: int = 2, name: str = "x") -> Any:
    return ar.Vector(size, name=name)


@ar.fix
def tree(me: Any) -> Any:
    pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> add
    own = (ar.GetItem("bias") >> x(name="bias") & pair) >> add
    return ar.OneOf(lambda t: isinstance(t, list)).case(True, x() >> tanh).case(False, own)


TREE = {"left": [1, 2], "bias": [0.5, 0], "right": {"left": [3, -1], "bias": [1, 1], "right": [1, 2]}}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_of_a_metric_and_of_prepared_examples(schedule: str) -> None:
    """The loss is a metric; equal subtrees keep gradients of their own."""
    scored = tree >> (ar.Identity() & total >> ar.Metric("loss")) >> ar.GetItem(0)
    model = ar.compile(scored, loss="loss", schedule=schedule)
    examples = [TREE, [1, 2], [1, 2], TREE]
    prepared = model.prepare(examples)
    _, grads = model.value_and_grad(prepared[[1, 0, 1]], inputs=["x", "bias"])
    assert grads["x"].lengths.tolist() == [1, 3, 1] and grads["bias"].lengths.tolist() == [0, 2, 0]
    _, alone = model.value_and_grad([TREE], inputs=["x"])
    assert np.allclose(grads["x"][1] * 3, alone["x"][0])
    _, empty = model.value_and_grad([], inputs=["x"])
    assert empty["x"].tolist() == []


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
