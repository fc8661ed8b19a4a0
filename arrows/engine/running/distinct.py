"""Repeated rows of an operand, computed once (see `arrows.engine.program.passes.deduplicate`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from arrows.engine.device import Arena, Device, Sent, Upload
from arrows.engine.program import Program
from arrows.engine.reading import largest_first, lengths_of, stable_order, starts_of_runs, with_stop
from arrows.engine.running.index import RowSums, plan_sums
from arrows.engine.scheduling import OperationRows, PortRows
from arrows.ops.arrays import Array

# What products save grows with the width of the rows and with the share of them that need not be computed;
# what copying and summing cost does not. Measured: docs/results.md.
_WORTH = 32

# Places of a row that are added one at a time, to all rows that have so many; the others are summed first.
_ROUNDS = 16


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class DistinctRows:
    """The distinct rows of an operand in one batch, those that most places read first.

    Attributes:
        rows: the operation's part of the batch, of whose operand the distinct rows alone are left.
        count: how many these are.
        row_of: for each place, which of them it reads.
        rounds: the places, the first of each row, then the second of each that has one, and so on.
        ends: where the rounds end in ``rounds``.
        rest: sums of the places of rows that have more; None if there are none.
    """

    rows: OperationRows
    count: int
    row_of: Sent
    rounds: Sent
    ends: list[int]
    rest: RowSums | None

    def spread(self, device: Device, pairs: Sequence[tuple[Array, Array]]) -> Callable[[int], None]:
        """A function that copies values of distinct rows to all places, in the one component.

        Args:
            device: where the arrays are.
            pairs: from where to where.
        """
        row_of = self.row_of.array

        def spread(_part: int) -> None:
            for source, target in pairs:
                device.take(source, row_of, target)

        return spread

    def add_up(
        self, device: Device, arena: Arena, pairs: Sequence[tuple[Array, Array]]
    ) -> Callable[[int], None]:
        """A function that sums the values of all places by distinct row; ``pairs``: where to, and of what."""
        rounds = self.rounds.array
        rests = [
            None if self.rest is None else self.rest.bind(device, arena, total, values)
            for total, values in pairs
        ]

        def add_up(part: int) -> None:
            for (total, values), add_rest in zip(pairs, rests, strict=True):
                device.take(values, rounds[: self.count], total)
                addend = arena.array("turn", total.shape, str(total.dtype))
                for start, stop in pairwise(self.ends):
                    size = stop - start
                    total[:size] += device.take(values, rounds[start:stop], addend[:size])
                if add_rest is not None:
                    add_rest(part)

        return add_up


def find_distinct(program: Program, rows: OperationRows, upload: Upload) -> DistinctRows | None:
    """The distinct rows of a batch; None where it is as well to compute all.

    Args:
        program: the operation's.
        rows: the operation's part of the batch.
        upload: takes the index arrays.
    """
    if program.distinct is None:
        return None
    operand = program.distinct.operand
    read, width = rows.ports[operand].rows, program.operands[operand].type.size
    if len(rows.components) != 1 or width < _WORTH or len(read) < 2:
        return None
    order = stable_order(read, int(read.max()) + 1)
    starts = starts_of_runs(read[order])
    count = len(starts)
    if width * (len(read) - count) < _WORTH * len(read):
        return None
    lengths = lengths_of(with_stop(starts, len(read)))
    most_first = largest_first(lengths)
    number = np.empty(count, np.intp)
    number[most_first] = np.arange(count)
    row = np.repeat(number, lengths)  # of each place, in this order
    row_of = np.empty(len(read), np.intp)
    row_of[order] = row
    turn = np.arange(len(read)) - np.repeat(starts, lengths)
    soon = turn < _ROUNDS
    ports = list(rows.ports)
    ports[operand] = PortRows(read[order[starts[most_first]]])
    return DistinctRows(
        rows=replace(rows, ports=tuple(ports)),
        count=count,
        row_of=upload.add(row_of),
        rounds=upload.add(order[soon][stable_order(turn[soon] * count + row[soon], _ROUNDS * count)]),
        ends=np.cumsum(np.bincount(turn[soon])).tolist(),
        rest=plan_sums(order[~soon], row[~soon], np.zeros(0, np.intp), 1, upload),
    )
