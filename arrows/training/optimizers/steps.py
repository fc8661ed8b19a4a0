"""One step on each parameter: equal rows added up, gradients clipped, the update run.

Dense gradients are processed in blocks of rows. A row-sparse gradient, such as an embedding's, costs time
for its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So
each row behaves as if it had an optimizer of its own that sleeps between its gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.device import Device
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, quiet
from arrows.training.optimizers.update import Gradient, StepCount, Update
from arrows.training.parameters import row_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a step does to one parameter.

    Attributes:
        update: how it changes.
        parameter: changes in place.
        gradient: stays as it is.
        state: the arrays of the optimizer for it, by slot; they change in place.
        rate: its learning rate.
        count: how many steps have changed it, this one included; for a row-sparse gradient an array of how
            many have changed each row before, which counts this one.
    """

    update: Update
    parameter: Array
    gradient: Gradient
    state: Mapping[str, Array]
    rate: float
    count: StepCount

    @property
    def targets(self) -> list[Array]:
        """The arrays that change."""
        return [self.parameter, *self.state.values()]


class Steps:
    """Takes steps on arrays, in scratch memory that is reused from step to step."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._buffers: dict[tuple[int, np.dtype[Any]], Array] = {}
        self._numbers: dict[tuple[Update, float, int], list[Any]] = {}  # of the step at hand

    def merge(self, gradient: RowSparse, *, dense: bool) -> Gradient:
        """A row-sparse gradient with each row once; or, if `dense`, as the whole array."""
        merged = gradient.coalesce(self.device.xp)
        if not dense:
            return merged
        whole = self.device.zeros(gradient.shape, gradient.dtype)
        whole[merged.rows] = merged.values
        return whole

    @quiet
    def clip_scale(self, gradients: Sequence[Gradient], clip_norm: float) -> Array:
        """The factor of gradient clipping, min(1, clip_norm / norm), a float64.

        The result stays on the device: reading it here would wait for all work that the device still has
        queued.
        """
        xp = self.device.xp
        total: Array | float = 0.0
        for values in map(numbers_of, gradients):
            for rows in row_blocks(self.device, values):
                block = values[rows]
                # In float64: a gradient that needs clipping may be too large for its square in float32.
                total = xp.sum(xp.multiply(block, block, dtype="float64")) + total
        scale: Array = clip_norm / xp.maximum(xp.sqrt(total), clip_norm)
        return scale

    @quiet
    def apply(self, changes: Sequence[Change], scale: Array | None) -> None:
        """Changes parameters and their state in place.

        Args:
            changes: what to do.
            scale: the factor of gradient clipping.
        """
        device = self.device
        self._numbers.clear()
        for change in changes:
            gradient, targets, count = change.gradient, change.targets, change.count
            if not isinstance(gradient, RowSparse):
                for block in row_blocks(device, change.parameter):
                    parts = [array[block] for array in targets]
                    counts = count if isinstance(count, int) else count[block]
                    self._run(change, parts, gradient[block], counts, scale)
                continue
            gradient = gradient.coalesce(device.xp)
            assert not isinstance(count, int)  # a parameter whose rows are updated counts them by row
            ones = device.xp.ones(gradient.rows.shape, "float64")
            device.scatter_add_unique(count, gradient.rows, ones)
            for block in row_blocks(device, gradient.values):
                rows, values = gradient.rows[block], gradient.values[block]
                taken = [
                    device.take(array, rows, self._buffer(-1 - n, values)) for n, array in enumerate(targets)
                ]
                self._run(change, taken, values, device.take(count, rows), scale)
                for array, new in zip(targets, taken, strict=True):
                    array[rows] = new

    def numbers(self, change: Change, count: StepCount) -> list[Any]:
        """What the update reads of the rate and of the number of steps, which most parameters share."""
        update, xp, rate = change.update, self.device.xp, float(change.rate)
        if not isinstance(count, int):
            by_row = (-1,) + (1,) * (change.parameter.ndim - 1)
            return update.numbers_of(xp, rate, count.astype(change.parameter.dtype).reshape(by_row))
        key = update, rate, count
        if key not in self._numbers:
            self._numbers[key] = update.numbers_of(xp, rate, float(count))
        return self._numbers[key]

    def _run(
        self,
        change: Change,
        targets: Sequence[Array],
        gradient: Array,
        count: StepCount,
        scale: Array | None,
    ) -> None:
        update, xp = change.update, self.device.xp
        factor = None if scale is None else scale.reshape(()).astype(gradient.dtype)
        scratch = [self._buffer(number, gradient) for number in range(update.scratches)]
        update.run(xp, targets, gradient, factor, self.numbers(change, count), scratch)

    def _buffer(self, number: int, like: Array) -> Array:
        """Memory of `like`'s shape and element type, of unspecified content."""
        key = number, like.dtype
        flat = self._buffers.get(key)
        if flat is None or flat.shape[0] < like.size:
            flat = self._buffers[key] = self.device.empty((max(like.size, 1),), like.dtype)
        return flat[: like.size].reshape(like.shape)


def numbers_of(gradient: Gradient) -> Array:
    """The array of a gradient, or the values of its rows."""
    return gradient.values if isinstance(gradient, RowSparse) else gradient
