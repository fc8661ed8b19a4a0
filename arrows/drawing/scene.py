"""Turns an expression into boxes, frames and the wires between them; `layout` places them later.

The parts and their roles are those of the typed tree. Large expressions are folded up: a drawing has about
`BOXES` boxes at most, a chain shows `STEPS` steps, a fan-out or choice `BRANCHES` branches, and frames nest
`DEPTH` deep. Chains and fan-outs directly inside one another become frames where they are `NESTED` deep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from arrows.combinators import (
    AnyBlock,
    Choice,
    Constant,
    Fan,
    Graph,
    Layer,
    Optional,
    Pipe,
    Read,
    Shared,
    Source,
    parts_first,
    title,
)
from arrows.inference import Knot, TreePart, Typed, shows_arguments, visible
from arrows.typesys import printable, types as T

BOXES = 400
STEPS = 24
BRANCHES = 12
DEPTH = 12
NESTED = 12
WORDS = 40  # a text in a drawing is cut to this number of characters
TYPE = 60  # a type is written up to this number of parts

UNKNOWN = T.Type()
"""The type of all values of an expression that is drawn without types."""

P = TypeVar("P")
Style: TypeAlias = Literal[
    "layer", "data", "constant", "effect", "again", "block", "join", "case", "port", "more"
]
"""The look of a box, and its CSS class in SVG."""


@dataclass(eq=False, slots=True)
class Box:
    """A box: a block, or a point that a value passes (a port, a join, a case).

    A port stands where a value enters or leaves a frame. It is a dot, or has the name of a parameter or part.

    Attributes:
        text: the text inside; of a frame, its title.
        style: its look.
        output: the type of its result; empty if the type is not drawn.
        hint: the tooltip.
        scene: what is drawn inside, if the box is a frame.
        knot: of a reference to an enclosing recursive block, the knot of that block's scene.
    """

    text: str = ""
    style: Style = "port"
    output: str = ""
    hint: str = ""
    scene: Scene | None = None
    knot: object = None

    @property
    def is_dot(self) -> bool:
        """Whether this is a port without a name."""
        return self.style == "port" and not self.text


@dataclass(eq=False, slots=True)
class Scene:
    """Boxes, each after those that it reads, and wires between them.

    Attributes:
        boxes: the boxes.
        wires: pairs (source, target) of positions in `boxes`, in the order of the arguments.
        knot: identifies the recursive block whose frame this is; references inside carry the same knot.

    Example:
        >>> scene = Scene()
        >>> first = scene.add(Box())
        >>> scene.add(Box("f", "block"), [first]), scene.wires
        (1, [(0, 1)])
    """

    boxes: list[Box] = field(default_factory=list)
    wires: list[tuple[int, int]] = field(default_factory=list)
    knot: object = None

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
        >>> [box.text or box.style for box in scene.boxes], scene.wires
        (['port', "Map(Scalar('float32'))", 'Sum()', 'port'], [(0, 1), (1, 2), (2, 3)])
    """
    return _Builder(boxes).build(x if isinstance(x, Typed) else untyped(x))


def untyped(block: AnyBlock) -> Typed:
    """The tree of a block whose types are not known: those of a block that is ill-typed, or too large."""
    done: dict[int, Typed] = {}
    knots: dict[object, Knot] = {}
    for form in parts_first(block):  # and definitions after the references to them
        parts = tuple(done[id(part)] for part in form.parts)
        knot = None
        if form.definition is not None:
            first = form.token not in knots
            knot = knots.setdefault(form.token, Knot(form.label))
        typed = done[id(form)] = Typed(form, UNKNOWN, UNKNOWN, parts, knot=knot)
        if knot is not None and first:
            knot.fix = typed
    for knot in knots.values():
        knot.body = done[id(knot.fix.form.definition)]
    return done[id(block)]


