"""What a drawing consists of, and how large its parts are."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Measures:
    """How large things are drawn, in pixels or in characters.

    Attributes:
        letter, line: width and height of a letter.
        inset: from the border of a box to its text, sideways and up.
        gap: between boxes side by side.
        room: above and below the wires between two rows.
        track: between wires that run side by side.
        frame: from the border of a frame to what is inside, sideways and up.
        heading: the height of a frame's title.
        dot: the size of a port.
        lead: between a box and the type below it.
        snap: how far a wire's end may be moved to make it straight.
    """

    letter: float
    line: int
    inset: Point
    gap: int
    room: Point
    track: int
    frame: Point
    heading: int
    dot: int
    lead: int
    snap: int


PIXELS = Measures(7.25, 16, (10, 7), 26, (10, 16), 9, (16, 14), 22, 9, 3, 5)
CHARACTERS = Measures(1, 1, (2, 1), 3, (1, 1), 1, (2, 1), 1, 1, 0, 1)


class Rect(NamedTuple):
    """A rectangle: its left upper corner and its size."""

    x: int
    y: int
    width: int
    height: int

    def moved(self, x: int, y: int) -> Rect:
        """The same somewhere else."""
        return Rect(self.x + x, self.y + y, self.width, self.height)


class Placed(NamedTuple):
    """A box, frame or text in its place.

    Attributes:
        rect: where it is.
        text: what stands in it.
        kind: what sort it is.
        hint: more about it.
    """

    rect: Rect
    text: str
    kind: str
    hint: str = ""


class Polyline(NamedTuple):
    """A wire: the corners of its way, whether it ends in an arrow, and whether it is a recursion."""

    points: tuple[Point, ...]
    arrow: bool
    loop: bool = False


@dataclass(eq=False, slots=True)
class Drawing:
    """What is drawn, in its place.

    Attributes:
        width, height: of the whole.
        frames: from the outside in; their titles are among `texts`.
        boxes: with the texts that stand in their middle.
        texts: types, and titles of frames.
        lines: wires.

    Example:
        >>> Drawing(10, 10).boxes
        []
    """

    width: int
    height: int
    frames: list[Placed] = field(default_factory=list)
    boxes: list[Placed] = field(default_factory=list)
    texts: list[Placed] = field(default_factory=list)
    lines: list[Polyline] = field(default_factory=list)


def columns(text: str) -> int:
    """How many columns a text takes on a terminal; wide letters take two.

    Example:
        >>> columns("tree"), columns("木")
        (4, 2)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
