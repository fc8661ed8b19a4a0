"""The baselines of the Tree-LSTM benchmark are the same model: loss, gradients and updated parameters."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate, vocabulary
from arrows.models import sentiment
from arrows.training import SGD
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchHand, TorchNodewise
from tests.benchmarks.agreement import agree

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
TREES = generate(60, words=(1, 12))
NUMBERS = vocabulary(TREES[:50])  # some words of the others are unknown
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
BATCHES = [np.array(batch) for batch in ([0], [3, 1], [5, 5, 5], range(50), range(40, 60), [59])]


def make(system, params):
    if system == "numpy-hand":
        return NumpyHand(params)
    return TorchHand(params) if system == "torch-hand" else TorchNodewise(params, NUMBERS)


@pytest.mark.parametrize("float_type", ["float32", "float64"])
@pytest.mark.parametrize(
    "system",
    [
        "numpy-hand",
        pytest.param("torch-hand", marks=needs_torch),
        pytest.param("torch-nodewise", marks=needs_torch),
    ],
)
def test_training_is_the_models_own(system, float_type):
    model = ar.compile(sentiment(NUMBERS, size=6, embedding=4).learn, loss="loss", float_type=float_type)
    hand, forest, optimizer = make(system, model.params), Forest(TREES, NUMBERS), SGD(0.1)
    tolerance = TOLERANCE[float_type]
    for indices in BATCHES:
        trees, batch = [TREES[i] for i in indices], forest.batch(indices)
        loss, gradients = model.value_and_grad(trees)
        if system == "numpy-hand":
            value = hand.value(batch)
            hand.backward(batch)
        else:
            total = hand.loss(trees if system == "torch-nodewise" else batch)
            total.backward()
            value = total.item()
        assert abs(value - loss) <= tolerance * (1 + abs(loss))
        agree(hand.gradients, gradients, tolerance)
        optimizer.step(model, gradients)
        hand.update(0.1)
        agree(hand.parameters, dict(model.params), tolerance)
    step = hand.train_step(trees if system == "torch-nodewise" else batch, rate=0.1)
    assert abs(step - model.train_step(trees, optimizer)) <= tolerance * (1 + abs(step))
    agree(hand.parameters, dict(model.params), tolerance)


@pytest.mark.parametrize("system", ["numpy-hand", pytest.param("torch-hand", marks=needs_torch)])
def test_inference_scores_every_node(system):
    model = ar.compile(sentiment(NUMBERS, size=6).judge)
    hand, forest = make(system, model.params), Forest(TREES, NUMBERS)
    for indices in BATCHES:
        batch = forest.batch(indices)
        roots = model([TREES[i] for i in indices])
        scores = hand.scores(batch)
        np.testing.assert_allclose(scores[batch.roots], roots, atol=1e-5)
        every = np.asarray(model.metrics["scores"].values)
        assert len(scores) == len(every)
        np.testing.assert_allclose(np.sort(scores, axis=0), np.sort(every, axis=0), atol=1e-5)


@needs_torch
def test_inference_node_by_node():
    model = ar.compile(sentiment(NUMBERS, size=6).judge)
    scores_of_trees = make("torch-nodewise", model.params).tree_scores(TREES[:9])
    model(TREES[:9])
    every = [scores.numpy()[0] for tree in scores_of_trees for scores in tree]
    np.testing.assert_allclose(every, model.metrics["scores"].values, atol=1e-5)


def test_a_batch_holds_every_node_once():
    forest = Forest(TREES, NUMBERS)
    batch = forest.batch(np.arange(60))
    assert len(set(batch.children.ravel().tolist())) == 2 * (batch.rows - batch.leaves) == batch.rows - 60
    assert sorted({*batch.children.ravel().tolist(), *batch.roots.tolist()}) == list(range(batch.rows))
    for row, (first, last) in enumerate(batch.levels):
        here = batch.children[first - batch.leaves : last - batch.leaves]
        assert last > first and here.max(initial=0) < first, row
