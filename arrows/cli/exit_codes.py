"""How a command ends: an error that users can correct is one line and status 2; a bug shows a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from arrows.training import RankError
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import MissingExtraError, NotFiniteError
from arrows.typesys.quoting import printable_lines, shortened

LINE = 1000  # characters after which a line of an error is cut short


def exit_status(program: str, work: Callable[[], int]) -> int:
    """Runs a command, flushes its output, and returns its exit status.

    Args:
        program: the name of the command, which begins the line on standard error.
        work: runs the command and returns the status if it succeeds.

    Returns:
        The result of `work`; 1 if memory ran out, numbers were not finite or another rank failed; 2 if a
        file, an option or an example was wrong, a package is missing, or standard output cannot be written;
        130 if the user interrupted the command; 141 if the reader of the output has gone.

    >>> exit_status("arrows demo", lambda: 0)
    0
    """
    try:
        status = work()
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, `head` for example, has gone
        _leave(sys.stdout)
        return 141
    except (InputError, ArrowValueError, MissingExtraError, OSError) as error:
        _tell(f"{program}: {error}")
        _leave(sys.stdout)
        return 2
    except MemoryError as error:
        _tell(f"{program}: out of memory{f': {error}' if str(error) else ''}")
        return 1
    except (NotFiniteError, RankError) as error:
        _tell(f"{program}: {error}")
        return 1
    except KeyboardInterrupt as interrupt:
        _tell(f"{program}: interrupted{''.join(f'; {words}' for words in interrupt.args)}")
        return 130


def open_streams() -> None:
    """Prepares standard output and standard error, so that a command can print anything.

    A stream that is closed (`arrows ... >&-`) is replaced by `/dev/null`; characters that the terminal's
    encoding lacks are printed as escapes.

    >>> open_streams()
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - stays open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tell(text: str) -> None:
    """Prints an error; escapes the control characters that it may quote from files."""
    lines = (shortened(line, LINE) for line in printable_lines(text).split("\n"))
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except OSError:
        _leave(sys.stderr)


def _leave(stream: TextIO) -> None:
    """Flushes a stream, or drops what cannot be written: Python would try again at exit, and complain."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
