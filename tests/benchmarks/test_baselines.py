"""What `arrows` is measured against is the same model: loss, gradients and updated parameters, scores."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate
from arrows.models import sentiment
from arrows.training import SGD
from benchmarks import networks, ports, programs
from benchmarks.baselines.attention_torch import TorchAttention
from benchmarks.baselines.bilstm_torch import TorchCharTagger, TorchTagger
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.manual import Manual
from benchmarks.baselines.manual_torch import TorchManual
from benchmarks.baselines.torch_programs import TorchPrograms
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchHand, TorchNodewise
from benchmarks.datasets import (
    VOCABULARY,
    numbered,
    numbered_sentences,
    random_tree,
    vocabularies,
    vocabulary,
    with_words,
)

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
TREES = generate(60, num_words=(1, 12))
WORDS = vocabulary(TREES[:50])  # some words of the others are unknown
SENTENCES = [
    [{"word": word, "tag": tag} for word, tag in zip(text.split(), tags.split(), strict=True)]
    for text, tags in [
        ("the tree grows", "DET NOUN VERB"),
        ("the other tree", "DET ADJ NOUN"),
        ("grass", "NOUN"),
        ("tree the tree grows the", "NOUN DET NOUN VERB DET"),
    ]
]
NUMBERED = [numbered_sentences(np.random.default_rng(0), 4, length, 12, 6) for length in (5, 1)]
UNEVEN = [([1, 2, 4], [0, 1, 2]), ([3], [1]), ([0, 0, 4, 2, 1], [2, 2, 1, 0, 1]), ([2, 1, 0], [0, 0, 2])]


def agree(values: Any, expected: Any, tolerance: float) -> None:
    """Asserts the same names, shapes and element types, and numbers as near as the tolerance says."""
    assert sorted(values) == sorted(expected)
    for name, value in expected.items():
        value = value.to_dense(np) if hasattr(value, "to_dense") else np.asarray(value)
        other = values[name].to_dense(np) if hasattr(values[name], "to_dense") else values[name]
        assert other.shape == value.shape and other.dtype == value.dtype, name
        assert np.abs(other - value).max() <= tolerance * (1 + np.abs(value).max()), name


def trees(make: Any, *, whole: bool = False) -> Any:
    """The block, the system by hand, and for each batch the examples and what the system takes for them."""
    forest = Forest(TREES, WORDS)
    batches = [[TREES[i] for i in batch] for batch in BATCHES]
    taken = [
        (examples,) if whole else (forest.batch(np.array(b)),)
        for examples, b in zip(batches, BATCHES, strict=True)
    ]
    return sentiment(WORDS, size=6, embedding=4).learn, make, list(zip(batches, taken, strict=True))


def tagger() -> Any:
    batches = [(list(zip(w.tolist(), r.tolist(), strict=True)), (w, r)) for w, r in NUMBERED]
    return networks.bilstm_tagger(12, 5, 4, 2, 6), TorchTagger, batches


def prepared(block: Any, make: Any, examples: list[Any], numbers: Any = None) -> Any:
    def made(params: Any) -> Any:
        hand = make(params)
        ready = hand.prepare(numbers or examples)
        hand.of = lambda batch: ready[batch]
        return hand

    parts = [slice(0, 4), slice(1, 2), slice(2, 4)]
    return block, made, [(examples[part], part) for part in parts]


BATCHES = [[0], [5, 5, 5], [*range(50)], [*range(40, 60)]]
CHARACTERS = vocabularies(SENTENCES, 2)
SYSTEMS: dict[str, Any] = {
    "Tree-LSTM in NumPy": lambda: trees(NumpyHand),
    "Tree-LSTM in PyTorch": lambda: trees(TorchHand),
    "Tree-LSTM node by node": lambda: trees(lambda params: TorchNodewise(params, WORDS), whole=True),
    "tagger in PyTorch": tagger,
    "tagger with characters": lambda: prepared(
        networks.character_tagger(*CHARACTERS, embedding=6, size=4, character_embedding=3),
        TorchCharTagger,
        SENTENCES,
        numbered(SENTENCES, *CHARACTERS),
    ),
    "attention": lambda: prepared(
        networks.attention_tagger(5, 6, 2, 3), lambda params: TorchAttention(params, 2), UNEVEN
    ),
}


@pytest.mark.parametrize(("float_type", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
@pytest.mark.parametrize(
    "name", [name if "NumPy" in name else pytest.param(name, marks=needs_torch) for name in SYSTEMS]
)
def test_training_is_the_models_own(name: str, float_type: str, tolerance: float) -> None:
    block, make, batches = SYSTEMS[name]()
    model, optimizer = ar.compile(block, loss="loss", float_type=float_type), SGD(0.1)
    hand = make(model.params)
    for examples, taken in batches:
        taken = (hand.of(taken),) if isinstance(taken, slice) else taken
        loss, gradients = model.value_and_grad(examples)
        if "NumPy" in name:
            value = hand.value(*taken)
            hand.backward(*taken)
        else:
            total = hand.loss(*taken)
            total.backward()
            value = total.item()
        assert abs(value - loss) <= tolerance * (1 + abs(loss))
        agree(hand.gradients, gradients, tolerance)
        optimizer.step(model, gradients)
        hand.update(0.1)
        agree(hand.parameters, dict(model.params), tolerance)
    assert float(hand.step(*taken, rate=0.1)) == pytest.approx(
        model.train_step(examples, optimizer), rel=1e-3
    )
    agree(hand.parameters, dict(model.params), tolerance)


@pytest.mark.parametrize(
    "make",
    [
        NumpyHand,
        pytest.param(TorchHand, marks=needs_torch),
        pytest.param(lambda params: TorchNodewise(params, WORDS), marks=needs_torch, id="TorchNodewise"),
    ],
)
def test_inference_scores_the_roots(make: Any) -> None:
    model = ar.compile(sentiment(WORDS, size=6).judge)
    hand = make(model.params)
    scores = hand(TREES if isinstance(hand, TorchNodewise) else Forest(TREES, WORDS).batch(np.arange(60)))
    np.testing.assert_allclose(scores, model(TREES), atol=1e-5)


@pytest.mark.parametrize("leaves", [1, 2, 17])
def test_random_trees_by_hand(leaves: int) -> None:
    random = np.random.default_rng(leaves)
    model, shape = ar.compile(networks.random_trees(5, VOCABULARY)), random_tree(random, leaves)
    hand = Manual(model.params, shape)
    runs = [hand.by_node, hand.by_level]
    if importlib.util.find_spec("torch"):
        runs.append(TorchManual(model.params, shape).by_level)
    words = random.integers(0, VOCABULARY, (4, leaves))
    expected = model([with_words(shape, row) for row in words.tolist()])
    for run in runs:
        np.testing.assert_allclose(run(words), expected, atol=1e-6)


EXAMPLES: dict[str, Any] = {
    "treelstm": (programs.gated_tree_lstm(4, size=3), [[1, 2], [3, [1, 2], [0, [0, 3], [4, 1]]]]),
    "tagger": (ports.tagger(3, 4, 4), [[[1, [1], 3]], [[0, [1, 2, 3], 5], [1, [], 3]]]),
    "attention": (ports.translator(4, 3), [[1, 2, 3], [2], [3, 3, 0, 1, 1]]),
    "language_model": (ports.language_model(4, 3)[0], [[1, 2, 3], [2], [3, 3, 0, 1, 1]]),
    "parser": (ports.parser(4, 3), [[[1, 2, 3], [[0, 1, 2, 3, 1], [-1, 1, 2, 0, 2]]], [[3], [[0] * 5]]]),
}


@needs_torch
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_port_in_pytorch_learns_the_same(name: str) -> None:
    program, examples = EXAMPLES[name]
    net = ar.OnTheFly(float_type="float64", jit=False)
    with net.batch(training=True) as g:
        value, gradients = g.value_and_grad(g.mean([program(g, example) for example in examples]))
        hand = TorchPrograms(name, net.params)
        SGD(0.1).step(net, gradients)
    assert hand.one_by_one(examples, rate=0.1) == pytest.approx(value, rel=1e-10)
    agree(hand.parameters, dict(net.params), 1e-10)
