"""The figures of the sentiment task: the order of labels, what counts as binary, chunks."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate, parse_labelled_tree, vocabulary
from arrows.models import Examination, accuracies, examination, node_labels, sentiment


def test_labels_come_in_the_order_of_visits():
    tree = {"label": 4, "left": {"label": 1, "word": "a"}, "right": {"label": 0, "word": "b"}}
    assert node_labels({"label": 3, "left": tree, "right": {"label": 2, "word": "c"}}) == [1, 0, 4, 2, 3]


@pytest.mark.parametrize(
    ("scores", "label", "expected"),
    [
        (
            [0, 0, 9, 1, 0],
            3,
            (0, 1),
        ),  # neutral is the likeliest class, but the positive side the likelier one
        ([0, 0, 9, 1, 0], 1, (0, 0)),
        ([2, 0, 0, 1.9, 1.9], 0, (1, 0)),
        ([0, 0, 1, 0, 0], 2, (1, 0)),  # a neutral label is not asked for a side
        ([0, 0, 0, 0, 0], 4, (0, 0)),  # no side is the likelier one: not positive
    ],
)
def test_the_two_accuracies(scores, label, expected):
    assert accuracies(np.array([scores], float), np.array([label])) == expected


def test_large_scores_do_not_overflow():
    assert accuracies(np.array([[0, 0, 0, 0, 1e4]]), np.array([4])) == (1, 1)


def test_figures_do_not_depend_on_chunks(monkeypatch):
    trees = generate(30, seed=2)
    judge = ar.compile(sentiment(vocabulary(trees), size=4).judge, seed=3)
    whole = Examination(judge, trees)()
    monkeypatch.setattr(examination, "CHUNK", 7)
    assert Examination(judge, trees)() == whole
    scores = np.array([judge([tree])[0] for tree in trees])
    assert (whole["fine"], whole["binary"]) == accuracies(scores, np.array([t["label"] for t in trees]))


def test_nothing_to_judge_is_no_error():
    judge = ar.compile(sentiment({}, size=2).judge)
    assert set(Examination(judge, [])().values()) == {0.0}
    assert Examination(judge, [parse_labelled_tree("(2 so)")])()["binary"] == 0
