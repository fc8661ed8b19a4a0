"""The command `arrows`: `arrows check`, `arrows show`, `arrows demo`, `arrows train` and `arrows predict`.

Exit status: 0 if all went well, 1 if the work failed, 2 if the request or the data it names was wrong; then
there is one line on standard error that says what. If what reads the output has gone (`| head`), the command
ends quietly, with 141 as other programs do; a stream that is closed (`>&-`) counts as `/dev/null`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NoReturn

from arrows.cli import check, predict_sentiment, show, train_sentiment, train_tagger
from arrows.cli.exit_codes import LINE, exit_status, open_streams
from arrows.cli.option_types import count, positive
from arrows.machine import limited_to, set_threads
from arrows.typesys.errors import ArrowValueError
from arrows.typesys.quoting import printable, shortened
from arrows.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: what follows `arrows`; those of this process if not given.

    Returns:
        The exit status.

    Raises:
        SystemExit: status 0 after `--help` and `--version`, 2 for options that do not exist.

    >>> main(["demo", "(good film"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    try:
        parser = _parser()
        if any("\0" in argument for argument in given):  # the system takes none; a program may
            parser.error("an argument holds a null character")
        options = parser.parse_args(given)
    except SystemExit as ended:  # after --help, or for options that do not exist
        status = int(ended.code or 0)
        raise SystemExit(exit_status("arrows", lambda: status)) from None
    program = " ".join(("arrows", options.command, *filter(None, [getattr(options, "model_kind", None)])))
    with nullcontext() if options.threads is None else limited_to(options.threads):
        if options.threads is not None:
            set_threads(options.threads)  # it warns where none can be set
        return exit_status(program, lambda: int(options.run(options, given)))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors, which quote what was typed, steer no terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(shortened(printable(message), LINE))


def _parser() -> argparse.ArgumentParser:
    words = " ".join(__doc__.partition("\n\n")[0].split())
    parser = _Parser(prog="arrows", description=words)
    parser.add_argument("--version", action="version", version=f"arrows {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="of NumPy's matrix products (default: 1 for demo, train and predict, whose products are small; "
        "else as many as NumPy takes)",
    )

    demo = commands.add_parser("demo", help="train a sentiment Tree-LSTM on generated trees and try it")
    demo.add_argument("trees", nargs="*", metavar="TREE", help="classified at the end: '((not good) film)'")
    demo.add_argument("--examples", type=count, default=4000, help="trees to train on (default: 4000)")
    demo.add_argument("--epochs", type=count, default=6, help="default: 6")
    demo.add_argument("--seed", type=count, default=0, help="default: 0")
    demo.add_argument(
        "--save", default="sentiment.safetensors", metavar="FILE", help="default: sentiment.safetensors"
    )
    demo.set_defaults(run=_demo)

    checking = commands.add_parser("check", help="the types, parameters and operations of a file's blocks")
    check.add_options(checking)
    checking.set_defaults(run=lambda options, _: check.run(options))

    showing = commands.add_parser("show", help="a block as a picture: text, mermaid, svg or html")
    show.add_options(showing)
    showing.set_defaults(run=lambda options, _: show.run(options))

    train = commands.add_parser("train", help="train a model on real data")
    trained = train.add_subparsers(dest="model_kind", required=True, metavar="MODEL")
    learner = trained.add_parser("sentiment", help="a Tree-LSTM on the Stanford Sentiment Treebank")
    train_sentiment.add_options(learner)
    learner.set_defaults(run=lambda options, _: train_sentiment.run(options))

    tagging = trained.add_parser("tagger", help="a BiLSTM tagger on Universal Dependencies")
    train_tagger.add_options(tagging)
    tagging.set_defaults(run=lambda options, _: train_tagger.run(options))

    predict = commands.add_parser("predict", help="ask a trained model")
    asked = predict.add_subparsers(dest="model_kind", required=True, metavar="MODEL")
    classifier = asked.add_parser("sentiment", help="classify trees")
    predict_sentiment.add_options(classifier)
    classifier.set_defaults(run=lambda options, _: predict_sentiment.run(options))

    bench = commands.add_parser("bench", help="moved: python -m benchmarks, in a clone of the repository")
    bench.add_argument("arguments", nargs=argparse.REMAINDER)
    bench.set_defaults(run=_bench)
    return parser


def _demo(options: argparse.Namespace, _: list[str]) -> int:
    from arrows.cli import demo  # builds on the engine, which `arrows --help` need not wait for

    demo.run(
        options.trees,
        examples=options.examples,
        epochs=options.epochs,
        seed=options.seed,
        path=options.save,
        threads=options.threads or 1,
    )
    return 0


def _bench(options: argparse.Namespace, _: list[str]) -> int:
    command = shlex.join(["python", "-m", "benchmarks", *options.arguments])
    raise ArrowValueError(f"benchmarks do not come with the package; in a clone of it: {command}")
