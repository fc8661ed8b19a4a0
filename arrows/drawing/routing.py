"""Routes the wires between two rows: assigns each bundle of wires a horizontal track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sideways:
    """A bundle: the wires from one place of the upper row, which share a track.

    Attributes:
        start: the coordinate at which they come down to the track.
        ends: the coordinates at which they go on down to the lower row.
    """

    start: int
    ends: tuple[int, ...]

    @property
    def span(self) -> tuple[int, int]:
        """The interval of the track that the wires occupy."""
        return min(self.start, *self.ends), max(self.start, *self.ends)


def tracks(wires: Sequence[Sideways], apart: int) -> list[int | None]:
    """Assigns each bundle of wires a track, counted from the top; None for a wire that goes straight down.

    Two bundles on one track do not touch. If a bundle comes down where another goes on, the first gets the
    higher track where that is possible, so that their vertical parts do not overlap.

    Args:
        wires: the bundles.
        apart: the least distance between wires that do not touch.

    Example:
        >>> tracks([Sideways(0, (0,)), Sideways(5, (9,)), Sideways(9, (20,)), Sideways(40, (50,))], 2)
        [None, 1, 0, 0]
    """
    bent = [i for i, wire in enumerate(wires) if wire.ends != (wire.start,)]
    above: dict[int, list[int]] = {i: [] for i in bent}
    for i in bent:
        for j in bent:
            if i != j and any(abs(wires[i].start - end) < apart for end in wires[j].ends):
                above[j].append(i)
    levels: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = []
    for i in _sorted(bent, above):
        low, high = wires[i].span
        level = max((levels[j] + 1 for j in above[i] if j in levels), default=0)
        while level < len(taken) and any(a - apart < high and low < b + apart for a, b in taken[level]):
            level += 1
        while level >= len(taken):
            taken.append([])
        taken[level].append((low, high))
        levels[i] = level
    return [levels.get(i) for i in range(len(wires))]


def _sorted(bent: Sequence[int], above: dict[int, list[int]]) -> list[int]:
    """Sorts the bundles from the top; bundles in a cycle keep the order of `bent`."""
    order: list[int] = []
    entered: set[int] = set()
    for first in bent:
        todo = [(first, False)]
        while todo:
            i, left = todo.pop()
            if left:
                order.append(i)
            elif i not in entered:
                entered.add(i)
                todo.append((i, True))
                todo.extend((j, False) for j in reversed(above[i]))
    return order
