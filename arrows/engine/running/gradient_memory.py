"""Where the gradients of parameters are kept while a batch runs, and how their parts come together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from arrows.engine.device import ArrayWrite, Device
from arrows.engine.program.boxes import overlap, subscript
from arrows.engine.program.instructions import Accumulate, Region
from arrows.ops import Parameter, RowSparse
from arrows.ops.arrays import Array

RunDeferred: TypeAlias = Callable[
    [Sequence["Array | None"], Sequence["Array | None"]], Sequence["Array | RowSparse | None"]
]
"""Runs the region ``deferred`` of an operation.

For each `Accumulate` it is given the range to write to, None: a new array; and on a device with kernels the
range that a product may be added to.  It returns the value, None where that has been added."""

Gradient: TypeAlias = "Array | RowSparse"
"""Of a parameter: an array of its shape, or rows of it."""

ParameterKey = tuple[int, str]
"""The identity of the layer, and the name of the parameter."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a parameter's gradient, which one `Accumulate` adds.

    Attributes:
        key: the parameter.
        region: the range of the parameter; None: row-sparse.
        in_place: nothing else is written there before it, so it may be written in place.
        adds: a product may add it: what is written there in place, other operations have written before.
    """

    key: ParameterKey
    region: Region | None
    in_place: bool
    adds: bool

    def range(self, arrays: Mapping[ParameterKey, Array]) -> Array | None:
        """The range of a gradient that it is: a view, of a scalar too."""
        return None if self.region is None else arrays[self.key][subscript(self.region)]


class GradientMemory:
    """One array for each parameter, kept from batch to batch; the operations write their parts there.

    A parameter whose parts are all row-sparse, such as a table that is only looked up, has no array: its
    gradient is row-sparse.  Where it is read otherwise as well, the rows are added to the array.

    Args:
        accumulates: those of each operation's program.
        device: the device.
    """

    def __init__(self, accumulates: Mapping[int, Sequence[Accumulate]], device: Device) -> None:
        self._device = device
        self._arrays: dict[ParameterKey, Array] = {}
        self._specs: dict[ParameterKey, Parameter] = {}
        regions: dict[ParameterKey, list[tuple[int, Region | None]]] = {}
        for o, own in accumulates.items():
            for accumulate in own:
                key = id(accumulate.owner), accumulate.spec.name
                regions.setdefault(key, []).append((o, accumulate.region))
                self._specs[key] = accumulate.spec
        self._dense = {
            key for key, parts in regions.items() if any(region is not None for _, region in parts)
        }
        parts = {key: iter(_parts(key, of_key)) for key, of_key in regions.items()}
        self._parts = {
            o: [next(parts[id(accumulate.owner), accumulate.spec.name]) for accumulate in own]
            for o, own in accumulates.items()
        }

    @property
    def kept(self) -> list[Array]:
        """The arrays that there are so far."""
        return list(self._arrays.values())

    @property
    def dense_bytes(self) -> int:
        """The bytes of all arrays, those that are still to come included."""
        specs = (self._specs[key] for key in self._dense)
        return sum(prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in specs)

    def begin(self, operations: Iterable[int]) -> BatchGradients:
        """The gradients of a batch in which these operations take part; `blanks` are still to be written.

        What the last batch left in an array is not relied on: an optimizer has had it in its hands since.  So
        it is blank first, unless what is written in place covers it.
        """
        parts = {o: self._parts.get(o, []) for o in operations}
        reached = [part for own in parts.values() for part in own if part.key in self._dense]
        arrays = {part.key: self._array(part.key, self._specs[part.key]) for part in reached}
        missing = {key: int(array.size) for key, array in arrays.items()}
        for part in reached:
            if part.in_place and part.region is not None:
                missing[part.key] -= prod(stop - start for start, stop in part.region)
        blanks = [ArrayWrite(array) for key, array in arrays.items() if missing[key]]
        return BatchGradients(self._device, parts, arrays, blanks)

    def zero(self, key: ParameterKey, spec: Parameter) -> Gradient:
        """The gradient of a parameter that a batch does not reach: of the kind that it has otherwise."""
        if key in self._dense or key not in self._specs:
            # The same array in each batch: an optimizer's kernel need not be told anew where it lies.
            array = self._array(key, spec)
            array[...] = 0
            return array
        rows = self._device.zeros((0,), self._device.index_dtype)
        return RowSparse(rows, self._device.zeros((0, *spec.shape[1:]), spec.dtype), spec.shape)

    def _array(self, key: ParameterKey, spec: Parameter) -> Array:
        if key not in self._arrays:
            self._arrays[key] = self._device.empty(spec.shape, spec.dtype)
        return self._arrays[key]


@dataclass(frozen=True, eq=False, slots=True)
class BatchGradients:
    """The gradients of one batch, while its operations write them.

    Attributes:
        device: the device.
        parts: those of each operation.
        arrays: of the parameters whose gradients are dense.
        blanks: what is to be written before the first part is.
        rows: by parameter, what has been added of row-sparse parts.
    """

    device: Device
    parts: Mapping[int, Sequence[_Part]]
    arrays: Mapping[ParameterKey, Array]
    blanks: Sequence[ArrayWrite]
    rows: dict[ParameterKey, list[RowSparse]] = field(default_factory=dict)

    def add(self, operation: int, deferred: RunDeferred) -> None:
        """Adds the parts of an operation, by its region ``deferred``."""
        parts = self.parts[operation]
        ranges = [part.range(self.arrays) for part in parts]
        targets = [target if part.in_place else None for part, target in zip(parts, ranges, strict=True)]
        added = [target if part.adds else None for part, target in zip(parts, ranges, strict=True)]
        for part, target, value in zip(parts, ranges, deferred(targets, added), strict=True):
            if isinstance(value, RowSparse):
                self.rows.setdefault(part.key, []).append(value)
            elif value is not None and target is not None and not part.in_place:
                target += value

    def total(self) -> dict[ParameterKey, Gradient]:
        """The gradients, once all operations have added theirs."""
        sparse: dict[ParameterKey, Gradient] = {}
        for key, (first, *others) in self.rows.items():
            if key in self.arrays:
                for rows in (first, *others):
                    _add_rows(self.device, rows, self.arrays[key])
            else:
                sparse[key] = reduce(lambda total, rows: total.add(rows, self.device.xp), others, first)
        return {**sparse, **self.arrays}


def _parts(key: ParameterKey, regions: Sequence[tuple[int, Region | None]]) -> list[_Part]:
    """The parts of one parameter: the first that is written to its region may be written in place, if none
    is written to a part of that region alone."""
    parts: list[_Part] = []
    for n, (o, region) in enumerate(regions):
        in_place = adds = region is not None
        if region is not None:
            for m, (other_operation, other) in enumerate(regions):
                if m != n and other is not None and overlap(other, region):
                    in_place &= other == region and m > n
                    adds &= other_operation != o
        parts.append(_Part(key, region, in_place, adds and not in_place))
    return parts


def own(gradient: Gradient) -> Gradient:
    """The gradient in memory of its own: what a batch computes is the next batch's memory."""
    if isinstance(gradient, RowSparse):
        return RowSparse(gradient.rows.copy(), gradient.values.copy(), gradient.shape, gradient.distinct)
    copied: Array = gradient.copy()
    return copied


