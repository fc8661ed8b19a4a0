"""Repeated rows of an operand, computed once (see `arrows.engine.program.passes.deduplicate`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import Arena, Device, Sent, Upload
from arrows.engine.program import Program
from arrows.engine.reading import lengths_of, stable_order, starts_of_runs, with_stop
from arrows.engine.running.gradient_flow import RowSums
from arrows.engine.scheduling import OperationRows, PortRows

# What products save grows with the width of the rows and with the share of them that need not be computed;
# what copying and summing cost does not. Measured: docs/results.md.
_WORTH = 32


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class DistinctRows:
    """The distinct rows of an operand in one batch.

    Attributes:
        rows: the operation's part of the batch, of whose operand the distinct rows alone are left.
        count: how many these are.
        row_of: for each place, which of them it reads.
        sums: how the places of each are summed.
    """

    rows: OperationRows
    count: int
    row_of: Sent
    sums: RowSums

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
        adds = [(total, self.sums.bind(device, arena, total, values)) for total, values in pairs]

        def add_up(part: int) -> None:
            for total, add in adds:
                total[...] = 0
                add(part)

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
    row_of = np.empty(len(read), np.intp)
    row_of[order] = np.repeat(np.arange(count), lengths_of(with_stop(starts, len(read))))
    sums = RowSums(np.arange(len(read)), row_of, np.zeros(0, np.intp), 1, upload)
    ports = list(rows.ports)
    ports[operand] = PortRows(read[order[starts]])
    return DistinctRows(
        rows=replace(rows, ports=tuple(ports)), count=count, row_of=upload.add(row_of), sums=sums
    )
