"""The command `arrows`: `arrows check`, `show`, `demo`, `fit`, `train` and `predict`.

Exit status: 0 on success, 1 if the work failed, 2 if the request or data that it names was wrong. After an
error, one line on standard error says what was wrong. If the reader of the output has gone (`| head`), the
command ends quietly with 141, as other programs do. A stream that is closed (`>&-`) counts as `/dev/null`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from types import ModuleType
from typing import NoReturn

from arrows.cli import (
    check,
    demo,
    fit,
    show,
    train_sentiment,
    train_tagger,
)
from arrows.cli.exit_codes import LINE, exit_status, open_streams
from arrows.cli.job import finished, first_prints, own_device
from arrows.cli.option_types import positive
from arrows.cli.predict import any_model, sentiment, tagger
from arrows.machine import limited_to, set_threads
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import printable, shortened
from arrows.version import __version__

ANY_MODEL = "model"
TRAINING = ("fit", "train")
PREDICT_KINDS = (ANY_MODEL, "sentiment", "tagger")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: what follows `arrows`; default: the arguments of this process.

    Returns:
        The exit status.

    Raises:
        SystemExit: with status 0 after `--help` and `--version`, 2 for options that do not exist.

    >>> main(["demo", "(good film"])
    2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    try:
        parser = _parser()
        if any("\0" in word for word in words):  # a shell passes none, but a program that calls `main` may
            parser.error("an argument holds a null character")
        options = parser.parse_args(_with_kind(words))
    except SystemExit as ended:  # after --help, or for options that do not exist
        status = int(ended.code or 0)
        raise SystemExit(exit_status("arrows", lambda: status)) from None
    kind = getattr(options, "model_kind", None)
    program = " ".join(filter(None, ("arrows", options.command, None if kind == ANY_MODEL else kind)))
    threads = options.threads or options.default_threads
    with nullcontext() if threads is None else limited_to(threads):
        if options.threads is not None:
            set_threads(options.threads)  # it warns where none can be set
        if options.command not in TRAINING:
            return exit_status(program, lambda: int(options.run(options)))
        return finished(lambda: exit_status(program, lambda: _train(options)))


def _train(options: argparse.Namespace) -> int:
    """Runs a command that trains; of several processes that train together, one prints."""
    with first_prints():
        options.device = own_device(options.device)
        return int(options.run(options))


def _with_kind(words: list[str]) -> list[str]:
    """The arguments with the kind of model that `arrows predict MODEL FILE` leaves out.

    >>> _with_kind(["predict", "m.safetensors", "-"]), _with_kind(["predict", "tagger", "m"])
    (['predict', 'model', 'm.safetensors', '-'], ['predict', 'tagger', 'm'])
    """
    command = next(
        (
            place
            for place, (before, word) in enumerate(pairwise(["", *words]))
            if not word.startswith("-") and before != "--threads"
        ),
        len(words),
    )
    following = words[command + 1 :]
    if words[command : command + 1] != ["predict"] or not following:
        return words
    if following[0] in (*PREDICT_KINDS, "-h", "--help"):
        return words
    return [*words[: command + 1], ANY_MODEL, *following]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors escape control characters in the arguments that they quote."""

    def error(self, message: str) -> NoReturn:
        super().error(shortened(printable(message), LINE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="arrows", description=" ".join(__doc__.partition("\n\n")[0].split()))
    parser.add_argument("--version", action="version", version=f"arrows {__version__}")
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="threads of NumPy's matrix products (default: 1 for demo, fit, train and predict, whose "
        "products are small; otherwise NumPy's own default)",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    _add(commands, "demo", "train a sentiment Tree-LSTM on generated trees and try it", demo)
    _add(commands, "check", "print types, parameters and operations of a file's blocks", check, threads=None)
    _add(commands, "show", "draw a block as text, mermaid, svg or html", show, threads=None)

    _add(commands, "fit", "train a classifier or regressor on a raw file of documents", fit)

    train = commands.add_parser("train", help="train a model on real data")
    models = train.add_subparsers(dest="model_kind", required=True, metavar="MODEL")
    _add(models, "sentiment", "a Tree-LSTM on the Stanford Sentiment Treebank", train_sentiment)
    _add(models, "tagger", "a BiLSTM tagger on Universal Dependencies", train_tagger)

    predict = commands.add_parser(
        "predict",
        help="apply a saved model",
        usage="arrows predict [-h] [sentiment | tagger] MODEL [FILE] ...",
        description="arrows predict MODEL FILE.jsonl applies any saved model to a file of JSON Lines. Two "
        "models read files of their own: arrows predict sentiment, arrows predict tagger. Each has its own "
        "options: arrows predict model --help, and so on.",
    )
    models = predict.add_subparsers(dest="model_kind", required=True, metavar="KIND", prog="arrows predict")
    _add(models, ANY_MODEL, "any saved model, to JSON Lines; the word may be left out", any_model)
    _add(models, "sentiment", "classify trees", sentiment)
    _add(models, "tagger", "tag the words of sentences", tagger)

    command = commands.add_parser("bench", help="moved: python -m benchmarks, in a clone of the repository")
    command.add_argument("arguments", nargs=argparse.REMAINDER)
    command.set_defaults(run=_refuse_bench, default_threads=None)
    return parser


def _add(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    help: str,
    module: ModuleType,
    *,
    threads: int | None = 1,
) -> None:
    """Adds the subcommand of a module, which has `add_options` and `run`.

    By default it uses one thread. The matrix products of the models in `arrows.models` are so small that a
    second thread gains nothing, and on a busy machine threads that wait for each other take fifty times as
    long (measured).
    """
    command = commands.add_parser(name, help=help)
    module.add_options(command)
    # Without a default, so that it does not undo `--threads` before the command.
    command.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        default=argparse.SUPPRESS,
        help=f"threads of NumPy's matrix products (default: {threads or 'those of NumPy'})",
    )
    command.set_defaults(run=module.run, default_threads=threads)


def _refuse_bench(options: argparse.Namespace) -> int:
    command = shlex.join(["python", "-m", "benchmarks", *options.arguments])
    raise ArrowValueError(f"benchmarks do not come with the package; in a clone of it: {command}")
