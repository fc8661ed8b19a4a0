"""Scatters of a batch: transposes of gathers, planned before it runs.

An operation keeps the gradients of its operands, those of one slab in one array, until the rows that were
read take them.  Rows that the operation's own component made *pull* theirs: before a step runs backwards, all
readers of its rows have run, and the rows take their gradients in one gather, without a search for repeats.
All other rows (words, leaves, rows of earlier components) get theirs in one sum over all steps of the
component, when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from arrows.engine.device import Arena, Device, Upload, Uploaded
from arrows.engine.reading import lengths_of, range_of, ranges_of, stable_order, starts_of_runs, with_stop
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class RowSums:
    """Sums of gradients that are added to rows, in parts that are added one after another.

    Attributes:
        order: places in the array of gradients, part by part, sorted by the row they go to.
        rows: the distinct rows, ascending in each part.
        starts: for each of ``rows``, where its places start in its part of ``order``.
        bounds: where the rows of each part start in ``rows``, and where the last end.
        places: likewise its places in ``order``.
        longest: the most places of a row.
        ranges: if no row has more than one place, for each part its first row and its first place, each where
            they are a range in this order, else -1; otherwise empty.
    """

    order: HostArray
    rows: HostArray
    starts: HostArray
    bounds: list[int]
    places: list[int]
    longest: int
    ranges: list[tuple[int, int]]

    def send(self, upload: Upload) -> UploadedSums:
        """Adds the index arrays to an upload."""
        return UploadedSums(self, *(upload.add(array) for array in (self.order, self.rows, self.starts)))


@dataclass(frozen=True, eq=False, slots=True)
class UploadedSums:
    """Sums whose index arrays are on their way to the device, which computes them by calls of its own.

    A device with kernels has `KernelSums` instead, which need their places counted in another way.

    Attributes:
        plan: the sums.
        order, rows, starts: the numbers of its arrays in the upload.
    """

    plan: RowSums
    order: int
    rows: int
    starts: int

    def bind(self, uploaded: Uploaded) -> BoundSums:
        """The sums, with index arrays on the device."""
        return BoundSums(
            self.plan, *(uploaded.get(number) for number in (self.order, self.rows, self.starts))
        )

    def add_to(
        self, device: Device, arena: Arena, uploaded: Uploaded, target: Array, gradients: Array
    ) -> Callable[[int], None]:
        """A function that adds the sums of one part to rows; its arguments as for `BoundSums.add`."""
        return partial(self.bind(uploaded).add, device, arena, target, gradients)


@dataclass(frozen=True, eq=False, slots=True)
class BoundSums:
    """Sums whose index arrays are on the device.

    Attributes:
        plan: the sums.
        order, rows, starts: its arrays.
    """

    plan: RowSums
    order: Array
    rows: Array
    starts: Array

    def add(self, device: Device, arena: Arena, target: Array, gradients: Array, part: int) -> None:
        """Adds the sums of one part to rows.

        Args:
            device: where the arrays are.
            arena: gives memory.
            target: the rows.
            gradients: what is summed, by place.
            part: the number of the part.
        """
        plan = self.plan
        first_row, stop_row = plan.bounds[part], plan.bounds[part + 1]
        if first_row == stop_row:
            return
        first, stop = plan.places[part], plan.places[part + 1]
        if plan.longest > 1:
            rows, starts = self.rows[first_row:stop_row], self.starts[first_row:stop_row]
            device.scatter_add(target, rows, gradients, self.order[first:stop], starts, plan.longest)
            return
        row, place = plan.ranges[part]
        if place >= 0:
            addends = gradients[place : place + stop - first]
        else:
            scratch = arena.array("pull", (stop - first, *gradients.shape[1:]), gradients.dtype)
            addends = device.take(gradients, self.order[first:stop], scratch)
        if row >= 0:
            target_rows = target[row : row + stop_row - first_row]
            target_rows += addends
        else:
            device.scatter_add_unique(target, self.rows[first_row:stop_row], addends)


def plan_sums(order: HostArray, rows: HostArray, part: HostArray, parts: int) -> RowSums | None:
    """Plans sums of gradients by row.

    Args:
        order: places of gradients.
        rows: for each, the row it goes to.
        part: for each, its part; not looked at where there is one part.
        parts: how many there are.

    Returns:
        None where there is nothing to add.
    """
    if len(order) == 0:
        return None
    span = int(rows.max()) + 1
    key = rows if parts == 1 else part * np.int64(span) + rows
    least = int(lengths_of(key).min(initial=1))
    if least < 0:
        by_key = stable_order(key, parts * span)
        order, key = order[by_key], key[by_key]
    starts = np.arange(len(key)) if least > 0 else starts_of_runs(key)
    longest = int(lengths_of(with_stop(starts, len(key))).max()) if len(starts) < len(key) else 1
    key = key[starts]
    if parts == 1:
        bounds, places = [0, len(starts)], [0, len(order)]
    else:
        part_of_row, key = np.divmod(key, span)
        cuts = np.searchsorted(part_of_row, np.arange(parts + 1))
        ends = with_stop(starts, len(order))[cuts]
        starts, bounds, places = starts - ends[part_of_row], cuts.tolist(), ends.tolist()
    ranges = []
    if longest == 1:
        ranges = [
            (range_of(key[first_row:stop_row]), range_of(order[first_row:stop_row]))
            for first_row, stop_row in pairwise(bounds)
        ]
    return RowSums(
        order=order, rows=key, starts=starts, bounds=bounds, places=places, longest=longest, ranges=ranges
    )


@dataclass(frozen=True, eq=False, slots=True)
class RowPulls:
    """What the rows of one output take from one array of gradients.

    Attributes:
        index: for each row, the place of its gradient; rows without have that of a row of zeros.
        spans: for each step, the first of its rows that has one and the end of the last, and the place of the
            first where the places are a range, else -1.
        more: for rows that are read again, the sums of the other places, with a part for each step.
    """

    index: HostArray
    spans: list[tuple[int, int, int]]
    more: RowSums | None

    def send(self, upload: Upload) -> UploadedPulls:
        """Adds the index arrays to an upload."""
        more = None if self.more is None else self.more.send(upload)
        return UploadedPulls(upload.add(self.index), self.spans, more)


@dataclass(frozen=True, eq=False, slots=True)
class UploadedPulls:
    """Pulls whose index arrays are on their way to the device.

    Attributes:
        index: the number of the index array in the upload.
        spans: as in `RowPulls`.
        more: likewise.
    """

    index: int
    spans: list[tuple[int, int, int]]
    more: UploadedSums | None

    def bind(
        self, device: Device, arena: Arena, uploaded: Uploaded, gradients: Array, scattered: Array
    ) -> Callable[[int], None]:
        """A function that pulls the gradients of the rows of one step.

        Args:
            device: where the arrays are.
            arena: gives memory.
            uploaded: has the index arrays.
            gradients: of the output's rows; what is pulled is added here.
            scattered: what the reader has left.
        """
        index, spans = uploaded.get(self.index), self.spans
        more = None if self.more is None else self.more.bind(uploaded)
        most = max((stop - start for start, stop, place in spans if place < 0), default=0)
        scratch = arena.array("pull", (most, *gradients.shape[1:]), gradients.dtype)

        def pull(step: int) -> None:
            start, stop, place = spans[step]
            if stop > start:
                rows = gradients[start:stop]
                if place >= 0:
                    rows += scattered[place : place + stop - start]
                else:
                    rows += device.take(scattered, index[start:stop], scratch[: stop - start])
            if more is not None:
                more.add(device, arena, gradients, scattered, step)

        return pull


def plan_pulls(
    inverse: HostArray, zero: int, bounds: HostArray, again: tuple[HostArray, HostArray] | None
) -> RowPulls | None:
    """Plans what the rows of one output take.

    Args:
        inverse: for each row, the place of its gradient, or ``zero``.
        zero: the place of a row of zeros.
        bounds: where each step's rows start, and where the last end.
        again: places and rows of the gradients that rows get besides, if any.

    Returns:
        None where no row has any.
    """
    (with_gradient,) = (inverse != zero).nonzero()
    if len(with_gradient) == 0:
        return None
    count = np.searchsorted(with_gradient, bounds)
    has_any = count[1:] > count[:-1]
    first = np.where(has_any, with_gradient[np.minimum(count[:-1], len(with_gradient) - 1)], 0)
    stop = np.where(has_any, with_gradient[np.maximum(count[1:] - 1, 0)] + 1, 0)
    # In a range nothing is missing: places go on by one, and zeros have the same place.
    places = ranges_of(inverse, first, stop)
    spans = list(zip(first.tolist(), stop.tolist(), places.tolist(), strict=True))
    more = None
    if again is not None:
        again_places, rows = again
        step = np.searchsorted(bounds, rows, side="right") - 1
        more = plan_sums(again_places, rows, step, len(bounds) - 1)
    return RowPulls(inverse, spans, more)
