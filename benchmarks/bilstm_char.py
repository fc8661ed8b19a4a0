"""A bidirectional tagger that reads rare words by their characters, on real sentences of uneven length.

By hand, PyTorch pads words and sentences and packs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data import TAGS
from benchmarks.baselines.bilstm_torch import TorchCharTagger
from benchmarks.baselines.pytorch import installed
from benchmarks.datasets import load_sentences, vocabularies
from benchmarks.networks import character_tagger
from benchmarks.report import Result
from benchmarks.systems import RATE, train_steps, variants
from benchmarks.timing import measure, random_batches

NAME = "bilstm-char"
SIZES = {"embedding": 128, "size": 128, "character_embedding": 20}


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 64,
    sizes: Mapping[str, Any] = SIZES,
    seconds: float = 1.0,
) -> Iterator[Result]:
    """Measures training steps; a run has the batches that `arrows` needs about so many `seconds` for."""
    sentences, source = load_sentences(data)
    words, characters = vocabularies(sentences)
    models = variants(character_tagger(words, characters, **sizes), loss="loss")
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    systems = {name: train_steps(model, sentences) for name, model in models.items()}
    if installed:
        by_torch = TorchCharTagger(parameters, words, characters, TAGS)
        prepared = by_torch.prepare(sentences)
        systems["torch-hand"] = lambda batch, _: by_torch.train_step([prepared[i] for i in batch], rate=RATE)
    random = np.random.default_rng(0)
    first = random.integers(0, len(sentences), batch)
    batches = random_batches(random, systems["arrows"], first, len(sentences), seconds)
    config = {"mode": "train", "state": sizes["size"], "batch": batch, "sentences": source}
    yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11, unit="sentences/s")
