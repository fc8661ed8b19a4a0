"""What a drawing must keep to: nothing overlaps, nothing sticks out, no wire runs through a box."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from typing import NamedTuple

from arrows.drawing import Drawing
from arrows.drawing.layout import Rect, columns


def overlap(a: Rect, b: Rect) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def inside(a: Rect, b: Rect) -> bool:
    """Whether `a` lies within `b`."""
    return b.x <= a.x and b.y <= a.y and a.x + a.width <= b.x + b.width and a.y + a.height <= b.y + b.height


def segments(drawing: Drawing) -> list[tuple[Rect, bool]]:
    """The straight pieces of all wires, without the ends at which they touch what they connect."""
    found = []
    for line in drawing.lines:
        last = len(line.points) - 2
        for i, ((ax, ay), (bx, by)) in enumerate(pairwise(line.points)):
            assert ax == bx or ay == by, "wires run straight across or straight down"
            x, y = min(ax, bx), min(ay, by)
            rect = Rect(x, y, abs(ax - bx) + 1, abs(ay - by) + 1)
            if line.loop and i == 0:
                rect = Rect(x + 1, y, rect.width - 1, rect.height)
            if not line.loop and i == last:
                rect = Rect(x, y, rect.width, rect.height - 1)
            found.append((rect, line.loop))
    return found


def check(drawing: Drawing) -> None:
    """Raises AssertionError where something overlaps or sticks out."""
    page = Rect(0, 0, drawing.width, drawing.height)
    by_style: dict[str, list[tuple[Rect, str]]] = {"type": [], "title": [], "frame": [], "box": []}
    for rect, text, style, _ in drawing.placed:
        by_style.get(style, by_style["box"]).append((rect, text or "a port"))
    texts, titles, frames, boxes = by_style.values()
    for rect, word in [*boxes, *texts, *titles, *frames]:
        assert inside(rect, page), f"{word} sticks out"
    for (a, word), (b, other) in combinations([*boxes, *texts, *titles], 2):
        assert not overlap(a, b), f"{word} overlaps {other}"
    for a, word in [*boxes, *texts, *frames]:
        for b, other in frames:
            if a is not b:
                assert not overlap(a, b) or inside(a, b) or inside(b, a), (
                    f"{word} crosses the border of {other}"
                )
    for a, word in titles:
        assert any(inside(a, b) for b, _ in frames), f"the title {word} is in no frame"
    for line, _ in segments(drawing):
        assert inside(line, page), "a wire sticks out"
        for b, other in [*boxes, *texts]:
            if other != "a port":
                assert not overlap(line, b), f"a wire runs through {other}: {line}"


class Picture(NamedTuple):
    """What stands in an SVG document, as a reader of the document sees it."""

    size: tuple[float, float]
    shapes: list[tuple[str, Rect]]
    texts: list[tuple[str, Rect]]


LETTER = 7.25  # no usual monospaced font is wider at 12 pixels


def parse_svg(svg: str) -> Picture:
    """Reads an SVG document back; texts have the room that a monospaced font of 12 pixels takes."""
    root = ET.fromstring(svg)
    x, y, width, height = map(float, root.attrib["viewBox"].split())
    assert (x, y) == (0, 0) and (float(root.attrib["width"]), float(root.attrib["height"])) == (width, height)
    shapes, texts = [], []
    for element in root:
        tag, of = element.tag.rpartition("}")[2], element.attrib
        if tag == "rect" and of["class"] != "ground":
            place = Rect(*(float(of[key]) for key in ("x", "y", "width", "height")))
            shapes.append((of["class"], place))
        elif tag == "circle":
            r = float(of["r"])
            shapes.append(("dot", Rect(float(of["cx"]) - r, float(of["cy"]) - r, 2 * r, 2 * r)))
        elif tag == "text":
            text = "".join(part for part in [element.text, *(child.tail for child in element)] if part)
            wide = columns(text) * LETTER
            left = float(of["x"]) - (wide / 2 if of.get("text-anchor") == "middle" else 0)
            texts.append((text, Rect(left, float(of["y"]) - 10, wide, 13)))
    return Picture((width, height), shapes, texts)


def check_svg(svg: str) -> None:
    """Raises AssertionError where something in an SVG document sticks out of its view, or texts overlap."""
    picture = parse_svg(svg)
    page = Rect(0, 0, *picture.size)
    for word, rect in [*picture.shapes, *picture.texts]:
        assert inside(rect, page), f"{word} sticks out"
    for (word, a), (other, b) in combinations(picture.texts, 2):
        assert not overlap(a, b), f"{word} overlaps {other}"
    boxes = [(style, rect) for style, rect in picture.shapes if style.startswith(("box", "dot"))]
    for (word, a), (other, b) in combinations(boxes, 2):
        assert not overlap(a, b), f"{word} overlaps {other}"
    for word, a in picture.texts:
        for style, b in boxes:
            assert not overlap(a, b) or inside(a, b), f"{word} crosses the border of a {style}"
