"""`arrows train sentiment`: the Tree-LSTM of Tai et al. on the Stanford Sentiment Treebank."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.cli.model_files import restore_sentiment
from arrows.cli.option_types import OPTIMIZERS, decay, positive, rate, share
from arrows.cli.train_command import (
    add_training_options,
    content_hash,
    parameter_count,
    require_writable,
    train_best,
)
from arrows.data import Tree, Vector, read_trees, read_vectors, vocabulary, words
from arrows.models import Examination, sentiment
from arrows.training import Optimizer
from arrows.typesys import ArrowValueError, InputError

FILES = ("train.txt", "dev.txt", "test.txt")
UNKNOWN = 0.05  # words without a vector begin uniform in +-0.05, as in the authors' code
DESCRIPTION = """Trains a binary Tree-LSTM with a loss at every node (Tai, Socher, Manning, "Improved Semantic
Representations From Tree-Structured Long Short-Term Memory Networks", ACL 2015) on labelled trees in the
bracket form of the Penn Treebank. After each epoch it prints the loss and the accuracies on dev. It keeps the
model of the epoch with the best fine-grained accuracy at the roots, and measures it on test at the end."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of train.txt, dev.txt and test.txt")
    add("--vectors", type=Path, metavar="FILE", help="word vectors to start from, in GloVe's text format")
    add("--state-size", type=positive, default=150, metavar="N", help="default: 150")
    add(
        "--embedding-size",
        type=positive,
        metavar="N",
        help="size of the word vectors (default: that of --vectors, else 300)",
    )
    add(
        "--embedding-learning-rate",
        type=rate,
        metavar="RATE",
        help="learning rate of the word vectors (default: --learning-rate); 0 freezes them",
    )
    dropouts = [
        ("--dropout", 0.5, "the state before the classifier"),
        ("--word-dropout", 0.3, "the word vectors"),
        ("--recurrent-dropout", 0.0, "what a node adds to its memory"),
    ]
    for option, default, target in dropouts:
        help = f"dropout of {target} (default: {default:g})"
        add(option, type=share, default=default, metavar="SHARE", help=help)
    add(
        "--average",
        type=decay,
        default=0.995,
        metavar="DECAY",
        help="evaluate and keep averages of the parameters over the steps, with this decay; 1: the plain "
        "mean, 0: no averages (default: 0.995)",
    )
    add_training_options(
        parser,
        example="tree",
        batch_size=25,
        epochs=10,
        optimizer="adagrad",
        learning_rate=0.05,
        l2=1e-4,
        save="sentiment.safetensors",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Treebank:
    """What a run reads before it begins.

    Attributes:
        train, dev, test: labelled trees.
        vectors: word -> the vector that it starts from.
        numbers: word -> its number, from 1.
    """

    train: list[Tree]
    dev: list[Tree]
    test: list[Tree]
    vectors: dict[str, Vector]
    numbers: dict[str, int]


def read(folder: Path, vectors: Path | None = None) -> Treebank:
    """Reads the treebank and the vectors of its words.

    Words are numbered as by `vocabulary`, those of train.txt first; words of the other files count only if
    they have vectors. A word takes the vector of its spelling without backslashes (the treebank writes
    `\\/`), as in the authors' code.

    Raises:
        InputError: a line is not a tree or a row of vectors, a file has no trees, or no word has a vector.
        OSError: a file cannot be read.
    """
    parts = []
    for name in FILES:
        parts.append(read_trees(folder / name))
        if not parts[-1]:
            raise InputError(f"{folder / name}: there are no trees in this file")
    train, dev, test = parts
    numbers = vocabulary(train)
    word_vectors: dict[str, Vector] = {}
    if vectors is not None:
        spellings = {word: word.replace("\\", "") for word in words([*train, *dev, *test])}
        rows = read_vectors(vectors, spellings.values())
        word_vectors = {word: rows[spelling] for word, spelling in spellings.items() if spelling in rows}
        if not word_vectors:
            raise InputError(f"{vectors}: none of the {len(spellings):,} words of {folder} is in this file")
        for word in word_vectors:
            numbers.setdefault(word, len(numbers) + 1)
    return Treebank(train=train, dev=dev, test=test, vectors=word_vectors, numbers=numbers)


def run(options: argparse.Namespace) -> int:
    """Trains and tests as `train_best`; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; nothing has been written then.
        And as `train_best`.
    """
    require_writable(options)
    treebank = read(options.data, options.vectors)
    embedding = _embedding_size(options, treebank)
    blocks = sentiment(
        treebank.numbers,
        size=options.state_size,
        embedding=embedding,
        dropout=options.dropout,
        word_dropout=options.word_dropout,
        recurrent_dropout=options.recurrent_dropout,
    )
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed, device=options.device)
    judge = ar.compile(blocks.judge, params=model.params, device=options.device)
    if options.vectors is not None:
        set_vectors(model, treebank, options.seed)
    print(
        f"{len(treebank.train):,} trees to learn from, {len(treebank.dev):,} dev, {len(treebank.test):,} "
        f"test; {len(treebank.numbers):,} words, {len(treebank.vectors):,} with vectors; "
        f"{parameter_count(model)}",
        flush=True,
    )

    def test() -> str:
        figures = Examination(restore_sentiment(options.save, options.device), treebank.test)()
        return (
            f"  at the roots   fine-grained {figures['fine']:.4f}, binary {figures['binary']:.4f}\n"
            f"  at all nodes   fine-grained {figures['nodes fine']:.4f}, binary {figures['nodes binary']:.4f}"
        )

    train_best(
        options,
        model,
        treebank.train,
        _optimizer(options),
        evaluate=Examination(judge, treebank.dev),
        best_by="fine",
        kept=judge,
        metadata=_run_identity(options, treebank, embedding),
        unit="tree",
        test=test,
    )
    return 0


