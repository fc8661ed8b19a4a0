"""How long one tree takes that comes alone, as in a service: a Tree-LSTM, from the Python object to scores.

Cold is the first call in a new process, with what building the model takes beside it; warm are calls on many
trees, each of another shape, in turns. Nothing is prepared: reading the tree belongs to every call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import Tree
from arrows.models import sentiment
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.pytorch import installed
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import VOCABULARY, random_tree
from benchmarks.report import Result
from benchmarks.systems import compiled
from benchmarks.timing import limited_to

NAME = "latency"
STATE, WORDS = 150, 20

Call = Callable[[Tree], Array]  # from a tree to the scores of its root


def run(
    *, quick: bool = False, data: Path | None = None, state: int = STATE, words: int = WORDS
) -> Iterator[Result]:
    """Measures the first call in new processes, and then calls on many trees, on one thread.

    `arrows` and `arrows-jit` run the block; `numpy-hand` is written by hand, level by level;
    `torch-nodewise` is PyTorch's operators, node by node.
    """
    config = {"state": state, "words": words, "batch": 1}
    for name in names():
        runs = [_cold(name, state, words) for _ in range(2 if quick else 5)]
        build_s = float(np.median([times["build"] for times in runs]))
        seconds = [times["first"] for times in runs]
        yield Result(NAME, {"mode": "cold", **config}, name, seconds, {"build_s": build_s})
    trees = random_trees(100 if quick else 500, words)
    parameters = _parameters(state)
    systems = {name: build(name, parameters, state) for name in names()}
    for name, seconds in warm(systems, trees).items():
        p50, p99 = np.percentile(seconds, [50, 99]) * 1e3
        yield Result(NAME, {"mode": "warm", **config}, name, seconds, {"p50_ms": p50, "p99_ms": p99})


def names() -> list[str]:
    """The systems that are installed here."""
    return ["arrows", *compiled(), "numpy-hand", *(["torch-nodewise"] if installed else [])]


def build(name: str, parameters: Mapping[str, Array], state: int) -> Call:
    """A system, ready for its first call."""
    numbers = _numbers()
    if name == "numpy-hand":
        by_numpy = NumpyHand(parameters)
        return lambda tree: by_numpy.scores(Forest([tree], numbers).batch(np.zeros(1, np.int64)))[-1]
    if name == "torch-nodewise":
        by_torch = TorchNodewise(parameters, numbers)
        return lambda tree: np.asarray(by_torch.tree_scores([tree])[0][-1][0])
    block = sentiment(numbers, size=state).judge
    model = ar.compile(block, jit=name == "arrows-jit", params=parameters)
    return lambda tree: ar.to_numpy(model([tree]))[0]


def warm(systems: Mapping[str, Call], trees: list[Tree]) -> dict[str, list[float]]:
    """Seconds of the calls of each system, in turns; the first tenth does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    order = list(systems)
    skipped = len(trees) // 10
    with limited_to(1):
        for number, tree in enumerate(trees):
            first = number % len(order)
            for name in order[first:] + order[:first]:
                start = time.perf_counter()
                systems[name](tree)
                elapsed = time.perf_counter() - start
                if number >= skipped:
                    seconds[name].append(elapsed)
    return seconds


def random_trees(count: int, words: int) -> list[Tree]:
    """Trees of so many random words, of random shapes."""
    random = np.random.default_rng(0)
    return [_tree(random_tree(random, words)) for _ in range(count)]


def _tree(nested: Any) -> Tree:
    if isinstance(nested, tuple):
        return {"left": _tree(nested[0]), "right": _tree(nested[1])}
    return {"word": str(nested)}


def _numbers() -> ar.Vocabulary:
    return ar.Vocabulary(map(str, range(VOCABULARY)))


def _parameters(state: int) -> dict[str, Array]:
    model = ar.compile(sentiment(_numbers(), size=state).judge)
    return {name: value.copy() for name, value in model.params.items()}


def _cold(name: str, state: int, words: int) -> dict[str, float]:
    """Builds a system in a new process, and calls it once."""
    command = [sys.executable, "-m", "benchmarks.latency", name, str(state), str(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def first_call(name: str, state: int, words: int) -> dict[str, float]:
    """Seconds to build a system, and of its first call, in this process."""
    (tree,) = random_trees(1, words)
    parameters = _parameters(state)
    with limited_to(1):
        start = time.perf_counter()
        call = build(name, parameters, state)
        built = time.perf_counter()
        call(tree)
        return {"build": built - start, "first": time.perf_counter() - built}


if __name__ == "__main__":
    print(json.dumps(first_call(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
