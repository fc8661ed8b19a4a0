"""The steps of a run, and their losses: read at once on the CPU, and up to 64 steps later on a GPU.

To read a loss is to wait until the device has computed it, and while the host waits it merges no batch.  So
on a GPU the losses of many steps are read together, always before a state is saved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from arrows.engine import Model
from arrows.engine.scheduling import AtOnce
from arrows.ops.arrays import Array
from arrows.training.callbacks import Callback, StepLoss
from arrows.training.finite_checks import not_finite, refuse_loss
from arrows.training.interrupt import undisturbed
from arrows.training.learner import Learner
from arrows.training.optimizers import Optimizer
from arrows.training.parallel import Ranks
from arrows.training.parameters import as_float
from arrows.training.progress import Progress
from arrows.training.schedules import rate_at

_STEPS, _SECONDS = 64, 1.0


class Steps:
    """Takes the steps of a run, and adds up their losses; Ctrl-C waits until a step is done.

    Args:
        model, optimizer: take the steps.
        run: is told the losses, in order.
        callbacks: are told of each step.
        ranks: the processes that take the steps together.
        at_once: how much of a step runs at once; None: all of it.

    Attributes:
        whole: whether model, optimizer and run are between two steps, so that the state may be saved.
    """

    def __init__(
        self,
        model: Learner,
        optimizer: Optimizer,
        run: Progress,
        callbacks: Sequence[Callback],
        ranks: Ranks,
        at_once: AtOnce,
    ) -> None:
        self._model, self._optimizer, self._run = model, optimizer, run
        self._callbacks, self._ranks, self._at_once = callbacks, ranks, at_once
        self._waiting: list[tuple[StepLoss, Array]] = []
        self._last = time.monotonic()
        self.whole = True

    @property
    def mean(self) -> float:
        """The mean loss of the current epoch's examples whose losses have been read."""
        waiting = sum(step.examples for step, _ in self._waiting)
        return self._run.total / max(self._run.position - waiting, 1)

    def take(self, batch: Any) -> None:
        """Takes a step.

        Raises:
            NotFiniteError: its loss is not finite; on the CPU, model and optimizer are as before the step.
        """
        start, optimizer, number = time.perf_counter(), self._optimizer, self._optimizer.steps + 1
        late = self._model.device.name != "cpu"
        rate = 0.0
        if self._callbacks:
            rate = optimizer.rate_factor * rate_at(optimizer.learning_rate, number - 1)
        check = None if late else partial(self._check, batch, number, getattr(self._model, "step", None))
        self.whole = False
        with undisturbed():
            loss = self._ranks.train_step(self._model, batch, optimizer, check, self._at_once)
            step = StepLoss(number, self._run.epoch, 0.0, rate, len(batch))
            self._waiting.append((step, loss))
            if not late or len(self._waiting) >= _STEPS or time.monotonic() - self._last >= _SECONDS:
                self._read()
            self._run.position += len(batch)
            self._run.seconds += time.perf_counter() - start
            self.whole = True

    def read(self) -> None:
        """Reads the losses that the device still has.

        Raises:
            NotFiniteError: one is not finite.
        """
        start, self.whole = time.perf_counter(), False
        with undisturbed():
            self._read()
            self._run.seconds += time.perf_counter() - start
            self.whole = True

    def _read(self) -> None:
        for step, loss in self._waiting:
            value = as_float(self._model.device, loss)
            if not math.isfinite(value):
                raise not_finite(
                    f"epoch {step.epoch}, step {step.step}: the loss is {value}; the parameters have "
                    "gone on since, and are not to be used"
                )
            self._run.total += value * step.examples
            for callback in self._callbacks:
                callback.after_step(replace(step, loss=value))
        self._waiting, self._last = [], time.monotonic()

    def _check(self, batch: Any, number: int, model_step: int | None, loss: Array) -> None:
        """Refuses a loss that is not finite, before the step is taken."""
        value = as_float(self._model.device, loss)
        if not math.isfinite(value):
            if model_step is not None and isinstance(self._model, Model):
                self._model.step = model_step  # the search for the reason draws the same dropout masks
            refuse_loss(self._model, batch, value, epoch=self._run.epoch, step=number, at_once=self._at_once)
