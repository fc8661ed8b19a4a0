"""The generated treebank: the meaning of phrases, stable trees, and that a model needs composition."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

from arrows.data import CLASSES, Vocabulary, format_tree, generate, label_tree, parse_tree, words
from arrows.typesys.errors import ArrowValueError, InputError


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("good", 3),
        ("(not good)", 1),
        ("(not bad)", 3),
        ("((not good) film)", 1),
        ("(very (not good))", 0),
        ("(not (very good))", 1),
        ("((not very) good)", 1),
        ("(slightly awful)", 1),
        ("(good not)", 1),
        ("(good bad)", 2),
        ("(great (but (slightly awful)))", 1),
        ("(great (but film))", 4),
        ("(but good)", 3),
        ("((but good) awful)", 1),
        ("((not but) good)", 1),
    ],
)
def test_what_phrases_mean(text, label):
    tree = label_tree(parse_tree(text))
    assert tree["label"] == label, CLASSES[tree["label"]]


def nodes(trees: list[Any]) -> Any:
    stack = list(trees)
    while stack:
        tree = stack.pop()
        yield tree
        if "left" in tree:
            stack += (tree["left"], tree["right"])


def test_every_node_is_labelled_by_the_grammar():
    def bare(tree: Any) -> Any:
        copied = copy.deepcopy(tree)
        for node in nodes([copied]):
            del node["label"]
        return copied

    trees = generate(50, seed=3)
    assert [label_tree(bare(tree)) for tree in trees] == trees


def test_the_same_seed_gives_the_same_trees_for_ever():
    # Models that were trained on these trees are read again later: a change here is a change of the data.
    text = "\n".join(format_tree(tree) for tree in generate(100, seed=7))
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "b1151659237910b7c122c54d6b1f5e6a0ace83b7a38ab2a664ff4b5cbb3e1096"
    )
    assert generate(20, seed=1) == generate(30, seed=1)[:20] != generate(20, seed=2)


def test_sizes_are_as_asked_and_evenly_spread():
    sizes = Counter(sum(1 for _ in words([tree])) for tree in generate(3000, num_words=(3, 8)))
    assert set(sizes) == set(range(3, 9)) and min(sizes.values()) > 400


def test_words_alone_do_not_decide():
    train, test = generate(3000, seed=0), generate(1000, seed=1)
    numbers = Vocabulary.of(words(train))

    def counts(trees: list[Any]) -> Any:
        matrix = np.zeros((len(trees), len(numbers)))
        for row, tree in enumerate(trees):
            for word in words([tree]):
                matrix[row, numbers[word]] += 1
        matrix[:, 0] = 1
        return matrix

    targets = np.eye(5)[[tree["label"] for tree in train]]
    weights, *_ = np.linalg.lstsq(counts(train), targets, rcond=None)
    right = (counts(test) @ weights).argmax(1) == [tree["label"] for tree in test]
    assert right.mean() < 0.6


def test_large_trees_need_no_recursion():
    (tree,) = generate(1, num_words=(30_000, 30_000))
    assert sum(1 for _ in words([tree])) == 30_000


def test_bad_arguments_and_unknown_words():
    for bad in [(0, 3), (4, 3)]:
        with pytest.raises(ArrowValueError, match="1 <= least <= most"):
            generate(1, num_words=bad)
    with pytest.raises(InputError, match="no word 'purple'"):
        label_tree(parse_tree("(not purple)"))
