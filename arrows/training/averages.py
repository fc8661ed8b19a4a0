"""Averages of the parameters over the steps of a training run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from arrows.engine.device import Device
from arrows.ops.arrays import quiet
from arrows.training.arguments import require_number
from arrows.training.parameters import Array, Trainable
from arrows.training.row_chunks import blocks
from arrows.typesys.errors import ArrowValueError


class Averages:
    """Weighted means of each parameter's values after each step, brought up to date when they are asked for.

    The mean after t steps gives the value of step i the weight decay^(t - i), the weights made to sum to 1.
    With a decay of 1 it is the plain mean (Polyak, Juditsky, "Acceleration of stochastic approximation by
    averaging", SIAM J. Control and Optimization 30, 1992, equation 3), below 1 the exponential one, corrected
    for its beginning (Kingma, Ba, "Adam", ICLR 2015, section 7.2).

    A value that stood for several steps enters at once with their weights together. So a row of a table costs
    nothing in the steps that do not touch it, and its mean is still that over all steps.

    Args:
        decay: above 0 and at most 1.

    Attributes:
        values: parameter name -> the mean, for the parameters that have moved.
        since: parameter name -> the step up to which `values` has the mean: a number, or for tables of which
            rows were touched alone, an array of the device, float64 `[rows]`.

    Raises:
        ArrowValueError: `decay` is out of its range.

    >>> import numpy as np
    >>> from arrows.engine.device import get_device
    >>> mean, w = Averages(1.0), np.zeros(2)
    >>> for step in (1, 2, 3):
    ...     mean.before(get_device("cpu"), "w", w, step)
    ...     w += 1.0
    >>> mean.up_to(get_device("cpu"), {"w": w}, 3)
    >>> mean.values["w"].tolist()
    [2.0, 2.0]
    """

    def __init__(self, decay: float) -> None:
        require_number("average", decay)
        if not 0 < decay <= 1:
            raise ArrowValueError(f"average is {decay}, and should be above 0 and at most 1")
        self.decay = decay
        self.values: dict[str, Array] = {}
        self.since: dict[str, Any] = {}
        self.in_use = False

    def before(
        self, device: Device, name: str, parameter: Array, step: int, rows: Array | None = None
    ) -> None:
        """Takes in the values that a parameter, or its `rows`, had up to now, before `step` changes them."""
        if name not in self.values:
            self.values[name], self.since[name] = parameter.copy(), 0
        self._bring(device, name, parameter, step - 1, rows)

    def up_to(self, device: Device, params: Mapping[str, Array], steps: int) -> None:
        """Makes `values` the means after `steps` steps."""
        for name in self.values:
            self._bring(device, name, params[name], steps, None)

    @contextmanager
    def in_place_of(self, model: Trainable, steps: int) -> Iterator[None]:
        """Within the context, the means after `steps` steps stand in the model's arrays."""
        if self.in_use:
            raise ArrowValueError("the averages are in use already")
        self.up_to(model.device, model.params, steps)
        own = {name: model.params[name].copy() for name in self.values}
        self.in_use = True
        try:
            for name, mean in self.values.items():
                model.params[name][...] = mean
            yield
        finally:
            for name, array in own.items():
                model.params[name][...] = array
            self.in_use = False

    @quiet
    def _bring(self, device: Device, name: str, parameter: Array, step: int, rows: Array | None) -> None:
        if step == 0:
            return
        xp, mean, since = device.xp, self.values[name], self.since[name]
        if rows is not None and isinstance(since, int):
            since = self.since[name] = xp.full((parameter.shape[0],), float(since), "float64")
        if rows is None:
            if isinstance(since, int):
                if since == step:
                    return
                share = self._share(since, step)
            else:
                share = self._share(since, step).astype(parameter.dtype)
                share = share.reshape((-1,) + (1,) * (parameter.ndim - 1))
            for block in blocks(device, parameter):
                change = xp.asarray(parameter[block] - mean[block])
                change *= share if isinstance(since, int) else share[block]
                mean[block] += change
            self.since[name] = step
            return
        share = self._share(device.take(since, rows), step).astype(parameter.dtype)
        old = device.take(mean, rows)
        change = device.take(parameter, rows) - old
        change *= share.reshape((-1,) + (1,) * (parameter.ndim - 1))
        mean[rows] = old + change
        since[rows] = float(step)

    def _share(self, since: Any, step: int) -> Any:
        """The share of the last `step - since` steps in the mean over `step` steps."""
        if self.decay == 1:
            return (step - since) / step
        return (1.0 - self.decay ** (step - since)) / (1.0 - self.decay**step)
