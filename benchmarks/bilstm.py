"""A bidirectional tagger on made-up sentences of one length, where batching by hand needs no padding.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017, section 5.1,
where the best automatic batching reached 0.79 of the speed of batching by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.training import SGD
from benchmarks.baselines.bilstm_numpy import BiLSTM
from benchmarks.baselines.pytorch import installed
from benchmarks.networks import bilstm_tagger
from benchmarks.report import Result
from benchmarks.timing import repeats
from benchmarks.treelstm import RATE, System, measure
from benchmarks.variants import variants

NAME = "bilstm"
SIZES: dict[str, Any] = {"vocabulary": 1000, "embedding": 200, "size": 256, "layers": 2, "labels": 300}


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 64,
    length: int = 40,
    sizes: Mapping[str, Any] = SIZES,
    seconds: float = 1.0,
) -> Iterator[Result]:
    """Measures training steps, and yields each result when it is there.

    Args:
        quick: few rounds.
        data: not used.
        batch: sentences a batch.
        length: words a sentence.
        sizes: of the model, as `benchmarks.networks.bilstm_tagger` takes them.
        seconds: about how long one run of `arrows` takes; it sets how many batches a run has.

    >>> results = list(run(quick=True))  # doctest: +SKIP
    """
    random = np.random.default_rng(0)
    count = 8 * batch
    words, labels = sentences(random, count, length, sizes["vocabulary"], sizes["labels"])
    examples = list(zip(words.tolist(), labels.tolist(), strict=True))
    models = variants(bilstm_tagger(**sizes), loss="loss")
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    systems = {name: training(model, examples) for name, model in models.items()}
    by_numpy = BiLSTM(parameters)
    systems["numpy-hand"] = lambda chosen, _: by_numpy.train_step(words[chosen], labels[chosen], RATE)
    if installed:
        from benchmarks.baselines.bilstm_torch import TorchTagger

        by_torch = TorchTagger(parameters)
        systems["torch-hand"] = lambda batch, _: by_torch.train_step(words[batch], labels[batch], rate=RATE)
    times = repeats(partial(systems["arrows"], np.arange(batch), 0), seconds)
    batches = [random.integers(0, count, batch) for _ in range(max(2, times))]
    config = {"mode": "train", "state": sizes["size"], "batch": batch, "length": length}
    yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11, unit="sentences/s")


def sentences(
    random: np.random.Generator, count: int, length: int, vocabulary: int, labels: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Random words and labels, `[count, length]` each.

    >>> [numbers.shape for numbers in sentences(np.random.default_rng(0), 3, 40, 1000, 300)]
    [(3, 40), (3, 40)]
    """
    return random.integers(0, vocabulary, (count, length)), random.integers(0, labels, (count, length))


def training(model: Any, examples: list[Any]) -> System:
    """Training steps of a model on batches of examples, prepared here.

    >>> step = training(model, examples)  # doctest: +SKIP
    """
    prepared, optimizer = model.prepare(examples), SGD(RATE)

    def step(chosen: Any, _: int) -> None:
        model.train_step(prepared[chosen], optimizer)
        model.device.synchronize()

    return step
