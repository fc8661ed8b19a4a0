"""A bidirectional tagger on made-up sentences of one length, where batching by hand needs no padding.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017, section 5.1,
where the best automatic batching reached 0.79 of the speed of batching by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.baselines.bilstm_numpy import BiLSTM
from benchmarks.baselines.bilstm_torch import TorchTagger
from benchmarks.baselines.pytorch import installed
from benchmarks.datasets import numbered_sentences
from benchmarks.networks import bilstm_tagger
from benchmarks.report import Result
from benchmarks.systems import RATE, train_steps, variants
from benchmarks.timing import measure, random_batches

NAME = "bilstm"
SIZES = {"vocabulary": 1000, "embedding": 200, "size": 256, "layers": 2, "labels": 300}


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 64,
    length: int = 40,
    sizes: Mapping[str, int] = SIZES,
    seconds: float = 1.0,
) -> Iterator[Result]:
    """Measures training steps; a run has the batches that `arrows` needs about so many `seconds` for."""
    random = np.random.default_rng(0)
    count = 8 * batch
    words, labels = numbered_sentences(random, count, length, sizes["vocabulary"], sizes["labels"])
    examples = list(zip(words.tolist(), labels.tolist(), strict=True))
    models = variants(bilstm_tagger(**sizes), loss="loss")
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    systems = {name: train_steps(model, examples) for name, model in models.items()}
    by_numpy = BiLSTM(parameters)
    systems["numpy-hand"] = lambda batch, _: by_numpy.train_step(words[batch], labels[batch], rate=RATE)
    if installed:
        by_torch = TorchTagger(parameters)
        systems["torch-hand"] = lambda batch, _: by_torch.train_step(words[batch], labels[batch], rate=RATE)
    batches = random_batches(random, systems["arrows"], np.arange(batch), count, seconds)
    config = {"mode": "train", "state": sizes["size"], "batch": batch, "length": length}
    yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11, unit="sentences/s")
