"""What a drawing must keep to: nothing overlaps, nothing sticks out, no wire runs through a box."""

from __future__ import annotations

from itertools import combinations, pairwise

from arrows.drawing import Drawing
from arrows.drawing.shapes import Rect


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
    boxes = [(box.rect, box.text or "a port") for box in drawing.boxes]
    texts = [(text.rect, text.text) for text in drawing.texts if text.kind == "type"]
    titles = [(text.rect, text.text) for text in drawing.texts if text.kind == "title"]
    frames = [(frame.rect, frame.text) for frame in drawing.frames]
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
