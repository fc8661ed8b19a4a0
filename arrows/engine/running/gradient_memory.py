"""Where the gradients of parameters are kept while a batch runs, and how their parts come together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from math import prod
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import ArrayWrite, Device
from arrows.engine.program import Accumulate, Region, overlap, subscript
from arrows.ops import Parameter, RowSparse

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

_Name = TypeVar("_Name", str, ParameterKey)


class _Part(NamedTuple):
    """A part of a parameter's gradient, which one `Accumulate` adds.

    Attributes:
        key: the parameter.
        target: the range of its array: a view, of a scalar too; None: row-sparse.
        in_place: nothing else is written there before it, so it may be written in place.
        adds: a product may add it: what is there already, other operations have written.
    """

    key: ParameterKey
    target: Array | None
    in_place: bool
    adds: bool


class GradientMemory:
    """One array for each parameter, kept from batch to batch; the operations write their parts there.

    A parameter whose parts are all row-sparse, such as a table that is only looked up, has no array: its
    gradient is row-sparse.  Where it is read otherwise as well, the rows are added to the array.

    Args:
        accumulates: those of each operation's program.
        device: the device.
    """

    def __init__(self, accumulates: Mapping[int, Sequence[Accumulate]], device: Device) -> None:
        self._accumulates, self._device = accumulates, device
        self._arrays: dict[ParameterKey, Array] = {}
        each = list(chain.from_iterable(accumulates.values()))
        self._specs = {_key(accumulate): accumulate.spec for accumulate in each}
        self._dense = {_key(accumulate) for accumulate in each if accumulate.region is not None}

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
        parts: dict[int, list[_Part]] = {}
        arrays: dict[ParameterKey, Array] = {}
        writers: dict[ParameterKey, list[tuple[int, Region]]] = {}  # and what each writes in place
        for o in operations:
            parts[o] = []
            for accumulate in self._accumulates.get(o, ()):
                key, region = _key(accumulate), accumulate.region
                if key in self._dense:
                    arrays[key] = self._array(key, accumulate.spec)
                if region is None:
                    parts[o].append(_Part(key, None, in_place=False, adds=False))
                    continue
                own = writers.setdefault(key, [])
                before = [writer for writer, other in own if overlap(other, region)]
                if not before:
                    own.append((o, region))
                adds = bool(before) and o not in before
                parts[o].append(_Part(key, arrays[key][subscript(region)], not before, adds))
        written = {key: sum(_size(region) for _, region in own) for key, own in writers.items()}
        blanks = [ArrayWrite(array) for key, array in arrays.items() if written.get(key, 0) < array.size]
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
        targets = [part.target if part.in_place else None for part in parts]
        added = [part.target if part.adds else None for part in parts]
        for part, value in zip(parts, deferred(targets, added), strict=True):
            target = part.target
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


def _key(accumulate: Accumulate) -> ParameterKey:
    return id(accumulate.owner), accumulate.spec.name


def _size(region: Region) -> int:
    return prod(stop - start for start, stop in region)


def own(gradient: Gradient) -> Gradient:
    """The gradient in memory of its own: what a batch computes is the next batch's memory."""
    if isinstance(gradient, RowSparse):
        return RowSparse(gradient.rows.copy(), gradient.values.copy(), gradient.shape, gradient.distinct)
    copied: Array = gradient.copy()
    return copied


def add_gradients(
    device: Device,
    sums: dict[_Name, Gradient],
    gradients: Mapping[_Name, Gradient],
    *,
    lend: bool = False,
) -> None:
    """Adds the gradients of a run to sums.

    A first one is copied, as the next run writes to its memory, or it is lent: no other run follows.
    """
    for key, gradient in gradients.items():
        if key in sums:
            sums[key] = _sum(device, sums[key], gradient)
        else:
            sums[key] = gradient if lend else own(gradient)


def _sum(device: Device, gradient: Gradient, other: Gradient) -> Gradient:
    """The sum of two gradients of one parameter; row-sparse if both are.

    If both are dense, the first becomes the sum.
    """
    if isinstance(gradient, RowSparse):
        if isinstance(other, RowSparse):
            total = gradient.add(other, device.xp)
            # The host would wait for how many rows differ: only where as many are listed as the table has.
            few = device.xp is not np and total.rows.shape[0] <= total.shape[0]
            return total if few else total.coalesce(device.xp)
        gradient, other = other, gradient
    if not isinstance(other, RowSparse):
        gradient += other
        return gradient
    dense: Array = gradient.copy()
    _add_rows(device, other, dense)
    return dense


def _add_rows(device: Device, rows: RowSparse, dense: Array) -> None:
    """Adds rows to a whole array: without another one where no row stands twice."""
    if rows.distinct:
        device.scatter_add_unique(dense, rows.rows, rows.values)
    else:
        rows.add_to(dense, device.xp)
