"""Turns an expression into boxes, frames and the wires between them; `layout` places them later.

Large expressions are folded up: a drawing has about `BOXES` boxes at most, a chain shows `STEPS` steps, a
fan-out or choice `BRANCHES` branches, and frames nest `DEPTH` deep. Fan-outs directly inside one another
become frames where they are `NESTED` deep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from arrows.combinators import AnyBlock, Choice, Fan, Graph, Source
from arrows.drawing.shapes import BoxStyle
from arrows.drawing.views import NO_TYPE, DrawnBlock, TypeText, clean, shorten
from arrows.inference import Typed
from arrows.typesys import types as T

BOXES = 400
STEPS = 24
BRANCHES = 12
DEPTH = 12
NESTED = 8
COUNTED = 10_000  # the label of a folded part counts its blocks up to here

Placing: TypeAlias = Generator["Placing", list[int], list[int]]
"""A suspended call: it yields the calls that it makes, and receives their results.

A result is a list of boxes: those from which the value of a block comes.
"""


@dataclass(eq=False, slots=True)
class Box:
    """A box: a block, or a point that a value passes (a port, a join, a case).

    Attributes:
        text: the text inside.
        style: its look.
        output: the type of its result; empty if the type is not drawn.
        hint: the tooltip.
    """

    text: str
    style: BoxStyle
    output: TypeText = NO_TYPE
    hint: str = ""


@dataclass(eq=False, slots=True)
class FramePort(Box):
    """The point where a value enters or leaves a frame: a dot, or the name of a parameter or part."""

    text: str = ""
    style: BoxStyle = BoxStyle.PORT


def is_dot(box: Box) -> bool:
    """Whether a box is a port without a name, which is drawn as a dot."""
    return isinstance(box, FramePort) and not box.text


@dataclass(eq=False, slots=True, kw_only=True)
class FrameBox(Box):
    """A block whose inside is drawn; `text` is the title of the frame."""

    style: BoxStyle = BoxStyle.BLOCK
    scene: Scene


@dataclass(eq=False, slots=True, kw_only=True)
class ReferenceBox(Box):
    """A reference to an enclosing recursive block; `knot` is the knot of that block's scene."""

    style: BoxStyle = BoxStyle.AGAIN
    knot: Hashable


@dataclass(eq=False, slots=True)
class Scene:
    """Boxes, each after those that it reads, and wires between them.

    Attributes:
        boxes: the boxes.
        wires: pairs (source, target) of positions in `boxes`, in the order of the arguments.
        knot: identifies the recursive block whose frame this is; references inside carry the same knot.
        title: the title of the frame.

    Example:
        >>> scene = Scene()
        >>> first = scene.add(FramePort())
        >>> scene.add(Box("f", BoxStyle.BLOCK), [first]), scene.wires
        (1, [(0, 1)])
    """

    boxes: list[Box] = field(default_factory=list)
    wires: list[tuple[int, int]] = field(default_factory=list)
    knot: Hashable = None
    title: str = ""

    def add(self, box: Box, sources: Sequence[int] = ()) -> int:
        """Adds a box that reads the results of others, and returns its position in `boxes`."""
        place = len(self.boxes)
        self.boxes.append(box)
        self.wires.extend((source, place) for source in dict.fromkeys(sources))
        return place


def scene_of(x: Typed | AnyBlock, boxes: int = BOXES) -> Scene:
    """Builds the scene of an expression.

    Args:
        x: a typed expression, or a block, which is drawn without types.
        boxes: about how many boxes to draw at most.

    Example:
        >>> import arrows as ar
        >>> scene = scene_of(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()))
        >>> [box.text or str(box.style) for box in scene.boxes], scene.wires
        (['port', "Map(Scalar('float32'))", 'Sum()', 'port'], [(0, 1), (1, 2), (2, 3)])
    """
    return _Builder(boxes).build(DrawnBlock.of(x))


