"""One step on each parameter: gradient clipping, weight decay and the update rule, on dense or sparse rows.

A device with kernels runs the rule in these; everything else runs it on arrays.
Dense gradients are processed in blocks of rows. A row-sparse gradient, such as an embedding's, costs time for
its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So a row
moves, decays and loses momentum only in the steps that touch it. A `dense` change writes the rows into an
array of zeros instead, so that all rows take part, and makes it zeros again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.device import Device
from arrows.engine.values import ForeignArrayError, import_array, lends_memory
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, ArrayModule, quiet
from arrows.training.optimizers.kernel_update import MergedRows, OptimizerKernels
from arrows.training.optimizers.rule_code import RuleCode, record
from arrows.training.optimizers.update_rule import Rule, StepCount
from arrows.training.parameters import row_blocks
from arrows.typesys import ArrowValueError

Rows: TypeAlias = RowSparse | MergedRows
Gradient: TypeAlias = Array | RowSparse


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a step does to one parameter.

    Attributes:
        parameter: changes in place.
        gradient: stays as it is.
        rule: how the parameter changes.
        state: the rule's arrays for it, by slot; they change in place.
        rate: its learning rate.
        count: how many steps have changed it, this one included; for a row-sparse gradient an array of how
            many have changed each row before, which counts this one.
        dense: whether rows that the gradient does not list change too, by a gradient of zeros.
    """

    parameter: Array
    gradient: Array | Rows
    rule: Rule
    state: Mapping[str, Array]
    rate: float
    count: StepCount
    dense: bool


