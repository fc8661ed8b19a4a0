"""What batching costs the host: preparing trees, and merging and scheduling batches, beside a whole step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.models import sentiment
from arrows.training import SGD
from benchmarks.datasets import load_trees, operation_nodes, vocabulary
from benchmarks.report import Result
from benchmarks.steps import merge
from benchmarks.systems import RATE
from benchmarks.timing import interleaved

NAME = "host"


def run(
    *, quick: bool = False, data: Path | None = None, state: int = 300, batch: int = 64, trees: int = 2048
) -> Iterator[Result]:
    """Measures preparing, merging and whole training steps.

    Times are per tree: `prepare` (from Python objects to wirings, with validation and hashes), `merge` (from
    wirings to a schedule, with sharing), `step` (a training step with its merge). Nodes are operations. Only
    `step` depends on the `state` of the Tree-LSTM; `share of step` is the share in a whole training step.
    """
    all_trees, source = load_trees(data)
    examples = all_trees[: max(trees, batch)]
    model, optimizer = ar.compile(sentiment(vocabulary(all_trees), size=state).learn, loss="loss"), SGD(RATE)
    prepared = model.prepare(examples)
    batches = np.random.default_rng(0).permutation(len(examples) // batch * batch).reshape(-1, batch)
    few = batches[: 8 if quick else 16]
    tasks: dict[str, Callable[[], object]] = {
        "prepare": lambda: model.prepare(examples),
        "merge": lambda: [merge(model, prepared, indices) for indices in batches],
        "step": lambda: [model.train_step(prepared[indices], optimizer) for indices in few],
    }
    counts = {"prepare": len(examples), "merge": batches.size, "step": few.size}
    nodes = operation_nodes(examples)
    seconds = {
        mode: [s / counts[mode] for s in runs]
        for mode, runs in interleaved(tasks, 5 if quick else 11).items()
    }
    step = float(np.median(seconds["step"]))
    for mode, runs in seconds.items():
        median = float(np.median(runs))
        config = {"mode": mode, "state": state, "batch": batch, "trees": source}
        figures = {"µs/tree": median * 1e6, "ns/node": median * 1e9 / nodes, "share of step": median / step}
        yield Result(NAME, config | {"nodes": round(nodes, 1)}, "arrows", runs, figures)
