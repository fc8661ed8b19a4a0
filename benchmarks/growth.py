"""How time and memory grow with the nodes of a batch: wide, many trees at once; deep, one long chain.

A node is an operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import arrows as ar
from arrows.models import sentiment
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.datasets import load_trees, operation_nodes, vocabulary
from benchmarks.networks import chain
from benchmarks.task import Setting, System, Task, block_task, by_hand, copies

WIDE = {"full": (10_000, 100_000, 1_000_000), "quick": (10_000,), "tiny": (100, 400)}
DEEP = {"full": (1_000, 10_000, 50_000), "quick": (1_000, 10_000), "tiny": (3, 9)}


def tasks(setting: Setting) -> Iterator[Task]:
    """Batches of trees of about so many nodes, and chains of so many steps, in growing order."""
    trees, source = load_trees(setting.data)
    words, state = vocabulary(trees), 4 if setting.scale == "tiny" else 300
    forest, block = Forest([] if setting.ours else trees, words), sentiment(words, size=state).learn

    def others(models: Mapping[str, ar.Model]) -> dict[str, System]:
        hand = NumpyHand(copies(models["arrows"]))
        return {"numpy-hand": by_hand(hand, "wide", lambda batch: [forest.batch(batch)])}

    for size in WIDE[setting.scale][
        : 2 if setting.ours else None
    ]:  # two packages do not fit with the largest
        batch = max(1, round(size / operation_nodes(trees)))
        nodes = batch * operation_nodes(trees)
        config = {"mode": "wide", "state": state, "batch": batch, "nodes": round(nodes), "trees": source}
        options: dict[str, Any] = {"config": config, "batch": batch, "each": "node", "count": nodes}
        yield block_task(setting, block, trees, others, one_by_one=False, **options)
    for length in DEEP[setting.scale]:
        nested: object = None
        for word in np.random.default_rng(0).integers(0, 1000, length).tolist():
            nested = (nested, word)
        options = {"config": {"mode": "deep", "depth": length}, "each": "node", "count": length, "loss": None}
        yield block_task(setting, chain(), [nested], lambda _: {}, one_by_one=False, **options)
