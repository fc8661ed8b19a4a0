"""What is told how a run goes, and may stop it or lower its rates: loggers, and rules on figures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from arrows.storage import require_path
from arrows.training.arguments import described, require_range, whole_number
from arrows.training.progress import Epoch, Evaluation
from arrows.typesys import ArrowTypeError, ArrowValueError, did_you_mean

Write: TypeAlias = Callable[[int, Mapping[str, float]], object]

_LOWER = re.compile(r"(loss|losses|error|errors|entropy|perplexity)$|^(mse|rmse|mae|nll|ppl|wer|cer)$")
_HIGHER = re.compile(r"^(accuracy|acc|f1|auc|precision|recall|bleu|uas|las)$")
_TURNED = re.compile(r"^\s*1?\s*-|minus|neg|false|likelihood", re.IGNORECASE)


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
        every: a step is written if its number is a multiple of this.

    Example, for Weights & Biases and for TensorBoard, where these are installed::

        Log(lambda step, numbers: run.log(dict(numbers), step=step))
        Log(lambda step, numbers: [writer.add_scalar(name, x, step) for name, x in numbers.items()])

    >>> log = Log(lambda step, numbers: print(step, dict(numbers)))
    >>> log.after_step(StepLoss(step=1, epoch=1, loss=0.5, learning_rate=0.1, examples=64))
    1 {'epoch': 1, 'loss': 0.5, 'learning_rate': 0.1}
    """

    def __init__(self, write: Write, *, every: int = 1) -> None:
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
    once, so that the file can be followed while the run goes on. Another run adds its lines to those of the
    first, which a run that goes on needs; one that begins anew should have a file of its own.

    Args:
        path: the file, in a folder that exists.
        every: a step is written if its number is a multiple of this.

    Raises:
        ArrowValueError: the file holds something else than the lines of such a log.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     JsonLines(f"{folder}/log.jsonl").write(3, {"loss": 0.5})
    ...     print(Path(folder, "log.jsonl").read_text(), end="")
    {"step": 3, "loss": 0.5}
    """

    def __init__(self, path: str | Path, *, every: int = 1) -> None:
        super().__init__(self._append, every=every)
        self.path = require_path("JsonLines: path", path)
        if self.path.exists():
            with self.path.open("rb") as file:
                if file.read(9) not in (b"", b'{"step": '):
                    raise ArrowValueError(f"JsonLines: {self.path} holds no log of a run; give another path")

    def _append(self, step: int, numbers: Mapping[str, float], /) -> None:
        values = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")


class _Watch(Callback):
    """What watches whether a figure improves; see `EarlyStopping`."""

    monitor: str
    patience: int
    min_delta: float
    lower: bool | None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        whole_number(f"{owner}: patience", self.patience, 0)
        require_range(owner, "min_delta", self.min_delta, 0.0)
        object.__setattr__(self, "lower", lower_is_better(owner, self.monitor, self.lower))

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        value_of(self.monitor, evaluation.figures, lower=bool(self.lower))  # refuses a misspelt name

    def waited(self, evaluations: Sequence[Evaluation]) -> list[int]:
        """For each evaluation, how many in a row, itself the last, have brought no improvement."""
        best, counts = -math.inf, [0]
        for evaluation in evaluations:
            value = value_of(self.monitor, evaluation.figures, lower=bool(self.lower))
            # NaN is no improvement.  The first number is one whatever `min_delta` says.
            improved = value > best + self.min_delta or (best == -math.inf and value > best)
            counts.append(0 if improved else counts[-1] + 1)
            best = max(best, value) if improved else best
        return counts[1:]


@dataclass(frozen=True)
class EarlyStopping(_Watch):
    """Stops a run whose figure no longer improves: a callback of `train`.

    Args:
        monitor: the name of a figure that `train(evaluate=)` gives.
        patience: so many evaluations in a row may bring no improvement; the next one stops the run.
        min_delta: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better; None: as the figure's name says.  A loss, an error, a perplexity
            should be low, an accuracy, a precision high; with other names, say which.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be, or a name that does not tell.

    Source: Prechelt, "Early stopping, but when?", in Neural Networks: Tricks of the Trade, 1998.

    >>> from arrows.training import Evaluation
    >>> stop = EarlyStopping("accuracy", patience=1)
    >>> accuracies = [0.5, 0.6, 0.6, 0.55]
    >>> evaluations = [Evaluation(1, n, {"accuracy": x}) for n, x in enumerate(accuracies)]
    >>> stop.stops(evaluations[:3]), stop.stops(evaluations)
    (False, True)
    """

    monitor: str
    patience: int
    min_delta: float = 0.0
    lower: bool | None = None

    def stops(self, evaluations: Sequence[Evaluation], /) -> bool:
        return bool(evaluations) and self.waited(evaluations)[-1] > self.patience


@dataclass(frozen=True)
class Plateau(_Watch):
    """Lowers the learning rates when a figure no longer improves: a callback of `train`.

    Args:
        monitor: the name of a figure that `train(evaluate=)` gives.
        factor: what all learning rates are multiplied by each time, above 0 and below 1.
        patience: so many evaluations in a row may bring no improvement; the next one lowers the rates, and
            the count begins anew.
        min_delta: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better; None: as the figure's name says (`EarlyStopping`).
        floor: the product of all factors does not fall below this.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be, or a name that does not tell.

    >>> from arrows.training import Evaluation
    >>> plateau = Plateau("loss", factor=0.5, patience=0)
    >>> losses = [3.0, 2.0, 2.5, 2.1, 1.0]
    >>> plateau.rate_factor([Evaluation(1, n, {"loss": loss}) for n, loss in enumerate(losses)])
    0.25
    """

    monitor: str
    factor: float = 0.1
    patience: int = 10
    min_delta: float = 0.0
    lower: bool | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("Plateau", "factor", self.factor, 0.0, 1.0)
        require_range("Plateau", "floor", self.floor, 0.0, 1.0)

    def rate_factor(self, evaluations: Sequence[Evaluation], /) -> float:
        # The count begins anew with each improvement, and each time it exceeds the patience.
        waited = self.waited(evaluations)
        times = sum(count % (self.patience + 1) == 0 for count in waited if count)
        return max(self.factor**times, self.floor)


def lower_is_better(owner: str, figure: str, lower: bool | None) -> bool:
    """Whether a lower value of a figure is better: as `lower` says, or else as the figure's name does.

    Raises:
        ArrowValueError: `lower` is None, and the name does not tell.

    >>> lower_is_better("train", "dev/MSELoss", None), lower_is_better("train", "accuracy", None)
    (True, False)
    """
    if lower is not None:
        return lower
    words = re.findall(r"f1|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", figure).lower())
    low, high = (any(pattern.search(word) for word in words) for pattern in (_LOWER, _HIGHER))
    if low == high or _TURNED.search(figure):
        raise ArrowValueError(
            f"{owner}: the name {figure!r} does not tell whether a lower figure is better; say lower=True, "
            "or lower=False where a higher one is"
        )
    return low


def value_of(figure: str, figures: Mapping[str, float], *, lower: bool) -> float:
    """A figure, turned round where lower is better, so that higher always is.

    Raises:
        ArrowValueError: there is no such figure.
    """
    if figure not in figures:
        likely = did_you_mean(figure, {name: repr(name) for name in figures})
        raise ArrowValueError(
            f"train: evaluate should give the figure {figure!r}, and gives {', '.join(figures) or 'nothing'}"
            + (f"; did you mean {likely}?" if likely else "")
        )
    return -figures[figure] if lower else figures[figure]


class _EachEpoch(Callback):
    """A function of the user's, which is called with each epoch."""

    def __init__(self, function: Callable[[Epoch], object]) -> None:
        if isinstance(function, type) or not callable(function):
            raise ArrowTypeError(
                "train: a callback must be a Callback, or a function that is called with each epoch, "
                f"not {described(function)}"
            )
        self.after_epoch = function  # type: ignore[method-assign, assignment]


def checked_callbacks(callbacks: Iterable[Callback | Callable[[Epoch], object]]) -> tuple[Callback, ...]:
    """The callbacks, a function as one of epochs; refuses what is neither."""
    if isinstance(callbacks, Callback) or not isinstance(callbacks, Iterable):
        raise ArrowTypeError(f"train: callbacks must be a list of them, not {described(callbacks)}")
    return tuple(each if isinstance(each, Callback) else _EachEpoch(each) for each in callbacks)
