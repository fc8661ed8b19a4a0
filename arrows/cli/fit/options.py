"""The options of `arrows fit`."""

from __future__ import annotations

import argparse
from pathlib import Path

from arrows.cli.job import in_job
from arrows.cli.option_types import positive, share
from arrows.cli.train_command import add_training_options
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import quoted

SHARE = 0.1  # of the examples that validate, and that test
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
    for name in ("validation", "test"):
        add(
            f"--{name}-share",
            type=share,
            metavar="SHARE",
            help=f"of the examples, if no file has these (default: {SHARE}, and 0 with --folds)",
        )
    add(
        "--folds",
        type=_folds,
        metavar="K",
        help="cross-validation: each of K parts of the examples measures a model that has learnt from the "
        "others; figures are the mean of the K and their standard deviation; the model that is kept learns "
        "from all, for as many epochs as are best on average",
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
        patience=7,
    )


def require_folds(options: argparse.Namespace) -> None:
    """Refuses options that say how to validate or to go on, where folds do.

    Raises:
        ArrowValueError: it names the option.
    """
    if options.folds is None:
        return
    for name in ("validation", "validation_share", "evaluate_every", "plateau", "resume", "find_rate"):
        if getattr(options, name) not in (None, False):
            raise ArrowValueError(
                f"--folds and --{name.replace('_', '-')} do not go together: with folds, all examples but "
                "those to test by validate, once each, after each epoch of a run of its own"
            )
    if in_job():
        raise ArrowValueError("--folds trains in one process, and this is one of several of an MPI job")


def _folds(text: str) -> int:
    """How many folds there are: 2 at least."""
    count = positive(text)
    if count < 2:
        raise argparse.ArgumentTypeError("expected 2 folds at least")
    return count


def _kind(text: str) -> tuple[str, str]:
    """A path and its kind."""
    path, equals, kind = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected PATH=KIND, such as code=category, got {quoted(text)}")
    return path, kind
