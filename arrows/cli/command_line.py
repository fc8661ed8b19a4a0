"""The command `arrows`: `arrows check`, `show`, `demo`, `fit` and `predict`.

Exit status: 0 on success, 1 if the work failed, 2 if the request or data that it names was wrong. After an
error, one line on standard error says what was wrong. If the reader of the output has gone (`| head`), the
command ends quietly with 141, as other programs do.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from arrows.cli import check, demo, fit, predict, show
from arrows.cli.option_types import positive
from arrows.machine import limited_to, set_threads
from arrows.training import NotFiniteError
from arrows.typesys import ArrowValueError, InputError, MissingExtraError, printable_lines, shortened
from arrows.version import __version__

LINE = 1000  # characters after which a line of an error is cut short
COMMANDS = {
    "demo": ("train a sentiment Tree-LSTM on generated trees and try it", demo, 1),
    "check": ("print types and parameters of a file's blocks", check, None),
    "show": ("draw a block as text or svg", show, None),
    "fit": ("train a classifier or regressor on a raw file of documents", fit, 1),
    "predict": ("apply a saved model to a file of examples", predict, 1),
}
"""What each does, its module, which has `add_options` and `run`, and its threads.

The matrix products of most models are so small that a second thread gains nothing, and on a busy machine
threads that wait for each other take fifty times as long (measured).
"""


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what the terminal's encoding lacks is escaped
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    _, module, usual = COMMANDS[options.command]
    threads = options.threads or usual
    with nullcontext() if threads is None else limited_to(threads):
        if options.threads is not None:
            set_threads(options.threads)  # it warns where none can be set
        return exit_status(f"arrows {options.command}", lambda: int(module.run(options)))


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
        print(end="", flush=True)
        return status
    except BrokenPipeError:  # the reader, `head` for example, has gone; Python would flush again at its exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (InputError, ArrowValueError, MissingExtraError, OSError) as error:
        text, status = str(error), 2
    except NotFiniteError as error:
        text, status = str(error), 1
    except MemoryError as error:
        text, status = ": ".join(["out of memory", *filter(None, [str(error)])]), 1
    except KeyboardInterrupt as interrupt:
        text, status = "; ".join(["interrupted", *interrupt.args]), 130
    # It may quote files, which may hold control characters.
    lines = (shortened(line, LINE) for line in printable_lines(f"{program}: {text}").split("\n"))
    print("\n".join(lines), file=sys.stderr, flush=True)
    return status


def _parser() -> argparse.ArgumentParser:
    description = "Neural networks on data of uneven shape: trees, JSON, molecules, sequences."
    parser = argparse.ArgumentParser(prog="arrows", description=description)
    parser.add_argument("--version", action="version", version=f"arrows {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (help, module, threads) in COMMANDS.items():
        command = commands.add_parser(name, help=help)
        module.add_options(command)
        usual = f"threads of NumPy's matrix products (default: {threads or 'those of NumPy'})"
        command.add_argument("--threads", type=positive, metavar="N", help=usual)
    return parser
