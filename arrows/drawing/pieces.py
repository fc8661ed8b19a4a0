"""Pieces of a picture: boxes, frames, and pieces in rows with wires between them.

A piece is laid out before what is around it, and never changes: a frame or a row only moves it. So the
picture of an expression has the expression's structure. Boxes that read one another stand in rows by their
longest path from the start; each stands below what it reads, in the order in which these stand.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias
from xml.sax.saxutils import escape

from arrows.typesys import printable

Point: TypeAlias = tuple[float, float]

LETTER, LINE = 7.25, 16  # the width of a letter and the height of a line of text, in pixels
GAP = 26  # between boxes side by side
TRACK = 9  # between parallel wires; the size of a dot
ABOVE, BELOW = 10, 16  # what is free above and below the bends of the wires between two rows
ROUND = 7  # the radius of a rounded corner
HEAD = 5  # half the width of an arrowhead
HEADING = 26  # the height of a frame's title
WORDS = 40  # a text is cut to this number of characters
EDGE = 16  # between a frame and what is inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a picture. A wire enters at (0, 0); x counts to the right, y downwards.

    Attributes:
        left, right, height: how far it reaches.
        top: the width of the box at which wires end; 0 if they end at a point.
        out: where its result leaves: the x, at the lower edge.
        svg: its elements.
        back: for each enclosing recursion that it refers to, the y at which a wire leaves on the right.
    """

    left: float = 0
    right: float = 0
    height: float = 0
    top: float = 0
    out: float = 0
    svg: Sequence[str] = ()
    back: dict[object, float] = field(default_factory=dict)


POINT = Piece()
_CIRCLE = f'<circle class="dot" cx="0" cy="{TRACK / 2}" r="{TRACK / 2 - 0.5}"/>'
DOT = Piece(left=-5, right=5, height=TRACK, top=TRACK, svg=[_CIRCLE])


def box(text: str, style: str, type: str = "", hint: str = "", knot: object = None) -> Piece:
    """A box with a text, and the type of its result below; without a text it is a dot.

    Args:
        text: the text inside.
        style: its CSS class; "point" is a point that a value passes, which has round ends.
        type: the type below.
        hint: the tooltip.
        knot: for a reference to a recursive block around it, what stands for that block.
    """
    piece = DOT
    if text:
        text, hint = shorten(text), hint or clean(text)
        half = round(columns(text) * LETTER / 2) + 10
        high, radius = (LINE + 8, LINE / 2 + 4) if style == "point" else (LINE + 14, 5)
        shape = f'x="{-half}" y="0" width="{2 * half}" height="{high}" rx="{radius:g}"'
        rect = f'<rect class="box {style}" {shape}>{tooltip(text, hint)}</rect>'
        svg = [rect, words(text, 0, high / 2, hint=hint)]
        back = {} if knot is None else {knot: high / 2}
        piece = Piece(left=-half, right=half, height=high, top=2 * half, svg=svg, back=back)
    return with_type(piece, type)


def with_type(piece: Piece, type: str) -> Piece:
    """A piece, and the type of its result below, if it is known."""
    if not type:
        return piece
    half, low = columns(shorten(type)) * LETTER / 2, piece.height + 3
    left, right = min(piece.left, piece.out - half), max(piece.right, piece.out + half)
    ways = [path([(piece.right, y), (right, y)], "loop") for y in piece.back.values() if right > piece.right]
    svg = [*piece.svg, words(shorten(type), piece.out, low + LINE / 2, "type", hint=type), *ways]
    return replace(piece, left=left, right=right, height=low + LINE, svg=svg)


def frame(title: str, inside: Piece, knot: object = None, *, passes: bool = True) -> Piece:
    """A frame with a title around a piece; the wires of a recursion lead back to where it begins.

    Args:
        title: the title.
        inside: the piece.
        knot: of a recursive block, what stands for it.
        passes: whether the result of what is inside is that of the frame.
    """
    left = inside.left - EDGE
    right = max(inside.right + EDGE, left + columns(title) * LETTER + 2 * EDGE)
    height = inside.height + HEADING + EDGE
    svg = [
        f'<rect class="frame" x="{left:g}" y="0" width="{right - left:g}" height="{height:g}" rx="8"/>',
        words(title, left + 10, HEADING / 2 - 2, "title", middle=False),
        moved(inside, 0, HEADING),
    ]
    if passes:
        svg.append(path([(inside.out, height - EDGE), (inside.out, height)]))
    back = {}
    for each, y in inside.back.items():
        start = (inside.right, y + HEADING)
        if each is knot:
            begin = HEADING + TRACK / 2
            way = [start, (right - 6, start[1]), (right - 6, begin), (TRACK / 2 + 1, begin)]
            svg.append(path(way, "loop", arrow=True))
        else:
            svg.append(path([start, (right, start[1])], "loop"))
            back[each] = start[1]
    return Piece(left=left, right=right, height=height, top=right - left, out=inside.out, svg=svg, back=back)


