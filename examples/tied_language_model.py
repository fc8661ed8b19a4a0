"""A small language model with tied and untied embeddings.

The table that reads words can score them as well: `embed.attend(h)` (Press and Wolf, "Using the Output
Embedding to Improve Language Models", EACL 2017). Against a model with a table of its own for the scores,
that nearly halves the parameters of a small model of many words. The third model is untied, with vectors so
narrow that it has no more parameters than the tied one.

    python examples/tied_language_model.py --data DIR     (DIR holds *train.conllu, *dev.conllu, *test.conllu)

On English ParTUT it takes some minutes on one core: test perplexity 147 tied, 178 untied of the same size.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import read_conllu
from arrows.training import Adam, train

EDGE = "<edge>"
"""Stands before and after each sentence, so that its end is predicted too."""


def language_model(words: int, size: int, *, tied: bool, dropout: float = 0.5) -> ar.Block[Any, Any]:
    """The cross-entropy of each next word: from a list of numbers, as the metric "loss".

    >>> model = ar.compile(language_model(10, 4, tied=True), loss="loss")
    >>> sorted(model.params)
    ['bias/value', 'embed/weight', 'lstm/bias', 'lstm/weight']
    """
    embed = ar.Embedding(words, size, ar.initializers.uniform(0.05), name="embed")
    cell, drop = ar.LSTMCell(size, name="lstm"), ar.Dropout(dropout)
    own = ar.FC(words, bias=False, initializer=ar.initializers.uniform(0.05), name="scores")
    bias = ar.Constant(np.zeros(words, "float32"), trainable=True, name="bias")
    scores = ((embed.attend if tied else own) & bias) >> ar.Sum()
    before: ar.Block[Any, Any] = ar.InputTransform(lambda sentence: sentence[:-1]) >> ar.Map(
        ar.Scalar("int32") >> embed >> drop
    )
    after: ar.Block[Any, Any] = ar.InputTransform(lambda sentence: sentence[1:]) >> ar.Map(ar.Scalar("int32"))
    states = before >> ar.RNN(cell, ar.Zeros(cell.state)) >> ar.GetItem(0)
    loss = (drop >> scores) * ar.Identity() >> ar.SoftmaxCrossEntropy() >> ar.Metric("loss")
    return (states & after) >> ar.ZipWith(loss)


def parameters(words: int, size: int, *, tied: bool) -> int:
    """How many numbers such a model learns."""
    return (1 if tied else 2) * words * size + words + (2 * size + 1) * 4 * size


def read(folder: Path, part: str) -> list[list[str]]:
    """The words of each sentence in small letters, with its edges."""
    path = next(folder.glob(f"*{part}.conllu"), folder / f"{part}.conllu")
    return [[EDGE, *(word["word"].lower() for word in sentence), EDGE] for sentence in read_conllu(path)]


def perplexity(model: ar.Model, sentences: list[list[int]]) -> float:
    """The exponential of the mean cross-entropy of a word, or of an end of a sentence."""
    losses = []
    for first in range(0, len(sentences), 64):
        model(sentences[first : first + 64])
        losses.append(ar.to_numpy(model.metrics["loss"].values))
    return math.exp(float(np.concatenate(losses).mean(dtype="float64")))


def learn(data: dict[str, list[list[int]]], block: ar.Block[Any, Any], seed: int, epochs: int) -> float:
    """Trains a model; returns the test perplexity at the epoch with the lowest dev perplexity."""
    model = ar.compile(block, loss="loss", seed=seed)
    history = train(
        model,
        data["train"],
        Adam(0.003, clip_norm=20.0),
        epochs=epochs,
        batch_size=16,
        seed=seed,
        evaluate=lambda: {part: perplexity(model, data[part]) for part in ("dev", "test")},
        best_by="dev",
        lower=True,
    )
    return history.best.figures["test"] if history.best else math.inf


def main(arguments: list[str] | None = None) -> None:
    """Trains the three models with each seed, and prints their perplexities."""
    parser = argparse.ArgumentParser(description="Perplexities of tied and untied embeddings.")
    parser.add_argument("--data", type=Path, required=True, help="folder of a treebank")
    parser.add_argument("--size", type=int, default=64, help="width of the vectors; default %(default)s")
    parser.add_argument("--epochs", type=int, default=6, help="default %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="so many; default %(default)s")
    options = parser.parse_args(arguments)
    texts = {part: read(options.data, part) for part in ("train", "dev", "test")}
    vocabulary = ar.Vocabulary.of((word for sentence in texts["train"] for word in sentence), min_freq=2)
    data = {part: [vocabulary.numbers(sentence) for sentence in text] for part, text in texts.items()}
    words, size = len(vocabulary), options.size
    print(f"{words:,} words, {len(data['train']):,} sentences to learn from", flush=True)
    wanted = parameters(words, size, tied=True)
    narrow = max(n for n in range(1, size + 1) if parameters(words, n, tied=False) <= wanted)
    models = {"tied": (size, True), "untied": (size, False), "untied, as many parameters": (narrow, False)}
    for name, (width, tied) in models.items():
        block = language_model(words, width, tied=tied)
        found = [learn(data, block, seed, options.epochs) for seed in range(options.seeds)]
        each = " ".join(f"{value:.1f}" for value in found)
        count = parameters(words, width, tied=tied)
        print(f"{name}: width {width}, {count:,} parameters, test perplexity {np.mean(found):.1f} ({each})")


if __name__ == "__main__":
    main()
