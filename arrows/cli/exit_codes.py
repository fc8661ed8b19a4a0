"""How a command ends: what a person can mend is one line and status 2; a bug shows itself."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from arrows.typesys.errors import ArrowValueError, InputError, NotFiniteError
from arrows.typesys.quoting import printable_lines, shortened

LINE = 1000  # characters of a line of an error


def exit_status(program: str, work: Callable[[], int]) -> int:
    """Runs a command, writes what it has printed, and returns its exit status.

    Args:
        program: what the line on standard error begins with.
        work: returns the status if all goes well.

    Returns:
        What `work` returns; 1 if memory ran out or it came to numbers that are not finite; 2 if a file, an
        option or an example was wrong, or standard output cannot be written; 130 if it was interrupted; 141
        if nobody reads the output any more.

    >>> exit_status("arrows demo", lambda: 0)
    0
    """
    try:
        status = work()
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads, `head` for one, has seen enough
        _leave(sys.stdout)
        return 141
    except (InputError, ArrowValueError, OSError) as error:
        _tell(f"{program}: {error}")
        _leave(sys.stdout)
        return 2
    except MemoryError as error:
        _tell(f"{program}: out of memory{f': {error}' if str(error) else ''}")
        return 1
    except NotFiniteError as error:
        _tell(f"{program}: {error}")
        return 1
    except KeyboardInterrupt as interrupt:
        _tell(f"{program}: interrupted{''.join(f'; {words}' for words in interrupt.args)}")
        return 130


def open_streams() -> None:
    """Makes standard output and error such that a command can print.

    One that is closed (`arrows ... >&-`) counts as `/dev/null`; characters that the terminal's encoding lacks
    are spelt out.

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
    """Prints an error; what it quotes of files steers no terminal."""
    lines = (shortened(line, LINE) for line in printable_lines(text).split("\n"))
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except OSError:
        _leave(sys.stderr)


def _leave(stream: TextIO) -> None:
    """Writes what is left in a stream, or drops it: Python would try again when it ends, and complain."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
