"""A Tree-LSTM that learns the sentiment of every phrase, on the Stanford Sentiment Treebank.

The block is `arrows.models.sentiment`, a binary Tree-LSTM with a loss at every node (Tai, Socher, Manning,
"Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks", ACL 2015).

    python examples/sentiment.py --data DIR

DIR holds train.txt, dev.txt and test.txt: trees in brackets, one a line.  After each epoch it prints the loss
and the accuracies on dev; it keeps the model of the epoch with the best fine-grained accuracy at the roots,
and measures it on test at the end: 0.462 fine-grained, 0.848 binary (means of four seeds), in a few minutes
on one core.  The model is one for the command line:

    echo "((not good) film)" | arrows predict sentiment.safetensors --format trees --show

Several processes train one model together: mpirun -n 4 python -m mpi4py examples/sentiment.py --data DIR
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.data import CLASSES, Tree, Vector, read_trees, read_vectors, words
from arrows.models import Examination, sentiment
from arrows.training import (
    Adagrad,
    Callback,
    Checkpoint,
    Epoch,
    Evaluation,
    NotFiniteError,
    train,
    world,
)

UNKNOWN = 0.05  # words without a vector begin uniform in +-0.05, as in the authors' code


class Best(Callback):
    """Prints a line for each epoch, and keeps the best model so far in a file."""

    def __init__(self, judge: ar.Model, path: Path) -> None:
        self.judge, self.path = judge, path

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        if evaluation.best:
            made = f"epoch {evaluation.epoch}, step {evaluation.step}, fine {evaluation.figures['fine']:.4f}"
            texts = {"classes": json.dumps(CLASSES), "evaluation": made}
            ar.save_model(self.judge, self.path, metadata=texts)

    def after_epoch(self, epoch: Epoch, /) -> None:
        print(f"{epoch}{', best so far' if epoch.best else ''}", flush=True)


def main(options: argparse.Namespace) -> None:
    """Trains, and measures the best model on test."""
    comm = world()
    first = comm is None or comm.Get_rank() == 0  # the one process that prints and writes
    state = options.save.with_name(f"{options.save.name}.state")
    goes_on = options.overwrite or (options.resume and any(map(Path.exists, Checkpoint(state).files)))
    if first and options.save.exists() and not goes_on:
        raise ar.ArrowValueError(f"{options.save} exists: --overwrite replaces it, another --save keeps it")
    learn, dev, test = (read(options.data / f"{part}.txt") for part in ("train", "dev", "test"))
    known, vectors = ar.Vocabulary.of(words(learn)).words[1:], {}
    if options.vectors is not None:
        vectors = vectors_of(options.vectors, [*learn, *dev, *test])
    numbers = ar.Vocabulary(list(dict.fromkeys([*known, *vectors])))
    size = len(next(iter(vectors.values()))) if vectors else options.embedding_size
    blocks = sentiment(
        numbers,
        size=options.state_size,
        embedding=size,
        dropout=options.dropout,
        word_dropout=options.word_dropout,
    )
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed, device=options.device)
    judge = ar.compile(blocks.judge, params=model.params, device=options.device)
    if vectors:
        set_vectors(model, numbers, vectors, options.seed)
    if first:
        count = sum(array.size for array in model.params.values())
        print(
            f"{len(learn):,} trees to learn from, {len(dev):,} dev, {len(test):,} test; {len(numbers) - 1:,} "
            f"words, {len(vectors):,} with vectors; {count:,} parameters",
            flush=True,
        )
    history = train(
        model,
        learn,
        Adagrad(options.learning_rate, weight_decay=options.l2, average=options.average or None),
        epochs=options.epochs,
        batch_size=options.batch_size,
        seed=options.seed,
        evaluate=Examination(judge, dev),
        callbacks=[Best(judge, options.save)],
        best_by="fine",
        lower=False,
        checkpoint=Checkpoint(state, resume=options.resume, overwrite=options.overwrite),
        comm=comm,
    )
    if first and history.best is not None:
        kept = ar.load_model(options.save, device=options.device)
        figures = Examination(kept, test)()
        print(
            f"test, with the model of epoch {history.best.epoch} ({options.save}):\n"
            f"  at the roots   fine-grained {figures['fine']:.4f}, binary {figures['binary']:.4f}\n"
            f"  at all nodes   fine-grained {figures['nodes fine']:.4f}, binary {figures['nodes binary']:.4f}"
        )


def read(path: Path) -> list[Tree]:
    """The trees of a file."""
    trees = read_trees(path).to_list()
    if not trees:
        raise ar.InputError(f"{path}: there are no trees in this file")
    return trees


def vectors_of(path: Path, trees: list[Tree]) -> dict[str, Vector]:
    """The vectors of the words of trees; the treebank writes `\\/` for `/`."""
    spellings = {word: word.replace("\\", "") for word in words(trees)}
    rows = read_vectors(path, spellings.values())
    vectors = {word: rows[spelling] for word, spelling in spellings.items() if spelling in rows}
    if not vectors:
        raise ar.InputError(f"{path}: none of the {len(spellings):,} words of the trees is in this file")
    return vectors


def set_vectors(model: ar.Model, numbers: ar.Vocabulary, vectors: dict[str, Vector], seed: int) -> None:
    """Begins with the vectors of words, and with small random numbers for the others."""
    table = model.params["embed/weight"]
    values = np.random.default_rng(seed).uniform(-UNKNOWN, UNKNOWN, table.shape).astype(np.float32)
    for word, vector in vectors.items():
        values[numbers[word]] = vector
    table[...] = model.device.to_device(values)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", required=True, help="train.txt, dev.txt and test.txt")
    add("--vectors", type=Path, metavar="FILE", help="word vectors to start from, in GloVe's text format")
    add("--save", type=Path, metavar="FILE", default=Path("sentiment.safetensors"), help="the best model")
    add("--resume", action="store_true", help="go on with the run whose state is in SAVE.state")
    add("--overwrite", action="store_true", help="replace the model and the run that are there already")
    add("--state-size", type=int, default=150)
    add("--embedding-size", type=int, default=300, help="of words; that of --vectors, where they are given")
    add("--dropout", type=float, default=0.5, help="of the state before the classifier")
    add("--word-dropout", type=float, default=0.3, help="of the word vectors")
    add("--epochs", type=int, default=10)
    add("--batch-size", type=int, default=25, help="trees in a step")
    add("--learning-rate", type=float, default=0.05)
    add("--l2", type=float, default=1e-4, help="weight decay")
    add("--average", type=float, default=0.995, help="decay of averages of the parameters; 0: none")
    add("--seed", type=int, default=0)
    add("--threads", type=int, default=1, help="of NumPy's matrix products; these are small")
    add("--device", default="cpu", help="cpu, cuda, cuda:1 or auto")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = parsed()
    ar.set_threads(options.threads)
    try:
        main(options)
    except (ar.ArrowValueError, ar.InputError, NotFiniteError, OSError) as error:
        raise SystemExit(f"sentiment: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit("sentiment: interrupted; --resume goes on") from None
