"""From an expression to boxes in frames and the wires between them; no places yet.

What is too large is folded up: a drawing has about `BOXES` boxes at most, a chain `STEPS` steps in a row, a
fan-out or choice `BRANCHES` branches, and frames nest `DEPTH` deep. Fan-outs directly inside one another
become frames where they are `NESTED` deep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from arrows.combinators import AnyBlock, Choice, Fan, Graph, Source
from arrows.combinators import Item as Projection
from arrows.drawing.views import View, clean, shorten
from arrows.inference import Typed
from arrows.typesys import types as T

BOXES = 400
STEPS = 24
BRANCHES = 12
DEPTH = 12
NESTED = 8
COUNTED = 10_000  # blocks that are counted in what is folded up

Placing = Generator[Any, Any, Any]


@dataclass(eq=False, slots=True)
class Box:
    """A box, or a frame with boxes inside.

    Attributes:
        text: what stands in it; the title of a frame.
        kind: what sort of box: `layer`, `data`, `constant`, `effect`, `again`, `block`, `join`, `case`,
            `port`, `more` or `frame`.
        output: the type of what comes out, as it is drawn; empty if it is not.
        full: the same in full.
        hint: more about the box.
        scene: what a frame holds.
        loop: for a reference, the recursive block that it goes back to.
    """

    text: str
    kind: str
    output: str = ""
    full: str = ""
    hint: str = ""
    scene: Scene | None = None
    loop: Hashable = None


@dataclass(eq=False, slots=True)
class Scene:
    """Boxes, each after those that it reads, and wires between them.

    Attributes:
        boxes: the boxes.
        wires: pairs of places in `boxes`: from, to; in the order of the arguments.
        knot: what references inside go back to, if the frame is that of a recursive block.
        title: of the frame.
    """

    boxes: list[Box] = field(default_factory=list)
    wires: list[tuple[int, int]] = field(default_factory=list)
    knot: Hashable = None
    title: str = ""

    def add(self, box: Box, sources: Sequence[int] = ()) -> int:
        """Adds a box that reads the results of others; its place."""
        place = len(self.boxes)
        self.boxes.append(box)
        known = set()
        for source in sources:
            if source not in known:
                known.add(source)
                self.wires.append((source, place))
        return place


def scene_of(x: Typed | AnyBlock, boxes: int = BOXES) -> Scene:
    """The scene of an expression.

    Args:
        x: a typed expression, or a block, which is drawn without types.
        boxes: how many boxes to draw at most, about.

    Example:
        >>> import arrows as ar
        >>> scene = scene_of(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()))
        >>> [box.text or box.kind for box in scene.boxes], scene.wires
        (['port', "Map(Scalar('float32'))", 'Sum()', 'port'], [(0, 1), (1, 2), (2, 3)])
    """
    return _Builder(boxes).build(View.of(x))


class _Builder:
    def __init__(self, boxes: int) -> None:
        self.left = boxes
        self.depth = 0
        self.nested = 0
        self.knots: tuple[Hashable, ...] = ()
        self.scene = Scene()
        self.drawn: dict[int, tuple[Scene | None, list[int]]] = {}
        # Frames are filled level by level, so that what is folded up is what is deepest.
        self.frames: deque[tuple[Scene, View, int, tuple[Hashable, ...]]] = deque()

    def build(self, root: View) -> Scene:
        scene = Scene()
        start = scene.add(Box("", "port", *root.input))
        self.scene = scene
        ends = _run(self.place(root, [start]))
        scene.add(Box("", "port"), ends)
        while self.frames:
            self.scene, view, self.depth, self.knots = self.frames.popleft()
            self.nested = 0
            self.fill(view)
        return scene

    # The inside of frames

    def fill(self, view: View) -> None:
        """Draws the inside of a frame."""
        if view.flows:
            start = self.scene.add(Box("", "port"))
            ends = _run(self.inside(view, start))
            last = self.scene.add(Box("", "port"), ends)
            for end in ends:  # the type of the frame's result stands below the frame
                if [wire for wire in self.scene.wires if wire[0] == end] == [(end, last)]:
                    self.scene.boxes[end].output = ""
            return
        parts = view.parts
        for part in self.few(parts):
            if part is None:
                self.more(len(parts) - BRANCHES + 1, [])
                continue
            start = self.scene.add(Box(shorten(part.role), "port", *part.input))
            self.scene.add(Box("", "port"), _run(self.place(part, [start])))

    def inside(self, view: View, start: int) -> Placing:
        form = view.form
        if isinstance(form, Graph):
            return (yield self.graph(view, form, start))
        if isinstance(form, Choice):
            return (yield self.choice(view, start))
        if isinstance(form, Fan):
            return (yield self.fan(view, form, [start]))
        parts = view.parts
        return (yield self.chain(parts, [start]))

    def choice(self, view: View, start: int) -> Placing:
        ends: list[int] = []
        parts = view.every_part
        for part in self.few(parts):
            if part is None:
                ends.append(self.more(len(parts) - BRANCHES + 1, [start]))
                continue
            case = self.scene.add(Box(part.role, "case"), [start])
            found = yield self.place(part, [case])
            if part.role == "key":
                self.scene.add(Box("chooses the case", "case"), found)
            else:
                ends.extend(found)
        return ends

    def graph(self, view: View, form: Graph[Any, Any], start: int) -> Placing:
        wires: list[list[int]] = [[start]]
        parts = view.every_part
        for j, part in enumerate(parts):
            if self.left <= 0 and j < len(parts) - 1:
                return [self.more(len(parts) - j, [start])]
            sources = [end for wire in _leaves(form.nodes[j].source) for end in wires[wire]]
            sources = sources or [start]
            name = _parameter(form, j)
            if name is not None:
                self.left -= 1
                wires.append([self.scene.add(Box(shorten(name), "port", *part.output), sources)])
            else:
                wires.append((yield self.place(part, sources)))
        return [end for wire in _leaves(form.output) for end in wires[wire]]

    # One block after what it reads

    def place(self, view: View, sources: list[int]) -> Placing:
        """Draws a block that reads `sources`; the boxes that its result comes from.

        What stands at several places on one value is drawn once: from there the wires go on, but none crosses
        a frame.
        """
        typed = view.typed
        if typed is None or typed.places == 1:
            return (yield self.draw(view, sources))
        scene, ends = self.drawn.get(id(typed), (None, []))
        if scene is self.scene:
            return ends
        if scene is not None and view.parts:
            self.left -= 1
            box = Box(shorten(f"{view.heading} (as above)"), "more", *view.output, clean(view.form.label))
            return [self.scene.add(box, sources)]
        ends = yield self.draw(view, sources)
        self.drawn[id(typed)] = self.scene, ends
        return ends

    def draw(self, view: View, sources: list[int]) -> Placing:
        """Draws a block, whatever stands elsewhere."""
        if view.dissolves and self.left > 0 and self.nested < NESTED:
            if isinstance(view.form, Fan):
                return (yield self.fan(view, view.form, sources))
            return (yield self.chain(view.parts, sources))
        self.left -= 1
        output, full = view.output
        if view.typed is not None and isinstance(view.typed.output, T.Void):
            output = ""
        again = view.knot is not None and view.knot in self.knots
        if view.compact or again:
            kind = "again" if again else view.kind
            box = Box(view.label, kind, output, full, clean(view.form.label))
            box.loop = view.knot if again else None
        elif self.left <= 0 or self.depth >= DEPTH:
            count = view.count(COUNTED)
            more = f"{count:,}{' or more' if count >= COUNTED else ''}"
            box = Box(f"{view.heading}: ... {more} inside", "more", output, full, clean(view.form.label))
        else:
            scene = Scene(knot=view.knot if view.opens else None, title=view.heading)
            knots = (*self.knots, view.knot) if view.opens else self.knots
            self.frames.append((scene, view.inside, self.depth + 1, knots))
            box = Box(view.heading, "frame", output, full, clean(view.form.label), scene)
        return [self.scene.add(box, sources)]

    def chain(self, steps: list[View], sources: list[int]) -> Placing:
        hidden = range(0)
        if len(steps) > STEPS:
            hidden = range(STEPS // 2, len(steps) - STEPS // 2 + 1)
        for i, step in enumerate(steps):
            if i in hidden:
                if i == hidden.start:
                    sources = [self.more(len(hidden), sources, steps[hidden.stop - 1].output)]
                continue
            if self.left <= 0 and len(steps) - i > 1:
                return [self.more(len(steps) - i, sources, steps[-1].output)]
            sources = yield self.place(step, sources)
        return sources

    def fan(self, view: View, form: Fan[Any, Any], sources: list[int]) -> Placing:
        if len(sources) > 1:
            self.left -= 1
            sources = [self.scene.add(Box("( , )", "join"), sources)]
        self.left -= 1
        self.nested += 1
        ends: list[int] = []
        parts = view.every_part
        for part in self.few(parts):
            if part is None or self.left <= 0:
                rest = len(parts) - BRANCHES + 1 if part is None else len(parts) - len(ends)
                ends.append(self.more(rest, sources))
                if part is not None:
                    break
                continue
            ends.extend((yield self.place(part, sources)))
        self.nested -= 1
        text = "( , )" if form.labels is None else "{" + ", ".join(map(T.label, form.labels)) + "}"
        return [self.scene.add(Box(shorten(text), "join", *view.output, clean(form.label)), ends or sources)]

    def few(self, parts: list[View]) -> list[View | None]:
        """The parts to draw; None stands for those that are folded up."""
        if len(parts) <= BRANCHES:
            return list(parts)
        return [*parts[: BRANCHES - 2], None, parts[-1]]

    def more(self, count: int, sources: Sequence[int], output: tuple[str, str] = ("", "")) -> int:
        """A box that stands for so many blocks."""
        self.left -= 1
        return self.scene.add(Box(f"... {count:,} more", "more", *output), sources)


def _parameter(form: Graph[Any, Any], j: int) -> str | None:
    """The name of the parameter that a node only takes out of the input."""
    block = form.parts[j]
    if len(form.parameters) < 2 or form.nodes[j].source != 0 or not isinstance(block, Projection):
        return None
    return form.parameters[block.key] if block.arity is not None and isinstance(block.key, int) else None


def _leaves(source: Source) -> list[int]:
    found: list[int] = []
    todo = [source]
    while todo:
        x = todo.pop()
        if isinstance(x, int):
            found.append(x)
        else:
            todo.extend(reversed(x))
    return found


def _run(steps: Placing) -> list[int]:
    """Runs a generator that yields the calls it wants made: expressions may nest as deep as memory allows."""
    stack = [steps]
    value: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
    return list(value)
