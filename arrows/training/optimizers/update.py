"""One step on one parameter: gradient clipping, weight decay and the update rule, on dense or sparse rows.

Dense gradients are processed in blocks of rows. A row-sparse gradient, such as an embedding's, costs time for
its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So a row
moves, decays and loses momentum only in the steps that touch it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.device import Device
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, quiet
from arrows.training.optimizers.update_rule import Rule, StepCount
from arrows.training.parameters import row_blocks

Gradient: TypeAlias = Array | RowSparse


@dataclass(frozen=True, slots=True)
class Update:
    """What a step does to one parameter.

    Attributes:
        rule: how the parameter changes.
        state: the rule's arrays for it, by slot.
        scale: the factor of gradient clipping; None without clipping.
        rate: its learning rate.
        count: how many steps have changed it, by row if rows differ.
    """

    rule: Rule
    state: Mapping[str, Array]
    scale: Array | None
    rate: float
    count: StepCount


class Updater:
    """Carries out updates, in scratch memory that it reuses from step to step."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, np.dtype[Any]], Array] = {}

    def apply(self, device: Device, parameter: Array, gradient: Gradient, update: Update) -> None:
        """Changes a parameter and its state in place; the gradient stays as it is."""
        if isinstance(gradient, RowSparse):
            self._apply_to_rows(device, parameter, gradient, update)
            return
        for rows in row_blocks(device, parameter):
            slots = {slot: array[rows] for slot, array in update.state.items()}
            count = update.count if isinstance(update.count, int) else update.count[rows]
            self._apply_rule(device, parameter[rows], gradient[rows], slots, update, count)

    def _apply_to_rows(self, device: Device, parameter: Array, gradient: RowSparse, update: Update) -> None:
        assert not isinstance(update.count, int)  # a parameter whose rows are updated counts them by row
        for block in row_blocks(device, gradient.values):
            rows, values = gradient.rows[block], gradient.values[block]
            touched = device.take(parameter, rows, self._buffer(device, "parameter", values))
            slots = {
                slot: device.take(array, rows, self._buffer(device, slot, values))
                for slot, array in update.state.items()
            }
            self._apply_rule(device, touched, values, slots, update, device.take(update.count, rows))
            parameter[rows] = touched
            for slot, array in update.state.items():
                array[rows] = slots[slot]

    @quiet
    def _apply_rule(
        self,
        device: Device,
        parameter: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        update: Update,
        count: StepCount,
    ) -> None:
        xp, decay = device.xp, update.rule.weight_decay
        if not isinstance(count, int):
            count = count.reshape((-1,) + (1,) * (parameter.ndim - 1))
        scratch = self._buffer(device, "scratch", gradient)
        if update.scale is not None or decay:  # in a buffer: the caller's gradient stays as it is
            buffer = self._buffer(device, "gradient", gradient)
            if update.scale is not None:
                gradient = xp.multiply(gradient, update.scale, out=buffer)
            if decay:
                xp.multiply(parameter, decay, out=scratch)
                gradient = xp.add(gradient, scratch, out=buffer)
        update.rule.update(xp, parameter, gradient, slots, scratch, rate=update.rate, step=count)

    def _buffer(self, device: Device, role: str, like: Array) -> Array:
        """Memory of `like`'s shape and element type, of unspecified content."""
        key = role, like.dtype
        flat = self._buffers.get(key)
        if flat is None or flat.shape[0] < like.size or not device.is_array(flat):
            flat = self._buffers[key] = device.empty((max(like.size, 1),), like.dtype)
        return flat[: like.size].reshape(like.shape)


@quiet
def clip_scale(device: Device, gradients: Sequence[Gradient], clip_norm: float | None) -> Array | None:
    """The factor of gradient clipping, min(1, clip_norm / norm); None without clipping.

    The result stays on the device: reading it here would wait for all work that the device still has queued.
    """
    if clip_norm is None or not gradients:
        return None
    xp = device.xp
    total: Array | None = None
    for gradient in gradients:
        values = gradient.values if isinstance(gradient, RowSparse) else gradient
        for rows in row_blocks(device, values):
            block = values[rows]
            # In float64: a gradient that needs clipping may be so large that its square overflows float32.
            part = xp.sum(xp.multiply(block, block, dtype="float64"))
            total = part if total is None else total + part
    if total is None:
        return None
    norm = xp.sqrt(total)
    scale: Array = clip_norm / xp.maximum(norm, clip_norm)
    return scale
