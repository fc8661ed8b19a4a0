"""How time and memory grow with the nodes of a batch: wide, many trees at once; deep, one long chain.

A node is an operation. Each task computes a value and its gradients. Memory is the peak of a model's first
batch, beyond what was allocated before, as `tracemalloc` counts it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain as chain_tasks
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.models import sentiment
from benchmarks.baselines.chain_numpy import Chain
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.datasets import Ints, load_trees, operation_nodes, vocabulary
from benchmarks.networks import chain
from benchmarks.report import Result
from benchmarks.systems import compiled
from benchmarks.timing import best_threads, interleaved

NAME = "growth"
WIDE = (10_000, 100_000, 1_000_000)
DEEP = (1_000, 10_000, 50_000)


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    wide: tuple[int, ...] | None = None,
    deep: tuple[int, ...] | None = None,
    state: int = 300,
) -> Iterator[Result]:
    """Measures trees of about so many nodes (`wide`) and chains of so many steps (`deep`), in growing order.

    Figures are nanoseconds a node (for chains, a step), `growth`, the ratio of these to those at the first
    size, and megabytes.
    """
    wide, deep = wide or (WIDE[:-1] if quick else WIDE), deep or (DEEP[:-1] if quick else DEEP)
    rounds = 3 if quick else 5
    first: dict[tuple[str, str], float] = {}
    for mode, count, config, systems in chain_tasks(wide_batches(wide, state, data), deep_batches(deep)):
        megabytes = {name: peak(make()) for name, make in systems.items()}
        tasks = {name: make() for name, make in systems.items()}
        threads = best_threads(tasks, 1)
        for system, seconds in interleaved(tasks, rounds, threads=threads).items():
            each = float(np.median(seconds)) / count * 1e9
            growth = each / first.setdefault((mode, system), each)
            figures = {"ns/node": each, "growth": growth, "MB": megabytes[system]}
            yield Result(NAME, {"mode": mode, **config}, system, seconds, figures)


def peak(task: Callable[[], object]) -> float:
    """The peak of the memory that a task takes, in megabytes, beyond what was allocated before."""
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


Systems = dict[str, Callable[[], Callable[[], object]]]  # system -> makes its task, with a new model
Task = tuple[str, float, dict[str, object], Systems]


def wide_batches(sizes: tuple[int, ...], state: int, data: Path | None) -> Iterator[Task]:
    """Batches of trees of about so many nodes."""
    trees, source = load_trees(data)
    numbers = vocabulary(trees)
    block = sentiment(numbers, size=state).learn
    base = ar.compile(block, loss="loss")
    forest = Forest(trees, numbers)
    for size in sizes:
        count = max(1, round(size / operation_nodes(trees)))
        indices = np.resize(np.random.default_rng(0).permutation(len(trees)), count)

        def ours(name: str, indices: Ints = indices) -> Callable[[], object]:
            model = ar.compile(block, loss="loss", params=base.params, jit=name == "arrows-jit")
            prepared = model.prepare(trees)
            return lambda: model.value_and_grad(prepared[indices])

        def by_hand(indices: Ints = indices) -> Callable[[], object]:
            hand = NumpyHand(base.params)

            def run() -> None:
                hand.value(forest.batch(indices))
                hand.backward(forest.batch(indices))

            return run

        nodes = count * operation_nodes(trees)
        systems: Systems = {name: partial(ours, name) for name in ("arrows", *compiled())}
        systems["numpy-hand"] = by_hand
        config = {"state": state, "batch": count, "nodes": round(nodes), "trees": source}
        yield "wide", nodes, config, systems


def deep_batches(sizes: tuple[int, ...]) -> Iterator[Task]:
    """Chains of so many steps, one in a batch."""
    block = chain()
    base = ar.compile(block)
    for length in sizes:
        words = np.random.default_rng(0).integers(0, 1000, length)
        nested: object = None
        for word in words.tolist():
            nested = (nested, word)

        def ours(name: str, nested: object = nested) -> Callable[[], object]:
            model = ar.compile(block, params=base.params, jit=name == "arrows-jit")
            prepared = model.prepare([nested])
            return lambda: model.value_and_grad(prepared)

        def by_hand(words: Ints = words) -> Callable[[], object]:
            return partial(Chain(base.params).value_and_gradients, words)

        systems: Systems = {name: partial(ours, name) for name in ("arrows", *compiled())}
        systems["numpy-hand"] = by_hand
        yield "deep", length, {"state": 100, "depth": length}, systems
