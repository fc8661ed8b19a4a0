"""One step on each parameter: equal rows added up, gradients clipped, the rule run.

Dense gradients are processed in blocks of rows. A row-sparse gradient, such as an embedding's, costs time
for its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So
each row behaves as if it had an optimizer of its own that sleeps between its gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import Device
from arrows.ops import RowSparse
from arrows.training.optimizers.rule import Gradient, Rule, StepCount, on_arrays
from arrows.training.parameters import row_blocks


@dataclass(slots=True)
class Change:
    """What a step does to one parameter.

    Attributes:
        rule: how it changes.
        gradient: stays as it is; a row-sparse one is as `merge` gives it.
        targets: the parameter, and the arrays of the optimizer for it; they change in place.
        rate: its learning rate.
        count: how many steps have changed it, this one included; for a row-sparse gradient an array of how
            many have changed each row before, which counts this one.
    """

    rule: Rule
    gradient: Gradient
    targets: list[Array]
    rate: float
    count: StepCount


class ArraySteps:
    """Takes steps on arrays, in scratch memory that is reused from step to step."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.code = cache(lambda rule: on_arrays(rule, device.xp))
        self._memory: dict[np.dtype[Any], Array] = {}
        self._numbers: dict[tuple[Rule, float, int], list[Any]] = {}  # of the step at hand

    def merge(self, gradient: RowSparse, *, dense: bool) -> Gradient:
        """A row-sparse gradient with each row once; or, if `dense`, as the whole array."""
        xp, merged = self.device.xp, gradient.coalesce(self.device.xp)
        if not dense:
            return merged
        # A device checks no index. What is for rows that the table lacks goes to one behind the last.
        size = gradient.shape[0]
        there = xp.logical_and(merged.rows >= 0, merged.rows < size)
        whole = self.device.zeros((size + 1, *gradient.shape[1:]), gradient.dtype)
        whole[xp.where(there, merged.rows, size)] = merged.values
        return whole[:size]

    def scale(self, gradients: Sequence[Array], most_norm: float) -> Any:
        """The factor, a float64, by which all numbers together have this norm at most.

        It stays on the device: to read it would wait for all work that the device still has queued.
        """
        xp, total = self.device.xp, 0.0
        for values in gradients:
            for rows in row_blocks(self.device, values):
                block = values[rows]
                # In float64: a gradient that needs clipping may be too large for its square in float32.
                total = xp.multiply(block, block, dtype="float64").sum() + total
        return most_norm / xp.maximum(xp.sqrt(total), most_norm)

    def apply(self, changes: Sequence[Change], scale: Array | None) -> None:
        """Changes parameters and their state in place.

        Args:
            changes: what to do.
            scale: the factor of gradient clipping.
        """
        self._numbers.clear()
        for change in changes:
            gradient, targets, count = change.gradient, change.targets, change.count
            factor = None if scale is None else scale.reshape(()).astype(gradient.dtype)
            if isinstance(gradient, RowSparse):
                self._change_rows(change, gradient, factor)
                continue
            step, scratches = self.code(change.rule)
            for block in row_blocks(self.device, gradient):
                counts = count if isinstance(count, int) else count[block]
                parts = [array[block] for array in targets]
                scratch = self._scratch_like(gradient[block], scratches)
                step(gradient[block], factor, parts, self.numbers(change, counts), scratch)

    def _change_rows(self, change: Change, gradient: RowSparse, factor: Array | None) -> None:
        device, targets, count = self.device, change.targets, change.count
        gradient = gradient.coalesce(device.xp)  # kernels, which could not read a target, merge otherwise
        assert not isinstance(count, int)  # a parameter whose rows are updated counts them by row
        step, scratches = self.code(change.rule)
        device.scatter_add_unique(count, gradient.rows, device.xp.ones(gradient.rows.shape, "float64"))
        for block in row_blocks(device, gradient.values):
            rows, values = gradient.rows[block], gradient.values[block]
            memory = self._scratch_like(values, len(targets) + scratches)
            taken, scratch = memory[: len(targets)], memory[len(targets) :]
            for array, part in zip(targets, taken, strict=True):
                device.take(array, rows, part)
            step(values, factor, taken, self.numbers(change, device.take(count, rows)), scratch)
            for array, part in zip(targets, taken, strict=True):
                array[rows] = part

    def numbers(self, change: Change, count: StepCount) -> list[Any]:
        """What the rule reads of the rate and of the number of steps, which most parameters share."""
        rule, xp, rate = change.rule, self.device.xp, float(change.rate)
        if not isinstance(count, int):
            by_row = (-1,) + (1,) * (change.targets[0].ndim - 1)
            return rule.numbers_of(xp, rate, count.astype(change.gradient.dtype).reshape(by_row))
        key = rule, rate, count
        if key not in self._numbers:
            self._numbers[key] = rule.numbers_of(xp, rate, float(count))
        return self._numbers[key]

    def _scratch_like(self, array: Array, count: int) -> list[Array]:
        """Arrays of the shape and element type of one, of unspecified content."""
        size, memory = array.size, self._memory.get(array.dtype)
        if memory is None or memory.size < count * size:
            memory = self._memory[array.dtype] = self.device.empty((count * size,), array.dtype)
        return [memory[n * size : (n + 1) * size].reshape(array.shape) for n in range(count)]


def numbers_of(gradient: Gradient) -> Array:
    """The array of a gradient, or the values of its rows."""
    return gradient.values if isinstance(gradient, RowSparse) else gradient
