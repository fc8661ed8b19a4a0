"""`arrows train sentiment`: the Tree-LSTM of Tai et al. on the Stanford Sentiment Treebank."""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.cli.model_files import describe, restore
from arrows.cli.option_types import OPTIMIZERS, count, decay, positive, rate, share
from arrows.cli.output_files import check_places, state_path
from arrows.data import Tree, Vector, read_trees, read_vectors, vocabulary, words
from arrows.machine import limited_to
from arrows.models import Examination, sentiment
from arrows.training import Epoch, Optimizer, save, train
from arrows.typesys.errors import ArrowValueError, InputError
from arrows.typesys.quoting import printable

FILES = ("train.txt", "dev.txt", "test.txt")
UNKNOWN = 0.05  # words without a vector begin uniform in +-0.05, as in the authors' code
DESCRIPTION = """Trains a binary Tree-LSTM with a loss at every node (Tai, Socher, Manning, "Improved Semantic
Representations From Tree-Structured Long Short-Term Memory Networks", ACL 2015) on labelled trees in the
bracket form of the Penn Treebank. After each epoch it prints the loss and the accuracies on dev; the model of
the epoch with the best fine-grained accuracy at the roots is kept, and measured on test at the end."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> parser.parse_args(["--data", "sst"]).state_size
    150
    """
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="holds train.txt, dev.txt and test.txt")
    add("--vectors", type=Path, metavar="FILE", help="word vectors to begin with, in GloVe's text format")
    add("--state-size", type=positive, default=150, metavar="N", help="default: 150")
    add(
        "--embedding-size",
        type=positive,
        metavar="N",
        help="size of the word vectors (default: that of --vectors, else 300)",
    )
    add("--batch-size", type=positive, default=25, metavar="N", help="trees in a step (default: 25)")
    add("--epochs", type=positive, default=10, metavar="N", help="default: 10")
    add("--optimizer", choices=sorted(OPTIMIZERS), default="adagrad", help="default: adagrad")
    add("--learning-rate", type=rate, default=0.05, metavar="RATE", help="default: 0.05")
    add(
        "--embedding-learning-rate",
        type=rate,
        metavar="RATE",
        help="of the word vectors (default: as --learning-rate); 0 keeps them as they are",
    )
    add(
        "--dropout",
        type=share,
        default=0.5,
        metavar="SHARE",
        help="of the state that the classifier does not see in training (default: 0.5)",
    )
    add(
        "--word-dropout",
        type=share,
        default=0.3,
        metavar="SHARE",
        help="of the word vectors that the leaves do not see in training (default: 0.3)",
    )
    add(
        "--recurrent-dropout",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="of what a node adds to its memory, in training (default: 0)",
    )
    add(
        "--average",
        type=decay,
        default=0.995,
        metavar="DECAY",
        help="judge and keep averages of the parameters over the steps, with this decay; 1: the plain mean, "
        "0: no averages (default: 0.995)",
    )
    add("--l2", type=rate, default=1e-4, metavar="WEIGHT", help="weight decay (default: 0.0001)")
    add("--seed", type=count, default=0, metavar="N", help="default: 0")
    add(
        "--save",
        type=Path,
        default=Path("sentiment.safetensors"),
        metavar="FILE",
        help="of the best model (default: sentiment.safetensors); the state of the run is in FILE.state",
    )
    add("--resume", action="store_true", help="go on from FILE.state where it is there")


@dataclass(frozen=True, slots=True)
class Data:
    """What a run reads before it begins: three lists of trees, and the vectors of their words."""

    learning: list[Tree]
    dev: list[Tree]
    test: list[Tree]
    vectors: dict[str, Vector]
    numbers: dict[str, int]


def read(folder: Path, vectors: Path | None = None) -> Data:
    """Reads the treebank and the vectors of its words.

    Words are numbered as `vocabulary` does, first those of train.txt; words of the other files count only if
    they have vectors. A word has the vector of its spelling without backslashes (the treebank writes `\\/`),
    as in the authors' code.

    Raises:
        InputError: a tree or a row of vectors that is none, a file without trees, vectors for none of the
            words.
        OSError: a file cannot be read.

    >>> read(Path("sst"), Path("glove.840B.300d.txt"))  # doctest: +SKIP
    """
    parts = []
    for name in FILES:
        parts.append(read_trees(folder / name))
        if not parts[-1]:
            raise InputError(f"{folder / name}: there are no trees in this file")
    numbers = vocabulary(parts[0])
    found: dict[str, Vector] = {}
    if vectors is not None:
        everything = dict.fromkeys(words([tree for part in parts for tree in part]))
        spelt = {word: word.replace("\\", "") for word in everything}
        known = read_vectors(vectors, spelt.values())
        found = {word: known[spelling] for word, spelling in spelt.items() if spelling in known}
        if not found:
            raise InputError(f"{vectors}: none of the {len(spelt):,} words of {folder} is in this file")
        for word in found:
            numbers.setdefault(word, len(numbers) + 1)
    return Data(parts[0], parts[1], parts[2], found, numbers)


