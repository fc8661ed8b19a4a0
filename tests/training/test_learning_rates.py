"""Learning rates by name, frozen parameters, schedules in the optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adam, AdamW, train
from arrows.typesys.errors import ArrowValueError
from tests.marks import CUDA
from tests.training.optimizers.test_optimizers import Model


def model_of(device: str = "cpu", **arrays: Any) -> Model:
    return Model.of(device, **{name.replace("__", "/"): array for name, array in arrays.items()})


def ones(model: Any) -> dict[str, Any]:
    return {name: model.device.to_device(np.ones(array.shape)) for name, array in model.params.items()}


def values(model: Any) -> dict[str, list[float]]:
    return {name: model.device.to_numpy(array).tolist() for name, array in model.params.items()}


@pytest.mark.parametrize("device", ["cpu", "fake", CUDA])
def test_patterns_give_rates_and_the_first_that_matches_counts(device):
    model = model_of(device, embed__w=[0.0], classify__w=[0.0], classify__b=[0.0], fc__w=[0.0])
    optimizer = SGD(1.0, rates={"embed/*": 0.125, "*/b": 0.5, "classify/*": 0})
    assert optimizer.rates_of(model) == {"embed/w": 0.125, "classify/w": 0, "classify/b": 0.5, "fc/w": 1.0}
    for _ in range(2):
        optimizer.step(model, ones(model))
    assert values(model) == {"embed/w": [-0.25], "classify/w": [0.0], "classify/b": [-1.0], "fc/w": [-2.0]}
    assert set(SGD(0.1, rates={"*": 0}).rates_of(model).values()) == {0}


@pytest.mark.parametrize("device", ["cpu", "fake", CUDA])
@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_patterns_give_weight_decays_as_they_give_rates(kind: Any, device: str) -> None:
    decays = {"embed/w": 0.5, "classify/w": 0.25, "classify/b": 0.0, "fc/w": 0.0}
    arrays = {name.replace("/", "__"): [1.0, -2.0] for name in decays}
    together = model_of(device, **arrays)
    optimizer = kind(0.1, weight_decay={"embed/*": 0.5, "*/b": 0, "classify/*": 0.25})
    alone = {name: (model_of(device, **arrays), kind(0.1, weight_decay=decays[name])) for name in decays}
    for _ in range(2):
        optimizer.step(together, ones(together))
        for model, own in alone.values():
            own.step(model, ones(model))
    assert values(together) == {name: values(model)[name] for name, (model, _) in alone.items()}
    assert len({tuple(value) for value in values(together).values()}) == 3


def test_weight_decays_by_patterns_are_checked() -> None:
    with pytest.raises(ArrowValueError, match=r"weight_decay\['x'\] is -1"):
        SGD(0.1, weight_decay={"x": -1})
    for optimizer in (SGD(0.1, weight_decay={"x": 1.0}), SGD(0.1, rates={"x": 1.0})):
        for use in (optimizer.rates_of, lambda model, by=optimizer: by.step(model, {})):  # type: ignore[misc]
            with pytest.raises(
                ArrowValueError, match=r"(weight_decay|rates): no parameter matches 'x'; there a"
            ):
                use(model_of(w=[1.0]))


def test_frozen_parameters_stay_and_do_not_count():
    model = model_of(a__w=[1.0, 1.0], b__w=[0.0])
    optimizer = Adam(1.0, rates={"a/*": 0}, weight_decay=0.5, clip_norm=1.0, average=1.0)
    grads = {"a/w": np.array([1e6, np.nan]), "b/w": np.array([0.5])}
    optimizer.step(model, grads)
    assert values(model)["a/w"] == [1.0, 1.0]
    assert "a/w" not in optimizer.state and "a/w" not in optimizer.averages.values
    assert values(model)["b/w"] == pytest.approx([-1.0])


def test_a_pattern_that_matches_nothing_names_the_parameters():
    words = r"no parameter matches 'embd/\*'; there are embed/w, fc/b"
    model = model_of(embed__w=[1.0], fc__b=[1.0])
    optimizer = SGD(1.0, rates={"fc/*": 0.5, "embd/*": 0.1})
    with pytest.raises(ArrowValueError, match=words):
        optimizer.step(model, ones(model))
    assert optimizer.steps == 0 and values(model) == {"embed/w": [1.0], "fc/b": [1.0]}
    with pytest.raises(ArrowValueError, match=words):
        optimizer.rates_of(model)
    with pytest.raises(ArrowValueError, match="matches 'W'"):  # capitals count, on every system
        SGD(1.0, rates={"W": 0.1}).step(model_of(w=[1.0]), {})


def test_train_says_so_before_it_prepares_anything():
    model = ar.compile(ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2))
    with pytest.raises(ArrowValueError, match="no parameter matches 'x'; there are fc/weight, fc/bias"):
        train(model, ["nonsense"], SGD(0.1, rates={"x": 1.0}), progress=False)


def test_schedules_are_asked_for_each_step():
    asked = []

    def halving(steps: int) -> float:
        asked.append(steps)
        return 0.5**steps

    model = model_of(a=[0.0], b=[0.0], c=[0.0])
    optimizer = SGD(halving, rates={"b": lambda steps: 0.0 if steps == 1 else 1.0, "c": 2.0})
    for _ in range(3):
        optimizer.step(model, ones(model))
    assert values(model) == {"a": [-1.75], "b": [-2.0], "c": [-6.0]}
    assert asked == [0, 1, 2]
    assert optimizer.rates_of(model) == {"a": 0.125, "b": 1.0, "c": 2.0}


def test_patterns_for_a_network_on_the_fly_that_has_no_parameters_yet():
    """Its layers have them from their first calls on, which reading the examples makes."""
    net, below, top = ar.OnTheFly(), ar.FC(2, name="below"), ar.FC([], name="top")
    learner = net.learner(lambda g, x: (top(below(g.tensor(x))) - 1.0) ** 2)
    history = train(learner, [[1.0, 2.0]], SGD(0.1, rates={"below/*": 0}), epochs=3, progress=False)
    assert history[-1].loss < history[0].loss
    assert (net.params["below/bias"] == 0).all() and net.params["top/bias"] != 0
    fresh, called = ar.OnTheFly(), []
    learner = fresh.learner(lambda g, x: called.append(x) or top(g.tensor(x)) ** 2)
    optimizer = SGD(0.1, rates={"below/*": 0})
    words = r"no parameter matches 'below/\*'; there are top/weight, top/bias; a layer on the fly has its"
    with pytest.raises(ArrowValueError, match=words):
        train(learner, [[1.0, 2.0]] * 40, optimizer, progress=False)
    assert len(called) <= 32 and optimizer.steps == 0 and fresh.step == 0
