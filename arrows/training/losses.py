"""The losses of a run's steps: read at once on the CPU, and some steps later on a device.

To read a loss is to wait until the device has computed it, and while the host waits it merges no batch.  So
on a device the losses of many steps are read together.  A step whose loss is not finite must change nothing
all the same: the device itself masks it out, and all steps after it, by a number that is 1 as long as all
losses are finite (`Optimizer.unless`).  When the host reads the losses, it takes back what it counted for the
masked steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from arrows.engine import Model
from arrows.engine.scheduling import AtOnce
from arrows.ops.arrays import Array
from arrows.training.callbacks import Callback, StepLoss
from arrows.training.finite_checks import refuse_loss
from arrows.training.learner import Learner
from arrows.training.learning_rates import rate_at
from arrows.training.optimizers import Counters, Optimizer
from arrows.training.parallel import Alone, Ranks
from arrows.training.parameters import as_float
from arrows.training.progress import Progress

# Losses are read after this many steps, or this many seconds: the progress bar shows them, and a run whose
# loss is not finite goes on in vain for as long.
_STEPS, _SECONDS = 64, 1.0


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Step:
    """A step whose loss has not been read.

    Attributes:
        batch: what it was taken on.
        size: how many examples that are.
        number: counted from 1, over all epochs.
        model_step: the model's own count of steps before it; None for a model that does not count.
        counters: the optimizer's before it.
        loss: a scalar of the device.
    """

    batch: Any
    size: int
    number: int
    model_step: int | None
    counters: Counters
    loss: Array


class Losses:
    """Takes the steps of an epoch, and adds up their losses in ``run.total``.

    A context: when it ends, all losses have been read.

    Args:
        model, optimizer: take the steps.
        run: is told the losses, in order.
        stop: refuse a loss that is not finite, before the step is taken.
        callbacks: are told of each step.
        at_once: how much of a step runs at once; None: all of it.
        ranks: the processes that take the steps together.

    Attributes:
        examples: how many examples the losses of ``run.total`` belong to.
    """

    def __init__(
        self,
        model: Learner,
        optimizer: Optimizer,
        run: Progress,
        *,
        stop: bool,
        callbacks: Sequence[Callback] = (),
        at_once: AtOnce = None,
        ranks: Ranks | None = None,
    ) -> None:
        self._callbacks, self._at_once = callbacks, at_once
        self._ranks: Ranks = Alone() if ranks is None else ranks
        self._model, self._optimizer, self._run, self._stop = model, optimizer, run, stop
        self.examples = run.position
        self._steps: list[Step] = []
        self._read = time.monotonic()
        # Only our own optimizer masks steps out, and only a compiled model finds again what was not finite.
        masks = isinstance(model, Model) and getattr(optimizer, "masks_steps", False)
        late = model.device.name != "cpu" and (masks if stop else hasattr(optimizer, "counters"))
        self._late = late and not self._ranks.reads_losses
        self._finite: Array | None = None

    def __enter__(self) -> Self:
        if self._late and self._stop:
            self._finite = self._model.device.to_device(np.ones(1))
            self._optimizer.unless = self._finite
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.read()
            elif self._steps:
                self._take_back(self._values())
        finally:
            if self._finite is not None:
                self._optimizer.unless = None

    @property
    def mean(self) -> float:
        """The mean loss of the examples whose losses have been read."""
        return self._run.total / max(self.examples, 1)

    def take_step(self, batch: Any) -> None:
        """Takes a step; the loss may be read in a later one.

        Raises:
            NotFiniteError: the loss of this step, or of an earlier one, is not finite.
        """
        model, optimizer = self._model, self._optimizer
        number, model_step = optimizer.steps + 1, getattr(model, "step", None)
        check = None
        if not self._late:
            if self._stop:
                check = partial(self._check, batch, number, model_step)
            loss = self._ranks.train_step(model, batch, optimizer, check, self._at_once)
            self._add(as_float(model.device, loss), len(batch), number)
            return
        counters = optimizer.counters()
        watch = self._watch if self._stop else None
        loss = self._ranks.train_step(model, batch, optimizer, watch, self._at_once)
        self._steps.append(
            Step(
                batch=batch,
                size=len(batch),
                number=number,
                model_step=model_step,
                counters=counters,
                loss=loss,
            )
        )
        if len(self._steps) >= _STEPS or self._ranks.granted("read"):
            self.read()

    @property
    def are_overdue(self) -> bool:
        """Whether they were last read so long ago that this rank wishes to."""
        return bool(self._steps) and time.monotonic() - self._read >= _SECONDS

    def read(self) -> None:
        """Reads the losses that the device still has.

        Raises:
            NotFiniteError: one is not finite; parameters and counts are as they were before that step.
        """
        if not self._steps:
            return
        values = self._values()
        bad = self._take_back(values)
        if bad is not None:
            step, value = bad
            self._refuse(step.batch, value, step.number)

    def _values(self) -> list[float]:
        """The losses of all steps that have not been read, in one copy."""
        device = self._model.device
        losses: list[float] = device.to_numpy(device.xp.stack([step.loss for step in self._steps])).tolist()
        return losses

    def _take_back(self, values: list[float]) -> tuple[Step, float] | None:
        """Adds up losses to the first that is not finite, and takes back what was counted from there on."""
        steps, self._steps, self._read = self._steps, [], time.monotonic()
        for step, value in zip(steps, values, strict=True):
            if self._stop and not math.isfinite(value):
                self._optimizer.set_back(step.counters)
                if step.model_step is not None and isinstance(self._model, Model):
                    self._model.step = step.model_step
                return step, value
            self._add(value, step.size, step.number)
        return None

    def _add(self, value: float, size: int, number: int) -> None:
        self._run.total += value * size
        self.examples += size
        if self._callbacks:
            rate = self._optimizer.rate_factor * rate_at(self._optimizer.learning_rate, number - 1)
            step = StepLoss(step=number, epoch=self._run.epoch, loss=value, learning_rate=rate, examples=size)
            for callback in self._callbacks:
                callback.after_step(step)

    def _watch(self, loss: Array) -> None:
        """Has the device note whether a loss is finite."""
        assert self._finite is not None
        self._finite *= self._model.device.xp.isfinite(loss)

    def _check(self, batch: object, number: int, model_step: int | None, loss: Array) -> None:
        value = as_float(self._model.device, loss)
        if not math.isfinite(value):
            if model_step is not None and isinstance(self._model, Model):
                self._model.step = model_step  # the search for the reason draws the same dropout masks
            self._refuse(batch, value, number)

    def _refuse(self, batch: Any, value: float, number: int) -> NoReturn:
        epoch = self._run.epoch
        refuse_loss(self._model, batch, value, epoch=epoch, step=number, at_once=self._at_once)
