"""The options of `arrows fit`."""

from __future__ import annotations

import argparse
from pathlib import Path

from arrows.cli.option_types import positive, share
from arrows.cli.train_command import add_training_options
from arrows.typesys.quoting import quoted

DESCRIPTION = """Trains a classifier or regressor of documents from a raw file: JSON Lines, or a table (.csv,
.tsv), decompressed where its name ends in .gz or .zst. The model is inferred from the documents
(ar.infer_block); whether it predicts classes or a number, from the label. Writes into a folder: the model,
for `arrows predict`; the source of its block, to edit; the history of the run; and a report, which it also
prints."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("data", type=Path, metavar="FILE", help="examples: JSON Lines, .csv or .tsv")
    add(
        "--label",
        required=True,
        metavar="FIELD",
        help="the field to predict; dots lead into objects: review.stars",
    )
    add(
        "--task",
        choices=["classes", "number"],
        help="what the label is (default: a number, unless it is a text, a truth value or one of few whole "
        "numbers)",
    )
    add("--output", type=Path, metavar="FOLDER", help="default: FILE without its endings, and .fit")
    add("--validation", type=Path, metavar="FILE", help="examples that decide which epoch is the best")
    add("--test", type=Path, metavar="FILE", help="examples that measure the model at the end")
    for name, default in (("validation", 0.1), ("test", 0.1)):
        add(
            f"--{name}-share",
            type=share,
            default=default,
            metavar="SHARE",
            help=f"of the examples, if no file has these (default: {default})",
        )
    add("--width", type=positive, default=32, metavar="N", help="size of the vectors (default: 32)")
    add("--dropout", type=share, default=0.3, metavar="SHARE", help="of the last vector (default: 0.3)")
    add(
        "--ignore",
        action="append",
        default=[],
        metavar="PATH",
        help="a field to leave out, such as author.email; may be given several times",
    )
    add(
        "--kind",
        action="append",
        default=[],
        type=_kind,
        metavar="PATH=KIND",
        help="how to read a path, such as code=category or text=characters (ar.infer_block says which kinds "
        "there are); may be given several times",
    )
    add("--skip-errors", action="store_true", help="leave out lines with errors and without a label")
    add(
        "--on-disk",
        action="store_true",
        help="keep examples, as the model reads them, in files of the output folder while the run lasts, "
        "not in memory",
    )
    add_training_options(
        parser,
        example="document",
        batch_size=32,
        epochs=50,
        optimizer="adam",
        learning_rate=0.003,
        l2=1e-4,
        save=None,
        patience=7,
    )


def _kind(text: str) -> tuple[str, str]:
    """A path and its kind."""
    path, equals, kind = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected PATH=KIND, such as code=category, got {quoted(text)}")
    return path, kind
