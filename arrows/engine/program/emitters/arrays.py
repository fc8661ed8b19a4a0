"""What the generated functions of a program are bound to: the arrays of one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from arrows.engine.device import Device
from arrows.ops import Segments
from arrows.ops.arrays import Array

SegmentBounds = tuple[int, int, Segments]
"""Of one step: where the elements of a sequence start and stop, and the bounds of each row's elements."""


@dataclass(frozen=True, slots=True)
class DistinctIndices:
    """Indices that a gather reads from examples, which the host has sorted, on a device with kernels.

    Attributes:
        rows: the distinct indices, ascending.
        order: the address of int32, the places of the indices among the gathered rows, sorted by index.
        starts: of int32, where the places of each of ``rows`` start in ``order``, and where the last end.
    """

    rows: Array
    order: int
    starts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherArrays:
    """How one gather of a batch gets its rows.

    Attributes:
        slab: the rows.
        index: the numbers of the rows, for all steps; None where every step reads a range.
        first: for each step, the first row if its rows are a range, else -1; None where the rows of all steps
            are one range, which ``rows`` shows: there is nothing to copy.
        rows: all rows, for regions that read them later: memory to fill, or a range of the slab; None where
            no later region reads them.
        buffer: memory for the rows of one step, where ``rows`` is None.
        indices: the gathered numbers, if a table's gradient is summed by them and the host knows them.
    """

    slab: Array
    index: Array | None
    first: Sequence[int] | None
    rows: Array | None
    buffer: Array | None
    indices: DistinctIndices | None = None


@dataclass(frozen=True, slots=True)
class PlacesOfRows:
    """Where the rows of a result have places in another array, on a device with kernels.

    Attributes:
        offsets: the address of int32, for each row where its places start, and where the last end.
        places: of int32, the rows of ``values`` that are its places, row after row.
        values: the gradients that readers of the result's slab have left, which rows take.
    """

    offsets: int
    places: int
    values: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionArrays:
    """What one region of one operation is bound to for one batch.

    Attributes:
        once: the values of the region ``once``, in the order of its instructions' results.
        bounds: where the rows of each step (of each component, in ``early`` and ``late``) start, and where
            the last end; ``[0, count]`` in ``deferred``.
        segments: for each sequence, its bounds at each step.
        gathers: by number of the gather in the program.
        results: for each result, the operation's rows of its slab.
        gradients: for each result, the gradients of these rows; None where none come in.
        kept: by number of `Held`: what forward regions hold for all rows; None for a number without value.
        saved: by number of `Held` with ``backward``: the same of backward regions.
        scatters: by number of the scatter: where its rows wait.
        sums: by position in ``Distinct.summed``: these values summed by distinct row.
        keys: the dropout keys of all rows.
        scratch: by number of `Scratch`, for the longest step.
        pulls: called with the number of a step before it runs backwards: they add to its rows of
            ``gradients`` what the readers of these rows have left.
        device: where the arrays are.
        ones: gives so many ones of an element type, on a device with kernels.
        pulled: on a device with kernels, for each result what its rows take; ``pulls`` is empty there.
    """

    once: Sequence[Array]
    bounds: Sequence[int]
    segments: Mapping[int, Sequence[SegmentBounds]]
    gathers: Mapping[int, GatherArrays]
    results: Sequence[Array]
    kept: Sequence[Array | None]
    scratch: Sequence[Array]
    device: Device
    gradients: Sequence[Array | None] = ()
    saved: Sequence[Array | None] = ()
    scatters: Sequence[Array] = ()
    sums: Sequence[Array] = ()
    keys: Array | None = None
    pulls: Sequence[Callable[[int], None]] = ()
    pulled: Mapping[int, PlacesOfRows] = field(default_factory=dict)
    ones: Callable[[int, str], Array] | None = None


class StepRefused(Exception):
    """A kernel refused the operands of a step."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step
