"""How far a training run has come: the finished epochs, and the place in the current one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arrows.engine.device import Device
from arrows.training.arguments import described, require_number
from arrows.training.batching import BatchSize, batch_size_of
from arrows.training.interrupt import undisturbed
from arrows.training.parameters import as_float
from arrows.typesys import ArrowTypeError


@dataclass(frozen=True, slots=True)
class Epoch:
    """The result of one epoch.

    Attributes:
        number: counted from 1.
        loss: the mean over the examples, each computed with the parameters before its own step.
        seconds: time spent on training, without the evaluation.
        examples_per_second: speed of training.
        figures: what `evaluate` returned, by name.
        best: whether the figure that `train(best_by=)` names is better than in all epochs before.
        steps: how many steps had been taken, over all epochs.

    >>> print(Epoch(1, 0.25, 2.0, 50.0, {"accuracy": 0.5}))
    epoch 1: loss 0.2500, accuracy 0.500, 50 examples/s
    """

    number: int
    loss: float
    seconds: float
    examples_per_second: float
    figures: Mapping[str, float] = field(default_factory=dict)
    best: bool = False
    steps: int = 0

    def __str__(self) -> str:
        figures = "".join(f"{name} {value:.3f}, " for name, value in self.figures.items())
        speed = f"{self.examples_per_second:,.0f} examples/s"
        return f"epoch {self.number}: loss {self.loss:.4f}, {figures}{speed}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of one evaluation.

    Attributes:
        epoch: in which it was made, or at whose end; counted from 1.
        step: how many steps had been taken.
        figures: what `evaluate` returned, by name.
        best: whether the figure that `train(best_by=)` names is better than in all evaluations before.

    >>> Evaluation(1, 100, {"accuracy": 0.5}).figures["accuracy"]
    0.5
    """

    epoch: int
    step: int
    figures: Mapping[str, float]
    best: bool = False


def figures_of(result: object, device: Device) -> dict[str, float]:
    """Converts the result of `evaluate` to plain floats; refuses one that does not map names to numbers."""
    if not isinstance(result, Mapping):
        raise ArrowTypeError(
            "train: evaluate must return figures by name, such as {'accuracy': 0.5}, "
            f"not {described(result)}"
        )
    for name, value in result.items():
        require_number(f"train: the figure {name!r} of evaluate", value)
    return {name: as_float(device, value) for name, value in result.items()}


class History(list[Epoch]):
    """The epochs of a run, as `train` returns them.

    Attributes:
        evaluations: all of them, in order.

    >>> History([Epoch(1, 0.25, 2.0, 50.0)], []).best is None
    True
    """

    def __init__(self, epochs: Iterable[Epoch], evaluations: Iterable[Evaluation]) -> None:
        super().__init__(epochs)
        self.evaluations = tuple(evaluations)

    @property
    def best(self) -> Evaluation | None:
        """The best evaluation by the figure that `train(best_by=)` names; None if there is none."""
        return next((evaluation for evaluation in reversed(self.evaluations) if evaluation.best), None)


@dataclass(slots=True)
class Progress:
    """How far a run of `train` has come. With the parameters and the optimizer's state, that is all that a
    resumed run needs.

    Each epoch shuffles with a new generator seeded by (seed, epoch), so these two numbers are the whole state
    of the shuffling.

    Attributes:
        seed: decides the order of the examples.
        batch_size: examples in a batch, or the rule for batches.
        accumulate: batches in a step.
        examples: number of examples.
        content: a hash of the examples as the model reads them; empty where it is not known.
        epochs: how many there are to be.
        rates: the learning rates, as text.
        epoch: number of the current epoch, counted from 1.
        position: how many of its examples have been trained on.
        total: the sum of their losses.
        seconds: the time that this took.
        history: the finished epochs.
        evaluations: all of them, in order.
        threads: of matrix products; None: not found out yet. Their number decides the last bits of a sum.
        before: batch sizes that the current epoch had before this one, each with the position up to which.

    >>> from dataclasses import asdict
    >>> Progress.of(asdict(Progress(seed=3, history=[Epoch(1, 0.5, 2.0, 10.0)]))).history[0].loss
    0.5
    """

    seed: int = 0
    batch_size: BatchSize = 64
    examples: int = 0
    epoch: int = 1
    position: int = 0
    total: float = 0.0
    seconds: float = 0.0
    history: list[Epoch] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    accumulate: int = 1
    content: str = ""
    epochs: int = 1
    rates: str = ""
    threads: int | None = None
    before: list[tuple[BatchSize, int]] = field(default_factory=list)

    def finish_epoch(self, epoch: Epoch) -> None:
        """Goes on to the next epoch."""
        with undisturbed():
            self.history.append(epoch)
            self.epoch, self.position, self.total, self.seconds = self.epoch + 1, 0, 0.0, 0.0
            self.before = []

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Progress:
        """The inverse of `dataclasses.asdict`, also behind JSON."""
        run = cls(**values)
        run.history = [Epoch(**epoch) for epoch in values["history"]]
        run.evaluations = [Evaluation(**evaluation) for evaluation in values["evaluations"]]
        run.batch_size = batch_size_of(values["batch_size"])
        run.before = [(batch_size_of(size), position) for size, position in values["before"]]
        return run
