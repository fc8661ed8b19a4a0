"""`arrows train tagger`: a part-of-speech tagger on a treebank of Universal Dependencies."""

from __future__ import annotations

import argparse
from pathlib import Path

import arrows as ar
from arrows.cli.model_files import restore_tagger
from arrows.cli.option_types import OPTIMIZERS, positive, rate, share
from arrows.cli.train_command import (
    add_training_options,
    content_hash,
    parameter_count,
    require_writable,
    train_best,
)
from arrows.data import Sentence, read_conllu
from arrows.models import Lexicon, TagExamination, lexicon_tagger
from arrows.training import Epoch, Optimizer
from arrows.typesys import InputError

PARTS = ("train", "dev", "test")
DESCRIPTION = """Trains a bidirectional LSTM over the words of sentences to predict universal parts of speech.
Each word is its embedding and the last states of a bidirectional LSTM over its characters. After each epoch
it prints the loss and the accuracy on dev. It keeps the model of the best epoch, and measures it on test at
the end."""

TAGGER_SIZES = ("size", "embedding", "character_size", "character_embedding")
"""The sizes of a tagger, as its function and its files name them."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with one CoNLL-U file each whose name ends in train.conllu, dev.conllu and test.conllu",
    )
    sizes = [
        ("--state-size", "size", 100),
        ("--embedding-size", "embedding", 64),
        ("--character-state-size", "character_size", 32),
        ("--character-embedding-size", "character_embedding", 24),
    ]
    for option, name, size in sizes:
        add(option, dest=name, type=positive, default=size, metavar="N", help=f"default: {size}")
    add(
        "--dropout",
        type=share,
        default=0.5,
        metavar="SHARE",
        help="dropout of the input and the output of the LSTM over words (default: 0.5)",
    )
    add("--clip", type=rate, default=5.0, metavar="NORM", help="gradient clipping; 0: none (default: 5)")
    add_training_options(
        parser,
        example="sentence",
        batch_size=16,
        epochs=15,
        optimizer="adam",
        learning_rate=0.003,
        l2=0.0,
        save="tagger.safetensors",
    )


def find(folder: Path) -> dict[str, Path]:
    """The files of a treebank, by part; refuses a folder with none, or several, for a part."""
    names = sorted(path.name for path in folder.iterdir())
    files = {}
    for part in PARTS:
        matching = [name for name in names if name.endswith(f"{part}.conllu")]
        if len(matching) != 1:
            listed = ", ".join(matching) or "none"
            raise InputError(f"{folder}: expected one file *{part}.conllu, found {listed}")
        files[part] = folder / matching[0]
    return files


def read(files: dict[str, Path]) -> dict[str, list[Sentence]]:
    """The sentences of a treebank, by part; refuses a file without sentences."""
    sentences: dict[str, list[Sentence]] = {}
    for part, path in files.items():
        sentences[part] = read_conllu(path)
        if not sentences[part]:
            raise InputError(f"{path}: there are no sentences in this file")
    return sentences


def run(options: argparse.Namespace) -> int:
    """Trains and tests as `train_best`; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; nothing has been written then.
        And as `train_best`.
    """
    require_writable(options)
    files = find(options.data)
    sentences = read(files)
    lexicon = Lexicon.of(sentences["train"])
    sizes = {name: getattr(options, name) for name in TAGGER_SIZES}
    blocks = lexicon_tagger(lexicon.words, lexicon.characters, **sizes, dropout=options.dropout)
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed, device=options.device)
    judge = ar.compile(blocks.judge, params=model.params, device=options.device)
    tokens = {part: sum(map(len, sentences[part])) for part in PARTS}
    print(
        f"{tokens['train']:,} words in {len(sentences['train']):,} sentences to learn from, "
        f"{tokens['dev']:,} dev, {tokens['test']:,} test; {len(lexicon.words):,} words with vectors, "
        f"{len(lexicon.characters):,} characters; {parameter_count(model)}",
        flush=True,
    )

    def report(epoch: Epoch) -> str:
        # An example is a sentence, but the line is about words.
        loss = epoch.loss * len(sentences["train"]) / tokens["train"]
        figures = ", ".join(f"{name} {value:.4f}" for name, value in epoch.figures.items())
        speed = tokens["train"] / epoch.seconds if epoch.seconds else 0.0
        return f"epoch {epoch.number}: loss {loss:.4f}, dev {figures}, {speed:,.0f} tokens/s"

    def test() -> str:
        restored, lexicon = restore_tagger(options.save, options.device)
        figures = TagExamination.of(restored, sentences["test"], lexicon)()
        rare = figures["rare words"]
        return f"  accuracy {figures['accuracy']:.4f}; of rare words, without a vector, {rare:.4f}"

    train_best(
        options,
        model,
        sentences["train"],
        _optimizer(options),
        evaluate=TagExamination.of(judge, sentences["dev"], lexicon),
        best_by="accuracy",
        kept=judge,
        metadata=_run_identity(options, files),
        unit="sentence",
        test=test,
        report=report,
    )
    return 0


def _optimizer(options: argparse.Namespace) -> Optimizer:
    return OPTIMIZERS[options.optimizer](
        options.learning_rate, weight_decay=options.l2, clip_norm=options.clip or None
    )


def _run_identity(options: argparse.Namespace, files: dict[str, Path]) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""
    return {
        "data": content_hash(files[part].read_bytes() for part in PARTS[:2]),
        **{name: str(getattr(options, name)) for name in TAGGER_SIZES},
        "dropout": str(options.dropout),
    }
