"""The sentiment Tree-LSTM with a loss at every node: training steps and inference, against the same by hand.

All systems start from the same parameters and work on the same batches. Each prepares every tree once, in its
own way; what a batch needs is put together within the timed step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import arrows as ar
from arrows.models import sentiment
from benchmarks.baselines import pytorch
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchHand, TorchNodewise
from benchmarks.datasets import load_trees, vocabulary
from benchmarks.task import Setting, System, Task, block_task, by_hand, copies

SIZES = {
    "full": ((300, 64), (300, 256), (128, 25), (300, 1)),
    "quick": ((300, 64), (128, 25), (300, 1)),
    "tiny": ((8, 3), (8, 1)),
}
"""States and batches."""
TREES = {"full": None, "quick": 2048, "tiny": 20}
"""How many trees there are to draw batches from, at most."""


def tasks(setting: Setting) -> Iterator[Task]:
    """Training and inference at each size. `torch-nodewise` runs batches of one tree alone."""
    trees, source = load_trees(setting.data)
    trees = trees[: TREES[setting.scale]]
    words = vocabulary(trees)
    forest = Forest([] if setting.ours else trees, words)

    def others(mode: str, batch: int, models: Mapping[str, ar.Model]) -> dict[str, System]:
        parameters = copies(models["arrows"])
        hands = pytorch.systems(partial(TorchHand, parameters), setting.device)
        if setting.device == "cpu":
            hands = {"numpy-hand": NumpyHand(parameters), **hands}
        systems = {
            name: by_hand(hand, mode, lambda numbers: [forest.batch(numbers)]) for name, hand in hands.items()
        }
        if batch == 1 and pytorch.installed and setting.device == "cpu":
            nodewise = TorchNodewise(parameters, words)
            systems["torch-nodewise"] = by_hand(nodewise, mode, lambda numbers: [[trees[i] for i in numbers]])
        return systems

    for state, batch in SIZES[setting.scale]:
        blocks = sentiment(words, size=state)
        for mode, block in (("train", blocks.learn), ("inference", blocks.judge)):
            config = {"mode": mode, "state": state, "batch": batch, "trees": source}
            yield block_task(setting, block, trees, partial(others, mode, batch), config=config, batch=batch)
