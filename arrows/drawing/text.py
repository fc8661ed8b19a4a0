"""A drawing as text: boxes and wires in the box-drawing characters of Unicode, or in plain ASCII."""

from __future__ import annotations

from itertools import pairwise

from arrows.drawing.layout import Drawing, Point, Polyline, Rect, columns

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8
SOLID = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
# A cell at the end of a wire has one direction; it is drawn as a straight line.
STRAIGHT = dict.fromkeys((0, UP, DOWN), UP | DOWN) | dict.fromkeys((LEFT, RIGHT), LEFT | RIGHT)
DASHED = {UP | DOWN: "┊", LEFT | RIGHT: "┈"}
ROUND = {UP | RIGHT: "╰", RIGHT | DOWN: "╭", DOWN | LEFT: "╮", UP | LEFT: "╯"}
ASCII = str.maketrans(dict(zip("│─┊┈▼◀●", "|-:.v<o", strict=True)) | dict.fromkeys("└┌├┘┴┐┤┬┼╰╭╮╯╵╶╷╴", "+"))


def to_text(drawing: Drawing) -> str:
    """Writes a drawing that is laid out in characters as lines of text.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing import CHARACTERS, lay_out, scene_of
        >>> scene = scene_of(ar.infer(ar.Scalar()))
        >>> print(to_ascii(to_text(lay_out(scene, CHARACTERS))), end="")
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
    for frame in drawing.placed:
        if frame.style == "frame":
            page.border(frame.rect, rounded=True)
    for line in drawing.lines:
        page.line(line)
    for each in drawing.placed:
        x, y, _, height = each.rect
        if each.style == "frame":
            continue
        if each.style in ("type", "title"):
            page.write(x, y, each.text)
        elif not each.text:
            page.letters[x, y] = "●"
        else:
            page.clear(each.rect)
            page.border(each.rect, rounded=each.style in ("join", "case", "port"))
            page.write(x + 2, y + height // 2, each.text)
    return "\n".join(page.rows(drawing.height)).strip("\n") + "\n"


def to_ascii(text: str) -> str:
    """Writes a drawing in ASCII characters alone, for terminals that lack others; other letters are escaped.

    Example:
        >>> print(to_ascii("│ é │"))
        | \\xe9 |
    """
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")


class _Page:
    """The grid of characters on which boxes, wires and texts are drawn."""

    def __init__(self) -> None:
        self.ways: dict[Point, int] = {}  # the directions in which lines leave a cell
        self.solid: set[Point] = set()
        self.round: set[Point] = set()
        self.letters: dict[Point, str] = {}

    def border(self, rect: Rect, *, rounded: bool) -> None:
        """Draws the border of a box or frame."""
        x, y, width, height = rect
        right, low = x + width - 1, y + height - 1
        ring = ((x, y), (right, y), (right, low), (x, low), (x, y))
        for a, b in pairwise(ring):
            self.stretch(a, b, solid=True)
        if rounded:
            self.round.update(ring)

    def clear(self, rect: Rect) -> None:
        """Removes the lines that run under a box."""
        for x in range(rect.x, rect.x + rect.width):
            for y in range(rect.y, rect.y + rect.height):
                self.ways.pop((x, y), None)

    def line(self, line: Polyline) -> None:
        """Draws a wire from beside one box to beside another."""
        points = list(line.points)
        (x, y), (last, low) = points[0], points[-1]
        if line.loop:
            points[0] = x + 1, y
        else:
            points[-1] = last, low - 1
        for a, b in pairwise(points):
            self.stretch(a, b, solid=not line.loop)
        if line.arrow:
            self.letters[points[-1]] = "◀" if line.loop else "▼"

    def stretch(self, a: Point, b: Point, *, solid: bool) -> None:
        """Draws a straight line; a line of a single cell is vertical."""
        (ax, ay), (bx, by) = a, b
        dx, dy = (bx > ax) - (bx < ax), (by > ay) - (by < ay)
        there, back = {1: (RIGHT, LEFT), -1: (LEFT, RIGHT)}.get(dx, (UP, DOWN) if dy < 0 else (DOWN, UP))
        for k in range(abs(bx - ax) + abs(by - ay) + 1):
            cell = ax + k * dx, ay + k * dy
            way = (0 if cell == b else there) | (0 if cell == a else back)
            self.ways[cell] = self.ways.get(cell, 0) | way
            if solid:
                self.solid.add(cell)

    def write(self, x: int, y: int, text: str) -> None:
        """Writes a text from a cell on; a wide letter takes two cells, a combining one none."""
        for letter in text:
            width = columns(letter)
            if not width and (x - 1, y) in self.letters:
                self.letters[x - 1, y] += letter
                continue
            self.letters[x, y] = letter
            if width == 2:
                self.letters[x + 1, y] = ""
            x += max(width, 1)

    def rows(self, height: int) -> list[str]:
        """Returns the finished page, line by line."""
        rows: list[dict[int, str]] = [{} for _ in range(height + 1)]
        for (x, y), way in self.ways.items():
            way = STRAIGHT.get(way, way)
            letter = SOLID[way]
            if (x, y) not in self.solid:
                letter = DASHED.get(way, ROUND.get(way, letter))
            elif (x, y) in self.round:
                letter = ROUND.get(way, letter)
            rows[y][x] = letter
        for (x, y), letter in self.letters.items():
            rows[y][x] = letter
        return ["".join(row.get(x, " ") for x in range(max(row, default=-1) + 1)).rstrip() for row in rows]
