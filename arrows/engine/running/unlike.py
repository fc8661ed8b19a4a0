"""What runs ahead of the steps, run once for rows that are alike (see `arrows.engine.program.ahead`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from arrows.engine.device import Arena, Device, Upload
from arrows.engine.program.ahead import Ahead
from arrows.engine.reading import largest_first, lengths_of, stable_order, with_stop
from arrows.engine.running.transpose import Push, plan_push
from arrows.engine.scheduling import OperationRows, PortRows

Array = Any

# What products save grows with the width of the rows and with the share of them that need not be computed;
# what copying and summing cost does not. Measured: docs/results.md.
_WORTH = 32

# Places of a row that are added one at a time, to all rows that have so many; the others are summed first.
_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Unlike:
    """The unlike rows of one batch, those that most places read first.

    Attributes:
        ahead: of the operation.
        rows: the operation's rows, of whose operand only the unlike ones are left.
        place: for each place, which of them it reads.
        rounds: the places, the first of each row, then the second of each that has one, and so on.
        ends: where the rounds end in ``rounds``.
        rest: the places of rows that have more, if any.
    """

    ahead: Ahead
    rows: OperationRows
    place: np.ndarray
    rounds: np.ndarray
    ends: list[int]
    rest: Push | None


def unlike(ahead: Ahead, rows: OperationRows) -> Unlike | None:
    """The unlike rows of a batch; None where it is as well to compute all.

    Args:
        ahead: of the operation.
        rows: its rows in the batch.
    """
    read = rows.ports[ahead.port].rows
    if len(rows.components) != 1 or ahead.width < _WORTH or len(read) < 2:
        return None
    push = plan_push(np.arange(len(read)), read, np.zeros(0, np.intp), 1)
    assert push is not None
    count = len(push.rows)
    if ahead.width * (len(read) - count) < _WORTH * len(read):
        return None
    lengths = lengths_of(with_stop(push.starts, len(read)))
    falling = largest_first(lengths)
    mine = np.empty(count, np.intp)
    mine[falling] = np.arange(count)
    row = np.repeat(mine, lengths)  # of each place in the order of the push
    place = np.empty(len(read), np.intp)
    place[push.order] = row
    turn = np.arange(len(read)) - np.repeat(push.starts, lengths)
    soon = turn < _ROUNDS
    rounds = push.order[soon][stable_order(turn[soon] * count + row[soon], _ROUNDS * count)]
    ends = np.cumsum(np.bincount(turn[soon])).tolist()
    rest = plan_push(push.order[~soon], row[~soon], np.zeros(0, np.intp), 1)
    ports = list(rows.ports)
    ports[ahead.port] = PortRows(push.rows[falling])
    return Unlike(ahead, replace(rows, ports=tuple(ports)), place, rounds, ends, rest)


class Alike:
    """The unlike rows of a batch on the device: what was computed of them goes to all places, what comes from
    all places is summed to them.

    Args:
        found: the unlike rows.
        upload: where index arrays are sent to the device.
    """

    def __init__(self, found: Unlike, upload: Upload) -> None:
        self.ahead, self.found, self.upload = found.ahead, found, upload
        self.count = found.ends[0]
        parts = [found.place, found.rounds]
        if found.rest is not None:
            parts += [found.rest.rows, found.rest.order, found.rest.starts]
        self._handles = [upload.add(part) for part in parts]

    def bind(self, device: Device, arena: Arena, kept: Sequence[Array]) -> list[Array]:
        """The kept values, with arrays of unlike rows in the place of those that are made ahead."""
        self.device, self.arena = device, arena
        self.place, self.rounds, *self.rest = (self.upload.get(handle) for handle in self._handles)
        self.kept = list(kept)
        for number in self.ahead.made:
            self.kept[number] = self._array(("unlike", number), kept[number])
        return self.kept

    def spread(self, kept: Sequence[Array]) -> None:
        """Copies what was made ahead to all places."""
        for number in self.ahead.made:
            self.device.take(self.kept[number], self.place, kept[number])

    def sums(self, operation: int, saved: Sequence[Array]) -> list[Array]:
        """Arrays for the sums of what is saved at all places."""
        return [self._array(("sums", operation, number), saved[number]) for number in self.ahead.sums]

    def sum(self, saved: Sequence[Array], sums: Sequence[Array]) -> None:
        """Sums what is saved at all places by the row that they read."""
        for number, total in zip(self.ahead.sums, sums, strict=True):
            values = saved[number]
            self.device.take(values, self.rounds[: self.count], total)
            more = self._array("turn", total)
            for a, z in pairwise(self.found.ends):
                total[: z - a] += self.device.take(values, self.rounds[a:z], more[: z - a])
            if self.found.rest is not None:
                rows, order, starts = self.rest
                self.device.scatter_add(total, rows, values, order, starts, self.found.rest.longest)

    def _array(self, name: Hashable, like: Array) -> Array:
        return self.arena.array(name, (self.count, *like.shape[1:]), str(like.dtype))
