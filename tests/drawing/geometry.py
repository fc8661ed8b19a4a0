"""What a drawing must keep to: nothing overlaps, nothing sticks out, no wire runs through a box."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from arrows.drawing.pieces import columns

LETTER = 7.25  # no usual monospaced font is wider at 12 pixels


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float


class Picture(NamedTuple):
    """What stands in an SVG document, as a reader of the document sees it.

    Attributes:
        page: the whole.
        shapes: boxes, frames and dots, each with its class.
        texts: texts, with the room that a monospaced font of 12 pixels takes.
        ways: the corners of each wire, with its class.
    """

    page: Rect
    shapes: list[tuple[str, Rect]]
    texts: list[tuple[str, Rect]]
    ways: list[tuple[str, list[tuple[float, float]]]]


def overlap(a: Rect, b: Rect) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def inside(a: Rect, b: Rect) -> bool:
    """Whether `a` lies within `b`."""
    return b.x <= a.x and b.y <= a.y and a.x + a.width <= b.x + b.width and a.y + a.height <= b.y + b.height


def parse_svg(svg: str) -> Picture:
    """Reads an SVG document back."""
    root = ET.fromstring(svg)
    picture = Picture(Rect(*map(float, root.attrib["viewBox"].split())), [], [], [])
    assert picture.page == (0, 0, float(root.attrib["width"]), float(root.attrib["height"]))
    for element, dx, dy in _elements(root, 0, 0):
        tag, of = element.tag.rpartition("}")[2], element.attrib
        if tag == "rect" and of["class"] != "ground":
            x, y, width, height = (float(of[key]) for key in ("x", "y", "width", "height"))
            picture.shapes.append((of["class"], Rect(x + dx, y + dy, width, height)))
        elif tag == "circle":
            r = float(of["r"])
            place = Rect(float(of["cx"]) - r + dx, float(of["cy"]) - r + dy, 2 * r, 2 * r)
            picture.shapes.append(("dot", place))
        elif tag == "text":
            text = "".join(part for part in [element.text, *(child.tail for child in element)] if part)
            wide = columns(text) * LETTER
            left = float(of["x"]) - (wide / 2 if of.get("text-anchor") == "middle" else 0)
            picture.texts.append((text, Rect(left + dx, float(of["y"]) - 10 + dy, wide, 13)))
        elif tag == "path":
            # A round corner is a curve (Q) from a point beside it, by the corner, to another point.
            numbers = [float(number) for number in re.findall(r"-?[0-9.]+", of["d"])]
            points = list(zip(numbers[::2], numbers[1::2], strict=True))
            corners = [points[0], *points[2:-1:3], points[-1]]
            picture.ways.append((of["class"], [(x + dx, y + dy) for x, y in corners]))
    return picture


def _elements(root: ET.Element, dx: float, dy: float) -> Iterator[tuple[ET.Element, float, float]]:
    """All elements, with the place to which the groups around them move them."""
    for element in root:
        if element.tag.endswith("}g"):
            x, y = map(float, element.attrib["transform"].removeprefix("translate(").rstrip(")").split())
            yield from _elements(element, dx + x, dy + y)
        else:
            yield element, dx, dy


def check_svg(svg: str) -> Picture:
    """Raises AssertionError where something overlaps or sticks out."""
    picture = parse_svg(svg)
    boxes = [(style, rect) for style, rect in picture.shapes if style != "frame"]
    frames = [rect for style, rect in picture.shapes if style == "frame"]
    for word, rect in [*picture.shapes, *picture.texts]:
        assert inside(rect, picture.page), f"{word} sticks out"
        for other in frames:
            apart = inside(rect, other) or inside(other, rect) or not overlap(rect, other)
            assert apart, f"{word} crosses the border of a frame"
    for of_a_kind in (picture.texts, boxes):
        for (word, a), (other_word, b) in combinations(of_a_kind, 2):
            assert not overlap(a, b), f"{word} overlaps {other_word}"
    own = {text for text in picture.texts for _, b in boxes if inside(text[1], b)}
    for word, a in set(picture.texts) - own:
        assert not any(overlap(a, b) for _, b in boxes), f"{word} crosses the border of a box"
    for style, way in picture.ways:
        for (ax, ay), (bx, by) in pairwise(way):
            assert ax == bx or ay == by, "wires run straight across or straight down"
            line = Rect(min(ax, bx), min(ay, by), abs(ax - bx), abs(ay - by))
            assert inside(line, picture.page), "a wire sticks out"
            for word, rect in [*boxes, *picture.texts]:
                # A way back ends at the dot where its recursion begins.
                free = word == "dot" and style == "loop"
                assert free or not overlap(line, rect), f"a wire runs through {word}"
    return picture


def feeds(svg: str) -> set[tuple[str, str]]:
    """Which box a wire leads to from which: pairs of their texts. A frame has no text, a dot is "dot"."""
    picture = parse_svg(svg)
    boxes = [
        (next((text for text, a in picture.texts if style != "frame" and inside(a, rect)), style), rect)
        for style, rect in picture.shapes
    ]
    wires = [way for style, way in picture.ways if style == "wire"]

    def sources(x: float, y: float) -> set[str]:
        above = [way for way in wires if way[-1] == (x, y)]
        if above:
            return {source for way in above for source in sources(*way[0])}
        near = {0: [], 19: []}  # below a box, or below the type that stands below it
        for word, rect in boxes:
            for low, found in near.items():
                if rect.x <= x <= rect.x + rect.width and abs(rect.y + rect.height + low - y) <= 1:
                    found.append(word)
        return set(near[0] or near[19])

    return {
        (source, word)
        for way in wires
        for word, rect in boxes
        if rect.x <= way[-1][0] <= rect.x + rect.width and abs(rect.y - way[-1][1] - 5) <= 1  # an arrowhead
        for source in sources(*way[0])
    }