def set_vectors(model: ar.Model, treebank: Treebank, seed: int = 0) -> None:
    """Sets the initial values of the embedding: the word vectors, and small random numbers for other words.

    >>> vectors = {"good": np.ones(3, np.float32)}
    >>> treebank = Treebank(train=[], dev=[], test=[], vectors=vectors, numbers={"film": 1, "good": 2})
    >>> model = ar.compile(sentiment(treebank.numbers, size=2, embedding=3).learn, loss="loss")
    >>> set_vectors(model, treebank)
    >>> model.params["embed/weight"][2].tolist()
    [1.0, 1.0, 1.0]
    """
    table = model.params["embed/weight"]
    values = np.random.default_rng(seed).uniform(-UNKNOWN, UNKNOWN, table.shape).astype(np.float32)
    for word, vector in treebank.vectors.items():
        values[treebank.numbers[word]] = vector
    table[...] = model.device.to_device(values)


def _embedding_size(options: argparse.Namespace, treebank: Treebank) -> int:
    if not treebank.vectors:
        return int(options.embedding_size or 300)
    size = len(next(iter(treebank.vectors.values())))
    if options.embedding_size not in {None, size}:
        raise ArrowValueError(
            f"--embedding-size is {options.embedding_size}, "
            f"and the vectors of {options.vectors} have {size} numbers"
        )
    return size


def _optimizer(options: argparse.Namespace) -> Optimizer:
    rates = {}
    if options.embedding_learning_rate is not None:
        rates["embed/*"] = options.embedding_learning_rate
    return OPTIMIZERS[options.optimizer](
        options.learning_rate, weight_decay=options.l2, rates=rates, average=options.average or None
    )


def _run_identity(options: argparse.Namespace, treebank: Treebank, embedding: int) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""

    def content() -> Iterator[bytes]:
        for name in FILES[:2]:
            yield (options.data / name).read_bytes()
        for word, vector in treebank.vectors.items():
            yield word.encode()
            yield vector.tobytes()

    return {
        "data": content_hash(content()),
        "--state-size": str(options.state_size),
        "--embedding-size": str(embedding),
        "--dropout": str(options.dropout),
        "--word-dropout": str(options.word_dropout),
        "--recurrent-dropout": str(options.recurrent_dropout),
    }
