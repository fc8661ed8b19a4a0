"""Lays out one frame: places its boxes, texts and wires. The frames inside it are laid out before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from arrows.drawing.box_rows import BoxRows
from arrows.drawing.routing import Sideways, tracks
from arrows.drawing.scene import Box, FrameBox, FramePort, ReferenceBox, Scene, is_dot
from arrows.drawing.shapes import (
    Drawing,
    Measures,
    PlacedBox,
    PlacedFrame,
    PlacedText,
    Point,
    Polyline,
    Rect,
    TextStyle,
    columns,
)


@dataclass(eq=False, slots=True)
class Frame:
    """A scene that is laid out; places count from its upper left corner.

    Attributes:
        drawing: its own boxes, texts and wires, without those of the frames inside.
        entry: the distance of its input from the left border.
        exits: for each recursion whose wire leaves on the right, the distance of that wire from the top.
        inner: the frames inside, each with its place.
    """

    drawing: Drawing
    entry: int
    exits: dict[Hashable, int]
    inner: list[tuple[Point, Scene]]


def frame_of(scene: Scene, measures: Measures, done: Mapping[int, Frame], outermost: bool) -> Frame:
    """Lays out one frame."""
    return _Layout(scene, measures, done, outermost).run()


class _Layout:
    def __init__(self, scene: Scene, measures: Measures, done: Mapping[int, Frame], outermost: bool) -> None:
        self.scene, self.m, self.done, self.outermost = scene, measures, done, outermost
        boxes = self.boxes = scene.boxes
        readers = {source for source, _ in scene.wires}
        ends = [i for i, box in enumerate(boxes) if is_dot(box) and i not in readers]
        self.rows = BoxRows(len(boxes), scene.wires, ends)
        self.into: list[list[int]] = [[] for _ in boxes]
        for source, target in self.rows.steps:
            if target < len(boxes):
                self.into[target].append(source)
        self.loops = [self._loops(box) for box in boxes]
        self.knots = list(dict.fromkeys(knot for loops in self.loops for knot in loops))
        self.sizes = [self._size(i) for i in range(len(boxes))]
        self.labels = [self._text(box.output.short) if box.output.short else (0, 0) for box in boxes]
        self.ports = self._ports()
        margin = measures.track * (len(self.knots) + 1)
        widths = [1] * len(self.rows.of)
        for i in range(len(boxes)):
            widths[i] = _odd(self._span(i) + (2 * margin if self.loops[i] else 0))
        centre = self.rows.centres(widths, measures.gap, self.ports)
        nodes = [node for row in self.rows.rows for node in row]
        left = min((centre[n] - widths[n] // 2 for n in nodes), default=0)
        self.centre = [c - left + measures.frame[0] for c in centre]
        content = max((self.centre[n] + widths[n] // 2 + 1 for n in nodes), default=measures.frame[0])
        self.gutter = {knot: content + measures.track * (k + 1) for k, knot in enumerate(self.knots)}
        heading = 0 if outermost else self._text(scene.title)[0] + 2 * measures.inset[0]
        width = max(content + (margin if self.knots else 0) + measures.frame[0], heading)
        self.drawing = Drawing(_odd(width), 0)  # the height follows when the rows are placed
        self.inner: list[tuple[Point, Scene]] = []

    # Sizes

    def _loops(self, box: Box) -> Mapping[Hashable, int | None]:
        """Maps each recursion out of a box to its wire's distance from the top; None: half the height."""
        if isinstance(box, FrameBox):
            return self.done[id(box.scene)].exits
        return {box.knot: None} if isinstance(box, ReferenceBox) else {}

    def _text(self, text: str) -> Point:
        return _odd(int(columns(text) * self.m.letter + 0.999)), self.m.line

    def _size(self, i: int) -> Point:
        box, m = self.boxes[i], self.m
        if isinstance(box, FrameBox):
            inner = self.done[id(box.scene)].drawing
            return inner.width, inner.height
        if is_dot(box):
            return m.dot, m.dot
        width, height = self._text(box.text)
        ports = (len(self.into[i]) + 1) * (m.track + 1)
        return _odd(max(width + 2 * m.inset[0], ports)), height + 2 * m.inset[1]

    def _span(self, i: int) -> int:
        """The width that a box and the type below it need together."""
        return max(self.sizes[i][0], self.labels[i][0])

    # Places

    def run(self) -> Frame:
        """Places everything in the frame."""
        tops, ways = self._down()
        exits = {knot: max(rows.values()) for knot, rows in ways.items() if knot != self.scene.knot}
        self._draw(tops)
        for k, (knot, rows) in enumerate(ways.items()):
            self._way(k, knot, rows, tops)
        entry = self.centre[0] if len(self.boxes) > 1 and isinstance(self.boxes[0], FramePort) else 0
        several = sum(not into for into in self.into) > 1
        return Frame(self.drawing, self.drawing.width // 2 if several else entry, exits, self.inner)

    def _ports(self) -> dict[tuple[int, int], int]:
        """Returns for each wire (source, target) the distance of its end from the middle of the target."""
        ports: dict[tuple[int, int], int] = {}
        for target, sources in enumerate(self.into):
            width, box = self.sizes[target][0], self.boxes[target]
            if width <= self.m.dot:
                continue
            if isinstance(box, FrameBox) and len(sources) == 1:
                ports[sources[0], target] = self.done[id(box.scene)].entry - width // 2
                continue
            for k, source in enumerate(sources):
                ports[source, target] = (k + 1) * width // (len(sources) + 1) - width // 2
        return ports

    def _down(self) -> tuple[list[int], dict[Hashable, dict[int, int]]]:
        """Draws the wires between rows.

        Returns the top of each row, and for each recursion the height of its wire in each row that it leaves.
        """
        m, count = self.m, len(self.boxes)
        y = m.frame[1] + (0 if self.outermost else m.heading)
        tops: list[int] = []
        loops: dict[Hashable, dict[int, int]] = {knot: {} for knot in self.knots}
        steps: list[list[tuple[int, int]]] = [[] for _ in self.rows.rows]
        row_of = {node: i for i, row in enumerate(self.rows.rows) for node in row}
        for source, target in self.rows.steps:
            steps[row_of[source]].append((source, target))
        for i, row in enumerate(self.rows.rows):
            tops.append(y)
            y += max(self._height(node) if node < count else 0 for node in row)
            real = [node for node in row if node < count]
            for knot in self.knots:
                users = [n for n in real if knot in self.loops[n]]
                if users and users != real[-1:]:
                    y += m.track
                    loops[knot][i] = y
                elif users:
                    # The last box of a row has none on its right: its wire leaves sideways, without a track.
                    loops[knot][i] = self._leaves(users[0], tops[i], knot)
            if i + 1 == len(self.rows.rows):
                y += m.frame[1]
                continue
            y += m.room[0]
            y = self._wires(steps[i], tops[i], y)
        self.drawing.height = y
        return tops, loops

    def _leaves(self, i: int, top: int, knot: Hashable) -> int:
        """The height at which the wire back to a recursive block leaves a box."""
        down = self.loops[i][knot]
        return top + (self.sizes[i][1] // 2 if down is None else down)

    def _height(self, i: int) -> int:
        return self.sizes[i][1] + (self.m.lead + self.labels[i][1] if self.labels[i][0] else 0)

    def _wires(self, steps: list[tuple[int, int]], top: int, y: int) -> int:
        """Draws the wires below a row, and returns the top of the next row."""
        m, count = self.m, len(self.boxes)
        ends: dict[int, list[tuple[int, int]]] = {}
        for source, target in steps:
            start = self.centre[source]
            end = self.centre[target] + self.ports.get((source, target), 0)
            alone = target >= count or len(self.into[target]) == 1
            if alone and abs(end - start) <= m.snap:
                end = start
                if target >= count:
                    self.centre[target] = start
            ends.setdefault(source, []).append((end, target))
        bundles = [Sideways(self.centre[s], tuple(end for end, _ in targets)) for s, targets in ends.items()]
        levels = tracks(bundles, m.track)
        used = 1 + max((level for level in levels if level is not None), default=-1)
        bottom = y + used * m.track + m.room[1]
        for (source, targets), level in zip(ends.items(), levels, strict=True):
            x = self.centre[source]
            start = top + (self._height(source) if source < count else 0)
            for end, target in targets:
                points: tuple[Point, ...] = ((x, start), (x, bottom))
                if end != x:
                    assert level is not None
                    middle = y + level * m.track
                    points = ((x, start), (x, middle), (end, middle), (end, bottom))
                self.drawing.lines.append(Polyline(points, target < count))
        return bottom

    def _draw(self, tops: list[int]) -> None:
        m, drawing = self.m, self.drawing
        for row, top in zip(self.rows.rows, tops, strict=True):
            for i in row:
                if i >= len(self.boxes):
                    continue
                box, (width, height) = self.boxes[i], self.sizes[i]
                x = self.centre[i] - width // 2
                rect = Rect(x, top, width, height)
                if isinstance(box, FrameBox):
                    drawing.frames.append(PlacedFrame(rect, box.text, box.hint))
                    self.inner.append(((x, top), box.scene))
                    size = self._text(box.text)
                    down = (m.heading - size[1]) // 2
                    title = Rect(x + m.inset[0], top + down, *size)
                    drawing.texts.append(PlacedText(title, box.text, TextStyle.TITLE))
                else:
                    drawing.boxes.append(PlacedBox(rect, box.text, box.style, box.hint))
                if box.output.short:
                    size = self.labels[i]
                    rect = Rect(self.centre[i] - size[0] // 2, top + height + m.lead, *size)
                    drawing.texts.append(PlacedText(rect, box.output.short, TextStyle.TYPE, box.output.full))

    def _way(self, k: int, knot: Hashable, rows: dict[int, int], tops: list[int]) -> None:
        """Draws the wires from references back to their recursive block, or out of the frame."""
        m, lines, gutter = self.m, self.drawing.lines, self.gutter[knot]
        lowest = max(rows.values())
        for i, y in rows.items():
            nodes = [n for n in self.rows.rows[i] if n < len(self.boxes) and knot in self.loops[n]]
            for place, node in enumerate(sorted(nodes, key=lambda n: self.centre[n])):
                width = self.sizes[node][0]
                start = self._leaves(node, tops[i], knot)
                aside = self.centre[node] + self._span(node) // 2 + m.track * (k + 1)
                right = self.centre[node] - width // 2 + width - 1
                points = [(right, start)] if start == y else [(right, start), (aside, start), (aside, y)]
                arrow = False
                if place == 0:
                    points.append((gutter, y))
                    if y < lowest:
                        points.append((gutter, lowest))
                    elif knot == self.scene.knot:
                        port = tops[0] + m.dot // 2
                        points += [(gutter, port), (self.centre[0] + m.dot // 2 + 1, port)]
                        arrow = True
                    else:
                        points[-1] = (self.drawing.width - 1, y)
                lines.append(Polyline(tuple(points), arrow, loop=True))


def _odd(n: int) -> int:
    return n + 1 - n % 2