class _Builder:
    def __init__(self, boxes: int) -> None:
        self.left = boxes
        self.depth = 0
        self.nested = 0
        self.knots: tuple[Knot, ...] = ()
        self.scene = Scene()
        self.drawn: dict[int, tuple[Scene, list[int]]] = {}
        # Frames are filled level by level, so that the deepest blocks are folded up first.
        self.frames: deque[tuple[Scene, Typed, int, tuple[Knot, ...]]] = deque()

    def build(self, root: Typed) -> Scene:
        scene = self.scene
        start = scene.add(Box(output=_type_text(root.input)))
        scene.add(Box(), self.place(root, [start]))
        while self.frames:
            self.scene, typed, self.depth, self.knots = self.frames.popleft()
            self.fill(typed)
        return scene

    # The methods below return a list of boxes: those from which the value of a block comes.

    def fill(self, typed: Typed) -> None:
        """Draws the inside of a frame."""
        if _flows(typed):
            start = self.scene.add(Box())
            ends = self.inside(typed, [start])
            last = self.scene.add(Box(), ends)
            for end in ends:  # the frame itself has the type of the result below it
                if [wire for wire in self.scene.wires if wire[0] == end] == [(end, last)]:
                    self.scene.boxes[end].output = ""
            return

        def alone(part: TreePart) -> list[int]:
            start = self.scene.add(Box(shorten(part.role), output=_type_text(part.typed.input)))
            self.scene.add(Box(), self.place(part.typed, [start]))
            return []

        self.each(typed, [], alone)

    def each(self, typed: Typed, sources: list[int], draw: Callable[[TreePart], list[int]]) -> list[int]:
        """Draws the parts, which read the same values; `draw` draws one of them."""
        ends: list[int] = []
        for part in self.few(visible(typed)):
            ends += self.more(part, sources) if isinstance(part, int) else draw(part)
        return ends

    def inside(self, typed: Typed, sources: list[int]) -> list[int]:
        """Draws the inside of a form through whose parts its input flows."""
        match typed.form:
            case Graph():
                return self.graph(typed, typed.form, sources)
            case Choice():
                return self.choice(typed, sources)
            case Fan():
                return self.fan(typed, typed.form, sources)
            case _:
                for part in self.few(visible(typed), STEPS):
                    if isinstance(part, int):
                        sources = self.more(part, sources)
                    else:
                        sources = self.place(part.typed, sources)
                return sources

    def choice(self, typed: Typed, sources: list[int]) -> list[int]:
        def case(part: TreePart) -> list[int]:
            ends = self.place(part.typed, [self.scene.add(Box(shorten(part.role), "case"), sources)])
            if part.role != "key":
                return ends
            self.scene.add(Box("chooses the case", "case"), ends)
            return []

        return self.each(typed, sources, case)

    def graph(self, typed: Typed, form: Graph[object, object], sources: list[int]) -> list[int]:
        wires = [sources]
        for j, part in enumerate(self.few(typed.parts, len(typed.parts))):
            if isinstance(part, int):
                return self.more(part, sources)
            read = [end for wire in _wires_of(form.nodes[j].source) for end in wires[wire]] or sources
            if name := form.parameter(j):
                self.left -= 1
                wires.append([self.scene.add(Box(shorten(name), output=_type_text(part.output)), read)])
            else:
                wires.append(self.place(part, read))
        return [end for wire in _wires_of(form.result) for end in wires[wire]]

    def place(self, typed: Typed, sources: list[int]) -> list[int]:
        """Draws a block that reads `sources`.

        A block that occurs several times on one value is drawn once in each frame, with a wire to each
        reader there. Another frame draws it again, because no wire crosses the border of a frame.
        """
        scene, ends = self.drawn.get(id(typed), (None, []))
        if scene is self.scene:
            return ends
        if scene is not None and visible(typed):
            text = shorten(f"{_heading(typed)} (as above)")
            box = Box(text, "more", _type_text(typed.output), clean(typed.form.label))
            self.left -= 1
            return [self.scene.add(box, sources)]
        ends = self.draw(typed, sources)
        if typed.places > 1:
            self.drawn[id(typed)] = self.scene, ends
        return ends

    def draw(self, typed: Typed, sources: list[int]) -> list[int]:
        """Draws a block, whether or not it is drawn elsewhere already."""
        if _dissolves(typed.form) and self.left > 0 and self.nested < NESTED:
            self.nested += 1
            ends = self.inside(typed, sources)
            self.nested -= 1
            return ends
        self.left -= 1
        form, knot = typed.form, typed.knot
        box = Box(
            shorten(title(form, WORDS)),
            _style(typed),
            "" if isinstance(typed.output, T.Void) else _type_text(typed.output),
            clean(form.label),
        )
        if knot is not None and knot in self.knots:
            box.knot, box.style = knot, "again"
        elif not _compact(typed):
            box.text = _heading(typed)
            if self.left <= 0 or self.depth >= DEPTH:
                box.text += ": ... more inside"
                box.style = "more"
            else:
                box.scene = Scene(knot=knot)
                knots = self.knots if knot is None else (*self.knots, knot)
                self.frames.append((box.scene, typed, self.depth + 1, knots))
        return [self.scene.add(box, sources)]

    def fan(self, typed: Typed, form: Fan[object, object], sources: list[int]) -> list[int]:
        if len(sources) > 1:
            self.left -= 1
            sources = [self.scene.add(Box("( , )", "join"), sources)]
        self.left -= 1
        ends = self.each(typed, sources, lambda part: self.place(part.typed, sources))
        text = "( , )" if form.labels is None else "{" + ", ".join(map(T.label, form.labels)) + "}"
        box = Box(shorten(text), "join", _type_text(typed.output), clean(form.label))
        return [self.scene.add(box, ends or sources)]

    def few(self, parts: Sequence[P], most: int = BRANCHES) -> Iterator[P | int]:
        """Yields the parts to draw one by one; a number stands for so many that are folded up."""
        hidden = len(parts) - most + 1 if len(parts) > most else 0
        for i, part in enumerate(parts[: most - 2] if hidden else parts):
            if self.left <= 0 and i + 1 < len(parts):
                yield len(parts) - i
                return
            yield part
        if hidden:
            yield hidden
            yield parts[-1]

    def more(self, count: int, sources: list[int]) -> list[int]:
        """Draws a box that stands for several folded blocks."""
        self.left -= 1
        return [self.scene.add(Box(f"... {count:,} more", "more"), sources)]


