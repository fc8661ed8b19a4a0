"""Lays out a scene: frames from the inside out, in whole numbers, without overlaps.

Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures" (1981).
Longest paths give the rows of a frame, and barycentres the order inside a row. Coordinates are a least
squares fit to the neighbours in other rows, found by pooling adjacent violators (Best, Chakravarti, "Active
set algorithms for isotonic regression", 1990). Wires between two rows run sideways on tracks.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from arrows.drawing.scene import Scene, shorten

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
        frames: the frames, from the outside in; `texts` holds their titles.
        boxes: the boxes, each with its own text.
        texts: the types below boxes, and the titles of frames.
        lines: the wires.
    """

    width: int
    height: int
    frames: list[Placed] = field(default_factory=list)
    boxes: list[Placed] = field(default_factory=list)
    texts: list[Placed] = field(default_factory=list)
    lines: list[Polyline] = field(default_factory=list)


def lay_out(scene: Scene, measures: Measures = PIXELS) -> Drawing:
    """Lays out a scene: every box, frame, text and wire gets its place.

    A list of scenes stands for recursion, since frames may nest deeper than Python's own stack.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing.scene import scene_of
        >>> drawing = lay_out(scene_of(ar.Map(ar.Scalar()) >> ar.Sum()))
        >>> [box.text for box in drawing.boxes if box.text]
        ["Map(Scalar('float32'))", 'Sum()']
    """
    order = [scene]
    for outer in order:  # the list grows during the loop
        order.extend(box.scene for box in outer.boxes if box.scene is not None)
    done: dict[int, _Frame] = {}
    for inner in reversed(order):
        done[id(inner)] = _Frame(inner, measures, done, inner is scene)
    whole = done[id(scene)].drawing
    drawing = Drawing(whole.width, whole.height)
    todo = [(0, 0, scene)]
    while todo:
        x, y, inner = todo.pop()
        frame = done[id(inner)]
        own = frame.drawing
        for placed, here in (
            (drawing.frames, own.frames),
            (drawing.boxes, own.boxes),
            (drawing.texts, own.texts),
        ):
            placed += [
                each._replace(rect=each.rect._replace(x=each.rect.x + x, y=each.rect.y + y)) for each in here
            ]
        for line in own.lines:
            drawing.lines.append(line._replace(points=tuple((a + x, b + y) for a, b in line.points)))
        todo.extend((x + dx, y + dy, deeper) for (dx, dy), deeper in reversed(frame.inner))
    return drawing


