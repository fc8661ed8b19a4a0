"""SPINN: transitions rebuild their tree, batched sentences agree with single ones, and training helps."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate, parse_tree
from tests.compare import close, dense

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "spinn.py"


@pytest.fixture(scope="module")
def spinn() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def sentences(spinn: dict[str, Any], count: int) -> tuple[list[Any], int]:
    trees = generate(count, num_words=(1, 9))
    numbers = ar.Vocabulary.of(ar.data.words(trees))
    return [spinn["Sentence"].of(tree, numbers) for tree in trees], len(numbers) + 1


def test_a_tree_is_words_transitions_and_labels(spinn: dict[str, Any]) -> None:
    tree = parse_tree("(3 (1 (2 not) (0 bad)) (2 film))")
    sentence = spinn["Sentence"].of(tree, ar.Vocabulary(["not", "film"]))
    assert sentence.words == [1, 0, 2]
    assert sentence.transitions == [0, 0, 1, 0, 1]
    assert sentence.labels == [2, 0, 1, 2, 3]


def test_each_word_is_shifted_and_one_phrase_is_left(spinn: dict[str, Any]) -> None:
    learn, words = sentences(spinn, 12)
    net, reader = ar.OnTheFly(seed=1), spinn["Spinn"](words, size=6, tracking=4)
    with net.batch(gradients=False) as g:
        readings = g.run_all(reader.read(g, s.words) for s in learn)
    for sentence, reading in zip(learn, readings, strict=True):
        assert reading.transitions.count(0) == len(sentence.words)
        assert reading.transitions.count(1) == len(sentence.words) - 1
        balance = np.cumsum([1 - 2 * transition for transition in reading.transitions])
        assert balance.min() >= 1 and balance[-1] == 1
    assert len({tuple(reading.transitions) for reading in readings}) > 1


@pytest.mark.parametrize("schedule", ["strata", "agenda"])
def test_sentences_together_are_as_alone(spinn: dict[str, Any], schedule: str) -> None:
    learn, words = sentences(spinn, 6)
    net = ar.OnTheFly(seed=1, float_type="float64", schedule=schedule)
    reader = spinn["Spinn"](words, size=5, tracking=4, dropout=0.0)

    def results(here: list[Any]) -> list[Any]:
        with net.batch() as g:
            readings = g.run_all(reader.read(g, s.words) for s in here)
            taken = [reading.transitions for reading in readings]
            scores = g.numpy([reader.classify(reading.phrases[-1]) for reading in readings])
            value, gradients = g.value_and_grad(g.sum(g.run_all(reader.loss(g, s) for s in here)))
        return [taken, scores, float(value), {name: dense(x) for name, x in gradients.items()}]

    together, alone = results(learn), [results([sentence]) for sentence in learn]
    assert together[0] == [taken for one in alone for taken in one[0]]
    assert close(together[1], [scores for one in alone for scores in one[1]], 1e-12)
    assert abs(together[2] - sum(one[2] for one in alone)) <= 1e-10 * (1 + abs(together[2]))
    for name, gradient in together[3].items():
        assert close(gradient, sum(one[3][name] for one in alone), 1e-10), name


def test_training_helps(spinn: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    before, after = spinn["main"](count=100, epochs=3, size=16, batch=10, rate=0.01, timed=2)
    assert after.transitions > before.transitions + 0.05
    assert after.fine > before.fine
    assert "sentences a second together" in capsys.readouterr().out
