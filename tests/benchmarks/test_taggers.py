"""The taggers batched by hand are the same models: loss, gradients and updated parameters."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import arrows as ar
from arrows.models import Lexicon
from arrows.training import SGD
from benchmarks import bilstm, bilstm_char
from benchmarks.baselines.bilstm_numpy import BiLSTM
from benchmarks.baselines.bilstm_torch import TorchCharTagger, TorchTagger
from benchmarks.datasets import load_sentences, numbered_sentences
from benchmarks.networks import bilstm_tagger, character_tagger
from tests.benchmarks.agreement import agree

TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
SENTENCES = [
    [{"word": word, "tag": tag} for word, tag in zip(text.split(), tags.split(), strict=True)]
    for text, tags in [
        ("the tree grows", "DET NOUN VERB"),
        ("the other tree", "DET ADJ NOUN"),
        ("grass", "NOUN"),
        ("tree the tree grows the", "NOUN DET NOUN VERB DET"),
    ]
]


@pytest.mark.parametrize("float_type", ["float32", "float64"])
@pytest.mark.parametrize("system", ["numpy-hand", pytest.param("torch-hand", marks=needs_torch)])
def test_sentences_of_one_length(system, float_type):
    model = ar.compile(bilstm_tagger(12, 5, 4, 2, 6), loss="loss", float_type=float_type)
    hand = BiLSTM(model.params) if system == "numpy-hand" else TorchTagger(model.params)
    optimizer, tolerance = SGD(0.1), TOLERANCE[float_type]
    for batch, length in [(3, 5), (1, 1), (4, 2), (3, 5)]:
        words, labels = numbered_sentences(np.random.default_rng(batch), batch, length, 12, 6)
        examples = list(zip(words.tolist(), labels.tolist(), strict=True))
        loss, gradients = model.value_and_grad(examples)
        if system == "numpy-hand":
            value = hand.value(words, labels)
            hand.backward(words)
        else:
            total = hand.loss(words, labels)
            total.backward()
            value = total.item()
        assert abs(value - loss) <= tolerance * (1 + abs(loss))
        agree(hand.gradients, gradients, tolerance)
        optimizer.step(model, gradients)
        hand.update(0.1)
        agree(hand.parameters, dict(model.params), tolerance)
    hand.train_step(words, labels, rate=0.1)
    model.train_step(examples, optimizer)
    agree(hand.parameters, dict(model.params), tolerance)


@needs_torch
@pytest.mark.parametrize("float_type", ["float32", "float64"])
def test_sentences_with_characters(float_type):
    lexicon, tags = Lexicon.of(SENTENCES, least=2), ["DET", "NOUN", "VERB", "ADJ"]
    block = character_tagger(lexicon, embedding=6, size=4, character_embedding=3, tags=tags)
    model = ar.compile(block, loss="loss", float_type=float_type)
    hand = TorchCharTagger(model.params, lexicon, tags)
    prepared, optimizer, tolerance = hand.prepare(SENTENCES), SGD(0.1), TOLERANCE[float_type]
    for batch in ([0], [0, 1, 2, 3], [3, 2], [1, 1]):
        loss, gradients = model.value_and_grad([SENTENCES[i] for i in batch])
        total = hand.loss([prepared[i] for i in batch])
        total.backward()
        assert abs(total.item() - loss) <= tolerance * (1 + abs(loss))
        agree(hand.gradients, gradients, tolerance)
        optimizer.step(model, gradients)
        hand.update(0.1)
        agree(hand.parameters, dict(model.params), tolerance)


def test_tiny_runs_have_every_system(tmp_path):
    torch = ["torch-hand"] * TORCH
    sizes = {"vocabulary": 9, "embedding": 3, "size": 2, "layers": 2, "labels": 4}
    systems = [r.system for r in bilstm.run(quick=True, batch=3, length=4, sizes=sizes, seconds=0.001)]
    assert [name for name in systems if name != "arrows-jit"] == [
        "arrows",
        "one-by-one",
        "numpy-hand",
        *torch,
    ]
    lines = [
        "\n".join(
            f"{k}\t{word['word']}\t_\t{word['tag']}\t_\t_\t_\t_\t_\t_" for k, word in enumerate(sentence, 1)
        )
        for sentence in SENTENCES
    ]
    (tmp_path / "a-train.conllu").write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    tiny = {"embedding": 4, "size": 2, "character_embedding": 2}
    results = list(bilstm_char.run(quick=True, data=tmp_path, batch=2, sizes=tiny, seconds=0.001))
    assert [r.system for r in results if r.system != "arrows-jit"] == ["arrows", "one-by-one", *torch]
    assert all(result.config["sentences"] == "ud" for result in results)


def test_without_sentences_they_are_made_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences, source = load_sentences(None)
    assert source == "generated" and len(sentences) > 500
    with pytest.raises(FileNotFoundError, match="train"):
        load_sentences(tmp_path)
