"""What is drawn of a block: boxes for blocks without parts, frames or rows for the others.

The parts and their roles are those of the typed tree. Unnamed chains and fan-outs have no frame. A picture
has about `BOXES` boxes at most: where there would be more, blocks that are less deep inside are folded up,
too. A chain or an arrow shows `STEPS` steps, any other block `BRANCHES` parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from arrows.drawing.pieces import DOT, POINT, WORDS, Piece, box, clean, frame, joined, shorten, with_type
from arrows.inference import Knot, TreePart, Typed, visible
from arrows.typesys import types as T

BOXES = 400
DEPTH = 16
STEPS = 24
BRANCHES = 12
TYPE = 60  # a type is written up to this number of parts

UNKNOWN = T.Type()
"""The type of all values of a block that is drawn without types."""


def piece_of(typed: Typed) -> Piece:
    """Draws a block."""
    for depth in range(DEPTH, -1, -1):
        builder = _Builder()
        piece = builder.draw(typed, depth)
        if builder.boxes <= BOXES:
            break
    return joined([box("", "point", _type(typed.input)), piece, DOT], [[], [0], [1]], [2])


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
    """Draws a block, and counts the boxes."""

    def __init__(self) -> None:
        self.boxes = 0
        self.knots: list[Knot | None] = []  # of the frames around what is drawn now
        self.shown: set[int] = set()

    def box(self, text: str, style: str, type: str = "", hint: str = "", knot: object = None) -> Piece:
        self.boxes += 1
        return box(text, style, type, hint, knot)

    def draw(self, typed: Typed, depth: int) -> Piece:
        """Draws a block, with what is inside down to a depth."""
        form, knot = typed.form, typed.knot
        type = "" if isinstance(typed.output, T.Void) else _type(typed.output)
        hint = clean(form.label)
        if knot is not None and knot in self.knots:
            return self.box(form.label, "again", type, hint, knot)
        if _compact(typed):
            return self.box(title(form, WORDS), _style(typed), type, hint)
        heading = _heading(typed)
        if id(typed) in self.shown:
            return self.box(f"{heading} (as above)", "more", type, hint)
        if typed.places > 1:
            self.shown.add(id(typed))
        if depth == 0 or self.boxes > BOXES or (isinstance(form, Graph) and len(form.nodes) > 2 * STEPS):
            return self.box(f"{heading}: ... more inside", "more", type, hint)
        if _dissolves(form):
            return self.inside(typed, depth - 1, [])
        self.boxes += 1
        self.knots.append(knot)
        framed = frame(heading, self.inside(typed, depth - 1, [DOT]), knot, passes=_flows(typed))
        self.knots.pop()
        return framed if _flows(typed) else with_type(framed, type)

    def inside(self, typed: Typed, depth: int, start: list[Piece]) -> Piece:
        """Draws the parts of a block, below a starting point if there is one."""
        form, parts = typed.form, visible(typed)
        if isinstance(form, Graph):
            return self.graph(typed, form, depth, start or [POINT])
        if isinstance(form, (Choice, Fan)):
            return self.branches(typed, form, depth, start or [POINT])
        if _flows(typed):  # through a chain
            return _chain([*start, *self.few(parts, STEPS, lambda part: self.draw(part.typed, depth))])

        def alone(part: TreePart) -> Piece:
            head = box(part.role, "point", _type(part.typed.input))
            return _chain([head, self.draw(part.typed, depth)])

        columns = self.few(parts, BRANCHES, alone)
        return joined(columns, [[]] * len(columns), [])

    def branches(self, typed: Typed, form: AnyBlock, depth: int, start: list[Piece]) -> Piece:
        """Draws the cases of a choice, or the items of a tuple, side by side."""

        def branch(part: TreePart) -> Piece:
            head = [self.box(part.role, "point")] if part.role else []
            foot = [self.box("chooses the case", "point")] if part.role == "key" else []
            return _chain([*head, self.draw(part.typed, depth), *foot])

        pieces = [*start, *self.few(visible(typed), BRANCHES, branch)]
        reads: list[Sequence[int]] = [[], *[[0]] * (len(pieces) - 1)]
        keyed = isinstance(form, Choice) and form.key_block is not None
        ends = list(range(2 if keyed else 1, len(pieces)))
        if isinstance(form, Fan):
            pieces.append(self.box("( , )", "point", _type(typed.output), clean(form.label)))
            reads.append(ends or [0])
            ends = [len(reads) - 1]
        return joined(pieces, reads, ends)

    def graph(self, typed: Typed, form: Graph[object, object], depth: int, start: list[Piece]) -> Piece:
        """Draws the calls of an arrow."""
        pieces = [*start]
        reads: list[Sequence[int]] = [[]]

        def add(piece: Piece, sources: Sequence[int]) -> int:
            pieces.append(piece)
            reads.append(sources)
            return len(pieces) - 1

        wires = [0]
        drawn: dict[int, int] = {}  # a block that several calls apply to one value is one part
        for j, part in enumerate(typed.parts):
            if id(part) not in drawn:
                sources = [wires[wire] for wire in _wires_of(form.nodes[j].source)] or [0]
                name = form.parameter(j)
                piece = self.box(name, "point", _type(part.output)) if name else self.draw(part, depth)
                if len(sources) > 1 and not piece.top:
                    sources = [add(self.box("( , )", "point"), sources)]
                drawn[id(part)] = add(piece, sources)
            wires.append(drawn[id(part)])
        ends = [wires[wire] for wire in _wires_of(form.result)] or [0]
        if len(ends) > 1:
            ends = [add(self.box("( , )", "point", _type(typed.output)), ends)]
        return joined(pieces, reads, ends)

    def few(self, parts: Sequence[TreePart], most: int, draw: Callable[[TreePart], Piece]) -> list[Piece]:
        """Draws parts; where there are too many, a box stands for all between the first and the last."""
        if len(parts) <= most:
            return [draw(part) for part in parts]
        shown = [draw(part) for part in parts[: most - 2]]
        more = self.box(f"... {len(parts) - most + 1:,} more", "more")
        return [*shown, more, draw(parts[-1])]


def _chain(pieces: Sequence[Piece]) -> Piece:
    return joined(pieces, [[i - 1] if i else [] for i in range(len(pieces))], [len(pieces) - 1])


# How a block is drawn


def _dissolves(form: AnyBlock) -> bool:
    """Whether the parts are drawn without a frame: those of an unnamed chain or fan-out."""
    return form.name is None and _is_plain(form)


def _is_plain(form: AnyBlock) -> bool:
    return isinstance(form, Fan) or (isinstance(form, Pipe) and form.is_chain)


def _flows(typed: Typed) -> bool:
    """Whether the input flows through the parts to the result, as in a `Pipe`; that of a `Map` does not."""
    form = typed.form
    return typed.knot is not None or isinstance(form, (Graph, Choice, Shared)) or _is_plain(form)


def _compact(typed: Typed) -> bool:
    """Whether one box is enough: the block has no parts, or its label shows them."""
    form, parts = typed.form, visible(typed)
    if not parts or form.name is not None or typed.knot is not None or len(parts) > 3:
        return not parts
    if form.kind == "OneOf" or isinstance(form, Graph) or _dissolves(form):
        return False
    if any(visible(part.typed) or part.typed.knot is not None for part in parts):
        return False  # a recursion needs a frame, in which its wire goes back
    return len(form.label) <= WORDS and "..." not in form.label


def _style(typed: Typed) -> str:
    form = typed.form
    if typed.knot is not None:
        return "again"
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
    if typed.knot is not None:
        return shorten(f"fix {form.label}")
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


def _type(t: T.Type) -> str:
    return "" if t is UNKNOWN else clean(T.notation(t, TYPE))
