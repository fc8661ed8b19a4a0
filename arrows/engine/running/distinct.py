"""Repeated rows of an operand, computed once (see `arrows.engine.program.passes.deduplicate`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from arrows.engine.device import Arena, Device, Upload, Uploaded
from arrows.engine.reading import largest_first, lengths_of, stable_order, with_stop
from arrows.engine.running.operation_code import DistinctLayout
from arrows.engine.running.scatters import RowSums, UploadedSums, plan_sums
from arrows.engine.scheduling import OperationRows, PortRows
from arrows.ops.arrays import Array, HostArray

# What products save grows with the width of the rows and with the share of them that need not be computed;
# what copying and summing cost does not. Measured: docs/results.md.
_WORTH = 32

# Places of a row that are added one at a time, to all rows that have so many; the others are summed first.
_ROUNDS = 16


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class DistinctRows:
    """The distinct rows of an operand in one batch, those that most places read first; on the host.

    Attributes:
        rows: the distinct rows.
        row_of: for each place, which of them it reads.
        rounds: the places, the first of each row, then the second of each that has one, and so on.
        ends: where the rounds end in ``rounds``.
        rest: the places of rows that have more, as `plan_sums` sums them; None if there are none.
    """

    rows: HostArray
    row_of: HostArray
    rounds: HostArray
    ends: list[int]
    rest: RowSums | None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)


def find_distinct(layout: DistinctLayout, rows: OperationRows) -> DistinctRows | None:
    """The distinct rows of a batch; None where it is as well to compute all.

    Args:
        layout: of the operation's program.
        rows: the operation's part of the batch.
    """
    read = rows.ports[layout.operand].rows
    if len(rows.components) != 1 or layout.width < _WORTH or len(read) < 2:
        return None
    sums = plan_sums(np.arange(len(read)), read, np.zeros(0, np.intp), 1)
    assert sums is not None
    count = len(sums.rows)
    if layout.width * (len(read) - count) < _WORTH * len(read):
        return None
    lengths = lengths_of(with_stop(sums.starts, len(read)))
    most_first = largest_first(lengths)
    number = np.empty(count, np.intp)
    number[most_first] = np.arange(count)
    row = np.repeat(number, lengths)  # of each place, in the order of the sums
    row_of = np.empty(len(read), np.intp)
    row_of[sums.order] = row
    turn = np.arange(len(read)) - np.repeat(sums.starts, lengths)
    soon = turn < _ROUNDS
    return DistinctRows(
        rows=sums.rows[most_first],
        row_of=row_of,
        rounds=sums.order[soon][stable_order(turn[soon] * count + row[soon], _ROUNDS * count)],
        ends=np.cumsum(np.bincount(turn[soon])).tolist(),
        rest=plan_sums(sums.order[~soon], row[~soon], np.zeros(0, np.intp), 1),
    )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedDistinct:
    """The distinct rows of one batch, whose index arrays are on their way to the device.

    Attributes:
        layout: of the operation's program.
        operation: the operation's number.
        rows: the operation's part of the batch, of whose operand the distinct rows alone are left.
        count: how many these are.
        row_of, rounds: numbers in the upload; see `DistinctRows`.
        ends: as there.
        rest: as there.
    """

    layout: DistinctLayout
    operation: int
    rows: OperationRows
    count: int
    row_of: int
    rounds: int
    ends: list[int]
    rest: UploadedSums | None

    def bind_spread(
        self, device: Device, arena: Arena, uploaded: Uploaded, kept: Sequence[Array | None]
    ) -> tuple[list[Array | None], Callable[[], None]]:
        """What ``early`` writes to, and a function that copies it to all places.

        Args:
            device: where the arrays are.
            arena: gives memory.
            uploaded: has the index arrays.
            kept: the kept values of all places.
        """
        row_of = uploaded.get(self.row_of)
        distinct = list(kept)
        pairs = []
        for number in self.layout.spread:
            target = kept[number]
            assert target is not None
            distinct[number] = source = _array(arena, ("distinct", number), self.count, target)
            pairs.append((source, target))

        def spread() -> None:
            for source, target in pairs:
                device.take(source, row_of, target)

        return distinct, spread

    def bind_sums(
        self, device: Device, arena: Arena, uploaded: Uploaded, saved: Sequence[Array | None]
    ) -> tuple[list[Array], Callable[[], None]]:
        """Arrays for the sums of what is saved at all places, and a function that makes them.

        Args:
            device, arena, uploaded: as for `bind_spread`.
            saved: the saved values of all places.
        """
        rounds = uploaded.get(self.rounds)
        sums, pairs = [], []
        for number in self.layout.summed:
            values = saved[number]
            assert values is not None
            sums.append(_array(arena, ("sums", self.operation, number), self.count, values))
            pairs.append((values, sums[-1]))
        rest = None if self.rest is None else self.rest.bind(uploaded)

        def add_up() -> None:
            for values, total in pairs:
                device.take(values, rounds[: self.count], total)
                addend = _array(arena, "turn", self.count, total)
                for start, stop in pairwise(self.ends):
                    size = stop - start
                    total[:size] += device.take(values, rounds[start:stop], addend[:size])
                if rest is not None:
                    rest.add(device, arena, total, values, 0)

        return sums, add_up


def plan_distinct(
    layout: DistinctLayout, operation: int, rows: OperationRows, upload: Upload
) -> PlannedDistinct | None:
    """Plans how repeated rows are computed once; None where it is as well to compute all."""
    distinct = find_distinct(layout, rows)
    if distinct is None:
        return None
    ports = list(rows.ports)
    ports[layout.operand] = PortRows(distinct.rows)
    return PlannedDistinct(
        layout=layout,
        operation=operation,
        rows=replace(rows, ports=tuple(ports)),
        count=distinct.count,
        row_of=upload.add(distinct.row_of),
        rounds=upload.add(distinct.rounds),
        ends=distinct.ends,
        rest=None if distinct.rest is None else distinct.rest.send(upload),
    )


def _array(arena: Arena, name: Hashable, count: int, like: Array) -> Array:
    array: Array = arena.array(name, (count, *like.shape[1:]), str(like.dtype))
    return array