@dataclass(eq=False, slots=True)
class _Spot:
    """A piece in its row; the spots that it reads stand in the row above."""

    piece: Piece
    reads: list[_Spot] = field(default_factory=list)
    x: float = 0
    y: float = 0

    @property
    def exit(self) -> Point:
        """Where its result leaves."""
        return self.x + self.piece.out, self.y + self.piece.height

    def port(self, k: int) -> float:
        """The x at which the wire from the `k`th spot that it reads ends."""
        count, start = len(self.reads), self.reads[k].exit[0]
        # A short bend is none: the wire ends a little beside the middle.
        if count == 1 and abs(self.x - start) < min(8, self.piece.top / 2):
            return start
        return round(self.x + ((k + 1) / (count + 1) - 0.5) * min(self.piece.top, 40 * (count + 1)))


def joined(pieces: Sequence[Piece], reads: Sequence[Sequence[int]], ends: Sequence[int]) -> Piece:
    """Lays out pieces that read one another: a piece in a row below all that it reads.

    Args:
        pieces: each after those that it reads.
        reads: for each, the numbers of those. What reads nothing stands in the first row.
        ends: those that give the result, if they give one.

    Example:
        >>> chain = joined([box("f", "block"), box("g", "block")], [[], [0]], [1])
        >>> chain.height == 2 * box("f", "block").height + ABOVE + BELOW
        True
    """
    rows, last = _ranked(pieces, reads, ends)
    svg: list[str] = []
    ways: dict[object, list[list[Point]]] = {}  # those of each recursion
    y = 0.0
    for above, row in zip([[], *rows], rows, strict=False):
        _place(row)
        y = _wires(above, row, y, svg) if above else y
        for spot in row:
            spot.y = y
        y = max(spot.exit[1] for spot in row)
        lanes: dict[object, float] = {}  # in which they pass below the pieces on their right
        for spot in row:
            edge = spot.x + spot.piece.right
            for knot, aside in spot.piece.back.items():
                way = [(edge, spot.y + aside)]
                if spot is not row[-1]:
                    joins = knot in lanes
                    y += 0 if joins else TRACK
                    way += [(edge + TRACK, way[0][1]), (edge + TRACK, lanes.setdefault(knot, y))]
                    if joins:
                        svg.append(path(way, "loop"))
                        continue
                ways.setdefault(knot, []).append(way)
    every = [spot for row in rows for spot in row]
    right = max(spot.x + spot.piece.right for spot in every)
    most, back = right + TRACK * len(ways), {}
    for k, (knot, found) in enumerate(ways.items()):
        # All of one recursion join one another on the right.
        found.sort(key=lambda way: way[-1][1])
        x, back[knot] = right + TRACK * (k + 1), found[-1][-1][1]
        for way, below in pairwise(found):
            svg.append(path([*way, (x, way[-1][1]), (x, below[-1][1])], "loop"))
        svg.append(path([*found[-1], (most, back[knot])], "loop"))
    svg += [moved(spot.piece, spot.x, spot.y) for spot in every if spot.piece is not POINT]
    if last is not None:
        svg += [path([last.exit, (last.exit[0], y)])] if last.exit[1] < y else []
    return Piece(
        left=min(spot.x + spot.piece.left for spot in every),
        right=most,
        height=y,
        top=pieces[0].top,
        out=0 if last is None else last.exit[0],
        svg=svg,
        back=back,
    )


def _ranked(
    pieces: Sequence[Piece], reads: Sequence[Sequence[int]], ends: Sequence[int]
) -> tuple[list[list[_Spot]], _Spot | None]:
    """Arranges pieces in rows, by their longest path; and says from which the result leaves.

    A wire passes the rows between its ends by points, one in each row for all wires from one piece.
    """
    ranks: list[int] = []
    for sources in reads:
        ranks.append(max((ranks[source] + 1 for source in sources), default=0))
    if len(ends) > 1 or any(ranks[end] < max(ranks) for end in ends):
        pieces, reads, ranks = [*pieces, POINT], [*reads, ends], [*ranks, max(ranks) + 1]
        ends = [len(pieces) - 1]
    rows: list[list[_Spot]] = [[] for _ in range(max(ranks) + 1)]
    spots: dict[tuple[int, int], _Spot] = {}  # by the number of the piece, and the row
    for number, (piece, sources, rank) in enumerate(zip(pieces, reads, ranks, strict=True)):
        spot = spots[number, rank] = _Spot(piece)
        for source in dict.fromkeys(sources):
            for between in range(ranks[source] + 1, rank):
                if (source, between) not in spots:
                    spots[source, between] = _Spot(POINT, [spots[source, between - 1]])
                    rows[between].append(spots[source, between])
            spot.reads.append(spots[source, rank - 1])
        rows[rank].append(spot)
    return rows, spots[ends[0], ranks[ends[0]]] if ends else None


