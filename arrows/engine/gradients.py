"""Where the gradients of parameters are kept while a batch runs, and how their pieces come together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arrows.engine.backend import Backend
from arrows.engine.pieces import Piece, overlap
from arrows.engine.program import Program
from arrows.ops.context import Parameter
from arrows.ops.rowsparse import RowSparse

Array = Any
Gradient = Any
ParameterKey = tuple[int, str]  # identity of the layer, name of the parameter


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a piece of a program goes.

    Attributes:
        operation, number: whose piece it is, and which of its pieces.
        piece: the piece.
        direct: it is the first that is written there, and so may be written in place.
    """

    operation: int
    number: int
    piece: Piece
    direct: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """A parameter whose gradient is dense.

    Attributes:
        spec: the parameter.
        places: of its pieces.
        complete: whether, where all operations take part, what is not written in place is zero anyway.
    """

    spec: Parameter
    places: tuple[_Place, ...]
    complete: bool


class GradientMemory:
    """One array for each parameter, kept from batch to batch; the operations write their pieces there.

    Args:
        programs: by operation.
        backend: the device.
    """

    def __init__(self, programs: Mapping[int, Program], backend: Backend) -> None:
        self.backend = backend
        self._arrays: dict[ParameterKey, Array] = {}
        found: dict[ParameterKey, list[tuple[int, int, Piece]]] = {}
        specs: dict[ParameterKey, Parameter] = {}
        for o, program in programs.items():
            for number, (parameter, piece) in enumerate(program.pieces):
                owner, spec, _ = program.trace.parameters[parameter]
                if piece is not None:
                    found.setdefault((id(owner), spec.name), []).append((o, number, piece))
                    specs[id(owner), spec.name] = spec
        self._kept = {key: _kept(specs[key], some) for key, some in found.items()}

    def begin(self, operations: Collection[int]) -> dict[ParameterKey, Array]:
        """The arrays of the parameters that the given operations have gradients of, ready to be written."""
        ready = {}
        for key, kept in self._kept.items():
            present = [place.operation in operations for place in kept.places]
            if not any(present):
                continue
            if key not in self._arrays:
                self._arrays[key] = self.backend.zeros(kept.spec.shape, kept.spec.dtype)
            elif not (kept.complete and all(present)):
                self._arrays[key][...] = 0
            ready[key] = self._arrays[key]
        return ready

    def targets(self, operation: int, count: int) -> list[Array]:
        """For each piece of an operation's program, the range to write to, or None: added afterwards, or
        sparse."""
        targets: list[Array] = [None] * count
        for key, kept in self._kept.items():
            for place in kept.places:
                if place.operation == operation and place.direct:
                    targets[place.number] = self._range(key, place)
        return targets

    def add(self, operation: int, values: Sequence[Array]) -> None:
        """Adds the pieces of an operation that were not written in place."""
        for key, kept in self._kept.items():
            for place in kept.places:
                if place.operation == operation and not place.direct:
                    target = self._range(key, place)
                    target += values[place.number]

    def _range(self, key: ParameterKey, place: _Place) -> Array:
        """The part of a gradient that a piece is: a view, of a scalar too."""
        return self._arrays[key][(*place.piece.slices, ...)]


def _kept(spec: Parameter, found: Sequence[tuple[int, int, Piece]]) -> _Kept:
    places = []
    complete = True
    for n, (o, number, piece) in enumerate(found):
        others = [(m, other.region) for m, (_, _, other) in enumerate(found) if m != n]
        meeting = [(m, region) for m, region in others if overlap(region, piece.region)]
        alike = all(region == piece.region for _, region in meeting)
        complete &= alike
        places.append(_Place(o, number, piece, alike and all(m > n for m, _ in meeting)))
    return _Kept(spec, tuple(places), complete)


def own(gradient: Gradient) -> Gradient:
    """The gradient in memory of its own: what a batch computes is the next batch's memory."""
    if isinstance(gradient, RowSparse):
        return RowSparse(gradient.rows.copy(), gradient.values.copy(), gradient.shape)
    return gradient.copy()


def add_gradients(backend: Backend, one: Gradient, other: Gradient) -> Gradient:
    """The sum of two gradients of one parameter, dense or row-sparse."""
    if isinstance(one, RowSparse) and isinstance(other, RowSparse):
        return one.add(other, backend.xp)
    dense = [g.to_dense(backend.xp) if isinstance(g, RowSparse) else g for g in (one, other)]
    return dense[0] + dense[1]
