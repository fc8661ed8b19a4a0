"""Training of taggers: two BiLSTM layers, one that reads rare words by their characters, and attention.

The first runs on made-up sentences of one length, where batching by hand needs no padding. Neubig, Goldberg,
Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017, section 5.1, where the best
automatic batching reached 0.79 of the speed of batching by hand. Where lengths differ, PyTorch pads and packs
or masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import arrows as ar
from benchmarks.baselines import pytorch
from benchmarks.baselines.attention_torch import TorchAttention
from benchmarks.baselines.bilstm_torch import TorchCharTagger, TorchTagger
from benchmarks.datasets import Ints, load_sentences, numbered, numbered_sentences, vocabularies
from benchmarks.networks import attention_tagger, bilstm_tagger, character_tagger
from benchmarks.task import Setting, System, Task, block_task, by_hand, copies

BATCH, TINY_BATCH = 64, 3
SIZES = {"vocabulary": 1000, "embedding": 200, "size": 256, "layers": 2, "labels": 300}
TINY_SIZES = {"vocabulary": 20, "embedding": 5, "size": 4, "layers": 2, "labels": 7}
CHARACTER_SIZES: dict[str, Any] = {"embedding": 128, "size": 128, "character_embedding": 20}
TINY_CHARACTER_SIZES: dict[str, Any] = {"embedding": 4, "size": 2, "character_embedding": 2}


def made_up(tiny: bool = False) -> tuple[Ints, Ints, list[Any]]:
    """Words and labels of the first tagger's sentences, `[sentences, length]`, and these as examples."""
    sizes, (count, length) = (TINY_SIZES, (24, 4)) if tiny else (SIZES, (512, 40))
    random = np.random.default_rng(0)
    words, labels = numbered_sentences(random, count, length, sizes["vocabulary"], sizes["labels"])
    return words, labels, list(zip(words.tolist(), labels.tolist(), strict=True))


def bilstm(setting: Setting) -> Iterator[Task]:
    """Two bidirectional layers over sentences of one length."""
    tiny = setting.scale == "tiny"
    (words, labels, examples), sizes = made_up(tiny), TINY_SIZES if tiny else SIZES

    def others(models: Mapping[str, ar.Model]) -> dict[str, System]:
        hands = pytorch.systems(partial(TorchTagger, copies(models["arrows"])), setting.device)
        return {
            name: by_hand(hand, "train", lambda batch: (words[batch], labels[batch]))
            for name, hand in hands.items()
        }

    yield _task(setting, bilstm_tagger(**sizes), examples, others, {"length": len(words[0])}, sizes["size"])


def bilstm_char(setting: Setting) -> Iterator[Task]:
    """A bidirectional layer over sentences of uneven length, rare words read by their characters."""
    sentences, source = load_sentences(setting.data)
    sizes = TINY_CHARACTER_SIZES if setting.scale == "tiny" else CHARACTER_SIZES
    words, characters = vocabularies(sentences)
    others = partial(_by_torch, TorchCharTagger, numbered(sentences, words, characters))
    block = character_tagger(words, characters, **sizes)
    yield _task(setting, block, sentences, others, {"sentences": source}, sizes["size"])


def attention(setting: Setting) -> Iterator[Task]:
    """Multi-head attention within sentences of 60 words, and of 20 to 100."""
    tiny, random = setting.scale == "tiny", np.random.default_rng(0)
    size, heads, labels = (4, 2, 3) if tiny else (64, 4, 17)
    for shortest, longest in ((3, 3), (2, 5)) if tiny else ((60, 60), (20, 100)):
        lengths = random.integers(shortest, longest + 1, 8 * BATCH)
        examples = [
            (random.integers(0, 1000, n).tolist(), random.integers(0, labels, n).tolist()) for n in lengths
        ]
        words = str(shortest) if shortest == longest else f"{shortest} to {longest}"
        block = attention_tagger(1000, size, heads, labels)
        others = partial(_by_torch, partial(TorchAttention, heads=heads), examples)
        yield _task(
            setting, block, examples, others, {"length": words}, size, batch=BATCH // 2, one_by_one=False
        )


def _by_torch(make: Callable[[Any], Any], examples: Any, models: Mapping[str, ar.Model]) -> dict[str, System]:
    """Steps in PyTorch on batches of examples, which are prepared here."""
    if not pytorch.installed:
        return {}
    hand = make(copies(models["arrows"]))
    prepared = hand.prepare(examples)
    return {"torch-hand": by_hand(hand, "train", lambda batch: [[prepared[i] for i in batch]])}


def _task(
    setting: Setting,
    block: Any,
    examples: Any,
    others: Any,
    facts: Any,
    state: int,
    batch: int = BATCH,
    **options: Any,
) -> Task:
    batch = TINY_BATCH if setting.scale == "tiny" else batch
    config = {"mode": "train", "state": state, "batch": batch, **facts}
    return block_task(
        setting, block, examples, others, config=config, batch=batch, each="sentence", **options
    )