class Updater:
    """Carries out updates, in scratch memory that it reuses from step to step."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, np.dtype[Any]], Array] = {}
        self._zeros: dict[int, Array] = {}  # by the identity of a parameter: zeros, but for `_whole`
        self._kernels: tuple[Device, OptimizerKernels] | None = None

    def kernels(self, device: Device) -> OptimizerKernels | None:
        """The kernels of a device that has some."""
        if not device.has_kernels:
            return None
        if self._kernels is None or self._kernels[0] is not device:
            self._kernels = device, OptimizerKernels(device)
        return self._kernels[1]

    def merge(self, device: Device, gradient: Gradient) -> Array | Rows:
        """A row-sparse gradient with each row once; a dense one as it is."""
        if not isinstance(gradient, RowSparse):
            return gradient
        kernels = self.kernels(device)
        if kernels is not None and kernels.takes(gradient.values):
            return kernels.merge(gradient)
        return gradient.coalesce(device.xp)

    @quiet
    def clip_scale(
        self, device: Device, gradients: Sequence[Array | Rows], clip_norm: float | None
    ) -> Array | None:
        """The factor of gradient clipping, min(1, clip_norm / norm), a float64; None without clipping.

        The result stays on the device: reading it here would wait for all work that the device still has
        queued.
        """
        arrays = [numbers_of(gradient) for gradient in gradients]
        if clip_norm is None or not any(array.size for array in arrays):
            return None
        kernels = self.kernels(device)
        if kernels is not None and kernels.takes(*arrays):
            dense = [gradient for gradient in gradients if not isinstance(gradient, Rows)]
            sparse = [gradient.values for gradient in gradients if isinstance(gradient, Rows)]
            return kernels.clip_scale(dense, sparse, float(clip_norm))
        xp = device.xp
        total: Array | float = 0.0
        for values in arrays:
            for rows in row_blocks(device, values):
                block = values[rows]
                # In float64: a gradient that needs clipping may be too large for its square in float32.
                total = xp.sum(xp.multiply(block, block, dtype="float64")) + total
        scale: Array = clip_norm / xp.maximum(xp.sqrt(total), clip_norm)
        return scale

    def apply(
        self,
        device: Device,
        changes: Sequence[Change],
        scale: Array | None = None,
        unless: Array | None = None,
    ) -> None:
        """Changes parameters and their state in place.

        Args:
            device: where they are.
            changes: what to do.
            scale: the factor of gradient clipping.
            unless: float64 [1]; where it is 0, nothing changes.
        """
        whole = [self._whole(device, change) for change in changes]
        try:
            self._apply_whole(device, whole, scale, unless)
        except BaseException:
            self._zeros.clear()  # they may not be zeros again
            raise
        for change, filled in zip(changes, whole, strict=True):
            if filled is not change:
                assert isinstance(change.gradient, Rows) and not isinstance(filled.gradient, Rows)
                self._write_rows(device, filled.gradient, change.gradient, zeros=True)

    def _apply_whole(
        self, device: Device, changes: Sequence[Change], scale: Array | None, unless: Array | None
    ) -> None:
        kernels = self.kernels(device)
        if kernels is not None:
            changes = _launch(kernels, changes, scale, unless)
        for change in changes:
            cast = None if scale is None else scale.reshape(()).astype(change.parameter.dtype)
            if isinstance(change.gradient, Rows):
                self._apply_to_rows(device, change, change.gradient, cast, unless)
            else:
                self._apply_dense(device, change, change.gradient, cast, unless)

    def _whole(self, device: Device, change: Change) -> Change:
        """The change with its rows in an array of zeros, where it is to change all rows."""
        if not change.dense or not isinstance(change.gradient, Rows):
            return change
        parameter, key = change.parameter, id(change.parameter)
        zeros = self._zeros.get(key)
        if (
            zeros is None
            or not device.is_array(zeros)
            or (zeros.shape, zeros.dtype)
            != (
                parameter.shape,
                parameter.dtype,
            )
        ):
            # Kept from step to step: a kernel need not be told anew where it lies, and few rows are written.
            zeros = self._zeros[key] = device.zeros(parameter.shape, parameter.dtype)
        self._write_rows(device, zeros, change.gradient)
        return replace(change, gradient=zeros)

    def _write_rows(self, device: Device, target: Array, rows: Rows, *, zeros: bool = False) -> None:
        """Writes the rows of a gradient, or zeros in their place."""
        if not isinstance(rows, MergedRows):
            target[rows.rows] = 0 if zeros else rows.values
            return
        kernels = self.kernels(device)
        assert kernels is not None  # they merged the rows
        kernels.write_rows(target, rows, zeros=zeros)

    def _apply_dense(
        self, device: Device, change: Change, gradient: Array, scale: Array | None, unless: Array | None
    ) -> None:
        for rows in row_blocks(device, change.parameter):
            slots = {slot: array[rows] for slot, array in change.state.items()}
            count = change.count if isinstance(change.count, int) else change.count[rows]
            self._apply_rule(
                device, change, change.parameter[rows], gradient[rows], slots, count, scale, unless
            )

    def _apply_to_rows(
        self, device: Device, change: Change, gradient: Rows, scale: Array | None, unless: Array | None
    ) -> None:
        parameter, counts = change.parameter, change.count
        if isinstance(gradient, MergedRows):
            gradient = gradient.gradient.coalesce(device.xp)
        assert not isinstance(counts, int)  # a parameter whose rows are updated counts them by row
        ones = device.xp.ones(gradient.rows.shape, "float64")
        device.scatter_add_unique(counts, gradient.rows, ones if unless is None else ones * unless)
        for block in row_blocks(device, gradient.values):
            rows, values = gradient.rows[block], gradient.values[block]
            touched = device.take(parameter, rows, self._buffer(device, "parameter", values))
            slots = {
                slot: device.take(array, rows, self._buffer(device, slot, values))
                for slot, array in change.state.items()
            }
            count = device.take(counts, rows)
            self._apply_rule(device, change, touched, values, slots, count, scale, unless)
            parameter[rows] = touched
            for slot, array in change.state.items():
                array[rows] = slots[slot]

    @quiet
    def _apply_rule(
        self,
        device: Device,
        change: Change,
        parameter: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        count: StepCount,
        scale: Array | None,
        unless: Array | None,
    ) -> None:
        if not isinstance(count, int):
            count = count.reshape((-1,) + (1,) * (parameter.ndim - 1))
        # In a buffer, since the caller's gradient stays as it is.
        changed = scale is not None or change.rule.weight_decay
        buffer = self._buffer(device, "gradient", gradient) if changed else gradient
        scratch = self._buffer(device, "scratch", gradient)
        arrays = [parameter, *slots.values()]
        before = [] if unless is None else [array.copy() for array in arrays]
        run_rule(
            device.xp,
            parameter,
            gradient,
            slots,
            buffer,
            scratch,
            rule=change.rule,
            rate=change.rate,
            scale=scale,
            step=count,
        )
        if unless is not None:
            for array, old in zip(arrays, before, strict=True):
                array[...] = device.xp.where(device.xp.not_equal(unless.reshape(()), 0), array, old)

    def _buffer(self, device: Device, role: str, like: Array) -> Array:
        """Memory of `like`'s shape and element type, of unspecified content."""
        key = role, like.dtype
        flat = self._buffers.get(key)
        if flat is None or flat.shape[0] < like.size or not device.is_array(flat):
            flat = self._buffers[key] = device.empty((max(like.size, 1),), like.dtype)
        return flat[: like.size].reshape(like.shape)