class _Builder:
    def __init__(self, boxes: int) -> None:
        self.left = boxes
        self.depth = 0
        self.nested = 0
        self.knots: tuple[Hashable, ...] = ()
        self.scene = Scene()
        self.drawn: dict[int, tuple[Scene | None, list[int]]] = {}
        # Frames are filled level by level, so that the deepest blocks are folded up first.
        self.frames: deque[tuple[Scene, DrawnBlock, int, tuple[Hashable, ...]]] = deque()

    def build(self, root: DrawnBlock) -> Scene:
        scene = Scene()
        start = scene.add(FramePort(output=root.input))
        self.scene = scene
        ends = _run(self.place(root, [start]))
        scene.add(FramePort(), ends)
        while self.frames:
            self.scene, view, self.depth, self.knots = self.frames.popleft()
            self.nested = 0
            self.fill(view)
        return scene

    # The inside of frames

    def fill(self, view: DrawnBlock) -> None:
        """Draws the inside of a frame."""
        if view.flows:
            start = self.scene.add(FramePort())
            ends = _run(self.inside(view, start))
            last = self.scene.add(FramePort(), ends)
            for end in ends:  # the frame itself has the type of the result below it
                if [wire for wire in self.scene.wires if wire[0] == end] == [(end, last)]:
                    self.scene.boxes[end].output = NO_TYPE
            return
        parts = view.parts
        for part in self.few(parts):
            if part is None:
                self.more(len(parts) - BRANCHES + 1, [])
                continue
            start = self.scene.add(FramePort(shorten(part.role), output=part.input))
            self.scene.add(FramePort(), _run(self.place(part, [start])))

    def inside(self, view: DrawnBlock, start: int) -> Placing:
        """Draws the inside of a form through whose parts its input flows."""
        form = view.form
        if isinstance(form, Graph):
            return (yield self.graph(view, form, start))
        if isinstance(form, Choice):
            return (yield self.choice(view, start))
        if isinstance(form, Fan):
            return (yield self.fan(view, form, [start]))
        return (yield self.chain(view.parts, [start]))

    def choice(self, view: DrawnBlock, start: int) -> Placing:
        ends: list[int] = []
        parts = view.every_part
        for part in self.few(parts):
            if part is None:
                ends.append(self.more(len(parts) - BRANCHES + 1, [start]))
                continue
            case = self.scene.add(Box(part.role, BoxStyle.CASE), [start])
            case_ends = yield self.place(part, [case])
            if part.role == "key":
                self.scene.add(Box("chooses the case", BoxStyle.CASE), case_ends)
            else:
                ends.extend(case_ends)
        return ends

    def graph(self, view: DrawnBlock, form: Graph[object, object], start: int) -> Placing:
        wires: list[list[int]] = [[start]]
        parts = view.every_part
        for j, part in enumerate(parts):
            if self.left <= 0 and j < len(parts) - 1:
                return [self.more(len(parts) - j, [start])]
            sources = [end for wire in _wires_of(form.nodes[j].source) for end in wires[wire]]
            sources = sources or [start]
            name = form.parameter(j)
            if name:
                self.left -= 1
                wires.append([self.scene.add(FramePort(shorten(name), output=part.output), sources)])
            else:
                wires.append((yield self.place(part, sources)))
        return [end for wire in _wires_of(form.result) for end in wires[wire]]

    # One block after what it reads

    def place(self, view: DrawnBlock, sources: list[int]) -> Placing:
        """Draws a block that reads `sources`, and returns the boxes that give its result.

        A block that occurs several times on one value is drawn once in each frame, with a wire to each
        reader there. Another frame draws it again, because no wire crosses the border of a frame.
        """
        typed = view.typed
        if typed is None or typed.places == 1:
            return (yield self.draw(view, sources))
        scene, ends = self.drawn.get(id(typed), (None, []))
        if scene is self.scene:
            return ends
        if scene is not None and view.parts:
            self.left -= 1
            text = shorten(f"{view.heading} (as above)")
            box = Box(text, BoxStyle.MORE, output=view.output, hint=clean(view.form.label))
            return [self.scene.add(box, sources)]
        ends = yield self.draw(view, sources)
        self.drawn[id(typed)] = self.scene, ends
        return ends

    def draw(self, view: DrawnBlock, sources: list[int]) -> Placing:
        """Draws a block, whether or not it is drawn elsewhere already."""
        if view.dissolves and self.left > 0 and self.nested < NESTED:
            if isinstance(view.form, Fan):
                return (yield self.fan(view, view.form, sources))
            return (yield self.chain(view.parts, sources))
        self.left -= 1
        output = view.output
        if view.typed is not None and isinstance(view.typed.output, T.Void):
            output = output._replace(short="")
        hint = clean(view.form.label)
        box: Box
        if view.knot is not None and view.knot in self.knots:
            box = ReferenceBox(text=view.label, output=output, hint=hint, knot=view.knot)
        elif view.compact:
            box = Box(view.label, view.style, output=output, hint=hint)
        elif self.left <= 0 or self.depth >= DEPTH:
            count = view.count(COUNTED)
            text = f"{view.heading}: ... {count:,}{' or more' if count >= COUNTED else ''} inside"
            box = Box(text, BoxStyle.MORE, output=output, hint=hint)
        else:
            scene = Scene(knot=view.knot if view.opens else None, title=view.heading)
            knots = (*self.knots, view.knot) if view.opens else self.knots
            self.frames.append((scene, view, self.depth + 1, knots))
            box = FrameBox(text=view.heading, output=output, hint=hint, scene=scene)
        return [self.scene.add(box, sources)]

    def chain(self, steps: list[DrawnBlock], sources: list[int]) -> Placing:
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

    def fan(self, view: DrawnBlock, form: Fan[object, object], sources: list[int]) -> Placing:
        if len(sources) > 1:
            self.left -= 1
            sources = [self.scene.add(Box("( , )", BoxStyle.JOIN), sources)]
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
        box = Box(shorten(text), BoxStyle.JOIN, output=view.output, hint=clean(form.label))
        return [self.scene.add(box, ends or sources)]

    def few(self, parts: list[DrawnBlock]) -> list[DrawnBlock | None]:
        """Selects the parts to draw; one None stands for all that are folded up."""
        if len(parts) <= BRANCHES:
            return list(parts)
        return [*parts[: BRANCHES - 2], None, parts[-1]]

    def more(self, count: int, sources: Sequence[int], output: TypeText = NO_TYPE) -> int:
        """Adds a box that stands for several folded blocks and shows their number."""
        self.left -= 1
        return self.scene.add(Box(f"... {count:,} more", BoxStyle.MORE, output=output), sources)


def _wires_of(source: Source) -> list[int]:
    wires: list[int] = []
    todo = [source]
    while todo:
        x = todo.pop()
        if isinstance(x, int):
            wires.append(x)
        else:
            todo.extend(reversed(x))
    return wires


def _run(steps: Placing) -> list[int]:
    """Runs a generator that yields its recursive calls.

    A list holds the suspended calls instead of Python's own stack, since expressions may nest as deep as
    memory allows.
    """
    stack = [steps]
    result: list[int] | None = None
    while stack:
        try:
            called = next(stack[-1]) if result is None else stack[-1].send(result)
        except StopIteration as stop:
            stack.pop()
            result = stop.value
        else:
            stack.append(called)
            result = None
    assert result is not None
    return list(result)
