"""The sentiment model: its blocks, the order of nodes, labels that need composition, and accuracies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate, parse_tree, words
from arrows.models import Examination, accuracies, node_labels, sentiment
from arrows.training import Adagrad, train
from arrows.typesys.errors import InputError

TREES = generate(40, seed=5, num_words=(1, 9))
WORDS = ar.Vocabulary.of(words(TREES))


@pytest.fixture
def blocks():
    return sentiment(WORDS, size=8, embedding=6)


def test_judging_gives_the_scores_whose_loss_is_learnt(blocks):
    learn = ar.compile(blocks.learn, loss="loss", float_type="float64")
    judge = ar.compile(blocks.judge, params=learn.params, float_type="float64")
    loss, _ = learn.value_and_grad(TREES)
    roots = judge(TREES)
    scores = judge.metrics["scores"]
    targets = [label for tree in TREES for label in node_labels(tree)]
    shares = np.exp(scores.values) / np.exp(scores.values).sum(axis=1, keepdims=True)
    expected = -np.log(shares[np.arange(len(targets)), targets]).sum() / len(TREES)
    assert loss == pytest.approx(expected, rel=1e-9)
    for example, root in enumerate(roots):
        np.testing.assert_allclose(scores[example][-1], root, rtol=1e-12)


def test_words_that_are_new_and_trees_without_labels_can_be_judged(blocks):
    judge = ar.compile(blocks.judge)
    scores = judge([parse_tree("(purple (very good))"), parse_tree("yellow"), parse_tree("purple")])
    assert scores.shape == (3, 5)
    np.testing.assert_array_equal(scores[1], scores[2])


def test_a_bad_label_names_the_example_and_the_place(blocks):
    model = ar.compile(blocks.learn, loss="loss")
    bad = {"label": 1, "left": {"label": 2, "word": "not"}, "right": {"label": None, "word": "good"}}
    with pytest.raises(InputError, match=r"example 1: .*right.*label.*None"):
        model.prepare([TREES[0], bad])


def test_it_learns_more_than_words_tell():
    learning, held_out = generate(800, seed=0, num_words=(1, 8)), generate(200, seed=1, num_words=(1, 8))
    blocks = sentiment(ar.Vocabulary.of(words(learning)), size=24)
    model = ar.compile(blocks.learn, loss="loss")
    judge = ar.compile(blocks.judge, params=model.params)
    history = train(model, learning, Adagrad(0.1), epochs=6, batch_size=25, progress=False)
    assert history[-1].loss < 0.5 * history[0].loss
    assert np.mean(ar.to_numpy(judge(held_out)).argmax(axis=1) == [tree["label"] for tree in held_out]) > 0.75


def test_dropout_acts_in_training_only():
    def compiled(**rates):
        blocks = sentiment(WORDS, size=8, **rates)
        model = ar.compile(blocks.learn, loss="loss", seed=1)
        return model, ar.compile(blocks.judge, params=model.params)

    plain, plain_judge = compiled()
    expected, _ = plain.value_and_grad(TREES)
    assert plain.value_and_grad(TREES)[0] == expected
    for name in ("dropout", "word_dropout", "recurrent_dropout"):
        model, judge = compiled(**{name: 0.4})
        first, second = (float(model.value_and_grad(TREES)[0]) for _ in range(2))
        assert len({float(expected), first, second}) == 3
        np.testing.assert_array_equal(judge(TREES), plain_judge(TREES))


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
        ([0, 0, 0, 0, 1e4], 4, (1, 1)),
        ([0, 0, 1, 0, 0], 2, (1, 0)),  # a neutral label is not asked for a side
        ([0, 0, 0, 0, 0], 4, (0, 0)),  # no side is the likelier one: not positive
    ],
)
def test_the_two_accuracies(scores, label, expected):
    assert accuracies(np.array([scores], float), np.array([label])) == expected


def test_figures_do_not_depend_on_batches():
    trees = generate(30, seed=2)
    judge = ar.compile(sentiment(ar.Vocabulary.of(words(trees)), size=4).judge, seed=3)
    whole = Examination(judge, trees)()
    assert Examination(judge, trees)(batch_size=7) == whole
    scores = np.array([judge([tree])[0] for tree in trees])
    assert (whole["fine"], whole["binary"]) == accuracies(scores, np.array([t["label"] for t in trees]))


def test_nothing_to_judge_is_no_error():
    judge = ar.compile(sentiment(ar.Vocabulary([]), size=2).judge)
    assert set(Examination(judge, [])().values()) == {0.0}
    assert Examination(judge, [parse_tree("(2 so)")])()["binary"] == 0


def test_a_model_of_a_vocabulary_is_saved_with_it(tmp_path: Any) -> None:
    model = ar.compile(sentiment(WORDS, size=4).judge, seed=2)
    ar.save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(ar.load_model(tmp_path / "m")(TREES[:3]), model(TREES[:3]))
