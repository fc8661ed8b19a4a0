"""The options of `arrows fit` that say where the numbers of a run are written down."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arrows.cli.job import is_first
from arrows.cli.outputs import require_output
from arrows.files import require_replaceable
from arrows.training import Callback, JsonLines, Log
from arrows.typesys.errors import MissingExtraError


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `run_logs` reads."""
    add = parser.add_argument
    add("--log", type=Path, metavar="FILE", help="append a line of JSON for each step, evaluation and epoch")
    add(
        "--tensorboard",
        type=Path,
        metavar="FOLDER",
        help="write the numbers there for TensorBoard, with arrows[tensorboard]",
    )
    add(
        "--wandb",
        metavar="PROJECT",
        help="hand the numbers to a project of Weights & Biases, with arrows[wandb]",
    )


@contextmanager
def run_logs(options: argparse.Namespace) -> Iterator[list[Callback]]:
    """The callbacks that `options` ask for, on the first rank alone; what they write to is closed at the end.

    Raises:
        ArrowValueError: a file is one of those that the command reads, a model, or the state of a run.
        MissingExtraError: a package is missing; the message says how it is installed.
        OSError: a file cannot be written.
    """
    callbacks: list[Callback] = []
    if not is_first():
        yield callbacks
        return
    read = [value for name, value in vars(options).items() if name not in ("log", "save")]
    require_output(options.log, *read, option="--log")
    if options.log is not None:
        require_replaceable(options.log)
        callbacks.append(JsonLines(options.log))
    writer = None if options.tensorboard is None else _summary_writer(options.tensorboard)
    try:
        if writer is not None:
            add_scalar = writer.add_scalar
            callbacks.append(
                Log(lambda step, numbers: [add_scalar(name, x, step) for name, x in numbers.items()])
            )
        if options.wandb is None:
            yield callbacks
        else:
            with _wandb_run(options) as run:
                yield [*callbacks, Log(lambda step, numbers: run.log(dict(numbers), step=step))]
    finally:
        if writer is not None:
            writer.close()


def _summary_writer(folder: Path) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ModuleNotFoundError as error:
        raise MissingExtraError("--tensorboard writes by tensorboardX", "tensorboard", error.name) from None
    return SummaryWriter(str(folder))


def _wandb_run(options: argparse.Namespace) -> Any:
    try:
        import wandb
    except ModuleNotFoundError as error:
        raise MissingExtraError("--wandb hands on by wandb", "wandb", error.name) from None
    settings = {
        name: value if isinstance(value, (int, float, str, bool)) else str(value)
        for name, value in vars(options).items()
        if value is not None and not callable(value)
    }
    return wandb.init(project=options.wandb, config=settings)
