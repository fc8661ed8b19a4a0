"""The options of `arrows fit` that say where the numbers of a run are written down."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arrows.cli.job import is_first
from arrows.cli.outputs import require_output
from arrows.files import require_replaceable
from arrows.training import Callback, JsonLines


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `run_logs` reads."""
    add = parser.add_argument
    add("--log", type=Path, metavar="FILE", help="append a line of JSON for each step, evaluation and epoch")


@contextmanager
def run_logs(options: argparse.Namespace) -> Iterator[list[Callback]]:
    """The callbacks that `options` ask for, on the first rank alone.

    Raises:
        ArrowValueError: a file is one of those that the command reads, a model, or the state of a run.
        OSError: a file cannot be written.
    """
    if not is_first():
        yield []
        return
    read = [value for name, value in vars(options).items() if name not in ("log", "save")]
    require_output(options.log, *read, option="--log")
    if options.log is not None:
        require_replaceable(options.log)
    yield [JsonLines(options.log)] if options.log is not None else []