def add_gradients(device: Device, gradient: Gradient, other: Gradient) -> Gradient:
    """The sum of two gradients of one parameter; row-sparse if both are.

    If both are dense, the first becomes the sum.
    """
    if isinstance(gradient, RowSparse):
        if isinstance(other, RowSparse):
            if device.xp is np:
                return _united(gradient.coalesce(np), other.coalesce(np))
            total = gradient.add(other, device.xp)
            # The host would wait for how many rows differ: only where as many are listed as the table has.
            return total if total.rows.shape[0] <= total.shape[0] else total.coalesce(device.xp)
        gradient, other = other, gradient
    if not isinstance(other, RowSparse):
        gradient += other
        return gradient
    dense: Array = gradient.copy()
    _add_rows(device, other, dense)
    return dense


def _united(gradient: RowSparse, other: RowSparse) -> RowSparse:
    """The sum of two gradients on NumPy that list each row once, which does so too."""
    rows = np.union1d(np.asarray(gradient.rows), np.asarray(other.rows))
    values = np.zeros((len(rows), *gradient.shape[1:]), gradient.dtype)
    values[np.searchsorted(rows, gradient.rows)] = gradient.values
    values[np.searchsorted(rows, other.rows)] += other.values
    return RowSparse(rows, values, gradient.shape, distinct=True)


def _add_rows(device: Device, rows: RowSparse, dense: Array) -> None:
    """Adds rows to a whole array: without another one where no row stands twice."""
    if rows.distinct:
        device.scatter_add_unique(dense, rows.rows, rows.values)
    else:
        rows.add_to(dense, device.xp)
