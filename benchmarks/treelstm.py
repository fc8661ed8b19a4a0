"""The sentiment Tree-LSTM with a loss at every node: training steps and inference, against the same by hand.

The trees are the Stanford Sentiment Treebank's where a folder with its `train.txt` is given or found, else
generated ones of as many words. All systems start from the same parameters and work on the same batches.
Each prepares every tree once, in its own way; what a batch needs is put together within the timed
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data import Tree, generate, read_trees, vocabulary
from arrows.models import Sentiment, sentiment
from arrows.training import SGD
from benchmarks.baselines.bound import Bound
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.numpy_hand import NumpyHand
from benchmarks.baselines.pytorch import installed
from benchmarks.report import Result
from benchmarks.timing import best_threads, interleaved, repeats
from benchmarks.variants import variants

NAME = "treelstm"
DATA = Path("../shared/data/sst")
RATE = 0.01  # of the gradient descent
SLOW = 8  # a system without batching gets this many times fewer batches a run

Batches = list[Any]  # the numbers of the trees of each batch
System = Callable[[Any, int], object]  # runs one batch: the numbers of its trees, the batch's own number


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


SIZES = [Size(300, 64), Size(300, 256), Size(128, 25), Size(300, 1)]


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    sizes: list[Size] | None = None,
    seconds: float | None = None,
) -> Iterator[Result]:
    """Measures training and inference, and yields each result when it is there.

    Args:
        quick: one size (state 300, batch 64), few rounds: about a minute.
        data: a folder with `train.txt` in the treebank's format; if not given, `../shared/data/sst` where it
            is there.
        sizes: to measure other sizes than the usual ones.
        seconds: about how long one run of `arrows` takes (half a second, if not given, and 0.3 of one for
            `quick`); it sets how many batches a run has.

    Yields:
        Seconds a batch of `arrows`, `arrows-jit` (where numba is installed), `one-by-one`, `numpy-hand`,
        `torch-hand` (where PyTorch is), `torch-nodewise` (for batches of one tree) and `bound`.

    Raises:
        OSError, InputError: a folder was given, and its `train.txt` cannot be read.

    >>> results = list(run(quick=True, data=None, sizes=[Size(4, 2)]))  # doctest: +SKIP
    """
    trees, source = load_trees(data)
    seconds = seconds or (0.3 if quick else 0.5)
    numbers = vocabulary(trees)
    forest = Forest(trees, numbers)
    for size in sizes or (SIZES[:1] if quick else SIZES):
        blocks = sentiment(numbers, size=size.state)
        for mode, make in (("train", _training), ("inference", _inference)):
            systems = make(blocks, trees, forest, numbers, size.batch == 1)
            random = np.random.default_rng(0)
            first = random.integers(0, len(trees), size.batch)
            count = repeats(partial(systems["arrows"], first, 0), seconds)
            batches = [random.integers(0, len(trees), size.batch) for _ in range(max(2, count))]
            systems["bound"] = _bound(mode, systems.pop("parameters"), forest, batches)
            config = {"mode": mode, **size.config, "float_type": "float32", "trees": source}
            yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11)


def measure(
    bench: str,
    config: dict[str, Any],
    systems: dict[str, System],
    batches: Batches,
    *,
    rounds: int,
    unit: str = "trees/s",
) -> Iterator[Result]:
    """Runs all batches by each system in turns, each with the number of threads that suits it.

    Args:
        bench, config: of the results.
        systems: what runs one batch. `one-by-one` gets fewer batches a run, unless a batch is one example.
        batches: the examples' numbers, or anything with a length that a system understands.
        rounds: runs of each system.
        unit: the name of the figure of examples a second.

    Yields:
        A result for each system: seconds a batch, and examples a second.

    >>> results = measure("b", {}, {"arrows": lambda batch, number: sum(batch)}, [[1, 2]], rounds=1)
    >>> [result.system for result in results]
    ['arrows']
    """
    size = len(batches[0])
    counts = {name: len(batches) for name in systems}
    if "one-by-one" in counts and size > 1:
        counts["one-by-one"] = max(1, len(batches) // SLOW)

    def task(name: str) -> Callable[[], None]:
        def runs() -> None:
            for number, batch in enumerate(batches[: counts[name]]):
                systems[name](batch, number)

        return runs

    tasks = {name: task(name) for name in systems}
    threads = best_threads(tasks, 1 if rounds <= 5 else 2)
    for name, seconds in interleaved(tasks, rounds, threads=threads).items():
        a_batch = [s / counts[name] for s in seconds]
        figures = {unit: size / float(np.median(a_batch)), "threads": threads[name], "batches": counts[name]}
        yield Result(bench, config, name, a_batch, figures)


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


def _training(
    blocks: Sentiment, trees: list[Tree], forest: Forest, numbers: dict[str, int], single: bool
) -> dict[str, Any]:
    def ours(model: Any) -> System:
        prepared, optimizer = model.prepare(trees), SGD(RATE)

        def step(batch: Any, _: int) -> None:
            model.train_step(prepared[batch], optimizer)
            model.device.synchronize()

        return step

    models = variants(blocks.learn, loss="loss")
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    systems: dict[str, Any] = {name: ours(model) for name, model in models.items()}
    by_numpy = NumpyHand(parameters)
    systems["numpy-hand"] = lambda batch, _: by_numpy.train_step(forest.batch(batch), RATE)
    if installed:
        from benchmarks.baselines.torch_hand import TorchHand
        from benchmarks.baselines.torch_nodewise import TorchNodewise

        by_torch, nodewise = TorchHand(parameters), TorchNodewise(parameters, numbers)
        systems["torch-hand"] = lambda batch, _: by_torch.train_step(forest.batch(batch), RATE)
        if single:
            systems["torch-nodewise"] = lambda batch, _: nodewise.tree_step([trees[i] for i in batch], RATE)
    return systems | {"parameters": parameters}


def _inference(
    blocks: Sentiment, trees: list[Tree], forest: Forest, numbers: dict[str, int], single: bool
) -> dict[str, Any]:
    def ours(model: Any) -> System:
        prepared = model.prepare(trees)

        def call(batch: Any, _: int) -> None:
            model(prepared[batch])
            model.device.synchronize()

        return call

    models = variants(blocks.judge)
    parameters = dict(models["arrows"].params)
    systems: dict[str, Any] = {name: ours(model) for name, model in models.items()}
    by_numpy = NumpyHand(parameters)
    systems["numpy-hand"] = lambda batch, _: by_numpy.scores(forest.batch(batch))
    if installed:
        from benchmarks.baselines.torch_hand import TorchHand
        from benchmarks.baselines.torch_nodewise import TorchNodewise

        by_torch, nodewise = TorchHand(parameters), TorchNodewise(parameters, numbers)
        systems["torch-hand"] = lambda batch, _: by_torch.scores(forest.batch(batch))
        if single:
            systems["torch-nodewise"] = lambda batch, _: nodewise.tree_scores([trees[i] for i in batch])
    return systems | {"parameters": parameters}


def _bound(mode: str, parameters: Any, forest: Forest, batches: Batches) -> System:
    products = [Bound(parameters, forest.shared(batch)) for batch in batches]
    return lambda _, number: getattr(products[number], "training" if mode == "train" else "inference")()
