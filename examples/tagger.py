"""A part-of-speech tagger on a treebank of Universal Dependencies.

The block is `arrows.models.tagger`: a bidirectional LSTM over the words of a sentence.  Each word is
its embedding and the last states of a bidirectional LSTM over its characters.

    python examples/tagger.py --data DIR

DIR holds one file each whose name ends in train.conllu, dev.conllu and test.conllu.  After each epoch it
prints the loss and the accuracy on dev; it keeps the model of the best epoch, and measures it on test at the
end: 0.950 on English ParTUT (mean of three seeds), after a minute.  The model is one for the command line:

    arrows predict tagger.safetensors text.conllu

Several processes train one model together: mpirun -n 4 python -m mpi4py examples/tagger.py --data DIR
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.data import TAGS, Sentence, read_conllu
from arrows.metrics import Accuracy
from arrows.models import tagger, tagger_vocabularies
from arrows.training import (
    Adam,
    Callback,
    Checkpoint,
    Epoch,
    Evaluation,
    NotFiniteError,
    train,
    world,
)


class Best(Callback):
    """Prints a line for each epoch, and keeps the best model so far in a file."""

    def __init__(self, judge: ar.Model, path: Path, *, words_in_a_sentence: float) -> None:
        self.judge, self.path, self.words = judge, path, words_in_a_sentence

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        if evaluation.best:
            figure = f"accuracy {evaluation.figures['accuracy']:.4f}"
            made = f"epoch {evaluation.epoch}, step {evaluation.step}, {figure}"
            ar.save_model(self.judge, self.path, metadata={"classes": json.dumps(TAGS), "evaluation": made})

    def after_epoch(self, epoch: Epoch, /) -> None:
        """An example is a sentence, but the line is about words."""
        figures = ", ".join(f"{name} {value:.4f}" for name, value in epoch.figures.items())
        speed = epoch.examples_per_second * self.words
        best = ", best so far" if epoch.best else ""
        loss = epoch.loss / self.words
        print(
            f"epoch {epoch.number}: loss {loss:.4f}, dev {figures}, {speed:,.0f} tokens/s{best}", flush=True
        )


def main(options: argparse.Namespace) -> None:
    """Trains, and measures the best model on test."""
    comm = world()
    first = comm is None or comm.Get_rank() == 0  # the one process that prints and writes
    state = options.save.with_name(f"{options.save.name}.state")
    goes_on = options.overwrite or (options.resume and any(map(Path.exists, Checkpoint(state).files)))
    if first and options.save.exists() and not goes_on:
        raise ar.ArrowValueError(f"{options.save} exists: --overwrite replaces it, another --save keeps it")
    learn, dev, test = (read(options.data, part) for part in ("train", "dev", "test"))
    words, characters = tagger_vocabularies(learn)
    sizes = {"size": options.state_size, "embedding": options.embedding_size}
    blocks = tagger(words, characters, **sizes, dropout=options.dropout)
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed, device=options.device)
    judge = ar.compile(blocks.judge, params=model.params, device=options.device)
    counts = [sum(map(len, sentences)) for sentences in (learn, dev, test)]
    if first:
        count = sum(array.size for array in model.params.values())
        print(
            f"{counts[0]:,} words in {len(learn):,} sentences to learn from, {counts[1]:,} dev, "
            f"{counts[2]:,} test; {len(words) - 1:,} words with vectors, {len(characters) - 1:,} characters; "
            f"{count:,} parameters",
            flush=True,
        )
    history = train(
        model,
        learn,
        Adam(options.learning_rate, clip_norm=5.0),
        epochs=options.epochs,
        batch_size=options.batch_size,
        seed=options.seed,
        evaluate=examination(judge, dev, words),
        callbacks=[Best(judge, options.save, words_in_a_sentence=counts[0] / len(learn))],
        best_by="accuracy",
        lower=False,
        checkpoint=Checkpoint(state, resume=options.resume, overwrite=options.overwrite),
        comm=comm,
    )
    if first and history.best is not None:
        kept = ar.load_model(options.save, device=options.device)
        figures = examination(kept, test, words)()
        print(
            f"test, with the model of epoch {history.best.epoch} ({options.save}):\n"
            f"  accuracy {figures['accuracy']:.4f}; of rare words, without a vector, "
            f"{figures['rare words']:.4f}"
        )


def examination(
    judge: ar.Model, sentences: Sequence[Sentence], words: ar.Vocabulary
) -> Callable[[], dict[str, float]]:
    """Measures a tagger: the shares of correct tags among all words, and among those without a vector."""
    every = [word for sentence in sentences for word in sentence]
    tags = ar.Vocabulary(TAGS, unknown=None).numbers(word["tag"] for word in every)
    rare = [-1 if words[word["word"].lower()] else tag for word, tag in zip(every, tags, strict=True)]
    prepared = judge.prepare(sentences)

    def figures() -> dict[str, float]:
        accuracy, of_rare = Accuracy(), Accuracy(ignore_index=-1)
        scores = np.concatenate(judge.predict(prepared, batch_size=64))
        accuracy.update(scores, tags)
        of_rare.update(scores, rare)
        return {**accuracy.figures(), "rare words": of_rare.figures()["accuracy"]}

    return figures


def read(folder: Path, part: str) -> list[Sentence]:
    """The sentences of a part of the treebank."""
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(f"{part}.conllu"))
    if len(paths) != 1:
        found = ", ".join(path.name for path in paths) or "none"
        raise ar.InputError(f"{folder}: expected one file *{part}.conllu, found {found}")
    sentences = read_conllu(paths[0]).to_list()
    if not sentences:
        raise ar.InputError(f"{paths[0]}: there are no sentences in this file")
    return sentences


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", required=True, help="*train.conllu, *dev.conllu, *test.conllu")
    add("--save", type=Path, metavar="FILE", default=Path("tagger.safetensors"), help="the best model")
    add("--resume", action="store_true", help="go on with the run whose state is in SAVE.state")
    add("--overwrite", action="store_true", help="replace the model and the run that are there already")
    add("--state-size", type=int, default=100)
    add("--embedding-size", type=int, default=64)
    add("--dropout", type=float, default=0.5, help="of the input and the output of the LSTM over words")
    add("--epochs", type=int, default=15)
    add("--batch-size", type=int, default=16, help="sentences in a step")
    add("--learning-rate", type=float, default=0.003)
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
        raise SystemExit(f"tagger: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit("tagger: interrupted; --resume goes on") from None
