"""Finds a learning rate to begin with, by a short run at rising ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arrows.engine.planning import GrowingParams
from arrows.training.arguments import require_above, require_model, require_optimizer, whole_number
from arrows.training.learner import Learner, PreparedExamples
from arrows.training.optimizers import Optimizer
from arrows.training.parameters import all_parameters, as_float
from arrows.typesys import ArrowValueError

_DIVERGED = 10.0  # a run whose loss is so many times the least mean of some steps has had enough


@dataclass(frozen=True, slots=True)
class RateSearch:
    """Losses at rising learning rates.

    Attributes:
        rates: of each step.
        losses: of each step's batch, before the step.

    >>> search = RateSearch([0.001, 0.01, 0.1, 1.0, 10.0], [1.0, 0.99, 0.5, 0.48, 8.0])
    >>> search.suggestion
    0.1
    """

    rates: list[float]
    losses: list[float]

    @property
    def suggestion(self) -> float:
        """The rate at which the loss falls fastest, from the mean of some steps to that of as many later.

        Raises:
            ArrowValueError: the loss never falls.
        """
        width = _width(len(self.losses))
        means = np.convolve(self.losses, np.full(width, 1 / width), "valid") if self.losses else np.zeros(0)
        falls = means[:-width] - means[width:]
        if not len(falls) or falls.max() <= 0:
            raise ArrowValueError("the loss falls at none of these learning rates; begin with a lower one")
        return self.rates[int(np.argmax(falls)) + width]


def _width(steps: int) -> int:
    """Of how many steps a mean is taken: single batches differ more than rates do."""
    return max(steps // 10, 1)


def find_learning_rate(
    model: Learner,
    examples: object,
    optimizer: Optimizer,
    *,
    min_rate: float = 1e-6,
    max_rate: float = 1.0,
    steps: int = 100,
    batch_size: int = 64,
    seed: int = 0,
) -> RateSearch:
    """Takes steps at learning rates that rise from step to step by one factor, until the loss diverges.

    The model is afterwards as it was, and the optimizer has not been used: another one like it, without
    state, takes the steps. Parameters with rates of their own keep these.

    Args:
        model, examples, batch_size, seed: as for `train`.
        optimizer: what takes the steps is like this; its learning rate does not matter.
        min_rate: the learning rate of the first step.
        max_rate: that of the last one.
        steps: how many there are at most.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be, or no examples.
        InputError: the model cannot read an example.

    Source: Smith, "Cyclical learning rates for training neural networks", WACV 2017, section 3.3.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> block = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
    >>> search = find_learning_rate(ar.compile(block), [[1.0, 0.0], [0.0, 1.0]], SGD(0.1), max_rate=100)
    >>> 0.01 < search.suggestion < 10
    True
    """
    call = "find_learning_rate(model, examples, optimizer)"
    require_model(call, model, "prepare", "train_step")
    require_optimizer(call, optimizer, "step", "learning_rate", "state")
    require_above("find_learning_rate", "min_rate", min_rate)
    require_above("find_learning_rate", "max_rate", max_rate, min_rate)
    steps = whole_number("find_learning_rate: steps", steps, 2)
    batch_size = whole_number("find_learning_rate: batch_size", batch_size, 1)
    prepared = model.prepare(examples)
    if not len(prepared):
        raise ArrowValueError("find_learning_rate: there are no examples")
    search, least, width, trial = RateSearch([], []), math.inf, _width(steps), replace(optimizer)
    before = {name: array.copy() for name, array in all_parameters(model).items()}
    step = getattr(model, "step", None)
    rates = np.geomspace(min_rate, max_rate, steps).tolist()
    try:
        for rate, batch in zip(rates, _batches(prepared, batch_size, seed), strict=False):
            trial.learning_rate = rate
            loss = as_float(model.device, model.train_step(batch, trial))
            if not math.isfinite(loss):
                break
            search.rates.append(rate)
            search.losses.append(loss)
            least = min(least, float(np.mean(search.losses[-width:])))
            if loss > _DIVERGED * abs(least) + 1e-12 and len(search.losses) > width:
                break
    finally:
        params = all_parameters(model)
        for name, array in before.items():
            params[name][...] = array
        if isinstance(model.params, GrowingParams):  # a layer that was first called meanwhile begins anew
            model.params.begin_anew([name for name in params if name not in before])
        if step is not None:
            model.step = step  # type: ignore[attr-defined]
    return search


def _batches(prepared: PreparedExamples, size: int, seed: int) -> Iterator[Any]:
    """Shuffled batches without end, epoch after epoch, as `train` would take them."""
    epoch = 1
    while True:
        order = np.random.default_rng((seed, epoch)).permutation(len(prepared))
        for first in range(0, len(order), size):
            yield prepared[order[first : first + size]]
        epoch += 1
