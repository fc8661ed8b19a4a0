"""What is told how a run goes: callbacks, and loggers among them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from arrows.files import require_path
from arrows.training.arguments import described, whole_number
from arrows.training.progress import Epoch, Evaluation
from arrows.typesys import ArrowTypeError


@dataclass(frozen=True, slots=True)
class StepLoss:
    """A step that has been taken.

    Attributes:
        step: counted from 1, over all epochs.
        epoch: counted from 1.
        loss: of the step's batch, before the step.
        learning_rate: of the parameters without a rate of their own.
        examples: how many the batch had.

    >>> StepLoss(step=1, epoch=1, loss=0.5, learning_rate=0.1, examples=64).loss
    0.5
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    examples: int


class Callback:
    """Is told how a run goes; a subclass does something with what it wants to know.

    An error in a callback ends the run.  After a resumption, a callback may be told again what happened after
    the state was last saved.

    >>> class Printer(Callback):
    ...     def after_step(self, step):
    ...         print(step.step, step.loss)
    """

    def after_step(self, step: StepLoss, /) -> None:
        """Is told of a step once its loss is known: on a GPU, up to 64 steps or a second later."""

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        """Is told of an evaluation; `evaluation.best` says whether to keep the model."""

    def after_epoch(self, epoch: Epoch, /) -> None:
        """Is told of an epoch, after its evaluation."""


class Log(Callback):
    """Writes a run down as numbers by name and step; a subclass says where to, in `write`.

    The names are `loss` and `learning_rate` of steps, `epoch/loss` and `epoch/examples_per_second` of epochs,
    and `evaluation/NAME` of figures.

    Args:
        every: of the steps, only each so-manieth is written.

    >>> class Printer(Log):
    ...     def write(self, step, numbers):
    ...         print(step, dict(numbers))
    >>> Printer().after_step(StepLoss(step=1, epoch=1, loss=0.5, learning_rate=0.1, examples=64))
    1 {'epoch': 1, 'loss': 0.5, 'learning_rate': 0.1}
    """

    def __init__(self, *, every: int = 1) -> None:
        self.every = whole_number(f"{type(self).__name__}: every", every, 1)

    def write(self, step: int, numbers: Mapping[str, float], /) -> None:
        """Writes numbers down.

        Args:
            step: how many steps have been taken.
            numbers: by name.
        """
        raise NotImplementedError

    def after_step(self, step: StepLoss, /) -> None:
        if step.step % self.every == 0:
            numbers = {"epoch": step.epoch, "loss": step.loss, "learning_rate": step.learning_rate}
            self.write(step.step, numbers)

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        self.write(evaluation.step, {f"evaluation/{name}": x for name, x in evaluation.figures.items()})

    def after_epoch(self, epoch: Epoch, /) -> None:
        numbers = {"epoch/loss": epoch.loss, "epoch/examples_per_second": epoch.examples_per_second}
        self.write(epoch.steps, {"epoch": epoch.number, **numbers})


class JsonLines(Log):
    """Appends a line of JSON for each step, evaluation and epoch to a file.

    Each line is an object with the "step" and numbers by name, NaN and infinities as null; it is written at
    once, so that the file can be followed while the run goes on.

    Args:
        path: the file, in a folder that exists.
        every: of the steps, only each so-manieth is written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     JsonLines(f"{folder}/log.jsonl").write(3, {"loss": 0.5})
    ...     print(Path(folder, "log.jsonl").read_text(), end="")
    {"step": 3, "loss": 0.5}
    """

    def __init__(self, path: str | Path, *, every: int = 1) -> None:
        super().__init__(every=every)
        self.path = require_path("JsonLines: path", path)

    def write(self, step: int, numbers: Mapping[str, float], /) -> None:
        values = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
        line = (json.dumps({"step": step, **values}) + "\n").encode()
        with self.path.open("ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                while line:
                    line = line[file.write(line) :]
            except OSError:  # the disk is full: a resumed run goes on after a whole line
                file.truncate(end)
                raise


class ScalarWriter(Protocol):
    """What `TensorBoard` needs of a `SummaryWriter`."""

    def add_scalar(self, tag: str, value: float, step: int, /) -> object: ...


class TensorBoard(Log):
    """Hands the numbers to a `SummaryWriter` of PyTorch or tensorboardX.

    Args:
        writer: has `add_scalar(tag, value, step)`; you close it.
        every: of the steps, only each so-manieth is written.

    Example, where PyTorch and TensorBoard are installed::

        from torch.utils.tensorboard import SummaryWriter

        train(model, examples, optimizer, callbacks=[TensorBoard(SummaryWriter("runs/first"))])

    >>> class Writer:
    ...     def add_scalar(self, tag, value, step):
    ...         print(tag, value, step)
    >>> TensorBoard(Writer()).write(3, {"loss": 0.5})
    loss 0.5 3
    """

    def __init__(self, writer: ScalarWriter, *, every: int = 1) -> None:
        super().__init__(every=every)
        self.writer = _having(writer, "add_scalar", "TensorBoard(SummaryWriter('runs'))")

    def write(self, step: int, numbers: Mapping[str, float], /) -> None:
        for name, number in numbers.items():
            self.writer.add_scalar(name, number, step)


class WandbRun(Protocol):
    """What `WeightsAndBiases` needs of a run of `wandb`."""

    def log(self, data: dict[str, Any], /, step: int | None = None) -> object: ...


class WeightsAndBiases(Log):
    """Hands the numbers to a run of Weights & Biases.

    Args:
        run: what `wandb.init()` returns; you finish it.
        every: of the steps, only each so-manieth is written.

    Example, where `wandb` is installed::

        with wandb.init(project="trees") as run:
            train(model, examples, optimizer, callbacks=[WeightsAndBiases(run)])

    >>> class Run:
    ...     def log(self, data, step=None):
    ...         print(data, step)
    >>> WeightsAndBiases(Run()).write(3, {"loss": 0.5})
    {'loss': 0.5} 3
    """

    def __init__(self, run: WandbRun, *, every: int = 1) -> None:
        super().__init__(every=every)
        self.run = _having(run, "log", "WeightsAndBiases(wandb.init())")

    def write(self, step: int, numbers: Mapping[str, float], /) -> None:
        self.run.log(dict(numbers), step=step)


def checked_callbacks(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """The callbacks; refuses what is none."""
    if isinstance(callbacks, (Callback, type)) or not isinstance(callbacks, Iterable):
        raise ArrowTypeError(f"train: callbacks must be a list of them, not {described(callbacks)}")
    listed = tuple(callbacks)
    for callback in listed:
        if not isinstance(callback, Callback):
            raise ArrowTypeError(
                f"train: a callback must be a Callback, not {described(callback)}; a function goes to "
                "after_epoch=, or into a subclass of arrows.training.Callback"
            )
    return listed


def _having(value: Any, method: str, hint: str) -> Any:
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise ArrowTypeError(f"expected an object with {method!r}, such as {hint}, not {described(value)}")
    return value
