"""The command `arrows`: `arrows demo` and `arrows bench`.

Exit status: 0 if all went well, 1 if the work failed, 2 if the request or the data it names was wrong; then
there is one line on standard error that says what.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arrows.bench.command import add_options, spawn
from arrows.exits import exit_status
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
    options = _parser().parse_args(given)
    return exit_status(f"arrows {options.command}", lambda: int(options.run(options, given)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arrows", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--version", action="version", version=f"arrows {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train a sentiment Tree-LSTM on generated trees and try it")
    demo.add_argument("trees", nargs="*", metavar="TREE", help="classified at the end: '((not good) film)'")
    demo.add_argument("--examples", type=_count, default=4000, help="trees to train on (default: 4000)")
    demo.add_argument("--epochs", type=_count, default=6, help="default: 6")
    demo.add_argument("--seed", type=_count, default=0, help="default: 0")
    demo.add_argument(
        "--save", default="sentiment.safetensors", metavar="FILE", help="default: sentiment.safetensors"
    )
    demo.set_defaults(run=_demo)

    bench = commands.add_parser("bench", help="measure arrows against its baselines on this machine")
    add_options(bench)
    bench.set_defaults(run=lambda _, given: spawn(given[given.index("bench") + 1 :]))
    return parser


def _demo(options: argparse.Namespace, _: list[str]) -> int:
    from arrows import demo  # builds on the engine, which `arrows --help` need not wait for

    demo.run(
        options.trees, examples=options.examples, epochs=options.epochs, seed=options.seed, path=options.save
    )
    return 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)
