"""Averages of the parameters over the steps of a training run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arrows.arrays import Array, quiet
from arrows.engine.device import Device
from arrows.training.arguments import require_number
from arrows.training.optimizers.rule import StepCount
from arrows.training.parameters import Trainable, all_parameters, row_blocks
from arrows.typesys import ArrowValueError


class Averages:
    """Weighted means of each parameter's values after each step, updated lazily.

    The mean after t steps gives the value of step i the weight decay^(t - i); the weights are scaled to sum
    to 1. With a decay of 1 it is the plain mean (Polyak, Juditsky, "Acceleration of stochastic approximation
    by averaging", SIAM J. Control and Optimization 30, 1992, equation 3), below 1 the exponential moving
    average with bias correction (Kingma, Ba, "Adam", ICLR 2015, section 7.2).

    A value that lasted for several steps enters the mean once, with the weights of all of them. So a row of a
    table costs nothing in the steps that do not touch it, and its mean is still the mean over all steps.

    Args:
        decay: above 0 and at most 1.

    Attributes:
        values: parameter name -> the mean, for the parameters that have changed.
        since: parameter name -> the step up to which `values` has the mean: a number, or for a table whose
            rows change one by one, an array of the device, float64 `[rows]`.

    Raises:
        ArrowValueError: `decay` is out of its range.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> mean, model = Averages(1.0), SimpleNamespace(params={"w": np.zeros(2)}, device=get_device("cpu"))
    >>> for step in (1, 2, 3):
    ...     mean.before(model.device, "w", model.params["w"], step)
    ...     model.params["w"] += 1.0
    >>> with mean.in_place_of(model, 3):
    ...     model.params["w"].tolist()
    [2.0, 2.0]
    """

    def __init__(self, decay: float) -> None:
        require_number("average", decay)
        if not 0 < decay <= 1:
            raise ArrowValueError(f"average is {decay}, and should be above 0 and at most 1")
        self.decay = decay
        self.values: dict[str, Array] = {}
        self.since: dict[str, StepCount] = {}
        self.in_use = False

    def before(
        self, device: Device, name: str, parameter: Array, step: int, rows: Array | None = None
    ) -> None:
        """Adds the values that a parameter, or its `rows`, had until now, before `step` changes them."""
        if name not in self.values:
            self.values[name], self.since[name] = parameter.copy(), 0
        self._bring(device, name, parameter, step - 1, rows)

    @contextmanager
    def in_place_of(self, model: Trainable, steps: int) -> Iterator[None]:
        """A context in which the model's arrays hold the means after `steps` steps."""
        if self.in_use:
            raise ArrowValueError("the averages are in use already")
        params = all_parameters(model)
        for name in self.values:
            self._bring(model.device, name, params[name], steps, None)
        originals = {name: params[name].copy() for name in self.values}
        self.in_use = True
        try:
            for name, mean in self.values.items():
                params[name][...] = mean
            yield
        finally:
            params = all_parameters(model)  # a layer that was first called meanwhile has its own array now
            for name, array in originals.items():
                params[name][...] = array
            self.in_use = False

    @quiet
    def _bring(self, device: Device, name: str, parameter: Array, step: int, rows: Array | None) -> None:
        """Updates the mean, or its `rows`, to the mean after `step` steps."""
        mean, since = self.values[name], self.since[name]
        if step == 0 or (isinstance(since, int) and since == step):
            return
        if rows is None:
            share = self._share(since, step, parameter)
            for block in row_blocks(device, parameter):
                change = device.xp.asarray(parameter[block] - mean[block])
                change *= share if isinstance(share, float) else share[block]
                mean[block] += change
            self.since[name] = step
            return
        if isinstance(since, int):
            since = self.since[name] = device.xp.full((parameter.shape[0],), float(since), "float64")
        old = device.take(mean, rows)
        change = device.take(parameter, rows) - old
        change *= self._share(device.take(since, rows), step, parameter)
        mean[rows] = old + change
        since[rows] = float(step)

    def _share(self, since: StepCount, step: int, like: Array) -> float | Array:
        """The weight of the last `step - since` steps in the mean over `step` steps; by row, as `since`."""
        if self.decay == 1:
            share = (step - since) / step
        else:
            share = (1.0 - self.decay ** (step - since)) / (1.0 - self.decay**step)
        if isinstance(share, float):
            return share
        return share.astype(like.dtype).reshape((-1,) + (1,) * (like.ndim - 1))
