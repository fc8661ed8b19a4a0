"""The parts of a drawing that is laid out, and the sizes that layout uses."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Measures:
    """Sizes and distances in a drawing, in pixels or in characters.

    Attributes:
        letter: the width of a letter.
        line: the height of a line of text.
        inset: the padding of a box around its text, horizontal and vertical.
        gap: the distance between boxes side by side.
        room: the space above and below the wires between two rows.
        track: the distance between parallel wires.
        frame: the padding of a frame around its contents, horizontal and vertical.
        heading: the height of a frame's title.
        dot: the size of a port.
        lead: the distance between a box and the type below it.
        snap: how far the end of a wire may move to make the wire straight.
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
    """The look of a box; the value is its CSS class in SVG."""

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
        """Whether the box is a point that a value passes, and no block; such boxes are drawn rounded."""
        return self in (BoxStyle.JOIN, BoxStyle.CASE, BoxStyle.PORT)


class Rect(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: int
    y: int
    width: int
    height: int

    def moved(self, x: int, y: int) -> Rect:
        """Returns the rectangle moved by `x` and `y`."""
        return Rect(self.x + x, self.y + y, self.width, self.height)


class PlacedFrame(NamedTuple):
    """A frame in its place; `hint` is its tooltip."""

    rect: Rect
    text: str
    hint: str = ""


class PlacedBox(NamedTuple):
    """A box in its place, with its text in the middle; a box without a text is a dot."""

    rect: Rect
    text: str
    style: BoxStyle
    hint: str = ""


class TextStyle(StrEnum):
    """The kind of a text outside of boxes; the value is its CSS class in SVG."""

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
    """Counts the columns that a text takes on a terminal; wide letters take two.

    Example:
        >>> columns("tree"), columns("木")
        (4, 2)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