# How a block is drawn


def _opens(typed: Typed) -> bool:
    """Whether the block is recursive itself, and not a reference to a recursive block."""
    return typed.knot is not None and typed.knot.fix is typed


def _dissolves(form: AnyBlock) -> bool:
    """Whether the parts are drawn without a frame: those of an unnamed chain or fan-out."""
    return form.name is None and isinstance(form, (Pipe, Fan)) and not shows_arguments(form)


def _flows(typed: Typed) -> bool:
    """Whether wires lead from the input through the parts to the result.

    They do in a `Pipe`, but not in a `Map`, whose part acts on the elements.
    """
    flows = isinstance(typed.form, (Pipe, Fan, Graph, Choice, Shared)) and not shows_arguments(typed.form)
    return flows or _opens(typed)


def _compact(typed: Typed) -> bool:
    """Whether one box is enough: the block has no parts, or its label shows them."""
    form, parts = typed.form, visible(typed)
    if not parts or form.name is not None or _opens(typed) or len(parts) > 3:
        return not parts
    if form.kind == "OneOf" or isinstance(form, Graph) or _dissolves(form):
        return False
    if any(visible(part.typed) or part.typed.knot is not None for part in parts):
        return False  # a recursion needs a frame, in which its wire goes back
    return len(form.label) <= WORDS and "..." not in form.label


def _style(typed: Typed) -> Style:
    form = typed.form
    if typed.knot is not None:
        return "block" if _opens(typed) else "again"
    if form.effect:
        return "effect"
    if isinstance(form, Layer):
        return "layer"
    if isinstance(form, Constant):
        return "constant"
    return "data" if isinstance(form, Read) or isinstance(typed.input, T.Input) else "block"


def _heading(typed: Typed) -> str:
    """The title of a frame."""
    form = typed.form
    if _opens(typed):
        return f"fix {clean(form.label)}"
    if isinstance(form, Graph):
        words = form.name or form.kind
        return shorten(words if form.kind == "Composition" else f"{words}({', '.join(form.parameters)})")
    if form.name is not None:
        return shorten(form.name)
    if isinstance(form, Choice) and not isinstance(form, Optional) and form.key is not None:
        key = form.summary().brief(0)
        return form.kind if key == "lambda" else shorten(f"{form.kind} by {key}")
    return shorten(form.kind + (", from the end" if getattr(form, "reverse", False) is True else ""))


def _wires_of(source: Source) -> list[int]:
    return [source] if isinstance(source, int) else [wire for inner in source for wire in _wires_of(inner)]


def _type_text(t: T.Type) -> str:
    return "" if t is UNKNOWN else clean(T.notation(t, TYPE))


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
