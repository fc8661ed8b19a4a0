"""SPINN: transitions rebuild their tree, and training helps."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate, parse_tree

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


def test_training_helps(spinn: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    before, after = spinn["main"](count=100, epochs=3, size=16, batch=10, rate=0.01, timed=2)
    assert after.transitions > before.transitions + 0.05
    assert after.fine > before.fine
    assert "sentences a second together" in capsys.readouterr().out
