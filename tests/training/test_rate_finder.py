"""The search for a learning rate: what it finds, and that it leaves no trace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adam, RateSearch, find_learning_rate

BLOCK = ar.Vector(3) >> ar.FC(4, name="fc", activation=ar.ops.tanh) >> ar.Dropout(0.2) >> ar.FC(1, name="out")
LOSS = BLOCK >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
EXAMPLES = np.random.default_rng(0).normal(size=(50, 3)).tolist()


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_model_and_optimizer_are_as_before(device):
    def trained() -> tuple[ar.Model, Adam]:
        model, optimizer = ar.compile(LOSS, device=device), Adam(0.01, average=0.9)
        for first in range(0, 30, 10):
            model.train_step(EXAMPLES[first : first + 10], optimizer)
        return model, optimizer

    (model, optimizer), (expected, other) = trained(), trained()
    find_learning_rate(model, EXAMPLES, optimizer, batch_size=7, steps=20)
    assert optimizer.learning_rate == 0.01 and optimizer.steps == 3 and model.step == expected.step
    for current, plain in ((model, optimizer), (expected, other)):
        current.train_step(EXAMPLES[:10], plain)
    for name, array in expected.params.items():
        assert ar.to_numpy(array).tobytes() == ar.to_numpy(model.params[name]).tobytes(), name


@pytest.mark.parametrize("source", ["first values", "given", "loaded"])
def test_a_network_on_the_fly_is_as_before(tmp_path, source):
    """A layer that is first called during the search has its first values afterwards, or given ones."""
    shapes = {"weight": (2, 1), "bias": (1,)}
    given = {f"{a}/{b}": np.full(shapes[b], 0.25, "float32") for a in "ab" for b in shapes}

    def learner() -> Any:
        net = ar.OnTheFly(params=given if source == "given" else None)
        first, second = ar.FC(1, name="a"), ar.FC(1, name="b")

        def loss(g: Any, x: Any) -> Any:
            y = first(g.tensor(x))
            return ar.ops.sum((y + second(g.tensor(x)) - 1.0 if x[0] > 1.0 else y) ** 2)

        if source == "loaded":
            ar.training.save(SimpleNamespace(params=given, device=net.device), tmp_path / "file")
            ar.training.load(net, tmp_path / "file")
        return net.learner(loss)

    examples = [[0.5, 1.0]] * 40 + [[2.0, 1.0]] * 40
    model, expected, optimizer = learner(), learner(), Adam(0.01)
    find_learning_rate(model, examples, optimizer, batch_size=8)
    assert optimizer.steps == 0 and not optimizer.state and model.step == 0
    for other in (model, expected):
        ar.training.train(other, examples, Adam(0.01), batch_size=8, progress=False)
    assert {name: array.tobytes() for name, array in model.params.items()} == {
        name: array.tobytes() for name, array in expected.params.items()
    }


def test_rates_rise_until_the_loss_diverges():
    search = find_learning_rate(
        ar.compile(LOSS), EXAMPLES, SGD(1.0), min_rate=1e-4, max_rate=1e4, steps=80, batch_size=10
    )
    np.testing.assert_allclose(search.rates, np.geomspace(1e-4, 1e4, 80)[: len(search.rates)])
    assert len(search.rates) == len(search.losses) < 80
    assert 1e-3 < search.suggestion < 2.0


def test_a_rate_that_is_suggested_trains():
    model = ar.compile(LOSS)
    rate = find_learning_rate(model, EXAMPLES, SGD(1.0), max_rate=10.0, batch_size=10).suggestion
    history = ar.training.train(model, EXAMPLES, SGD(rate), epochs=10, batch_size=10, progress=False)
    assert history[-1].loss < 0.5 * history[0].loss


def test_losses_that_never_fall():
    with pytest.raises(ar.ArrowValueError, match="falls at none"):
        assert RateSearch([0.1, 1.0], [1.0, 2.0]).suggestion
    with pytest.raises(ar.ArrowValueError, match="falls at none"):
        assert RateSearch([], []).suggestion


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"min_rate": 0}, "min_rate is 0"),
        ({"min_rate": 2.0}, "max_rate is 1.0"),
        ({"steps": 1}, "steps is 1"),
        ({"examples": []}, "there are no examples"),
    ],
)
def test_what_is_refused(arguments, words):
    settings = {"examples": EXAMPLES, **arguments}
    with pytest.raises(ar.ArrowValueError, match=words):
        find_learning_rate(ar.compile(LOSS), optimizer=SGD(0.1), **settings)