def run_rule(
    xp: ArrayModule,
    parameter: Array,
    gradient: Array,
    slots: Mapping[str, Array],
    buffer: Array,
    scratch: Array,
    *,
    rule: Rule,
    rate: float,
    scale: Array | None,
    step: StepCount,
) -> None:
    """Clips the gradient, adds the weight decay and lets the rule take its step; on arrays, or on symbols."""
    if scale is not None:
        gradient = xp.multiply(gradient, scale, out=buffer)
    if rule.weight_decay:
        xp.multiply(parameter, rule.weight_decay, out=scratch)
        gradient = xp.add(gradient, scratch, out=buffer)
    rule.update(xp, parameter, gradient, slots, scratch, rate=rate, step=step)


def _launch(
    kernels: OptimizerKernels, changes: Sequence[Change], scale: Array | None, unless: Array | None
) -> list[Change]:
    """Takes the steps that kernels can take; returns the others."""
    kernels.begin()
    recorded: dict[Hashable, tuple[RuleCode, list[float]] | None] = {}
    together: dict[tuple[RuleCode, tuple[float, ...]], list[tuple[Array, Array, Change]]] = {}
    others = []
    for change in changes:
        parameter, gradient = change.parameter, change.gradient
        count = change.count if isinstance(change.count, int) else None
        dtype = parameter.dtype.name
        key = dtype, change.rate, count
        if key not in recorded:
            run = partial(run_rule, rule=change.rule, rate=change.rate)
            recorded[key] = record(run, change.state, dtype, scaled=scale is not None, count=count)
        step = recorded[key]
        if step is None or not kernels.takes(parameter, numbers_of(gradient), *change.state.values()):
            others.append(change)
        elif isinstance(gradient, MergedRows):
            kernels.update_rows(*step, parameter, gradient, change, scale, unless)
        elif isinstance(gradient, RowSparse) or count is None:
            others.append(change)  # a dense gradient of a parameter that counts by row
        else:
            code, numbers = step
            together.setdefault((code, tuple(numbers)), []).append((parameter, gradient, change))
    for (code, group), dense in together.items():
        kernels.update(code, group, dense, scale, unless)
    return others


def numbers_of(gradient: Array | Rows) -> Array:
    """The array of a gradient, or the values of its rows."""
    return gradient.values if isinstance(gradient, Rows) else gradient


def on_device(device: Device, name: str, gradient: Gradient) -> Gradient:
    """A gradient on the model's device; what is no array as it is."""
    if device.is_array(gradient):
        return gradient
    try:
        if isinstance(gradient, RowSparse):
            if device.is_array(gradient.rows) and device.is_array(gradient.values):
                return gradient
            rows, values = import_array(device, gradient.rows), import_array(device, gradient.values)
            return RowSparse(rows, values, gradient.shape)
        foreign = isinstance(gradient, (np.ndarray, np.generic)) or lends_memory(gradient)
        return import_array(device, gradient) if foreign else gradient
    except ForeignArrayError as error:
        raise ArrowValueError(f"the gradient of {name!r} cannot be read: {error}") from error
