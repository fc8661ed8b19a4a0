"""Dynamic batching against batching by hand: inference on random binary trees of 128 leaves.

Looks et al., "Deep Learning with Dynamic Computation Graphs", ICLR 2017, table 1.

By hand, all trees have one shape; `arrows` runs trees that all differ, and beside it, as `arrows-equal`,
trees of that one shape. The paper's cost ratio of dynamic to manual batching runs from 0.49 for one tree to
1.26 for 256.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import arrows as ar
from benchmarks.baselines.manual import Manual
from benchmarks.datasets import VOCABULARY, Nested, random_tree, with_words
from benchmarks.networks import random_trees
from benchmarks.report import Result
from benchmarks.systems import variants
from benchmarks.timing import best_threads, interleaved, repeats

NAME = "iclr"
BATCHES = (1, 32, 64, 128, 256)
ALONE = 2  # trees that `one-by-one` runs; their time is scaled up to the batch


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    state: int = 1024,
    leaves: int = 128,
    batches: tuple[int, ...] | None = None,
    seconds: float = 0.5,
) -> Iterator[Result]:
    """Measures inference at each batch size; a run of `arrows` takes at least about so many `seconds`.

    Results are seconds a batch. `one-by-one` runs two trees, and its time is scaled up to a batch.
    """
    random = np.random.default_rng(0)
    models = variants(random_trees(state, VOCABULARY))
    hand_shape = random_tree(random, leaves)
    hand = Manual(models["arrows"].params, hand_shape)
    for batch in batches or ((32,) if quick else BATCHES):
        different = [random_tree(random, leaves) for _ in range(batch)]
        words = random.integers(0, VOCABULARY, (batch, leaves))
        equal = [with_words(hand_shape, row) for row in words.tolist()]
        tasks: dict[str, Callable[[], object]] = {
            name: _whole(model, different[:ALONE] if name == "one-by-one" else different)
            for name, model in models.items()
        }
        tasks["arrows-equal"] = _whole(models["arrows"], equal)
        tasks["manual-paper"] = partial(hand.by_node, words)
        tasks["manual-level"] = partial(hand.by_level, words)
        count = repeats(tasks["arrows"], seconds, most=32)
        times = {name: 1 if name == "one-by-one" else count for name in tasks}
        tasks = {name: partial(_often, call, times[name]) for name, call in tasks.items()}
        threads = best_threads(tasks, 1)
        measured = interleaved(tasks, 3 if quick else 15, threads=threads)
        config = {"mode": "inference", "state": state, "leaves": leaves, "batch": batch}
        for system, runs in measured.items():
            share = min(ALONE, batch) / batch if system == "one-by-one" else 1.0
            a_batch = [s / times[system] / share for s in runs]
            figures = {"trees/s": batch / float(np.median(a_batch)), "threads": threads[system]}
            yield Result(NAME, config, system, a_batch, figures)


def _often(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def _whole(model: ar.Model, trees: list[Nested]) -> Callable[[], object]:
    """Calls a model on all of these trees, which are prepared here."""
    prepared = model.prepare(trees)
    return lambda: model(prepared)
