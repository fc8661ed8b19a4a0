"""The sentiment Tree-LSTM with a loss at every node: training steps and inference, against the same by hand.

All systems start from the same parameters and work on the same batches. Each prepares every tree once, in its
own way; what a batch needs is put together within the timed step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from arrows.data import Tree, Vocabulary
from arrows.models import Sentiment, sentiment
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.pytorch import installed
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchHand, TorchNodewise
from benchmarks.datasets import load_trees, vocabulary
from benchmarks.report import Result
from benchmarks.systems import RATE, System, calls, train_steps, variants
from benchmarks.timing import measure, random_batches

NAME = "treelstm"


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of the model's state and of its batches."""

    state: int
    batch: int


SIZES = [Size(300, 64), Size(300, 256), Size(128, 25), Size(300, 1)]


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    sizes: list[Size] | None = None,
    seconds: float | None = None,
) -> Iterator[Result]:
    """Measures training and inference; a run has the batches that `arrows` needs about so many `seconds` for.

    `torch-nodewise` runs batches of one tree alone.
    """
    trees, source = load_trees(data)
    seconds = seconds or (0.3 if quick else 0.5)
    numbers = vocabulary(trees)
    forest = Forest(trees, numbers)
    for size in sizes or (SIZES[:1] if quick else SIZES):
        blocks = sentiment(numbers, size=size.state)
        for mode in ("train", "inference"):
            systems, parameters = _by_arrows(mode, blocks, trees)
            systems |= _by_hand(mode, parameters, forest, trees, numbers)
            if size.batch > 1:
                systems.pop("torch-nodewise", None)
            random = np.random.default_rng(0)
            first = random.integers(0, len(trees), size.batch)
            batches = random_batches(random, systems["arrows"], first, len(trees), seconds)
            config = {"mode": mode, **asdict(size), "float_type": "float32", "trees": source}
            yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11)


def _by_arrows(
    mode: str, blocks: Sentiment, trees: Sequence[Tree]
) -> tuple[dict[str, System], dict[str, Array]]:
    """The systems that run `arrows`, and copies of the parameters that all systems begin with."""
    if mode == "train":
        models, system = variants(blocks.learn, loss="loss"), train_steps
    else:
        models, system = variants(blocks.judge), calls
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    return {name: system(model, trees) for name, model in models.items()}, parameters


def _by_hand(
    mode: str, parameters: Mapping[str, Array], forest: Forest, trees: Sequence[Tree], numbers: Vocabulary
) -> dict[str, System]:
    """The hand-written systems, those of PyTorch if it is installed."""
    by_numpy = NumpyHand(parameters)
    training: dict[str, System] = {
        "numpy-hand": lambda batch, _: by_numpy.train_step(forest.batch(batch), RATE)
    }
    inference: dict[str, System] = {"numpy-hand": lambda batch, _: by_numpy.scores(forest.batch(batch))}
    if installed:
        by_torch, nodewise = TorchHand(parameters), TorchNodewise(parameters, numbers)
        training |= {
            "torch-hand": lambda batch, _: by_torch.train_step(forest.batch(batch), rate=RATE),
            "torch-nodewise": lambda batch, _: nodewise.train_step([trees[i] for i in batch], rate=RATE),
        }
        inference |= {
            "torch-hand": lambda batch, _: by_torch.scores(forest.batch(batch)),
            "torch-nodewise": lambda batch, _: nodewise.tree_scores([trees[i] for i in batch]),
        }
    return training if mode == "train" else inference
