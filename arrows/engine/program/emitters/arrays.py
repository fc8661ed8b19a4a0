"""What the generated functions of a program are bound to: the arrays of one batch.

A kernel in C (`arrows.engine.cuda`) names its words by an `Argument`; where a batch is bound, each becomes a
column of the table of launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import Device, KernelSource, Sent
from arrows.ops import Segments, Var

SegmentBounds = tuple[int, int, Segments]
"""Of one step: where the elements of a sequence start and stop, and the bounds of each row's elements."""


@dataclass(frozen=True, slots=True)
class DistinctIndices:
    """Indices that a gather reads from examples, which the host has sorted, on a device with kernels.

    Attributes:
        rows: the distinct indices, ascending.
        order: int32, the places of the indices among the gathered rows, sorted by index.
        starts: int32, where the places of each of ``rows`` start in ``order``, and where the last end.
    """

    rows: Sent
    order: Sent
    starts: Sent


@dataclass(frozen=True, slots=True)
class RowIndex:
    """Which rows of its slab one gather of a batch reads.

    Attributes:
        first: for each step, the first row if its rows are a range, else -1; None where the rows of all steps
            are one range: there is nothing to copy.
        sent: the numbers of the rows, for all steps; None where every step reads a range.
        indices: the gathered numbers, if a table's gradient is summed by them and the host knows them.
    """

    first: Sequence[int] | None
    sent: Sent | None
    indices: DistinctIndices | None

    @property
    def index(self) -> Array | None:
        """The numbers of the rows on the device."""
        return None if self.sent is None else self.sent.array


@dataclass(frozen=True, slots=True)
class PlacesOfRows:
    """Where the rows of a result have places in another array, on a device with kernels.

    Attributes:
        offsets: int32, for each row where its places start, and where the last end.
        places: int32, the rows of ``values`` that are its places, row after row.
        values: the gradients that readers of the result's slab have left, which rows take.
    """

    offsets: Sent
    places: Sent
    values: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What all regions of one operation are bound to for one batch.

    Attributes:
        device: where the arrays are.
        once: the values of the region ``once``, in the order of its instructions' results.
        bounds: by region, where the rows of each step (of each component, in ``early`` and ``late``) start,
            and where the last end; ``[0, count]`` in ``deferred``.
        segments: by region and sequence, its bounds at each step.
        gathers: by number of the gather in the program.
        memory: arrays by kind and number.  For all rows: each ``result``, and its ``gradient``, if one comes
            in; what is ``kept``; where each ``scatter`` waits.  By region, its scratch arrays,
            for the longest step.  By gather, its ``slab``, and the ``gathered`` rows: all of them, if later
            regions read them or they are a range of the slab, else memory for one step; none where kernels
            read the slab.  ``spread``: what ``early`` makes of distinct rows, and ``sums``, by distinct row,
            as `Distinct` lists them.
        keys: the dropout keys of all rows.
        pulls: called with the number of a step before it runs backwards: they add to its rows of gradients
            what the readers of these rows have left.
        places: on a device with kernels, for each result what its rows take; ``pulls`` is empty there.
        ones: gives so many ones of an element type.
    """

    device: Device
    once: Sequence[Array]
    bounds: Mapping[str, Sequence[int]]
    segments: Mapping[str, Mapping[int, Sequence[SegmentBounds]]]
    gathers: Sequence[RowIndex]
    memory: Mapping[tuple[str, int], Array]
    keys: Array | None
    pulls: Sequence[Callable[[int], None]]
    places: Mapping[int, PlacesOfRows]
    ones: Callable[[int, str], Array]

    def fetch(self, number: int, width: int) -> Callable[..., Array] | None:
        """The rows that a gather reads, as a range of the slab or one by one.

        Args:
            number: the gather's.
            width: how many rows of the slab lie side by side.

        Returns:
            ``fetch(step, start, stop, target)`` gives the rows of a step, of which these are the first and
            the end; they are copied to ``target``, if that is given.  None where the rows of all steps lie
            together: there is nothing to fetch.
        """
        index, slab, device = self.gathers[number], self.memory["slab", number], self.device
        first, places, rows = index.first, index.index, self.memory.get(("gathered", number))
        if first is None:
            return None
        row, numpy = slab.shape[1:], device.xp is np
        joined = (width * row[0], *row[1:]) if width > 1 else row

        def fetch(step: int, start: int, stop: int, target: Array | None = None) -> Array:
            place = first[step]
            if place >= 0:
                fetched = slab[place : place + width * (stop - start)]
            else:
                assert places is not None
                if target is None and rows is not None:
                    target = rows[: stop - start]
                out = target
                if target is not None and width > 1:
                    out = target.reshape((width * (stop - start), *row))
                wanted = places[width * start : width * stop]
                # As NumPy's `Device.take`: a step of one row should cost little.
                fetched = slab.take(wanted, 0, out, "clip") if numpy else device.take(slab, wanted, out)
                if target is not None:
                    return target
            if width > 1:
                fetched = fetched.reshape((stop - start, *joined))
            if target is None:
                return fetched
            target[...] = fetched
            return target

        return fetch


class StepRefused(Exception):
    """A kernel refused the operands of a step."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


class Argument(NamedTuple):
    """A number, or an address, that differs from step to step.

    Attributes:
        kind: what, of the step:

            * ``count``: how many rows it has at a level: the operation's rows, or the elements of a sequence.
            * ``rows``: its rows of a value that has memory, but no range of another's; rows lie together.
            * ``result``, ``gradient``, ``scatter``: its rows of this `Place`.
            * ``once``: a value without rows, of the region ``once``; its numbers lie together.
            * ``slab``: the rows that a gather reads: row ``index[r]`` for row r of the step.
            * ``index``: its part of a gather's index, int32; for a gather of k operands side by side, k
              numbers for each row.  0 where the step reads a range: row r is then row r of ``slab``.
            * ``pull offsets``: int32: row r of a result takes ``places[offsets[r]:offsets[r + 1]]`` of the
              values besides.  0 where no row takes any.
            * ``pull places``: int32, the places of all steps: what the offsets count from 0.
            * ``pull values``: the gradients that places number; rows lie together.
            * ``segment offsets``: int32, rows + 1 of them: the elements of row r, counted from 0 in the step.
            * ``segment rows``: int32, each element's row, counted from 0 in the step.
            * ``keys``: its dropout keys, uint64.
        of: the value of ``rows`` and ``once``; else the number of the level, of the gather or scatter in the
            program, or of the result.
    """

    kind: str
    of: Var | int


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel of an instruction.

    Attributes:
        source: the kernel.
        arguments: what its words stand for; the first is how many rows it has.
    """

    source: KernelSource
    arguments: tuple[Argument, ...]
