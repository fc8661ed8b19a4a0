"""A drawing as text: boxes and wires in the box-drawing characters of Unicode, or in plain ASCII."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from arrows.drawing.shapes import Drawing, Placed, Polyline, Rect

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8
SOLID = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
DASHED = {UP | DOWN: "┊", LEFT | RIGHT: "┈"}
ROUND = {UP | RIGHT: "╰", RIGHT | DOWN: "╭", DOWN | LEFT: "╮", UP | LEFT: "╯"}
ASCII = str.maketrans(dict(zip("│─┊┈▼◀●", "|-:.v<o", strict=True)) | dict.fromkeys("└┌├┘┴┐┤┬┼╰╭╮╯╵╶╷╴", "+"))


def to_text(drawing: Drawing, *, ascii_only: bool = False) -> str:
    """Writes a drawing as lines of text.

    Args:
        drawing: a drawing that is laid out in characters.
        ascii_only: use ASCII characters alone, for terminals that lack others; texts are escaped.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing import CHARACTERS, lay_out, scene_of
        >>> scene = scene_of(ar.infer(ar.Scalar()))
        >>> print(to_text(lay_out(scene, CHARACTERS), ascii_only=True), end="")
                  o
                Input
                  |
                  v
         +-------------------+
         | Scalar('float32') |
         +-------------------+
                float32
                  |
                  v
                  o
    """
    page = _Page()
    for frame in drawing.frames:
        page.border(frame.rect, ROUND)
    for line in drawing.lines:
        page.line(line)
    for box in drawing.boxes:
        x, y, _, height = box.rect
        if not box.text:
            page.letters[x, y] = "●"
            continue
        page.clear(box.rect)
        page.border(box.rect, ROUND if box.style.rounded else {})
        page.write(x + 2, y + height // 2, box)
    for text in drawing.texts:
        page.write(text.rect.x, text.rect.y, text)
    lines = page.lines(drawing.height)
    if ascii_only:
        lines = [line.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii") for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


class _Page:
    """The grid of characters on which boxes, wires and texts are drawn."""

    def __init__(self) -> None:
        self.ways: dict[tuple[int, int], int] = {}  # the directions in which lines leave a cell
        self.solid: set[tuple[int, int]] = set()
        self.shapes: dict[tuple[int, int], str] = {}  # corners of borders
        self.letters: dict[tuple[int, int], str] = {}

    def border(self, rect: Rect, corners: dict[int, str]) -> None:
        """Draws the border of a box or frame."""
        x, y, width, height = rect
        right, low = x + width - 1, y + height - 1
        ring = ((x, y), (right, y), (right, low), (x, low), (x, y))
        for (ax, ay), (bx, by) in pairwise(ring):
            self.stretch(ax, ay, bx, by, solid=True)
        for place in ring:
            if self.ways[place] in corners:
                self.shapes[place] = corners[self.ways[place]]

    def clear(self, rect: Rect) -> None:
        """Removes the lines that run under a box."""
        for x in range(rect.x, rect.x + rect.width):
            for y in range(rect.y, rect.y + rect.height):
                self.ways.pop((x, y), None)

    def line(self, line: Polyline) -> None:
        """Draws a wire from beside one box to beside another."""
        points = [list(point) for point in line.points]
        if line.loop:
            points[0][0] += 1
        else:
            points[-1][1] -= 1
        for (ax, ay), (bx, by) in pairwise(points):
            self.stretch(ax, ay, bx, by, solid=not line.loop)
        if line.arrow:
            x, y = points[-1]
            self.letters[x, y] = "◀" if line.loop else "▼"

    def stretch(self, ax: int, ay: int, bx: int, by: int, *, solid: bool) -> None:
        """Draws a straight line; a line of a single cell is vertical."""
        dx, dy = (bx > ax) - (bx < ax), (by > ay) - (by < ay)
        there, back = {(1, 0): (RIGHT, LEFT), (-1, 0): (LEFT, RIGHT), (0, -1): (UP, DOWN)}.get(
            (dx, dy), (DOWN, UP)
        )
        x, y = ax, ay
        while True:
            last = (x, y) == (bx, by)
            way = (0 if last else there) | (0 if (x, y) == (ax, ay) else back)
            self.ways[x, y] = self.ways.get((x, y), 0) | way
            if solid:
                self.solid.add((x, y))
            if last:
                return
            x, y = x + dx, y + dy

    def write(self, x: int, y: int, placed: Placed) -> None:
        """Writes a text; types are centred in their rectangle."""
        for letter in placed.text:
            if unicodedata.combining(letter) and (x - 1, y) in self.letters:
                self.letters[x - 1, y] += letter
                continue
            self.letters[x, y] = letter
            x += 1
            if unicodedata.east_asian_width(letter) in "WF":
                self.letters[x, y] = ""
                x += 1

    def lines(self, height: int) -> list[str]:
        """Returns the finished page, line by line."""
        rows: dict[int, dict[int, str]] = {}
        for (x, y), way in self.ways.items():
            # A cell at the end of a wire has one direction; it is drawn as a straight line.
            way = {UP: UP | DOWN, DOWN: UP | DOWN, 0: UP | DOWN}.get(way, way)
            way = {LEFT: LEFT | RIGHT, RIGHT: LEFT | RIGHT}.get(way, way)
            letter = SOLID[way]
            if (x, y) not in self.solid:
                letter = DASHED.get(way, ROUND.get(way, letter))
            elif (x, y) in self.shapes and ROUND.get(way) == self.shapes[x, y]:
                letter = self.shapes[x, y]
            rows.setdefault(y, {})[x] = letter
        for (x, y), letter in self.letters.items():
            rows.setdefault(y, {})[x] = letter
        lines = []
        for y in range(height + 1):
            row = rows.get(y, {})
            lines.append("".join(row.get(x, " ") for x in range(max(row, default=-1) + 1)).rstrip())
        return lines
