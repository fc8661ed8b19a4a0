"""What commands may write over: nothing that a run or a user would miss, unless they say so.

A run that begins replaces neither the state of another run nor a trained model.  A file that `--output` names
is replaced, as a compiler replaces what it wrote before, but not by what the command reads, and no model.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from arrows.cli.job import is_first
from arrows.storage import previous, require_replaceable
from arrows.training.saving import described_file, holds_state
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import message


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--overwrite`."""
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a model or the state of a run that is there already"
    )


def require_free(options: argparse.Namespace, paths: Sequence[Path], state: Path | None, option: str) -> None:
    """Refuses to begin a run where another one, or a trained model, would be lost.

    Args:
        options: says by `overwrite` that these may go, by `resume` that the run goes on.
        paths: the files that the run writes.
        state: where it keeps its state; None for a run without one.
        option: which option names another place.

    Raises:
        ArrowValueError: something is there; the message says what, and what to do.
        OSError: a file cannot be written.
    """
    kept = [] if state is None else states(options, state)
    if not is_first():  # which alone writes
        return
    for path in [*paths, *kept[:1]]:
        require_replaceable(path)
    resumes = state is not None and options.resume
    if resumes and options.overwrite:
        raise ArrowValueError("--resume goes on with a run, and --overwrite replaces it; say one")
    # A run that goes on looks for as many states as it keeps; one more may be left of a run that kept more.
    if options.overwrite or (resumes and any(path.exists() for path in kept[: options.keep_last])):
        return
    there = next((path for path in [*kept, *paths] if path.exists()), None)
    if there is None:
        return
    goes_on = "--resume goes on with it, " if there in kept and holds_state(there) else ""
    raise ArrowValueError(
        message(
            f"cannot begin a run that writes {paths[0]}",
            reason=f"{there} is {described_file(there)}",
            hint=f"{goes_on}--overwrite replaces it, another {option} keeps it",
        )
    )


def states(options: argparse.Namespace, state: Path) -> list[Path]:
    """Where a run keeps its state, and the states before it."""
    return [state, *(previous(state, number) for number in range(1, options.keep_last + 1))]


def require_output(output: Path | None, *sources: object, option: str = "--output") -> None:
    """Refuses an output that is what the command reads, or a trained model, parameters or a run.

    Raises:
        ArrowValueError: so it is.
    """
    if output is None or not output.is_file():
        return
    for source in sources:
        if isinstance(source, (str, Path)) and Path(source).is_file() and output.samefile(source):
            raise ArrowValueError(f"{option} {output} is the file that is read; give another")
    if holds_state(output) is not None:
        raise ArrowValueError(f"{option} {output} is {described_file(output)}; give another path")
