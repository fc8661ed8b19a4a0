"""The options of `arrows fit`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from arrows.cli.option_types import add_device, count, folds, positive, rate, share
from arrows.typesys import quoted

SHARE = 0.1  # of the examples that validate, and that test
DESCRIPTION = """Trains a classifier or regressor of documents from a raw file: JSON Lines, or a table (.csv,
.tsv), decompressed where its name ends in .gz. The model is inferred from the documents
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
        help="what to predict; dots lead into objects",
    )
    kinds = "default: a number, unless it is a text, a truth value or one of few whole numbers"
    add("--task", choices=["classes", "number"], help=f"what the label is ({kinds})")
    add("--output", type=Path, metavar="FOLDER", help="default: FILE without its endings, and .fit")
    usual = f": a file, or a share of those in FILE (default: {SHARE}, and 0 with --folds)"
    add("--validation", type=_part, metavar="FILE|SHARE", help=f"what decides which epoch is best{usual}")
    add("--test", type=_part, metavar="FILE|SHARE", help=f"what measures the model at the end{usual}")
    cross = (
        "cross-validation: each of K parts of the examples measures a model that has learnt from the others"
    )
    add("--folds", type=folds, metavar="K", help=f"{cross}; the model that is kept learns from all")
    add("--width", type=positive, default=32, metavar="N", help="size of the vectors (default: 32)")
    add("--dropout", type=share, default=0.3, metavar="SHARE", help="of the last vector (default: 0.3)")
    many: dict[str, Any] = {"action": "append", "default": []}
    add("--ignore", **many, metavar="PATH", help="a field to leave out, such as author.email")
    kinds = "how to read a path, such as code=category or text=ngrams; ar.infer_block says which kinds"
    add("--kind", **many, type=_kind, metavar="PATH=KIND", help=f"{kinds} there are")
    add("--skip-errors", action="store_true", help="leave out lines with errors and without a label")
    add("--batch-size", type=positive, default=32, metavar="N", help="documents in a step (default: 32)")
    add("--epochs", type=positive, default=50, metavar="N", help="default: 50")
    add("--patience", type=count, default=7, metavar="N", help="epochs without a better one (default: 7)")
    add("--learning-rate", type=rate, default=0.003, metavar="RATE", help="of Adam (default: 0.003)")
    add("--l2", type=rate, default=1e-4, metavar="WEIGHT", help="weight decay (default: 0.0001)")
    add("--seed", type=count, default=0, metavar="N", help="default: 0")
    either = parser.add_mutually_exclusive_group().add_argument
    either("--resume", action="store_true", help="go on with the run that the folder holds, if there is one")
    either("--overwrite", action="store_true", help="replace the model and the run that the folder holds")
    add_device(parser)


def _part(text: str) -> Path | float:
    """A share of the examples, or a file."""
    try:
        float(text)
    except ValueError:
        return Path(text)
    return share(text)


def _kind(text: str) -> tuple[str, str]:
    """A path and its kind."""
    path, equals, kind = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected PATH=KIND, such as code=category, got {quoted(text)}")
    return path, kind
