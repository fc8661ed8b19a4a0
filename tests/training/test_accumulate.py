"""Gradient accumulation: a step on several batches is a step on one large batch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adam, Callback, train
from arrows.training.batching import epoch_batches
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import NotFiniteError
from tests.training.models import sequences, word_sums

EXAMPLES = sequences(23)


def compiled(**how: Any) -> ar.Model:
    return ar.compile(word_sums(), float_type="float64", **how)


def on_the_fly() -> Any:
    net = ar.OnTheFly(float_type="float64")
    word, drop = ar.Embedding(20, 5, name="words") >> ar.FC(4, name="fc"), ar.Dropout(0.3)

    def loss(g: Any, words: list[int]) -> Any:
        vectors = [drop(word(g.tensor(w, "int32"))) for w in words]
        total = g.sum(vectors) if vectors else g.zeros([4])
        return ar.ops.sum((total - 1.0) ** 2)

    return net.learner(loss)


def as_generators() -> Any:
    net = ar.OnTheFly(float_type="float64")
    word, drop = ar.Embedding(20, 5, name="words") >> ar.FC(4, name="fc"), ar.Dropout(0.3)

    def loss(g: Any, words: list[int]) -> Any:
        total = g.zeros([4])
        for w in words:
            total = total + drop(word(g.tensor(w, "int32")))
            yield total
        return ar.ops.sum((total - 1.0) ** 2)

    return net.learner(loss)


class Steps(Callback):
    def __init__(self) -> None:
        self.examples: list[int] = []

    def after_step(self, step: Any) -> None:
        self.examples.append(step.examples)


def trained(model: Any, optimizer: Any, **how: Any) -> tuple[dict[str, Any], list[float], list[int]]:
    steps = Steps()
    history = train(model, EXAMPLES, optimizer, epochs=3, callbacks=[steps], progress=False, **how)
    values = {name: ar.to_numpy(array).copy() for name, array in model.params.items()}
    return values, [epoch.loss for epoch in history], steps.examples


@pytest.mark.parametrize("make", [compiled, on_the_fly, as_generators])
@pytest.mark.parametrize("rule", [lambda: SGD(0.01, momentum=0.9), lambda: Adam(0.01, clip_norm=1.0)])
def test_the_numbers_are_those_of_one_large_batch(make, rule):
    whole, losses, steps = trained(make(), rule(), batch_size=8)
    summed, others, parts = trained(make(), rule(), batch_size=2, accumulate=4)
    assert steps == parts == [8, 8, 7] * 3
    np.testing.assert_allclose(others, losses, rtol=1e-10)
    for name, values in whole.items():
        np.testing.assert_allclose(summed[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


RULES: list[Any] = [5, ar.ByNodes(40), ar.Bucketed(4, pool=2), ar.Bucketed(ar.ByNodes(40), pool=2)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_batches_by_a_rule_are_summed_up(monkeypatch, rule, device):
    """A step on three batches of a rule is one step on their examples, which run in parts."""
    model, sizes = compiled(device=device), []
    prepared = model.prepare(EXAMPLES)
    executor = model.executors.get(training=True, gradients=True)
    forward = type(executor).forward
    monkeypatch.setattr(
        type(executor),
        "forward",
        lambda self, planned, *own: (sizes.append(planned.merged.examples), forward(self, planned, *own))[1],
    )
    steps = Steps()
    how = {"epochs": 2, "batch_size": rule, "accumulate": 3, "callbacks": [steps], "progress": False}
    train(model, prepared, SGD(0.01), **how)
    batches = [epoch_batches(rule, prepared, len(prepared), (0, epoch)) for epoch in (1, 2)]
    wanted = []
    other = compiled(device=device)
    optimizer = SGD(0.01)
    for epoch in batches:
        stops = [0, *epoch.stops[2::3].tolist()]
        stops += [len(prepared)] if stops[-1] < len(prepared) else []
        for first, stop in pairwise(stops):
            wanted.append(stop - first)
            other.train_step(prepared[epoch.order[first:stop]], optimizer)
    assert steps.examples == wanted
    for name, values in other.params.items():
        np.testing.assert_allclose(
            ar.to_numpy(model.params[name]), ar.to_numpy(values), rtol=1e-9, atol=1e-12, err_msg=name
        )
    assert len(sizes) >= sum(len(epoch.stops) for epoch in batches) - 2 * len(batches)


def test_so_many_nodes_run_at_once():
    model = compiled()
    prepared = model.prepare(EXAMPLES)
    batch = model.batches.read(prepared[::-1], "test", None)
    nodes = prepared.nodes[::-1]
    for most in (1, 30, 10**6):
        parts = list(batch.parts(ar.ByNodes(most)))
        assert [first for first, _ in parts] == np.cumsum(
            [0, *(len(part) for _, part in parts[:-1])]
        ).tolist()
        assert sum(len(part) for _, part in parts) == len(prepared)
        for first, part in parts:
            assert len(part) == 1 or nodes[first : first + len(part)].sum() <= most
    for bad, error in ((0, ArrowValueError), (2.5, ArrowTypeError), (ar.Bucketed(4), ArrowTypeError)):
        with pytest.raises(error, match="train_step: at_once"):
            model.train_step(prepared, SGD(0.1), at_once=bad)
    learner = on_the_fly()
    examples = learner.prepare(EXAMPLES)
    with pytest.raises(ArrowTypeError, match="at_once is ByNodes"):
        learner.train_step(examples, SGD(0.1), at_once=ar.ByNodes(40))
    assert model.step == 0


@pytest.mark.parametrize("at_once", [None, 2])
@pytest.mark.parametrize("make", [compiled, on_the_fly, as_generators])
def test_a_step_on_no_examples_has_the_loss_0(make, at_once):
    model, optimizer = make(), Adam(0.1)
    prepared = model.prepare(EXAMPLES)
    before = {name: array.copy() for name, array in model.params.items()}
    assert model.train_step(prepared[:0], optimizer, at_once=at_once) == 0
    assert model.step == 1
    for name, values in before.items():
        np.testing.assert_array_equal(model.params[name], values)


def test_a_loss_that_is_not_finite_names_its_example_in_whatever_part():
    model = ar.compile(ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: ar.ops.log(y[0] * y[0])))
    model.params["fc/weight"] = np.ones((1, 1), np.float32)
    before = model.params["fc/weight"].copy()
    with pytest.raises(NotFiniteError, match="of example 5 is not finite"):
        train(model, [[1.0]] * 5 + [[0.0]], SGD(0.1), batch_size=2, accumulate=3, progress=False)
    np.testing.assert_array_equal(model.params["fc/weight"], before)
    assert model.step == 0
