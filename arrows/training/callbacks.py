"""What is told how a run goes, and may stop it or lower its rates; loggers among them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from arrows.storage import require_path
from arrows.training.arguments import described, whole_number
from arrows.training.progress import Epoch, Evaluation
from arrows.typesys import ArrowTypeError

Write: TypeAlias = Callable[[int, Mapping[str, float]], object]


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
    the state was last saved.  What `stops` and `rate_factor` return should depend on the evaluations alone:
    the state of a run holds them, so that a resumed run decides as one in one piece.

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

    def stops(self, evaluations: Sequence[Evaluation], /) -> bool:
        """Whether the run stops, after these evaluations; asked after each of them."""
        return False

    def rate_factor(self, evaluations: Sequence[Evaluation], /) -> float:
        """What all learning rates are multiplied by, after these evaluations."""
        return 1.0

    def decides(self) -> bool:
        """Whether it may stop the run or change its rates, for which it needs evaluations."""
        kind = type(self)
        return (kind.stops, kind.rate_factor) != (Callback.stops, Callback.rate_factor)


class Log(Callback):
    """Hands a run on as numbers by name and step.

    The names are `loss` and `learning_rate` of steps, `epoch/loss` and `epoch/examples_per_second` of epochs,
    and `evaluation/NAME` of figures.

    Args:
        write: called with how many steps have been taken, and numbers by name.
        every: of the steps, only each so-manieth is written.

    Example, for Weights & Biases and for TensorBoard, where these are installed::

        Log(lambda step, numbers: run.log(dict(numbers), step=step))
        Log(lambda step, numbers: [writer.add_scalar(name, x, step) for name, x in numbers.items()])

    >>> log = Log(lambda step, numbers: print(step, dict(numbers)))
    >>> log.after_step(StepLoss(step=1, epoch=1, loss=0.5, learning_rate=0.1, examples=64))
    1 {'epoch': 1, 'loss': 0.5, 'learning_rate': 0.1}
    """

    def __init__(self, write: Write, *, every: int = 1) -> None:
        if isinstance(write, type) or not callable(write):
            raise ArrowTypeError(f"Log: write must be a function, not {described(write)}")
        self.write = write
        self.every = whole_number(f"{type(self).__name__}: every", every, 1)

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
        super().__init__(self._append, every=every)
        self.path = require_path("JsonLines: path", path)

    def _append(self, step: int, numbers: Mapping[str, float], /) -> None:
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


class _EachEpoch(Callback):
    """A function of the user's, which is called with each epoch."""

    def __init__(self, function: Callable[[Epoch], object]) -> None:
        self._function = function

    def after_epoch(self, epoch: Epoch, /) -> None:
        self._function(epoch)


def checked_callbacks(callbacks: Iterable[Callback | Callable[[Epoch], object]]) -> tuple[Callback, ...]:
    """The callbacks, a function as one of epochs; refuses what is neither."""
    if isinstance(callbacks, (Callback, type)) or not isinstance(callbacks, Iterable):
        raise ArrowTypeError(f"train: callbacks must be a list of them, not {described(callbacks)}")
    told: list[Callback] = []
    for callback in callbacks:
        if isinstance(callback, Callback):
            told.append(callback)
        elif callable(callback) and not isinstance(callback, type):
            told.append(_EachEpoch(callback))
        else:
            raise ArrowTypeError(
                "train: a callback must be a Callback, or a function that is called with each epoch, "
                f"not {described(callback)}"
            )
    return tuple(told)
