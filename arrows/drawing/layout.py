"""Lays out a scene: frames from the inside out, in whole numbers, without overlaps.

Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures" (1981).
Longest paths give the rows of a frame, and barycentres the order inside a row. Coordinates are a least
squares fit to the neighbours in other rows, found by pooling adjacent violators (Best, Chakravarti, "Active
set algorithms for isotonic regression", 1990). Wires between two rows run sideways on tracks.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from arrows.drawing.scene import Box, Scene, shorten

Point: TypeAlias = tuple[int, int]

PASSES = 9
STIFF = 6  # weight of a straight wire where it passes a row; centring a box weighs 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Sizes and distances in a drawing, in pixels or in characters.

    Attributes:
        letter: the width of a letter.
        line: the height of a line of text.
        inset: the padding of a box around its text, horizontal and vertical.
        gap: the distance between boxes side by side.
        room: the space above and below the wires between two rows.
        track: the distance between parallel wires, and the size of a port.
        frame: the padding of a frame around its contents, horizontal and vertical.
        heading: the height of a frame's title.
        lead: the distance between a box and the type below it.
    """

    letter: float = 7.25
    line: int = 16
    inset: Point = (10, 7)
    gap: int = 26
    room: Point = (10, 16)
    track: int = 9
    frame: Point = (16, 14)
    heading: int = 22
    lead: int = 3


PIXELS = Measures()
CHARACTERS = Measures(
    letter=1, line=1, inset=(2, 1), gap=3, room=(1, 1), track=1, frame=(2, 1), heading=1, lead=0
)


