"""Batching ordinary code on the fly: a Tree-LSTM under each schedule, as a block, by DyNet and by PyTorch.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017; `ports` has
a tagger and a parser, too. All systems of a model begin with the same parameters and work on the same
batches. A program makes its nodes anew in each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import arrows as ar
from arrows.data import Tree
from arrows.models import sentiment
from benchmarks import programs
from benchmarks.baselines import pytorch
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import load_trees, vocabulary
from benchmarks.ports import SCHEDULES, ported
from benchmarks.task import JIT, RATE, Setting, Task, copies, train_steps


def tasks(setting: Setting) -> Iterator[Task]:
    """Training steps of a cell that is a layer, and of one written gate by gate."""
    tiny = setting.scale == "tiny"
    trees, _ = load_trees(setting.data)
    words = vocabulary(trees)
    size = 4 if tiny else 300
    model = ar.compile(sentiment(words, size=size).learn, loss="loss", jit=False)
    params = copies(model)
    program = programs.tree_lstm(words, size=size)
    systems = {
        name: programs.training(ar.OnTheFly(schedule=way, jit=name in JIT, params=params), program, trees)
        for name, way in SCHEDULES.items()
    }
    if pytorch.installed:
        hand = TorchNodewise(params, words)
        systems["torch-one-by-one"] = lambda batch: hand.one_by_one([[trees[i]] for i in batch], rate=RATE)
    systems["block"] = train_steps(model, trees)
    batch = 3 if tiny else 64
    config = {"mode": "train treelstm", "batch": batch}
    yield Task(config=config, systems=systems, batch=batch, examples=len(trees))
    # The model of DyNet's README, as its users write it, and with a `Function` for each node.
    sizes = {"size": 4, "embedding": 4} if tiny else {"size": 150, "embedding": 300}
    plain, functions = (
        programs.gated_tree_lstm(len(words), functions=functions, **sizes) for functions in (False, True)
    )
    numbered = [as_lists(tree, words) for tree in trees]
    variants: dict[str, Any] = {name.replace("arrows", "functions"): functions for name in ("arrows", *JIT)}
    yield ported(setting, "treelstm", plain, numbered, "tree", batch=100, **variants)


def as_lists(tree: Tree, words: ar.Vocabulary) -> list[Any]:
    """A tree as lists, with the number of each word."""
    if "word" in tree:
        return [tree["label"], words[tree["word"]]]
    return [tree["label"], as_lists(tree["left"], words), as_lists(tree["right"], words)]
