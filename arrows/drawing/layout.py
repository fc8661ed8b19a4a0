"""Lays out a scene: frames from the inside out, in whole numbers, without overlaps."""

from __future__ import annotations

from arrows.drawing.frame import Frame, frame_of
from arrows.drawing.scene import FrameBox, Scene
from arrows.drawing.shapes import PIXELS, Drawing, Measures


def lay_out(scene: Scene, measures: Measures = PIXELS) -> Drawing:
    """Lays out a scene: every box, frame, text and wire gets its place.

    A list of scenes stands for recursion, since frames may nest deeper than Python's own stack.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing.scene import scene_of
        >>> drawing = lay_out(scene_of(ar.Map(ar.Scalar()) >> ar.Sum()))
        >>> [box.text for box in drawing.boxes if box.text]
        ["Map(Scalar('float32'))", 'Sum()']
    """
    order: list[Scene] = [scene]
    for outer in order:  # the list grows during the loop
        order.extend(box.scene for box in outer.boxes if isinstance(box, FrameBox))
    done: dict[int, Frame] = {}
    for inner in reversed(order):
        done[id(inner)] = frame_of(inner, measures, done, inner is scene)
    whole = done[id(scene)].drawing
    drawing = Drawing(whole.width, whole.height)
    todo = [(0, 0, scene)]
    while todo:
        x, y, inner = todo.pop()
        own = done[id(inner)].drawing
        drawing.frames += [f._replace(rect=f.rect.moved(x, y)) for f in own.frames]
        drawing.boxes += [b._replace(rect=b.rect.moved(x, y)) for b in own.boxes]
        drawing.texts += [t._replace(rect=t.rect.moved(x, y)) for t in own.texts]
        for line in own.lines:
            drawing.lines.append(line._replace(points=tuple((a + x, b + y) for a, b in line.points)))
        todo.extend((x + dx, y + dy, deeper) for (dx, dy), deeper in reversed(done[id(inner)].inner))
    return drawing
