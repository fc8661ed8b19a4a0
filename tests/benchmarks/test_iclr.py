"""The benchmark of random trees: by hand is the same model, and a tiny run has every system."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import arrows as ar
from benchmarks import iclr
from benchmarks.baselines.manual import Manual
from benchmarks.datasets import VOCABULARY, random_tree, with_words
from benchmarks.networks import random_trees


@pytest.mark.parametrize("leaves", [1, 2, 3, 17])
def test_by_hand_is_the_same_model(leaves):
    random = np.random.default_rng(leaves)
    model = ar.compile(random_trees(5, VOCABULARY))
    shape = random_tree(random, leaves)
    hand = Manual(model.params, shape)
    for batch in (4, 1, 6):
        words = random.integers(0, VOCABULARY, (batch, leaves))
        expected = model([with_words(shape, row) for row in words.tolist()])
        np.testing.assert_allclose(hand.by_node(words), expected, atol=1e-6)
        np.testing.assert_allclose(hand.by_level(words), expected, atol=1e-6)


def test_random_trees_have_the_leaves_asked_for():
    random = np.random.default_rng(0)
    trees = [random_tree(random, 30) for _ in range(5)]
    assert all(str(tree).count(",") == 29 for tree in trees) and len(set(map(str, trees))) == 5


def test_a_tiny_run_has_every_system():
    results = list(iclr.run(quick=True, state=4, leaves=5, batches=(1, 3), seconds=0.001))
    systems = ["arrows", "one-by-one", "arrows-equal", "manual-paper", "manual-level"]
    systems[1:1] = ["arrows-jit"] * bool(importlib.util.find_spec("numba"))
    assert [(r.config["batch"], r.system) for r in results] == [(b, s) for b in (1, 3) for s in systems]
