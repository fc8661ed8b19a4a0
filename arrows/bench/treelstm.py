"""The sentiment Tree-LSTM with a loss at every node: batched, one node at a time, and what the host pays.

The trees are the Stanford Sentiment Treebank's where a folder with its `train.txt` is given or found, else
generated ones of as many words. All systems share the same live parameters, and all work on the same batches
within a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.bench import host
from arrows.bench.report import Result
from arrows.bench.timing import best_threads, interleaved
from arrows.data import Tree, generate, read_trees, vocabulary, words
from arrows.models import Sentiment, sentiment
from arrows.training import SGD

NAME = "treelstm"
DATA = Path("../shared/data/sst")


@dataclass(frozen=True, slots=True)
class Size:
    """How large the model and its batches are.

    >>> Size(300, 64).config
    {'state': 300, 'batch': 64}
    """

    state: int
    batch: int

    @property
    def config(self) -> dict[str, Any]:
        """For the results."""
        return {"state": self.state, "batch": self.batch}


def run(
    *, quick: bool = False, data: Path | None = None, sizes: list[Size] | None = None
) -> Iterator[Result]:
    """Measures training, inference and host costs, and yields each result when it is there.

    Args:
        quick: one size (state 300, batch 64), few rounds: about a minute.
        data: a folder with `train.txt` in the treebank's format; if not given, `../shared/data/sst` where it
            is there.
        sizes: to measure other sizes than the usual ones.

    Raises:
        OSError, InputError: a folder was given, and its `train.txt` cannot be read.

    >>> results = list(run(quick=True, data=None, sizes=[Size(4, 2)]))  # doctest: +SKIP
    """
    trees, source = load_trees(data)
    numbers = vocabulary(trees)
    rounds, batches = (5, 2) if quick else (11, 8)
    for size in sizes or ([Size(300, 64)] if quick else [Size(300, 64), Size(300, 256), Size(128, 25)]):
        config = {**size.config, "float_type": "float32", "trees": source}
        blocks = sentiment(numbers, size=size.state)
        indices = np.random.default_rng(0).integers(0, len(trees), (batches, size.batch))
        for mode, make in (("train", _training), ("inference", _inference)):
            systems = make(blocks, trees, indices)
            threads = best_threads(systems, 1 if quick else 2)
            seconds = interleaved(systems, rounds, threads=threads)
            for system, runs in seconds.items():
                per_batch = [s / batches for s in runs]
                rate = size.batch / float(np.median(per_batch))
                yield Result(
                    NAME,
                    {"mode": mode, **config},
                    system,
                    per_batch,
                    {"trees/s": rate, "threads": threads[system]},
                )
    yield from _host_costs(trees, numbers, source, rounds)


def load_trees(folder: Path | None) -> tuple[list[Tree], str]:
    """Trees and the name of where they are from: `sst` or `generated`.

    >>> trees, source = load_trees(None)
    >>> source in ("sst", "generated"), len(trees) > 1000
    (True, True)
    """
    if folder is None and (DATA / "train.txt").is_file():
        folder = DATA
    if folder is not None:
        return read_trees(folder / "train.txt"), "sst"
    return generate(4000, words=(2, 36)), "generated"


def operation_nodes(trees: list[Tree]) -> float:
    """Mean number of operations a tree: two for a word, one for a pair, classifier and loss for both.

    >>> operation_nodes([{"left": {"word": "a"}, "right": {"word": "b"}}])
    11.0
    """
    count = sum(1 for _ in words(trees))
    return (7 * count - 3 * len(trees)) / len(trees)


def _training(blocks: Sentiment, trees: list[Tree], indices: Any) -> dict[str, Callable[[], None]]:
    def system(model: Any) -> Callable[[], None]:
        prepared, optimizer = model.prepare(trees), SGD(0.01)

        def steps() -> None:
            for batch in indices:
                model.train_step(prepared[batch], optimizer)
            model.backend.synchronize()

        return steps

    return {name: system(model) for name, model in _models(blocks.learn, loss="loss").items()}


def _inference(blocks: Sentiment, trees: list[Tree], indices: Any) -> dict[str, Callable[[], None]]:
    def system(model: Any) -> Callable[[], None]:
        prepared = model.prepare(trees)

        def calls() -> None:
            for batch in indices:
                model(prepared[batch])
            model.backend.synchronize()

        return calls

    return {name: system(model) for name, model in _models(blocks.judge).items()}


def _models(block: Any, **options: Any) -> dict[str, Any]:
    arrows = ar.compile(block, **options)
    return {
        "arrows": arrows,
        "one-by-one": ar.compile(block, schedule="none", params=arrows.params, **options),
    }


def _host_costs(trees: list[Tree], numbers: dict[str, int], source: str, rounds: int) -> Iterator[Result]:
    """Lowering, and merging with scheduling in batches of 64; the state's size plays no part."""
    model, some = ar.compile(sentiment(numbers, size=8).learn, loss="loss"), trees[:2048]
    prepared = model.prepare(some)
    batches = np.random.default_rng(0).permutation(len(some) // 64 * 64).reshape(-1, 64)
    tasks: dict[str, Callable[[], object]] = {
        "lower": lambda: model.prepare(some),
        "merge": lambda: [host.merge(model, prepared, batch) for batch in batches],
    }
    counts = {"lower": len(some), "merge": batches.size}
    nodes = operation_nodes(some)
    for mode, seconds in interleaved(tasks, rounds).items():
        per_tree = [s / counts[mode] for s in seconds]
        config = {"mode": mode, "batch": 64, "trees": source, "nodes": round(nodes, 1)}
        micros = float(np.median(per_tree)) * 1e6
        yield Result(NAME, config, "arrows", per_tree, {"µs/tree": micros, "ns/node": micros * 1e3 / nodes})