def run(options: argparse.Namespace) -> int:
    """Trains, prints the figures of each epoch, keeps the best model and measures it on the test trees.

    Returns:
        The exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: data or options that are wrong; nothing has been written then.
        NotFiniteError: loss or parameters have become NaN; the best model until then is kept.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> run(parser.parse_args(["--data", "sst", "--epochs", "5"]))  # doctest: +SKIP
    0
    """
    check_places(options.save)
    data = read(options.data, options.vectors)
    embedding = _embedding_size(options, data)
    blocks = sentiment(
        data.numbers,
        size=options.state_size,
        embedding=embedding,
        dropout=options.dropout,
        word_dropout=options.word_dropout,
        recurrent_dropout=options.recurrent_dropout,
    )
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed)
    judge = ar.compile(blocks.judge, params=model.params)
    if options.vectors is not None:
        set_vectors(model, data, options.seed)
    about = describe(data.numbers, options.state_size, embedding)
    print(
        f"{len(data.learning):,} trees to learn from, {len(data.dev):,} dev, {len(data.test):,} test; "
        f"{len(data.numbers):,} words, {len(data.vectors):,} with vectors; "
        f"{sum(array.size for array in model.params.values()):,} parameters",
        flush=True,
    )
    examination = Examination(judge, data.dev)

    def after_epoch(epoch: Epoch) -> None:
        if epoch.best:
            save(model, options.save, about)
        print(f"{epoch}{', best so far' if epoch.best else ''}", flush=True)

    # Products this small gain nothing from a second thread, and on a busy machine threads that wait for each
    # other cost fifty times the work (measured).
    with limited_to(options.threads or 1):
        try:
            history = train(
                model,
                data.learning,
                _optimizer(options),
                epochs=options.epochs,
                batch_size=options.batch_size,
                seed=options.seed,
                evaluate=examination,
                after_epoch=after_epoch,
                best_by="fine",
                checkpoint_path=state_path(options.save),
                resume=options.resume,
                metadata=_identity(options, data, embedding),
                unit="tree",
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("--resume goes on from here") from None
        best = max((epoch for epoch in history if epoch.best), key=lambda epoch: epoch.number)
        figures = Examination(restore(options.save), data.test)()
    print(f"test, with the model of epoch {best.number} ({printable(str(options.save))}):")
    print(f"  at the roots   fine-grained {figures['fine']:.4f}, binary {figures['binary']:.4f}")
    print(f"  at all nodes   fine-grained {figures['nodes fine']:.4f}, binary {figures['nodes binary']:.4f}")
    return 0


def set_vectors(model: ar.Model, data: Data, seed: int = 0) -> None:
    """Puts the vectors into the first values of the embedding; words without one get small random numbers.

    >>> data = Data([], [], [], {"good": np.ones(3, np.float32)}, {"film": 1, "good": 2})
    >>> model = ar.compile(sentiment(data.numbers, size=2, embedding=3).learn, loss="loss")
    >>> set_vectors(model, data)
    >>> model.params["embed/weight"][2].tolist()
    [1.0, 1.0, 1.0]
    """
    table = model.params["embed/weight"]
    values = np.random.default_rng(seed).uniform(-UNKNOWN, UNKNOWN, table.shape).astype(np.float32)
    for word, vector in data.vectors.items():
        values[data.numbers[word]] = vector
    table[...] = model.device.to_device(values)


def _embedding_size(options: argparse.Namespace, data: Data) -> int:
    if not data.vectors:
        return int(options.embedding_size or 300)
    size = len(next(iter(data.vectors.values())))
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


def _identity(options: argparse.Namespace, data: Data, embedding: int) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""
    contents = hashlib.sha256()
    for name in FILES[:2]:
        contents.update((options.data / name).read_bytes())
    for word, vector in data.vectors.items():
        contents.update(word.encode())
        contents.update(vector.tobytes())
    return {
        "data": contents.hexdigest()[:16],
        "--state-size": str(options.state_size),
        "--embedding-size": str(embedding),
        "--dropout": str(options.dropout),
        "--word-dropout": str(options.word_dropout),
        "--recurrent-dropout": str(options.recurrent_dropout),
    }
