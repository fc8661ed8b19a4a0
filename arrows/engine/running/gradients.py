"""Where the gradients of parameters are kept while a batch runs, and how their pieces come together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arrows.engine.device import Device
from arrows.engine.program import Program
from arrows.engine.program.pieces import Piece, Subscript, overlap, subscript, uncovered
from arrows.ops import Parameter, RowSparse

Array = Any
Gradient = Any
ParameterKey = tuple[int, str]  # identity of the layer, name of the parameter


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a piece of a program goes.

    Attributes:
        key: the parameter.
        operation, number: whose piece it is, and which of its pieces.
        piece: the piece; None: row-sparse.
        direct: nothing else is written there before it, so it may be written in place.
    """

    key: ParameterKey
    operation: int
    number: int
    piece: Piece | None
    direct: bool


class GradientMemory:
    """One array for each parameter, kept from batch to batch; the operations write their pieces there.

    A parameter whose pieces are all row-sparse, such as a table that is only looked up, has no array: its
    gradient is row-sparse.  Where it is read otherwise as well, the rows are added to the array.

    Args:
        programs: by operation.
        device: the device.
    """

    def __init__(self, programs: Mapping[int, Program], device: Device) -> None:
        self._device = device
        self._arrays: dict[ParameterKey, Array] = {}
        self._specs: dict[ParameterKey, Parameter] = {}
        pieces: dict[ParameterKey, list[tuple[int, int, Piece | None]]] = {}
        for o, program in programs.items():
            for number, (parameter, piece) in enumerate(program.pieces):
                owner, spec, _ = program.trace.parameters[parameter]
                key = id(owner), spec.name
                pieces.setdefault(key, []).append((o, number, piece))
                self._specs[key] = spec
        self._dense = {key for key, some in pieces.items() if any(piece is not None for _, _, piece in some)}
        self._places: dict[int, list[_Place]] = {}
        for key, some in pieces.items():
            for place in _places(key, some):
                self._places.setdefault(place.operation, []).append(place)
        self._blanks: dict[tuple[ParameterKey, tuple[_Place, ...]], list[Subscript]] = {}

    @property
    def kept(self) -> list[Array]:
        """The arrays that there are so far."""
        return list(self._arrays.values())

    def begin(self, operations: Iterable[int]) -> BatchGradients:
        """The gradients of a batch in which the given operations take part, ready to be written."""
        places = {o: self._places.get(o, []) for o in operations}
        reached: dict[ParameterKey, list[_Place]] = {}
        for some in places.values():
            for place in some:
                reached.setdefault(place.key, []).append(place)
        arrays = {key: self._array(key, tuple(reached[key])) for key in reached if key in self._dense}
        return BatchGradients(self._device, places, arrays)

    def zero(self, key: ParameterKey, spec: Parameter) -> Gradient:
        """The gradient of a parameter that a batch does not reach: of the kind that it has otherwise."""
        if key in self._dense or key not in self._specs:
            return self._device.zeros(spec.shape, spec.dtype)
        rows = self._device.zeros((0,), self._device.index_dtype)
        return RowSparse(rows, self._device.zeros((0, *spec.shape[1:]), spec.dtype), spec.shape)

    def _array(self, key: ParameterKey, places: Sequence[_Place]) -> Array:
        """A parameter's array, zero wherever no piece is written in place.

        What the last batch left is not relied on: an optimizer has had the array in its hands since.
        """
        spec = self._specs[key]
        if key not in self._arrays:
            self._arrays[key] = self._device.empty(spec.shape, spec.dtype)
        direct = tuple(place for place in places if place.direct)
        if (key, direct) not in self._blanks:
            regions = [place.piece.region for place in direct if place.piece is not None]
            self._blanks[key, direct] = [subscript(region) for region in uncovered(spec.shape, regions)]
        array = self._arrays[key]
        for blank in self._blanks[key, direct]:
            array[blank] = 0
        return array


class BatchGradients:
    """The gradients of one batch, while its operations write them.

    Args:
        device: the device.
        places: of the pieces of each operation.
        arrays: of the parameters whose gradients are dense.
    """

    def __init__(
        self,
        device: Device,
        places: Mapping[int, Sequence[_Place]],
        arrays: Mapping[ParameterKey, Array],
    ) -> None:
        self._device = device
        self._places = places
        self._arrays = arrays
        self._rows: dict[ParameterKey, RowSparse] = {}

    def targets(self, operation: int, count: int) -> list[Array]:
        """For each piece of an operation's program, the range to write to, or None: added afterwards, or
        sparse."""
        targets: list[Array] = [None] * count
        for place in self._places[operation]:
            if place.direct:
                targets[place.number] = self._range(place)
        return targets

    def add(self, operation: int, values: Sequence[Array]) -> None:
        """Adds the pieces of an operation that were not written in place."""
        for place in self._places[operation]:
            value = values[place.number]
            if place.piece is None:
                rows = self._rows.get(place.key)
                self._rows[place.key] = value if rows is None else rows.add(value, self._device.xp)
            elif not place.direct:
                target = self._range(place)
                target += value

    def total(self) -> dict[ParameterKey, Gradient]:
        """The gradients, once all operations have added theirs."""
        for key, rows in self._rows.items():
            if key in self._arrays:
                rows.add_to(self._arrays[key], self._device.xp)
        return {**self._rows, **self._arrays}

    def _range(self, place: _Place) -> Array:
        """The part of a gradient that a piece is: a view, of a scalar too."""
        assert place.piece is not None
        return self._arrays[place.key][subscript(place.piece.region)]


def _places(key: ParameterKey, pieces: Sequence[tuple[int, int, Piece | None]]) -> list[_Place]:
    """Where the pieces of one parameter go: the first that is written to its region may be written in place,
    if no piece writes to a part of that region alone."""
    places = []
    for n, (o, number, piece) in enumerate(pieces):
        direct = piece is not None
        if piece is not None:
            for m, (_, _, other) in enumerate(pieces):
                if m != n and other is not None and overlap(other.region, piece.region):
                    direct &= other.region == piece.region and m > n
        places.append(_Place(key, o, number, piece, direct))
    return places


def own(gradient: Gradient) -> Gradient:
    """The gradient in memory of its own: what a batch computes is the next batch's memory."""
    if isinstance(gradient, RowSparse):
        return RowSparse(gradient.rows.copy(), gradient.values.copy(), gradient.shape)
    return gradient.copy()


def add_gradients(device: Device, gradient: Gradient, other: Gradient) -> Gradient:
    """The sum of two gradients of one parameter; row-sparse if both are.

    If both are dense, the first becomes the sum.
    """
    if isinstance(gradient, RowSparse) and isinstance(other, RowSparse):
        return gradient.add(other, device.xp)
    if isinstance(gradient, RowSparse):
        gradient, other = other, gradient
    if not isinstance(other, RowSparse):
        gradient += other
        return gradient
    total = own(gradient)
    other.add_to(total, device.xp)
    return total