class Rect(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: int
    y: int
    width: int
    height: int


class Placed(NamedTuple):
    """A frame, a box or a text in its place.

    Attributes:
        rect: where it lies.
        text: what stands in a box, in its middle; a box without a text is a dot.
        style: its CSS class: "frame", that of a box, or "type" and "title" of texts outside of boxes.
        hint: its tooltip.
    """

    rect: Rect
    text: str
    style: str
    hint: str = ""


class Polyline(NamedTuple):
    """A wire: its corners, whether it ends in an arrowhead, and whether it leads a recursion back."""

    points: tuple[Point, ...]
    arrow: bool
    loop: bool = False


@dataclass(eq=False, slots=True)
class Drawing:
    """A drawing that is laid out.

    Attributes:
        width, height: the size of the whole.
        placed: boxes, each with its own text, and the types below them; frames, each with its title before
            what is inside.
        lines: the wires.
    """

    width: int
    height: int
    placed: list[Placed] = field(default_factory=list)
    lines: list[Polyline] = field(default_factory=list)


def lay_out(scene: Scene, measures: Measures = PIXELS) -> Drawing:
    """Lays out a scene: every box, frame, text and wire gets its place.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing.scene import scene_of
        >>> drawing = lay_out(scene_of(ar.Map(ar.Scalar()) >> ar.Sum()))
        >>> [box.text for box in drawing.placed if box.text]
        ["Map(Scalar('float32'))", 'Sum()']
    """
    return _Frame(scene, measures).drawing


@dataclass(eq=False, slots=True)
class _Node:
    """A box, or the point where a wire passes a row. Widths are odd, so that each node has a middle.

    Attributes:
        box: the box; None of such a point.
        frame: its inside, if it is a frame.
        above, below: the wires to the row above and to that below.
        width, height: the size of the box.
        label: the size of the type below it.
        room: the width that it needs in all.
        loops: for each recursion, how far below the top its wire leaves.
        x: the middle.
        top: the upper border.
    """

    box: Box | None = None
    frame: _Frame | None = None
    above: list[_Wire] = field(default_factory=list)
    below: list[_Wire] = field(default_factory=list)
    width: int = 1
    height: int = 0
    label: Point = (0, 0)
    room: int = 1
    loops: dict[object, int] = field(default_factory=dict)
    x: int = 0
    top: int = 0


@dataclass(eq=False, slots=True)
class _Wire:
    """A wire from one row to the next, which ends at a distance (`port`) from the middle of its target."""

    source: _Node
    target: _Node
    port: int = 0


class _Frame:
    """A scene that is laid out; places count from its upper left corner.

    Attributes:
        drawing: what is drawn.
        entry: the distance of its input from the left border.
        exits: for each recursion whose wire leaves on the right, the distance of that wire from the top.
    """

    def __init__(self, scene: Scene, m: Measures, title: str | None = None) -> None:
        self.scene, self.m = scene, m
        nodes = [_Node(box, _Frame(box.scene, m, box.text) if box.scene else None) for box in scene.boxes]
        self.rows = _rows(nodes, scene.wires)
        for node, box in zip(nodes, scene.boxes, strict=True):
            self._measure(node, box)
        knots = list(dict.fromkeys(knot for node in nodes for knot in node.loops))
        margin = m.track * (len(knots) + 1)
        for node in nodes:
            node.room = _odd(max(node.width, node.label[0]) + (2 * margin if node.loops else 0))
        _centre(self.rows, m.gap)
        every = [node for row in self.rows for node in row]
        left = m.frame[0] - min(node.x - node.room // 2 for node in every)
        for node in every:
            node.x += left
        content = max(node.x + node.room // 2 + 1 for node in every)
        heading = 0 if title is None else self._text(title)[0] + 2 * m.inset[0]
        width = max(content + (margin if knots else 0) + m.frame[0], heading)
        self.drawing = Drawing(_odd(width), 0)  # the height follows when the rows are placed
        ways = self._down(knots, m.frame[1] + (0 if title is None else m.heading))
        self.exits: dict[object, int] = {
            knot: max(y for _, y in rows) for knot, rows in ways.items() if knot != scene.knot
        }
        for node in every:
            if node.box is not None:
                self._draw(node, node.box)
        for k, (knot, rows) in enumerate(ways.items()):
            self._way(m.track * (k + 1), content, knot, rows)
        several = sum(not node.above for node in nodes) > 1
        starts = len(nodes) > 1 and scene.boxes[0].style == "port"
        self.entry = self.drawing.width // 2 if several else nodes[0].x if starts else 0

    # Sizes

    def _text(self, text: str) -> Point:
        return _odd(int(columns(text) * self.m.letter + 0.999)), self.m.line

    def _measure(self, node: _Node, box: Box) -> None:
        """Finds the sizes of a box and of the type below it, and where wires end at it."""
        m, count = self.m, len(node.above)
        if node.frame is not None:
            node.width, node.height = node.frame.drawing.width, node.frame.drawing.height
            node.loops = node.frame.exits
        elif box.is_dot:
            node.width = node.height = m.track
        else:
            width, height = self._text(box.text)
            node.width = _odd(max(width + 2 * m.inset[0], (count + 1) * (m.track + 1)))
            node.height = height + 2 * m.inset[1]
            node.loops = {} if box.knot is None else {box.knot: node.height // 2}
        node.label = self._text(shorten(box.output)) if box.output else (0, 0)
        for k, wire in enumerate(node.above if node.width > m.track else ()):
            straight = node.frame is not None and count == 1
            place = node.frame.entry if node.frame and straight else (k + 1) * node.width // (count + 1)
            wire.port = place - node.width // 2

    def _bottom(self, node: _Node) -> int:
        return node.top + node.height + (self.m.lead + node.label[1] if node.label[0] else 0)

    # Places

    def _down(self, knots: list[object], y: int) -> dict[object, list[tuple[list[_Node], int]]]:
        """Places the rows from a height on, and draws the wires between them.

        Returns for each recursion, row by row, the boxes from which its wire leaves, and the height at which
        it does.
        """
        m = self.m
        ways: dict[object, list[tuple[list[_Node], int]]] = {knot: [] for knot in knots}
        for row in self.rows:
            for node in row:
                node.top = y
            y = max(map(self._bottom, row))
            boxes = [node for node in row if node.box is not None]
            for knot in knots:
                users = [node for node in boxes if knot in node.loops]
                if users and users != boxes[-1:]:
                    y += m.track
                    ways[knot].append((users, y))
                elif users:
                    # The last box of a row has none on its right: its wire leaves sideways, without a track.
                    ways[knot].append((users, users[0].top + users[0].loops[knot]))
            y = y + m.frame[1] if row is self.rows[-1] else self._wires(row, y + m.room[0])
        self.drawing.height = y
        return ways

    def _wires(self, row: list[_Node], y: int) -> int:
        """Draws the wires below a row, and returns the top of the next row."""
        m = self.m
        row = [source for source in row if source.below]
        for wire in (wire for source in row for wire in source.below):
            source, target = wire.source, wire.target
            near = abs(target.x + wire.port - source.x) <= m.track // 2 + 1
            if near and len(target.above) == 1:  # it moves, so that the wire is straight
                if target.box is None:
                    target.x = source.x
                wire.port = source.x - target.x
        levels = tracks([(s.x, [wire.target.x + wire.port for wire in s.below]) for s in row], m.track)
        bottom = y + (1 + max(levels, default=-1)) * m.track + m.room[1]
        for source, level in zip(row, levels, strict=True):
            x, middle = source.x, y + level * m.track
            for wire in source.below:
                end = wire.target.x + wire.port
                bend = () if end == x else ((x, middle), (end, middle))
                points = ((x, self._bottom(source)), *bend, (end, bottom))
                self.drawing.lines.append(Polyline(points, wire.target.box is not None))
        return bottom

    def _draw(self, node: _Node, box: Box) -> None:
        """Draws a box or the border of a frame, and the type below it."""
        m, drawing = self.m, self.drawing
        x, top = node.x - node.width // 2, node.top
        rect = Rect(x, top, node.width, node.height)
        drawing.placed.append(Placed(rect, box.text, "frame" if node.frame else box.style, box.hint))
        if node.frame is not None:
            title = Rect(x + m.inset[0], top + (m.heading - m.line) // 2, *self._text(box.text))
            drawing.placed.append(Placed(title, box.text, "title"))
            for (a, b, *size), *more in node.frame.drawing.placed:
                drawing.placed.append(Placed(Rect(a + x, b + top, *size), *more))
            for line in node.frame.drawing.lines:
                points = tuple((a + x, b + top) for a, b in line.points)
                drawing.lines.append(line._replace(points=points))
        if box.output:
            below = Rect(node.x - node.label[0] // 2, top + node.height + m.lead, *node.label)
            drawing.placed.append(Placed(below, shorten(box.output), "type", box.output))

    def _way(self, aside: int, content: int, knot: object, rows: list[tuple[list[_Node], int]]) -> None:
        """Draws the wires from references back to their recursive block, or out of the frame.

        They run at a distance (`aside`) from their boxes, and from the `content` of the frame.
        """
        m, gutter = self.m, content + aside
        lowest = max(y for _, y in rows)
        for users, y in rows:
            for node in sorted(users, key=lambda node: node.x):
                start = node.top + node.loops[knot]
                points = [(node.x - node.width // 2 + node.width - 1, start)]
                if start != y:
                    x = node.x + max(node.width, node.label[0]) // 2 + aside
                    points += [(x, start), (x, y)]
                arrow = False
                if node is min(users, key=lambda node: node.x):
                    if y < lowest:
                        points += [(gutter, y), (gutter, lowest)]
                    elif knot == self.scene.knot:
                        first = self.rows[0][0]
                        port = first.top + m.track // 2
                        points += [(gutter, y), (gutter, port), (first.x + m.track // 2 + 1, port)]
                        arrow = True
                    else:
                        points.append((self.drawing.width - 1, y))
                self.drawing.lines.append(Polyline(tuple(points), arrow, loop=True))


def _rows(nodes: Sequence[_Node], wires: Sequence[tuple[int, int]]) -> list[list[_Node]]:
    """Arranges boxes in rows, which graph drawing calls ranks; wires lead from earlier boxes to later ones.

    Dots at which a wire ends stand in the last row.
    """
    row = [0] * len(nodes)
    for source, target in sorted(wires, key=lambda wire: wire[1]):
        row[target] = max(row[target], row[source] + 1)
    rows: list[list[_Node]] = [[] for _ in range(max(row) + 1)]
    readers = {source for source, _ in wires}
    for i, node in enumerate(nodes):
        if node.box is not None and node.box.is_dot and i not in readers:
            row[i] = len(rows) - 1
        rows[row[i]].append(node)
    passing: dict[tuple[int, int], _Node] = {}  # wires from one box share their node in a row that they pass
    for source, target in wires:
        before = nodes[source]
        for between in range(row[source] + 1, row[target]):
            if (source, between) not in passing:
                node = passing[source, between] = _Node()
                rows[between].append(node)
                _join(before, node)
            before = passing[source, between]
        _join(before, nodes[target])
    # So that few wires cross, a row is sorted by the middle of the neighbours: down, up and down again.
    down, up = range(1, len(rows)), range(len(rows) - 2, -1, -1)
    for order, step in ((down, -1), (up, 1), (down, -1)):
        for i in order:
            place = {node: float(k) for k, node in enumerate(rows[i + step])}
            wanted = {
                node: _mean([place[near] for near in _neighbours(node, step)], k)
                for k, node in enumerate(rows[i])
            }
            rows[i].sort(key=wanted.__getitem__)
    return rows


def _join(source: _Node, target: _Node) -> None:
    wire = _Wire(source, target)
    source.below.append(wire)
    target.above.append(wire)


def _neighbours(node: _Node, step: int) -> list[_Node]:
    """The nodes to which wires lead in the row above (-1) or below (1)."""
    return [wire.source for wire in node.above] if step < 0 else [wire.target for wire in node.below]


def _centre(rows: Sequence[Sequence[_Node]], gap: int) -> None:
    """Finds the middle of each node."""
    x: dict[_Node, float] = {}
    for row in rows:
        right = 0.0
        for node in row:
            x[node] = right + node.room / 2
            right += node.room + gap
    for turn in range(PASSES + 1):
        down = turn % 2 == 0
        for row in rows if down else rows[::-1]:
            wanted = []
            for node in row:
                near = [x[wire.source] - wire.port for wire in node.above]
                if not down:
                    near = [x[wire.target] + wire.port for wire in node.below]
                    # The last pass moves a node over several readers alone, so that chains stay straight.
                    near = near if turn < PASSES or len(near) > 1 else []
                wanted.append(_mean(near, x[node]))
            x.update(zip(row, _apart(row, wanted, gap), strict=True))
    for row in rows:
        least = -(10**9)  # rounded, the neighbours keep the gap
        for node in row:
            node.x = max(round(x[node]), least + node.room // 2)
            least = node.x + node.room // 2 + 1 + gap


def _apart(row: Sequence[_Node], wanted: Sequence[float], gap: int) -> list[float]:
    """Finds the coordinates nearest to the wanted ones (least squares) that keep the order and the gap."""
    offsets = [0.0]
    for a, b in pairwise(row):
        offsets.append(offsets[-1] + (a.room + b.room) / 2 + gap)
    pools: list[tuple[float, ...]] = []  # sum of weighted coordinates, sum of weights, number of nodes
    for node, want, offset in zip(row, wanted, offsets, strict=True):
        weight = STIFF if node.box is None else 1
        pools.append(((want - offset) * weight, weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            last = pools.pop()
            pools[-1] = tuple(x + y for x, y in zip(pools[-1], last, strict=True))
    places = [total / share for total, share, count in pools for _ in range(int(count))]
    return [place + offset for place, offset in zip(places, offsets, strict=True)]


def tracks(bundles: Sequence[tuple[int, Sequence[int]]], apart: int) -> list[int]:
    """Assigns each bundle of wires a track, counted from the top; -1 if it goes straight down.

    A bundle is where its wires come down, and where each goes on down. Two bundles on one track do not touch.
    If a bundle comes down where another goes on, the first gets the higher track where that is possible, so
    that their vertical parts do not overlap.

    Args:
        bundles: the wires from each place of the upper row.
        apart: the least distance between wires that do not touch.

    Example:
        >>> tracks([(0, [0]), (5, [9]), (9, [20]), (40, [50])], 2)
        [-1, 1, 0, 0]
    """
    levels = [-1] * len(bundles)
    spans = [(min(start, *ends), max(start, *ends)) for start, ends in bundles]
    bent = (i for i, (start, ends) in enumerate(bundles) if list(ends) != [start])
    left = sorted(bent, key=lambda i: spans[i][1] - spans[i][0])  # short wires inside long ones cross none
    above = {
        j: [i for i in left if i != j and any(abs(bundles[i][0] - end) < apart for end in bundles[j][1])]
        for j in left
    }
    taken: list[list[tuple[int, int]]] = []
    while left:
        i = next((i for i in left if not {*above[i]} & {*left}), left[0])  # in a cycle, the first goes on
        left.remove(i)
        low, high = spans[i]
        level = max((levels[j] + 1 for j in above[i]), default=0)
        while level < len(taken) and any(a - apart < high and low < b + apart for a, b in taken[level]):
            level += 1
        taken += [[] for _ in range(level + 1 - len(taken))]
        taken[level].append((low, high))
        levels[i] = level
    return levels


def columns(text: str) -> int:
    """Counts the columns that a text takes on a terminal; wide letters take two.

    Example:
        >>> columns("tree"), columns("木")
        (4, 2)
    """
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _odd(n: int) -> int:
    return n + 1 - n % 2
