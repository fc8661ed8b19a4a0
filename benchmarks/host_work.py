"""What the host pays: preparing trees, merging and scheduling batches; beside the training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import Tree, vocabulary, words
from arrows.models import sentiment
from arrows.training import SGD
from benchmarks import host
from benchmarks.report import Result
from benchmarks.timing import interleaved
from benchmarks.treelstm import RATE, load_trees

NAME = "host"


def run(
    *, quick: bool = False, data: Path | None = None, state: int = 300, batch: int = 64, trees: int = 2048
) -> Iterator[Result]:
    """Measures preparing, merging and whole training steps, and yields each result when it is there.

    Args:
        quick: fewer rounds.
        data: a folder with `train.txt` of the Stanford Sentiment Treebank.
        state: of the Tree-LSTM; it plays a part in the step alone.
        batch: trees a batch.
        trees: how many of them to prepare.

    Yields:
        Seconds a tree: `prepare` (from Python objects to wirings, with validation and hashes), `merge` (from
        wirings to a schedule, with sharing), `step` (a training step with its merge). Nodes are operations;
        `share of step` is of the whole training step.

    >>> results = list(run(quick=True, state=4))  # doctest: +SKIP
    """
    all_trees, source = load_trees(data)
    some = all_trees[: max(trees, batch)]
    model, optimizer = ar.compile(sentiment(vocabulary(all_trees), size=state).learn, loss="loss"), SGD(RATE)
    prepared = model.prepare(some)
    batches = np.random.default_rng(0).permutation(len(some) // batch * batch).reshape(-1, batch)
    few = batches[: 8 if quick else 16]
    tasks: dict[str, Callable[[], object]] = {
        "prepare": lambda: model.prepare(some),
        "merge": lambda: [host.merge(model, prepared, chosen) for chosen in batches],
        "step": lambda: [model.train_step(prepared[chosen], optimizer) for chosen in few],
    }
    counts = {"prepare": len(some), "merge": batches.size, "step": few.size}
    nodes = operation_nodes(some)
    seconds = {
        mode: [s / counts[mode] for s in runs]
        for mode, runs in interleaved(tasks, 5 if quick else 11).items()
    }
    step = float(np.median(seconds["step"]))
    for mode, runs in seconds.items():
        median = float(np.median(runs))
        config: dict[str, Any] = {"mode": mode, "state": state, "batch": batch, "trees": source}
        figures = {"µs/tree": median * 1e6, "ns/node": median * 1e9 / nodes, "share of step": median / step}
        yield Result(NAME, config | {"nodes": round(nodes, 1)}, "arrows", runs, figures)


def operation_nodes(trees: list[Tree]) -> float:
    """Mean number of operations a tree: two for a word, one for a pair, classifier and loss for both.

    >>> operation_nodes([{"left": {"word": "a"}, "right": {"word": "b"}}])
    11.0
    """
    count = sum(1 for _ in words(trees))
    return (7 * count - 3 * len(trees)) / len(trees)
