"""Class weights and label smoothing: values and gradients as PyTorch's, by its formulas and by itself."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar

WEIGHT = [0.5, 2.0, 1.0, 0.0]
CHOICES = [{}, {"weight": WEIGHT}, {"label_smoothing": 0.1}, {"weight": WEIGHT, "label_smoothing": 0.25}]
SCORES = np.random.default_rng(0).standard_normal((5, 4)) * 3
LABELS = [1, 0, 3, 2, 1]
TARGETS = np.random.default_rng(1).dirichlet(np.ones(4), 5)


def computed(loss: Any, scores: Any, targets: Any, target: Any) -> tuple[Any, Any]:
    """Each example's loss, and the gradient of their sum for the scores."""
    read = ar.Vector(np.shape(scores)[1], name="scores") if np.ndim(scores) == 2 else ar.Scalar(name="scores")
    both = ar.Record({"scores": read, "target": target}) >> loss
    model = ar.compile(both, float_type="float64")
    examples = [{"scores": s, "target": t} for s, t in zip(scores, targets, strict=True)]
    _, grads = model.value_and_grad(examples, inputs=["scores"])
    return model(examples), grads["scores"].values * len(examples)


def smoothed_entropy(targets: Any, weight: Any = None, label_smoothing: float = 0.0) -> tuple[Any, Any]:
    w = np.ones(4) if weight is None else np.asarray(weight)
    t = w * ((1 - label_smoothing) * targets + label_smoothing / 4)
    logs = SCORES - np.log(np.exp(SCORES).sum(axis=1, keepdims=True))
    return -(t * logs).sum(axis=1), np.exp(logs) * t.sum(axis=1, keepdims=True) - t


@pytest.mark.parametrize("choice", CHOICES)
def test_softmax_of_a_label(choice: dict[str, Any]) -> None:
    loss = ar.SoftmaxCrossEntropy(**choice)
    values, grads = computed(loss, SCORES.tolist(), LABELS, ar.Scalar("int32"))
    wanted, wanted_grads = smoothed_entropy(np.eye(4)[LABELS], **choice)
    np.testing.assert_allclose(values, wanted, atol=1e-12)
    np.testing.assert_allclose(grads, wanted_grads, atol=1e-12)


@pytest.mark.parametrize("choice", CHOICES)
def test_softmax_of_a_distribution(choice: dict[str, Any]) -> None:
    loss = ar.SoftmaxCrossEntropy(**choice)
    values, grads = computed(loss, SCORES.tolist(), TARGETS.tolist(), ar.Vector(4))
    wanted, wanted_grads = smoothed_entropy(TARGETS, **choice)
    np.testing.assert_allclose(values, wanted, atol=1e-12)
    np.testing.assert_allclose(grads, wanted_grads, atol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_sigmoids(weight: float, smoothing: float) -> None:
    loss = ar.SigmoidCrossEntropy(pos_weight=weight, label_smoothing=smoothing)
    values, grads = computed(loss, SCORES.tolist(), TARGETS.tolist(), ar.Vector(4))
    t = TARGETS * (1 - smoothing) + smoothing / 2
    p = 1 / (1 + np.exp(-SCORES))
    np.testing.assert_allclose(
        values, -(weight * t * np.log(p) + (1 - t) * np.log(1 - p)).sum(axis=1), atol=1e-12
    )
    np.testing.assert_allclose(grads, -weight * t * (1 - p) + (1 - t) * p, atol=1e-12)


def test_large_scores_do_not_overflow() -> None:
    loss = ar.SigmoidCrossEntropy(pos_weight=2.0)
    values, _ = computed(loss, [1000.0, -1000.0], [1.0, 1.0], ar.Scalar())
    assert values.tolist() == [0.0, 2000.0]


def test_they_are_printed_as_they_are_written() -> None:
    loss = ar.SoftmaxCrossEntropy(weight=np.array([1.0, 2.5]), label_smoothing=0.1)
    assert str(loss) == "SoftmaxCrossEntropy(weight=[1.0, 2.5], label_smoothing=0.1)"
    assert str(pickle.loads(pickle.dumps(loss))) == str(loss)