class _Frame:
    """A scene that is laid out; places count from its upper left corner.

    Attributes:
        drawing: its own boxes, texts and wires, without those of the frames inside.
        entry: the distance of its input from the left border.
        exits: for each recursion whose wire leaves on the right, the distance of that wire from the top.
        inner: the frames inside, each with its place.
    """

    def __init__(self, scene: Scene, m: Measures, done: Mapping[int, _Frame], outermost: bool) -> None:
        self.scene, self.m, self.outermost = scene, m, outermost
        boxes = self.boxes = scene.boxes
        self.frames = [None if box.scene is None else done[id(box.scene)] for box in boxes]
        readers = {source for source, _ in scene.wires}
        ends = [i for i, box in enumerate(boxes) if box.is_dot and i not in readers]
        self.rows, self.steps = _rows(len(boxes), scene.wires, ends)
        self.into: list[list[int]] = [[] for _ in boxes]
        for source, target in self.steps:
            if target < len(boxes):
                self.into[target].append(source)
        self.sizes = [self._size(i) for i in range(len(boxes))]
        self.labels = [self._text(shorten(box.output)) if box.output else (0, 0) for box in boxes]
        # For each box, the height at which the wire of each recursion leaves it.
        self.loops: list[dict[object, int]] = [
            frame.exits if frame is not None else {} if box.knot is None else {box.knot: size[1] // 2}
            for frame, box, size in zip(self.frames, boxes, self.sizes, strict=True)
        ]
        self.knots = list(dict.fromkeys(knot for loops in self.loops for knot in loops))
        self.ports = self._ports()
        margin = m.track * (len(self.knots) + 1)
        count = 1 + max((node for row in self.rows for node in row), default=-1)
        widths = [1] * count
        for i in range(len(boxes)):
            widths[i] = _odd(self._span(i) + (2 * margin if self.loops[i] else 0))
        centre = _centres(self.rows, self.steps, len(boxes), widths, m.gap, self.ports)
        left = min((c - width // 2 for c, width in zip(centre, widths, strict=True)), default=0)
        self.centre = [c - left + m.frame[0] for c in centre]
        rights = [c + width // 2 + 1 for c, width in zip(self.centre, widths, strict=True)]
        content = max(rights, default=m.frame[0])
        self.gutter = {knot: content + m.track * (k + 1) for k, knot in enumerate(self.knots)}
        heading = 0 if outermost else self._text(scene.title)[0] + 2 * m.inset[0]
        width = max(content + (margin if self.knots else 0) + m.frame[0], heading)
        self.drawing = Drawing(_odd(width), 0)  # the height follows when the rows are placed
        self.inner: list[tuple[Point, Scene]] = []
        tops, ways = self._down()
        self.exits: dict[object, int] = {
            knot: max(rows.values()) for knot, rows in ways.items() if knot != scene.knot
        }
        for row, top in zip(self.rows, tops, strict=True):
            for i in row:
                if i < len(boxes):
                    self._draw(i, top)
        for k, (knot, rows) in enumerate(ways.items()):
            self._way(k, knot, rows, tops)
        several = sum(not into for into in self.into) > 1
        starts = len(boxes) > 1 and boxes[0].style == "port"
        self.entry = self.drawing.width // 2 if several else self.centre[0] if starts else 0

    # Sizes

    def _text(self, text: str) -> Point:
        return _odd(int(columns(text) * self.m.letter + 0.999)), self.m.line

    def _size(self, i: int) -> Point:
        box, frame, m = self.boxes[i], self.frames[i], self.m
        if frame is not None:
            return frame.drawing.width, frame.drawing.height
        if box.is_dot:
            return m.track, m.track
        width, height = self._text(box.text)
        ports = (len(self.into[i]) + 1) * (m.track + 1)
        return _odd(max(width + 2 * m.inset[0], ports)), height + 2 * m.inset[1]

    def _span(self, i: int) -> int:
        """The width that a box and the type below it need together."""
        return max(self.sizes[i][0], self.labels[i][0])

    def _height(self, i: int) -> int:
        """The height of a box and the type below it; 0 of a wire that passes a row."""
        if i >= len(self.boxes):
            return 0
        return self.sizes[i][1] + (self.m.lead + self.labels[i][1] if self.labels[i][0] else 0)

    # Places

    def _ports(self) -> dict[tuple[int, int], int]:
        """Returns for each wire (source, target) the distance of its end from the middle of the target."""
        ports: dict[tuple[int, int], int] = {}
        for target, sources in enumerate(self.into):
            width, frame = self.sizes[target][0], self.frames[target]
            if width <= self.m.track:
                continue
            if frame is not None and len(sources) == 1:
                ports[sources[0], target] = frame.entry - width // 2
                continue
            for k, source in enumerate(sources):
                ports[source, target] = (k + 1) * width // (len(sources) + 1) - width // 2
        return ports

    def _down(self) -> tuple[list[int], dict[object, dict[int, int]]]:
        """Draws the wires between rows.

        Returns the top of each row, and for each recursion the height of its wire in each row that it leaves.
        """
        m = self.m
        y = m.frame[1] + (0 if self.outermost else m.heading)
        tops: list[int] = []
        loops: dict[object, dict[int, int]] = {knot: {} for knot in self.knots}
        steps: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        row_of = {node: i for i, row in enumerate(self.rows) for node in row}
        for source, target in self.steps:
            steps[row_of[source]].append((source, target))
        for i, row in enumerate(self.rows):
            tops.append(y)
            y += max(map(self._height, row))
            real = [node for node in row if node < len(self.boxes)]
            for knot in self.knots:
                users = [n for n in real if knot in self.loops[n]]
                if users and users != real[-1:]:
                    y += m.track
                    loops[knot][i] = y
                elif users:
                    # The last box of a row has none on its right: its wire leaves sideways, without a track.
                    loops[knot][i] = tops[i] + self.loops[users[0]][knot]
            y = y + m.frame[1] if i + 1 == len(self.rows) else self._wires(steps[i], tops[i], y + m.room[0])
        self.drawing.height = y
        return tops, loops

    def _wires(self, steps: list[tuple[int, int]], top: int, y: int) -> int:
        """Draws the wires below a row, and returns the top of the next row."""
        m, count = self.m, len(self.boxes)
        ends: dict[int, list[tuple[int, int]]] = {}
        for source, target in steps:
            start = self.centre[source]
            end = self.centre[target] + self.ports.get((source, target), 0)
            alone = target >= count or len(self.into[target]) == 1
            if alone and abs(end - start) <= m.track // 2 + 1:  # it moves, so that the wire is straight
                end = start
                if target >= count:
                    self.centre[target] = start
            ends.setdefault(source, []).append((end, target))
        bundles = [(self.centre[s], [end for end, _ in targets]) for s, targets in ends.items()]
        levels = tracks(bundles, m.track)
        bottom = y + (1 + max(levels, default=-1)) * m.track + m.room[1]
        for (source, targets), level in zip(ends.items(), levels, strict=True):
            x, start, middle = self.centre[source], top + self._height(source), y + level * m.track
            for end, target in targets:
                bend = () if end == x else ((x, middle), (end, middle))
                self.drawing.lines.append(Polyline(((x, start), *bend, (end, bottom)), target < count))
        return bottom

    def _draw(self, i: int, top: int) -> None:
        """Draws a box or the border of a frame, and the type below it."""
        m, drawing, box, (width, height) = self.m, self.drawing, self.boxes[i], self.sizes[i]
        x = self.centre[i] - width // 2
        rect = Rect(x, top, width, height)
        if box.scene is not None:
            drawing.frames.append(Placed(rect, box.text, "frame", box.hint))
            self.inner.append(((x, top), box.scene))
            size = self._text(box.text)
            title = Rect(x + m.inset[0], top + (m.heading - size[1]) // 2, *size)
            drawing.texts.append(Placed(title, box.text, "title"))
        else:
            drawing.boxes.append(Placed(rect, box.text, box.style, box.hint))
        if box.output:
            size = self.labels[i]
            rect = Rect(self.centre[i] - size[0] // 2, top + height + m.lead, *size)
            drawing.texts.append(Placed(rect, shorten(box.output), "type", box.output))

    def _way(self, k: int, knot: object, rows: dict[int, int], tops: list[int]) -> None:
        """Draws the wires from references back to their recursive block, or out of the frame."""
        m, lines, gutter = self.m, self.drawing.lines, self.gutter[knot]
        lowest = max(rows.values())
        for i, y in rows.items():
            nodes = [n for n in self.rows[i] if n < len(self.boxes) and knot in self.loops[n]]
            for place, node in enumerate(sorted(nodes, key=lambda n: self.centre[n])):
                width = self.sizes[node][0]
                start = tops[i] + self.loops[node][knot]
                aside = self.centre[node] + self._span(node) // 2 + m.track * (k + 1)
                right = self.centre[node] - width // 2 + width - 1
                points = [(right, start)] if start == y else [(right, start), (aside, start), (aside, y)]
                arrow = False
                if place == 0:
                    points.append((gutter, y))
                    if y < lowest:
                        points.append((gutter, lowest))
                    elif knot == self.scene.knot:
                        port = tops[0] + m.track // 2
                        points += [(gutter, port), (self.centre[0] + m.track // 2 + 1, port)]
                        arrow = True
                    else:
                        points[-1] = (self.drawing.width - 1, y)
                lines.append(Polyline(tuple(points), arrow, loop=True))


def _rows(
    count: int, wires: Sequence[Point], bottom: Sequence[int]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Arranges boxes in rows, which graph drawing calls ranks; wires lead from earlier boxes to later ones.

    Nodes below `count` are boxes; each of the others leads a wire past a row.

    Returns:
        For each row, the nodes in it from left to right; the wires from row to row, as pairs of nodes.
    """
    row = [0] * count
    for source, target in sorted(wires, key=lambda wire: wire[1]):
        row[target] = max(row[target], row[source] + 1)
    last = max(row, default=0)
    for node in bottom:
        row[node] = last
    rows: list[list[int]] = [[] for _ in range(last + 1)]
    for node in range(count):
        rows[row[node]].append(node)
    steps: dict[tuple[int, int], None] = {}  # wires from one box share their node in a row that they pass
    carried: dict[tuple[int, int], int] = {}
    for source, target in wires:
        before = source
        for between in range(row[source] + 1, row[target]):
            new = count + len(carried)
            node = carried.setdefault((source, between), new)
            if node == new:
                rows[between].append(node)
            steps[before, node] = None
            before = node
        steps[before, target] = None
    _order(rows, list(steps))
    return rows, list(steps)


def _order(rows: list[list[int]], steps: Sequence[tuple[int, int]]) -> None:
    """Sorts the rows so that few wires cross: by the middle of the neighbours, down, up and down."""
    above, below = _neighbours(steps), _neighbours([(target, source) for source, target in steps])
    down, up = range(1, len(rows)), range(len(rows) - 2, -1, -1)
    for order, near, step in ((down, above, -1), (up, below, 1), (down, above, -1)):
        for i in order:
            place = {node: k for k, node in enumerate(rows[i + step])}
            own = {node: k for k, node in enumerate(rows[i])}
            rows[i].sort(key=lambda node: _mean([place[n] for n in near.get(node, ())], own[node]))


def _neighbours(steps: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """For each node, the nodes in the row above that lead to it."""
    found: dict[int, list[int]] = {}
    for source, target in steps:
        found.setdefault(target, []).append(source)
    return found


def _centres(
    rows: Sequence[Sequence[int]],
    steps: Sequence[tuple[int, int]],
    boxes: int,
    widths: Sequence[int],
    gap: int,
    ports: Mapping[tuple[int, int], int],
) -> list[int]:
    """Finds the middle of each node.

    The widths are odd, so that each node has a middle. `ports` gives, for each wire, the distance of its end
    from the middle of the target. Nodes below `boxes` are boxes.
    """
    x = [0.0] * len(widths)
    for row in rows:
        right = 0.0
        for node in row:
            x[node] = right + widths[node] / 2
            right += widths[node] + gap
    above: list[list[tuple[int, int]]] = [[] for _ in x]
    below: list[list[tuple[int, int]]] = [[] for _ in x]
    for source, target in steps:
        shift = ports.get((source, target), 0)
        above[target].append((source, -shift))
        below[source].append((target, shift))
    # The last pass centres a node over its readers only if it has several, so that chains stay straight.
    several = [readers if len(readers) > 1 else [] for readers in below]
    for turn in range(PASSES + 1):
        near = several if turn == PASSES else below if turn % 2 else above
        for row in rows if near is above else rows[::-1]:
            wanted = [_mean([x[n] + shift for n, shift in near[node]], x[node]) for node in row]
            weights = [STIFF if node >= boxes else 1 for node in row]
            for node, place in zip(row, _apart(wanted, weights, [widths[n] for n in row], gap), strict=True):
                x[node] = place
    whole = [0] * len(x)
    for row in rows:
        least = -(10**9)  # rounded, the neighbours keep the gap
        for node in row:
            whole[node] = max(round(x[node]), least + widths[node] // 2)
            least = whole[node] + widths[node] // 2 + 1 + gap
    return whole


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
    left = [i for i, (start, ends) in enumerate(bundles) if list(ends) != [start]]
    above = {
        j: [i for i in left if i != j and any(abs(bundles[i][0] - end) < apart for end in bundles[j][1])]
        for j in left
    }
    taken: list[list[tuple[int, int]]] = []
    while left:
        i = next((i for i in left if not {*above[i]} & {*left}), left[0])  # in a cycle, the first goes on
        left.remove(i)
        low, high = min(bundles[i][0], *bundles[i][1]), max(bundles[i][0], *bundles[i][1])
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
