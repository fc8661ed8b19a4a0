"""The training loop that most people write: shuffled batches, a progress bar, figures after each epoch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from arrows.training.optimizers import Optimizer
from arrows.training.trainable import Trainable
from arrows.typesys.errors import ArrowValueError


class Learner(Trainable, Protocol):
    """What the loop needs of a model on top of `Trainable`; `arrows.compile` makes one.

    >>> def prepared(model: Learner, examples: list) -> int:
    ...     return len(model.prepare(examples))
    """

    def prepare(self, examples: Sequence[Any], /) -> Any:
        """The examples, lowered once: has a length, and gives batches by index arrays."""

    def train_step(self, batch: Any, optimizer: Any, /) -> Any:
        """One step of the optimizer on a batch; returns its loss."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one epoch came to.

    Attributes:
        number: counted from 1.
        loss: mean over the examples, as they were met, a number.
        seconds: of training, without the evaluation.
        examples_per_second: in training.
        figures: what `evaluate` returned, by name.
        unit: what an example is called.

    >>> print(Epoch(1, 0.25, 2.0, 50.0, {"accuracy": 0.5}))
    epoch 1: loss 0.2500, accuracy 0.500, 50 examples/s
    """

    number: int
    loss: float
    seconds: float
    examples_per_second: float
    figures: Mapping[str, float] = field(default_factory=dict)
    unit: str = "example"

    def __str__(self) -> str:
        figures = "".join(f"{name} {value:.3f}, " for name, value in self.figures.items())
        rate = f"{self.examples_per_second:,.0f} {self.unit}s/s"
        return f"epoch {self.number}: loss {self.loss:.4f}, {figures}{rate}"


def train(
    model: Learner,
    examples: Any,
    optimizer: Optimizer,
    *,
    epochs: int = 1,
    batch_size: int = 64,
    seed: int = 0,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    after_epoch: Callable[[Epoch], object] | None = None,
    progress: bool = True,
    unit: str = "example",
) -> list[Epoch]:
    """Trains a model; its parameters change in place.

    Args:
        model: from `arrows.compile`.
        examples: a sequence of examples, which is prepared here once, or what `model.prepare` returned.
        optimizer: what to do with the gradients.
        epochs: how many times to go through the examples.
        batch_size: examples in a batch; the last one of an epoch may be smaller.
        seed: the order of an epoch depends on this and the epoch's number alone.
        evaluate: called after each epoch, its figures go into the result.
        after_epoch: called with each finished `Epoch`, to print or to save, say.
        progress: whether to draw a progress bar on standard error.
        unit: what the progress bar and the result call an example.

    Returns:
        One `Epoch` for each epoch. An epoch over no examples has a loss of 0.

    Raises:
        ArrowValueError: fewer than 0 epochs, or a batch size below 1.
        InputError: from preparing an example that the model cannot read; nothing has been trained then.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> halve = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
    >>> model = ar.compile(halve)
    >>> history = train(model, [[1.0, 0.0], [0.0, 1.0]], SGD(0.1), epochs=20, progress=False)
    >>> history[-1].loss < 0.1 * history[0].loss
    True
    """
    if epochs < 0:
        raise ArrowValueError(f"train: epochs is {epochs}, and should be 0 or more")
    if batch_size < 1:
        raise ArrowValueError(f"train: batch_size is {batch_size}, and should be 1 or more")
    # A prepared set is not a sequence of examples: asking for its items gives batches.
    prepared = model.prepare(examples) if isinstance(examples, Sequence) else examples
    history = []
    for number in range(1, epochs + 1):
        loss, seconds = _epoch(
            model, prepared, optimizer, number, epochs, batch_size, seed, progress=progress, unit=unit
        )
        figures = dict(evaluate()) if evaluate is not None else {}
        rate = len(prepared) / seconds if seconds else 0.0
        history.append(Epoch(number, loss, seconds, rate, figures, unit))
        if after_epoch is not None:
            after_epoch(history[-1])
    return history


def _epoch(
    model: Learner,
    prepared: Any,
    optimizer: Optimizer,
    number: int,
    epochs: int,
    batch_size: int,
    seed: int,
    *,
    progress: bool,
    unit: str,
) -> tuple[float, float]:
    """One pass; returns the mean loss and the seconds it took."""
    count = len(prepared)
    order = np.random.default_rng((seed, number)).permutation(count)
    total, done, start = 0.0, 0, time.perf_counter()
    with tqdm(
        total=count, desc=f"epoch {number}/{epochs}", unit=unit, leave=False, disable=not progress
    ) as bar:
        for first in range(0, count, batch_size):
            batch = order[first : first + batch_size]
            loss = model.train_step(prepared[batch], optimizer)
            total += _number(model, loss) * len(batch)
            done += len(batch)
            bar.set_postfix(loss=f"{total / done:.3f}", refresh=False)
            bar.update(len(batch))
    return total / max(done, 1), time.perf_counter() - start


def _number(model: Learner, loss: Any) -> float:
    return float(model.backend.to_numpy(loss)) if model.backend.is_array(loss) else float(loss)
