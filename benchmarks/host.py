"""What the host does for a batch: preparing trees, and steps so small that little else is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import arrows as ar
from arrows.models import sentiment
from benchmarks.datasets import load_trees, vocabulary
from benchmarks.task import Setting, Task, calls, train_steps, whole

TREES = {"full": 2048, "quick": 256, "tiny": 9}


def tasks(setting: Setting) -> Iterator[Task]:
    """Compiling and preparing, and training and inference of state 4, NumPy alone."""
    trees = load_trees(setting.data)[0][: TREES[setting.scale]]
    blocks = sentiment(vocabulary(trees), size=4)
    learn, judge = ar.compile(blocks.learn, loss="loss", jit=False), ar.compile(blocks.judge, jit=False)
    batch = np.random.default_rng(0).integers(0, len(trees), 64)
    step, call = train_steps(learn, trees), calls(judge, trees)
    work: dict[str, tuple[int, Callable[[], object]]] = {
        "compile": (1, lambda: ar.compile(blocks.learn, loss="loss", jit=False)),
        "prepare": (len(trees), lambda: learn.prepare(trees)),
        "train, state 4": (64, lambda: step(batch)),
        "inference, state 4": (64, lambda: call(batch)),
        "inference, state 4, not prepared": (64, lambda: judge(trees[:64])),
    }
    for mode, (count, run) in work.items():
        yield Task(config={"mode": mode}, systems={"arrows": whole(run)}, count=count)
