"""Layered layout of one frame: the row (rank) of each box, its position in the row, and its coordinate.

Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures" (1981).
Longest paths give the rows, and barycentres the order inside a row. Coordinates are a least squares fit to
the neighbours in other rows, found by pooling adjacent violators (Best, Chakravarti, "Active set algorithms
for isotonic regression", 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

SWEEPS = 6
PASSES = 9
STIFF = 6  # weight of a straight wire where it passes a row; centring a box weighs 1


class BoxRows:
    """The rows of a frame; layered graph drawing calls them ranks.

    Attributes:
        rows: for each row, the nodes in it from left to right.
        count: how many boxes there are. Nodes below `count` are boxes; each of the others leads a wire past
            a row.
        steps: the wires from row to row, as pairs of nodes.
        of: for each node, the box whose result it carries.
    """

    def __init__(self, count: int, wires: Sequence[tuple[int, int]], bottom: Sequence[int]) -> None:
        """Arranges `count` boxes in rows; each wire leads from an earlier box to a later one."""
        row = [0] * count
        for source, target in sorted(wires, key=lambda wire: wire[1]):
            row[target] = max(row[target], row[source] + 1)
        last = max(row, default=0)
        for node in bottom:
            row[node] = last
        self.count = count
        self.of = list(range(count))
        self.rows: list[list[int]] = [[] for _ in range(last + 1)]
        for node in range(count):
            self.rows[row[node]].append(node)
        self.steps: list[tuple[int, int]] = []
        carried: dict[tuple[int, int], int] = {}
        drawn: set[tuple[int, int]] = set()  # wires from one box share their node in a row that they pass
        for source, target in wires:
            before = source
            for between in range(row[source] + 1, row[target]):
                node = carried.setdefault((source, between), len(self.of))
                if node == len(self.of):
                    self.of.append(source)
                    self.rows[between].append(node)
                if (before, node) not in drawn:
                    drawn.add((before, node))
                    self.steps.append((before, node))
                before = node
            self.steps.append((before, target))
        self._order()

    def _order(self) -> None:
        """Sorts the rows so that few wires cross; keeps the order of the boxes where no crossing is saved."""
        above: list[list[int]] = [[] for _ in self.of]
        below: list[list[int]] = [[] for _ in self.of]
        for source, target in self.steps:
            above[target].append(source)
            below[source].append(target)
        best, fewest = [list(row) for row in self.rows], self.crossings(self.rows)
        rows = [list(row) for row in self.rows]
        for sweep in range(SWEEPS):
            if not fewest:
                break
            down = sweep % 2 == 0
            for i in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
                near = above if down else below
                place = {node: k for k, node in enumerate(rows[i - 1 if down else i + 1])}
                own = {node: k for k, node in enumerate(rows[i])}
                rows[i].sort(key=lambda node: _mean([place[n] for n in near[node]], own[node]))
            count = self.crossings(rows)
            if count < fewest:
                best, fewest = [list(row) for row in rows], count
        self.rows = best

    def crossings(self, rows: Sequence[Sequence[int]]) -> int:
        """Counts the pairs of wires that cross between neighbouring rows."""
        place = {node: (i, k) for i, row in enumerate(rows) for k, node in enumerate(row)}
        gaps: list[list[tuple[int, int]]] = [[] for _ in rows]
        for source, target in self.steps:
            gaps[place[source][0]].append((place[source][1], place[target][1]))
        count = 0
        for gap in gaps:
            gap.sort()
            for i, (a, b) in enumerate(gap):
                count += sum(1 for c, d in gap[i + 1 :] if a < c and d < b)
        return count

    def centres(self, widths: Sequence[int], gap: int, ports: dict[tuple[int, int], int]) -> list[int]:
        """Finds the middle of each node.

        The widths are odd, so that each node has a middle. `ports` gives, for each wire, the distance of its
        end from the middle of the target.
        """
        x = [0.0] * len(self.of)
        for row in self.rows:
            right = 0.0
            for node in row:
                x[node] = right + widths[node] / 2
                right += widths[node] + gap
        above: list[list[tuple[int, int]]] = [[] for _ in self.of]
        below: list[list[tuple[int, int]]] = [[] for _ in self.of]
        for source, target in self.steps:
            shift = ports.get((source, target), 0)
            above[target].append((source, -shift))
            below[source].append((target, shift))
        # The last pass centres a node over its readers only if it has several, so that chains stay straight.
        several = [readers if len(readers) > 1 else [] for readers in below]
        for turn in range(PASSES + 1):
            rows = self.rows if turn % 2 == 0 and turn < PASSES else self.rows[::-1]
            near = several if turn == PASSES else below if turn % 2 else above
            for row in rows:
                wanted = [_mean([x[n] + shift for n, shift in near[node]], x[node]) for node in row]
                weights = [STIFF if node >= self.count else 1 for node in row]
                places = _apart(wanted, weights, [widths[n] for n in row], gap)
                for node, place in zip(row, places, strict=True):
                    x[node] = place
        return self._whole(x, widths, gap)

    def _whole(self, x: Sequence[float], widths: Sequence[int], gap: int) -> list[int]:
        """Rounds the coordinates, and keeps the gap between neighbours."""
        whole = [0] * len(x)
        for row in self.rows:
            free: int | None = None
            for node in row:
                half = widths[node] // 2
                place = round(x[node])
                if free is not None:
                    place = max(place, free + half)
                whole[node] = place
                free = place + half + 1 + gap
        return whole


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(wanted: Sequence[float], weights: Sequence[float], widths: Sequence[int], gap: int) -> list[float]:
    """Finds the coordinates nearest to the wanted ones (least squares) that keep the order and the gap."""
    offsets = [0.0]
    for a, b in pairwise(widths):
        offsets.append(offsets[-1] + (a + b) / 2 + gap)
    pools: list[tuple[float, ...]] = []  # sum of weighted coordinates, sum of weights, number of nodes
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        pools.append(((want - offset) * weight, weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            last = pools.pop()
            pools[-1] = tuple(x + y for x, y in zip(pools[-1], last, strict=True))
    places: list[float] = []
    for total, share, count in pools:
        places.extend([total / share] * int(count))
    return [place + offset for place, offset in zip(places, offsets, strict=True)]
