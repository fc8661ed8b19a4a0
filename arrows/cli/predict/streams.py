"""What the commands `arrows predict ...` share: the file they read, and where their results go."""

from __future__ import annotations

import argparse
import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from arrows.cli.option_types import add_device
from arrows.cli.outputs import require_output
from arrows.data.file_examples import lines_of
from arrows.files import replacing

STDIN = "standard input"


def add_predict_options(parser: argparse.ArgumentParser, *, model: str, examples: str) -> None:
    """Adds the options that every predicting command has.

    Args:
        parser: of the command.
        model: which model it takes.
        examples: what its file of examples holds.
    """
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help=model)
    add("examples", nargs="?", default="-", metavar="FILE", help=f"{examples}; default, or -: {STDIN}")
    add_device(parser)
    add("--output", type=Path, metavar="FILE", help="write to a file, which is written whole or not at all")


def read_examples(options: argparse.Namespace) -> tuple[bytes, str]:
    """All that the file of examples holds, and its name for messages.

    Raises:
        OSError: it cannot be read.
    """
    if options.examples == "-":
        return _stdin().read(), STDIN
    return Path(options.examples).read_bytes(), options.examples


def example_lines(options: argparse.Namespace) -> tuple[Iterator[tuple[int, bytes]], str]:
    """The lines of the file of examples as they come, with their numbers from 1; and its name in errors."""
    if options.examples == "-":
        return enumerate(_stdin(), start=1), STDIN
    return lines_of(Path(options.examples)), options.examples


@contextmanager
def output_of(options: argparse.Namespace) -> Iterator[TextIO]:
    """Where results go: standard output, or the file of `--output`, which is kept if an error leaves."""
    if options.output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    require_output(options.output, options.model, options.examples)
    with replacing(options.output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed; name a file of examples")
    return sys.stdin.buffer