def _place(row: list[_Spot]) -> None:
    """Places a row: each spot below what it reads, or beside its neighbours where there is no room."""
    for spot in row:
        spot.x = sum(each.exit[0] for each in spot.reads) / max(len(spot.reads), 1)
    row.sort(key=lambda spot: spot.x)
    # Half way between the places to which they are pushed from the left, and from the right, there is room.
    places = [0.0] * len(row)
    for sign in (1, -1):
        edge = -1e9
        for i, spot in list(enumerate(row))[::sign]:
            near, far = (spot.piece.left, spot.piece.right)[::sign]
            place = max(sign * spot.x, edge - sign * near)
            places[i] += sign * place / 2
            edge = place + sign * far + GAP
    for spot, place in zip(row, places, strict=True):
        spot.x = round(place)


def _wires(above: list[_Spot], row: list[_Spot], y: float, svg: list[str]) -> float:
    """Draws the wires between two rows, from the lower edge of the first; returns the top of the second."""
    ways: dict[_Spot, list[tuple[float, bool]]] = {spot: [] for spot in above}
    for spot in row:
        for k, source in enumerate(spot.reads):
            ways[source].append((spot.port(k), spot.piece.top > 0))
    bent = [spot for spot in above if any(end != spot.exit[0] for end, _ in ways[spot])]
    # Of wires to the right, the left one bends lowest, so that they do not cross; mirrored to the left.
    bent.sort(key=lambda spot: -spot.exit[0] if max(ways[spot])[0] > spot.exit[0] else spot.exit[0])
    merge = len(row) == 1 and not row[0].piece.top  # into a point, all run on one track
    low = y + ABOVE + BELOW + TRACK * (0 if merge else max(len(bent) - 1, 0))
    for spot in above:
        start, bottom = spot.exit
        for end, arrow in ways[spot]:
            bend = bottom if end == start else y + ABOVE + TRACK * (0 if merge else bent.index(spot))
            svg.append(path([(start, bottom), (start, bend), (end, bend), (end, low)], arrow=arrow))
    return low


# SVG


def moved(piece: Piece, x: float, y: float) -> str:
    """The elements of a piece, moved to a place."""
    return "\n".join([f'<g transform="translate({x:g} {y:g})">', *piece.svg, "</g>"])


def words(text: str, x: float, y: float, style: str = "", *, hint: str = "", middle: bool = True) -> str:
    """A text around a height, from a place on or around it."""
    how = (f' class="{style}"' if style else "") + (' text-anchor="middle"' if middle else "")
    return f'<text{how} x="{x:g}" y="{y + 4.2:g}">{tooltip(text, hint)}{escape(text)}</text>'


def tooltip(text: str, hint: str) -> str:
    """A tooltip that says more than the text; empty if it says the same."""
    return f"<title>{escape(hint)}</title>" if hint not in ("", text) else ""


def path(points: Sequence[Point], style: str = "wire", *, arrow: bool = False) -> str:
    """A wire along straight lines, with round corners."""
    points = [*(a for a, b in pairwise(points) if a != b), points[-1]]
    way = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _toward(corner, before, ROUND), _toward(corner, after, ROUND)
        way += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    (x, y), head = points[-1], ""
    if arrow:
        a, b = _toward(points[-1], points[-2], 2 * HEAD - 2)
        across, down = (HEAD, 0) if a == x else (0, HEAD)
        shape = f"{x:g},{y:g} {a - across:g},{b - down:g} {a + across:g},{b + down:g}"
        head = f'<polygon class="{"back" if style == "loop" else "head"}" points="{shape}"/>'
        x, y = _toward(points[-1], points[-2], HEAD)
    return f'<path class="{style}" d="{way}L{x:g} {y:g}"/>{head}'


def _toward(corner: Point, other: Point, far: float) -> Point:
    """The point at a distance from a corner, at most half the way to the other corner."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    part = min(far / (abs(dx) + abs(dy)), 0.5)
    return corner[0] + dx * part, corner[1] + dy * part


def columns(text: str) -> int:
    """Counts the columns that a text takes; wide letters take two.

    Example:
        >>> columns("tree"), columns("木")
        (4, 2)
    """
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def shorten(text: str, width: int = WORDS) -> str:
    """Cuts a text to at most `width` characters.

    Example:
        >>> shorten("Sequence(float32[300])", 12)
        'Sequence(...'
    """
    text = clean(text)
    return text if len(text) <= width else f"{text[: width - 3]}..."


def clean(text: str) -> str:
    """Puts a text in one line, and escapes characters that control terminals or that XML forbids.

    Example:
        >>> clean("a\\nb\\x1b[31m")
        'a b\\\\x1b[31m'
    """
    return printable(" ".join(text.split()))
