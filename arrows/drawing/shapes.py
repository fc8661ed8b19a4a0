"""What a drawing consists of, and how large its parts are."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Measures:
    """The sizes of what is drawn, in pixels or in characters.

    Attributes:
        letter: the width of a letter.
        line: the height of a line.
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


PIXELS = Measures(
    letter=7.25,
    line=16,
    inset=(10, 7),
    gap=26,
    room=(10, 16),
    track=9,
    frame=(16, 14),
    heading=22,
    dot=9,
    lead=3,
    snap=5,
)
CHARACTERS = Measures(
    letter=1,
    line=1,
    inset=(2, 1),
    gap=3,
    room=(1, 1),
    track=1,
    frame=(2, 1),
    heading=1,
    dot=1,
    lead=0,
    snap=1,
)


class BoxStyle(StrEnum):
    """What a box looks like; the value is its class in SVG."""

    LAYER = "layer"
    DATA = "data"
    CONSTANT = "constant"
    EFFECT = "effect"
    AGAIN = "again"
    BLOCK = "block"
    JOIN = "join"
    CASE = "case"
    PORT = "port"
    MORE = "more"

    @property
    def rounded(self) -> bool:
        """Whether it stands for the way of a value and not for a block."""
        return self in (BoxStyle.JOIN, BoxStyle.CASE, BoxStyle.PORT)


class Rect(NamedTuple):
    """A rectangle: its left upper corner and its size."""

    x: int
    y: int
    width: int
    height: int

    def moved(self, x: int, y: int) -> Rect:
        """The same somewhere else."""
        return Rect(self.x + x, self.y + y, self.width, self.height)


class PlacedFrame(NamedTuple):
    """A frame in its place; `hint` says more about it."""

    rect: Rect
    text: str
    hint: str = ""


class PlacedBox(NamedTuple):
    """A box in its place, with the text in its middle; without a text it is a dot."""

    rect: Rect
    text: str
    style: BoxStyle
    hint: str = ""


class TextStyle(StrEnum):
    """What a text that stands by itself is; the value is its class in SVG."""

    TYPE = "type"
    TITLE = "title"


class PlacedText(NamedTuple):
    """A text in its place: a type below a box, or the title of a frame."""

    rect: Rect
    text: str
    style: TextStyle
    hint: str = ""


Placed: TypeAlias = PlacedFrame | PlacedBox | PlacedText


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
    frames: list[PlacedFrame] = field(default_factory=list)
    boxes: list[PlacedBox] = field(default_factory=list)
    texts: list[PlacedText] = field(default_factory=list)
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
