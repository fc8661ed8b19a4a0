"""Dynamic batching against batching by hand: inference on random binary trees of 128 leaves.

Looks et al., "Deep Learning with Dynamic Computation Graphs", ICLR 2017, table 1.

By hand, all trees have one shape; `arrows` runs trees that all differ, and beside it, as `arrows-equal`,
trees of that one shape. The paper's cost ratio of dynamic to manual batching runs from 0.49 for one tree to
1.26 for 256.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

import arrows as ar
from benchmarks.baselines import pytorch
from benchmarks.baselines.manual import Manual
from benchmarks.baselines.manual_torch import TorchManual
from benchmarks.datasets import VOCABULARY, Ints, random_tree, with_words
from benchmarks.networks import random_trees
from benchmarks.task import Setting, System, Task, block_task, calls, copies, whole

BATCHES = {"full": (1, 32, 64, 128, 256), "quick": (32,), "tiny": (1, 3)}


def tasks(setting: Setting) -> Iterator[Task]:
    """Inference at each batch size."""
    random = np.random.default_rng(0)
    state, leaves = (8, 6) if setting.scale == "tiny" else (1024, 128)
    shape = random_tree(random, leaves)
    block = random_trees(state, VOCABULARY)

    def others(words: Ints, models: Mapping[str, ar.Model]) -> dict[str, System]:
        parameters = copies(models["arrows"])
        equal = [with_words(shape, row) for row in words.tolist()]
        if setting.device == "cpu":
            hand = Manual(parameters, shape)
            runs = {"manual-paper": hand.by_node, "manual-level": hand.by_level}
        else:
            hands = pytorch.systems(partial(TorchManual, parameters, shape), setting.device)
            runs = {name: hand.by_level for name, hand in hands.items()}
        systems = {name: whole(partial(run, words)) for name, run in runs.items()}
        return {"arrows-equal": calls(models["arrows"], equal), **systems}

    for batch in BATCHES[setting.scale]:
        different = [random_tree(random, leaves) for _ in range(batch)]
        words = random.integers(0, VOCABULARY, (batch, leaves))
        config = {"mode": "inference", "state": state, "leaves": leaves, "batch": batch}
        yield block_task(setting, block, different, partial(others, words), config=config, batch=batch)
