"""Pulls and sums of gradients on a device with kernels: what `scatters` is on others.

The gradients that rows pull wait in one array for each slab, whoever has read them.  So one list of places
says for each row what it takes (`PlacesOfRows`): the kernel that reads the row's gradient adds them up, in
their order.  Sums to other rows are one launch of a segment sum for each component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arrows.engine.device import Arena, Device, Launch, Upload, Uploaded
from arrows.engine.planning import CarriedOperation, Plan, StreamOperation
from arrows.engine.program.emitters.arrays import DistinctIndices, PlacesOfRows
from arrows.engine.program.emitters.c import segment_sum_kernel
from arrows.engine.reading import lengths_of, starts_of_runs, with_stop
from arrows.engine.running.scatters import RowSums
from arrows.engine.scheduling import Merged
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPlaces:
    """Where the rows of a result have places in another array, from which they take gradients.

    Attributes:
        result: the number of the result.
        slab: the slab whose array it is.
        offsets, places: the numbers of the index arrays in the upload.
    """

    result: int
    slab: int
    offsets: int
    places: int

    def bind(self, uploaded: Uploaded, arrays: Mapping[int, Array]) -> PlacesOfRows:
        """Where the index arrays are on the device, with the array of the slab."""
        return PlacesOfRows(uploaded.address(self.offsets), uploaded.address(self.places), arrays[self.slab])


@dataclass(frozen=True, eq=False, slots=True)
class KernelSums:
    """Sums of gradients, each part one launch: what `UploadedSums` is on a device without kernels.

    Attributes:
        plan: the sums.
        order, rows, starts: the numbers of the index arrays in the upload; ``starts`` counts places in all of
            ``order``, and ends with their number.
    """

    plan: RowSums
    order: int
    rows: int
    starts: int

    def add_to(
        self, device: Device, arena: Arena, uploaded: Uploaded, target: Array, gradients: Array
    ) -> Launch:
        """The launch of each part.

        Args:
            device: where the arrays are.
            arena: not asked for memory.
            uploaded: has the index arrays.
            target: the rows that are added to.
            gradients: what is summed, by place.
        """
        width = target.size // max(len(target), 1)
        kernel = segment_sum_kernel(width, str(target.dtype))
        bounds = np.asarray(self.plan.bounds, np.int64)
        words = np.empty((len(bounds) - 1, 8), np.int64)
        words[:, 0] = lengths_of(bounds)
        words[:, 1] = device.address(target)
        words[:, 2] = uploaded.address(self.rows) + 4 * bounds[:-1]
        words[:, 3] = device.address(gradients)
        words[:, 4] = width
        words[:, 5] = uploaded.address(self.order)
        words[:, 6] = uploaded.address(self.starts) + 4 * bounds[:-1]
        words[:, 7] = len(target)
        return device.compile([kernel])[kernel.name].bind(words)


def send_sums(plan: RowSums, upload: Upload) -> KernelSums:
    """Adds the index arrays of sums to an upload."""
    before = np.repeat(plan.places[:-1], lengths_of(np.asarray(plan.bounds)))
    starts = with_stop(plan.starts + before, len(plan.order))
    return KernelSums(plan, upload.add(plan.order), upload.add(plan.rows), upload.add(starts))


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """Where gradients wait until rows pull them.

    Attributes:
        count: for each slab, how many rows its array has.
        first: for an array of gradients, by operation and number, the first of its rows there; an array that
            no row pulls from has none.
    """

    count: Mapping[int, int]
    first: Mapping[tuple[int, int], int]


NOTHING_WAITS = WaitingRows({}, {})


@dataclass(frozen=True, slots=True)
class PlannedIndices:
    """Indices that examples hold, sorted: see `DistinctIndices`.

    Attributes:
        rows, order, starts: the numbers of the arrays in the upload.
    """

    rows: int
    order: int
    starts: int

    def bind(self, uploaded: Uploaded) -> DistinctIndices:
        """The arrays on the device."""
        return DistinctIndices(
            uploaded.get(self.rows), uploaded.address(self.order), uploaded.address(self.starts)
        )


def plan_indices(
    plan: Plan, merged: Merged, slab: int, rows: HostArray, upload: Upload
) -> PlannedIndices | None:
    """Sorts indices that examples hold, so that the device need not; None if it computes some of them.

    Args:
        plan: the model's plan.
        merged: the batch.
        slab: where the indices lie.
        rows: those that are gathered.
        upload: takes the arrays.
    """
    values = np.zeros(merged.slab_rows[slab], plan.slabs[slab].type.dtype)
    for row, number in enumerate(plan.slabs[slab].constants):
        values[row] = plan.lowered.constants[number]
    for o, output in plan.slabs[slab].outputs:
        operation, own = plan.operations[o], merged.operations[o]
        if not own.count:
            continue
        if not isinstance(operation, StreamOperation) or isinstance(operation, CarriedOperation):
            return None
        first = own.first_rows[output]
        values[first : first + own.count] = merged.raw[operation.stream]
    indices = values[rows]
    order = np.argsort(indices, kind="stable")
    indices = indices[order]
    starts = starts_of_runs(indices)
    return PlannedIndices(
        rows=upload.add(indices[starts]),
        order=upload.add(order),
        starts=upload.add(with_stop(starts, len(order))),
    )
