"""`train_step`: whose memory an optimizer sees, and what has happened when something raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adam
from arrows.training.optimizers.array_steps import ArraySteps

BATCHES = [[[1, 2, 0], [3]], [[0]], [[2, 2], []], [[], [1]], [[3, 0, 1]]]


def block(**tap: Any) -> Any:
    """A table of which each batch reads other rows, and a matrix that some batches do not reach."""
    word = ar.Scalar("int32") >> ar.Embedding(4, 3, name="table")
    words = (
        ar.Map(word >> ar.FC(3, activation=ar.ops.tanh, name="cell")) >> ar.Sum() >> ar.Tap("state", **tap)
    )
    return (
        words >> ar.FC(1, name="out") >> ar.Function(lambda v: (v[0] - 1.0) ** 2) >> ar.Metric("loss") >> LOSS
    )


LOSS = ar.Void()


def compiled(**arguments: Any) -> Any:
    return ar.compile(block(**arguments), loss="loss", seed=3)


class Searches:
    """Computes other gradients, and results, before it uses those that it was handed."""

    def __init__(self) -> None:
        self.inner = SGD(0.1)

    def step(self, model: Any, grads: Mapping[str, Any]) -> None:
        for other in BATCHES:
            model.value_and_grad(other)
            model(other)
        self.inner.step(model, grads)


def asking(model: Any) -> Any:
    """One of ours whose rate depends on what the model says."""

    def rate(step: int) -> float:
        for other in BATCHES:
            model.value_and_grad(other)
            model(other * 40)
        return 0.1

    return SGD(rate)


@pytest.mark.parametrize("make", [lambda model: Searches(), asking])
def test_a_step_leaves_what_its_batch_showed(make: Any) -> None:
    """Also where the optimizer calls the model with other batches meanwhile."""
    shown: list[Any] = []
    alone: list[Any] = []
    quiet = False
    model = compiled(show=lambda value: None if quiet else shown.append(value.tolist()))
    twin, ours = compiled(show=lambda value: alone.append(value.tolist())), SGD(0.1)
    inner = make(model)

    class Hushed:
        def step(self, model: Any, grads: Any) -> None:
            nonlocal quiet
            quiet = True
            inner.step(model, grads)
            quiet = False

    for batch in BATCHES:
        model.train_step(batch, Hushed())
        twin.train_step(batch, ours)
        np.testing.assert_allclose(shown, alone, atol=1e-6)
        for found, wanted in ((model.metrics, twin.metrics), (model.taps, twin.taps)):
            for name in wanted:
                assert np.allclose(found[name].values, wanted[name].values, atol=1e-6)
                assert found[name].offsets.tolist() == wanted[name].offsets.tolist()


def test_our_own_optimizers_see_the_memory_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of all gradients would be a few percent of a step."""
    model, seen = compiled(), []

    def watch(_: ArraySteps, changes: Any, *__: Any) -> None:
        seen.append(next(each.gradient for each in changes if each.targets[0] is model.params["cell/weight"]))

    model.train_step(BATCHES[0], SGD(0.1))
    monkeypatch.setattr(ArraySteps, "apply", watch)
    for _ in range(2):
        model.train_step(BATCHES[0], SGD(0.1))
    assert np.shares_memory(*seen)


# ------------------------------------------------------------------------------------ what raises


class Fails:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def step(self, model: Any, grads: Mapping[str, Any]) -> None:
        model.value_and_grad(BATCHES[1])
        raise self.error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_step_that_fails_counts_as_none(error: BaseException) -> None:
    model = compiled()
    model.train_step(BATCHES[0], Adam(0.1))
    step, loss, state = model.step, model.metrics["loss"].tolist(), model.taps["state"].tolist()
    with pytest.raises(type(error)):
        model.train_step(BATCHES[2], Fails(error))
    assert (model.step, model.metrics["loss"].tolist(), model.taps["state"].tolist()) == (step, loss, state)
    assert float(model.train_step(BATCHES[2], Adam(0.1))) > 0


def test_what_shows_values_comes_when_all_has_happened() -> None:
    """So an error in it loses nothing but the call's own return."""
    raising, shown = True, []

    def show(value: Any) -> None:
        shown.append((model.step, model.metrics["loss"].tolist()))
        if raising:
            raise OSError("the terminal is gone")

    model, twin, optimizer, other = compiled(show=show), compiled(), Adam(0.1), Adam(0.1)
    for number, batch in enumerate(BATCHES[:2], 1):
        twin.train_step(batch, other)
        with pytest.raises(OSError, match="the terminal is gone"):
            model.train_step(batch, optimizer)
        assert model.step == number == optimizer.steps
        assert model.metrics["loss"].tolist() == twin.metrics["loss"].tolist()
        for name, array in model.params.items():
            np.testing.assert_array_equal(array, twin.params[name])
    for call, steps in ((model, 2), (model.value_and_grad, 3)):
        with pytest.raises(OSError, match="the terminal is gone"):
            call(BATCHES[2])
        assert model.step == steps and model.taps["state"].tolist() == twin_state(twin, BATCHES[2])
    assert [step for step, _ in shown] == [1, 2, 2, 3]
    assert all(loss for _, loss in shown)
    raising = False
    assert np.isclose(model.train_step(BATCHES[3], optimizer), twin.train_step(BATCHES[3], other))


def twin_state(twin: Any, batch: Any) -> Any:
    twin(batch)
    return twin.taps["state"].tolist()
