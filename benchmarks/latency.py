"""How long one tree takes that comes alone, as in a service: a Tree-LSTM, from the Python object to scores.

Cold is the first call in a new process, with what building the model takes beside it; warm are calls on many
trees, each of another shape, in turns. Nothing is prepared: reading the tree belongs to every call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import Tree
from arrows.models import sentiment
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.pytorch import installed
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import VOCABULARY, random_tree
from benchmarks.report import Result
from benchmarks.task import JIT, Setting, copies
from benchmarks.timing import limited_to

STATE, WORDS = 150, 20
TREES = {"full": 500, "quick": 100, "tiny": 10}
SYSTEMS = ["arrows", *JIT, "numpy-hand", *["torch-nodewise"] * installed]


def run(setting: Setting) -> Iterator[Result]:
    """Measures the first call in new processes, and then calls on many trees, on one thread.

    `arrows` and `arrows-jit` run the block; `numpy-hand` is written by hand, level by level;
    `torch-nodewise` is PyTorch's operators, node by node.
    """
    config = {"state": STATE, "words": WORDS, "batch": 1}
    for name in SYSTEMS:
        command = [sys.executable, "-m", "benchmarks.latency", name]
        runs = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(5 if setting.scale == "full" else 2)
        ]
        build_s = float(np.median([times["build"] for times in runs]))
        seconds = [times["first"] for times in runs]
        yield Result("latency", {"mode": "cold", **config}, name, seconds, {"build_s": build_s})
    for name, seconds in warm(TREES[setting.scale]).items():
        p50, p99 = np.percentile(seconds, [50, 99]) * 1e3
        yield Result("latency", {"mode": "warm", **config}, name, seconds, {"p50_ms": p50, "p99_ms": p99})


def build(name: str, block: Any, numbers: ar.Vocabulary, parameters: Any) -> Callable[[Tree], object]:
    """A system, ready for its first call: from a tree to the scores of its root."""
    if name == "numpy-hand":
        by_numpy = NumpyHand(parameters)
        return lambda tree: by_numpy(Forest([tree], numbers).batch(np.zeros(1, np.int64)))[0]
    if name == "torch-nodewise":
        by_torch = TorchNodewise(parameters, numbers)
        return lambda tree: by_torch([tree]).numpy()[0]
    model = ar.compile(block, jit=name == "arrows-jit", params=parameters)
    return lambda tree: ar.to_numpy(model([tree]))[0]


def prepared() -> tuple[Any, ar.Vocabulary, Any]:
    """What every system is built of: the block, the vocabulary, and parameters."""
    numbers = ar.Vocabulary(map(str, range(VOCABULARY)))
    block = sentiment(numbers, size=STATE).judge
    return block, numbers, copies(ar.compile(block))


def warm(count: int) -> dict[str, list[float]]:
    """Seconds of the calls of each system, in turns; the first tenth does not count."""
    parts = prepared()
    systems = {name: build(name, *parts) for name in SYSTEMS}
    seconds: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    with limited_to(1):
        for number, tree in enumerate(random_trees(count)):
            first = number % len(SYSTEMS)
            for name in SYSTEMS[first:] + SYSTEMS[:first]:
                start = time.perf_counter()
                systems[name](tree)
                seconds[name].append(time.perf_counter() - start)
    return {name: each[count // 10 :] for name, each in seconds.items()}


def random_trees(count: int) -> list[Tree]:
    """Trees of random words, of random shapes."""
    random = np.random.default_rng(0)

    def tree(nested: Any) -> Tree:
        if isinstance(nested, tuple):
            return {"left": tree(nested[0]), "right": tree(nested[1])}
        return {"word": str(nested)}

    return [tree(random_tree(random, WORDS)) for _ in range(count)]


def first_call(name: str) -> dict[str, float]:
    """Seconds to build a system, and of its first call, in this process."""
    (tree,), parts = random_trees(1), prepared()
    with limited_to(1):
        start = time.perf_counter()
        call = build(name, *parts)
        built = time.perf_counter()
        call(tree)
        return {"build": built - start, "first": time.perf_counter() - built}


if __name__ == "__main__":
    print(json.dumps(first_call(sys.argv[1])))
