"""A bidirectional tagger that reads rare words by their characters, on real sentences of uneven length.

By hand, PyTorch pads words and sentences and packs them. The sentences are those of the treebanks in a folder
given by `--data`, or found at `../shared/data/ud`; else they are made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data import TAGS, Sentence, read_conllu
from arrows.models import Lexicon
from benchmarks.baselines.pytorch import installed
from benchmarks.bilstm import training
from benchmarks.networks import character_tagger
from benchmarks.report import Result
from benchmarks.timing import repeats
from benchmarks.treelstm import RATE, measure
from benchmarks.variants import variants

NAME = "bilstm-char"
DATA = Path("../shared/data/ud")
OFTEN = 5  # words that occur less often are read by their characters
SIZES: dict[str, Any] = {"embedding": 128, "size": 128, "character_embedding": 20}


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 64,
    sizes: Mapping[str, Any] = SIZES,
    seconds: float = 1.0,
) -> Iterator[Result]:
    """Measures training steps, and yields each result when it is there.

    Args:
        quick: few rounds.
        data: a folder with files `*train*.conllu`.
        batch: sentences a batch.
        sizes: of the model, as `benchmarks.networks.character_tagger` takes them.
        seconds: about how long one run of `arrows` takes; it sets how many batches a run has.

    Raises:
        OSError, InputError: a folder was given whose sentences cannot be read.

    >>> results = list(run(quick=True))  # doctest: +SKIP
    """
    sentences, source = load_sentences(data)
    lexicon = Lexicon.of(sentences, OFTEN)
    models = variants(character_tagger(lexicon, **sizes), loss="loss")
    parameters = {name: value.copy() for name, value in models["arrows"].params.items()}
    systems = {name: training(model, sentences) for name, model in models.items()}
    if installed:
        from benchmarks.baselines.bilstm_torch import TorchCharTagger

        by_torch = TorchCharTagger(parameters, lexicon, TAGS)
        prepared = by_torch.prepare(sentences)
        systems["torch-hand"] = lambda batch, _: by_torch.train_step([prepared[i] for i in batch], rate=RATE)
    random = np.random.default_rng(0)
    first = random.integers(0, len(sentences), batch)
    times = repeats(partial(systems["arrows"], first, 0), seconds)
    batches = [random.integers(0, len(sentences), batch) for _ in range(max(2, times))]
    config = {"mode": "train", "state": sizes["size"], "batch": batch, "sentences": source}
    yield from measure(NAME, config, systems, batches, rounds=5 if quick else 11, unit="sentences/s")


def load_sentences(folder: Path | None) -> tuple[list[Sentence], str]:
    """Tagged sentences and the name of where they are from: `ud` or `generated`.

    >>> load_sentences(None)[1] in ("ud", "generated")
    True
    """
    if folder is None and any(DATA.glob("*train*.conllu")):
        folder = DATA
    if folder is None:
        return _made_up(1000), "generated"
    files = sorted(folder.glob("*train*.conllu"))
    if not files:
        raise FileNotFoundError(2, "no *train*.conllu in the folder", str(folder))
    return [sentence for file in files for sentence in read_conllu(file)], "ud"


def _made_up(count: int) -> list[Sentence]:
    """Sentences of 1 to 40 words, some of which come again and again, as in real ones."""
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, random.integers(1, 12))) for _ in range(4000)]
    sentences: list[Any] = []
    for length in random.integers(1, 41, count).tolist():
        chosen = np.minimum(random.zipf(1.3, length), len(words)) - 1
        sentences.append([{"word": words[k], "tag": TAGS[k % len(TAGS)]} for k in chosen.tolist()])
    return sentences
