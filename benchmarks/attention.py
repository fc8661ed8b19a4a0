"""A tagger with multi-head attention within sentences, of one length and of uneven ones, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.baselines.attention_torch import Example, TorchAttention
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.pytorch import installed
from benchmarks.networks import attention_tagger
from benchmarks.report import Result
from benchmarks.systems import RATE, System, train_steps, variants
from benchmarks.timing import measure, random_batches

NAME = "attention"
SIZES = {"vocabulary": 1000, "size": 64, "heads": 4, "labels": 17}
LENGTHS = ((60, 60), (20, 100))


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 32,
    sizes: Mapping[str, int] = SIZES,
    lengths: tuple[tuple[int, int], ...] = LENGTHS,
    seconds: float = 1.0,
) -> Iterator[Result]:
    """Measures training steps; a run has the batches that `arrows` needs about so many `seconds` for."""
    for shortest, longest in lengths:
        random = np.random.default_rng(0)
        count = 8 * batch
        examples = [
            (
                random.integers(0, sizes["vocabulary"], n).tolist(),
                random.integers(0, sizes["labels"], n).tolist(),
            )
            for n in random.integers(shortest, longest + 1, count)
        ]
        models = variants(attention_tagger(**sizes), one_by_one=False, loss="loss")
        parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
        systems = {name: train_steps(model, examples) for name, model in models.items()}
        if installed:
            systems["torch-hand"] = in_torch(parameters, sizes["heads"], examples)
        batches = random_batches(random, systems["arrows"], np.arange(batch), count, seconds)
        words = str(shortest) if shortest == longest else f"{shortest} to {longest}"
        config = {"mode": f"train, {words} words", "state": sizes["size"], "batch": batch, "length": words}
        yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11, unit="sentences/s")


def in_torch(parameters: Mapping[str, Array], heads: int, examples: Sequence[Example]) -> System:
    """Steps of gradient descent in PyTorch on batches of examples, which are prepared here."""
    model = TorchAttention(parameters, heads)
    prepared = model.prepare(examples)
    return lambda batch, _: model.train_step([prepared[i] for i in batch], rate=RATE)
