"""The parts, labels and types that a drawing takes from a block, typed or untyped."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import NamedTuple

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
    Reference,
    Shared,
    Transform,
)
from arrows.drawing.shapes import BoxStyle
from arrows.inference import Typed, case_names, shows_arguments, title, visible
from arrows.typesys import types as T

WORDS = 40  # a text in a drawing is cut to this number of characters
TYPE = 60  # a type is written up to this number of parts
UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
)  # XML or terminals refuse these characters


class TypeText(NamedTuple):
    """A type: the short text beside a wire, and the full text of its tooltip."""

    short: str
    full: str


NO_TYPE = TypeText("", "")


class FormView(NamedTuple):
    """How a core form is drawn.

    Attributes:
        style: the look of its box.
        flows: whether wires lead from its input through its parts to its result. They do in a `Pipe`, but not
            in a `Map`, whose part acts on the elements.
    """

    style: BoxStyle = BoxStyle.BLOCK
    flows: bool = False


FORM_VIEWS: dict[type[AnyBlock], FormView] = {
    Pipe: FormView(flows=True),
    Fan: FormView(flows=True),
    Graph: FormView(flows=True),
    Choice: FormView(flows=True),
    Shared: FormView(flows=True),
    Constant: FormView(style=BoxStyle.CONSTANT),
    Read: FormView(style=BoxStyle.DATA),
    Transform: FormView(style=BoxStyle.DATA),
}
"""The core forms that are not drawn by the default, `UNKNOWN`."""

UNKNOWN = FormView()
"""All other forms: a plain box, or a frame in which the parts stand side by side without wires."""


def form_view(form: AnyBlock) -> FormView:
    """Looks up how a form is drawn. A class without a core form is drawn too, though it does not compile."""
    return next((FORM_VIEWS[base] for base in type(form).__mro__ if base in FORM_VIEWS), UNKNOWN)


class DrawnBlock(NamedTuple):
    """A block, with its types if they are known.

    Attributes:
        form: the block.
        typed: its occurrence in a typed expression; None in an untyped one.
        role: its role in the block around it, such as `case True`.
    """

    form: AnyBlock
    typed: Typed | None
    role: str = ""

    @classmethod
    def of(cls, x: Typed | AnyBlock) -> DrawnBlock:
        """Makes the view of a whole expression."""
        return cls(x.form, x) if isinstance(x, Typed) else cls(x, None)

    @property
    def parts(self) -> list[DrawnBlock]:
        """The parts that the author of the block wrote, each with its role."""
        if self.typed is not None:
            return [DrawnBlock(part.typed.form, part.typed, part.role) for part in visible(self.typed)]
        if isinstance(self.form, Reference):
            return [] if self.form.definition is None else [DrawnBlock(self.form.definition, None)]
        blocks = self.form.spelling.blocks if shows_arguments(self.form) else self.form.parts
        return [DrawnBlock(part, None) for part in blocks]

    @property
    def every_part(self) -> list[DrawnBlock]:
        """All parts of the core form in order; those that the author wrote have a role."""
        if self.typed is None:
            return [
                DrawnBlock(part, None, role)
                for part, role in zip(self.form.parts, _roles(self.form), strict=True)
            ]
        if self.typed.knot is not None:
            return self.parts
        roles = _roles(self.form)
        return [DrawnBlock(part.form, part, role) for part, role in zip(self.typed.parts, roles, strict=True)]

    @property
    def knot(self) -> Hashable:
        """Identifies a recursive block and its references by one value; None for other blocks."""
        if self.typed is not None:
            return id(self.typed.knot) if self.typed.knot is not None else None
        return id(self.form.token) if isinstance(self.form, Reference) else None

    @property
    def opens(self) -> bool:
        """Whether the block is recursive itself, and not a reference to a recursive block."""
        if self.typed is not None:
            return self.typed.knot is not None and self.typed.knot.fix is self.typed
        return self.form.definition is not None

    @property
    def dissolves(self) -> bool:
        """Whether the parts are drawn without a frame: those of an unnamed chain or fan-out."""
        form = self.form
        return form.name is None and isinstance(form, (Pipe, Fan)) and not shows_arguments(form)

    @property
    def flows(self) -> bool:
        """Whether wires lead from the input through the parts to the result."""
        flows = form_view(self.form).flows and not shows_arguments(self.form)
        return self.opens or self.dissolves or flows

    @property
    def compact(self) -> bool:
        """Whether one box is enough: the block has no parts, or its label shows them."""
        parts = self.parts
        if not parts or self.form.name is not None or self.opens or len(parts) > 3:
            return not parts
        if self.form.kind == "OneOf" or (isinstance(self.form, (Graph, Pipe, Fan)) and self.dissolves):
            return False
        if isinstance(self.form, Graph) or any(part.parts or part.knot is not None for part in parts):
            return False  # a recursion needs a frame, in which its wire goes back
        return len(self.form.label) <= WORDS and "..." not in self.form.label

    @property
    def style(self) -> BoxStyle:
        """The look of the box."""
        form = self.form
        if self.knot is not None and not self.opens:
            return BoxStyle.AGAIN
        if form.effect:
            return BoxStyle.EFFECT
        if isinstance(form, Layer):
            return BoxStyle.LAYER
        style = form_view(form).style
        reads = self.typed is not None and isinstance(self.typed.input, T.Input)
        return BoxStyle.DATA if style is BoxStyle.BLOCK and reads else style

    @property
    def heading(self) -> str:
        """The title of the frame."""
        form = self.form
        if self.opens:
            return f"fix {clean(form.label)}"
        if isinstance(form, Graph):
            words = form.name or form.kind
            return shorten(words if form.title else f"{words}({', '.join(form.parameters)})")
        if form.name is not None:
            return shorten(form.name)
        if isinstance(form, Choice) and not isinstance(form, Optional) and form.key is not None:
            key = form.summary().brief(0)
            return form.kind if key == "lambda" else shorten(f"{form.kind} by {key}")
        return shorten(form.kind + (", from the end" if getattr(form, "reverse", False) is True else ""))

    @property
    def label(self) -> str:
        """The text of the box."""
        return shorten(title(self.form, WORDS))

    @property
    def input(self) -> TypeText:
        """The type of the input."""
        return _type_text(self.typed.input) if self.typed is not None else NO_TYPE

    @property
    def output(self) -> TypeText:
        """The type of the result."""
        return _type_text(self.typed.output) if self.typed is not None else NO_TYPE

    def count(self, limit: int) -> int:
        """Counts the blocks inside, up to a limit."""
        count, todo = 0, self.parts
        entered = {self.knot}
        while todo and count < limit:
            view = todo.pop()
            count += 1
            if view.knot is None or view.knot not in entered:
                entered.add(view.knot)
                todo.extend(view.parts)
        return count


def _roles(form: AnyBlock) -> list[str]:
    if isinstance(form, Choice):
        cases = [shorten(name) for name in case_names(form)]
        return cases if form.key_block is None else ["key", *cases]
    return [""] * len(form.parts)


def _type_text(t: T.Type) -> TypeText:
    full = clean(T.notation(t, TYPE))
    return TypeText(shorten(full), full)


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
    return UNFIT.sub(lambda match: f"\\x{ord(match.group()):02x}", " ".join(text.split()))


def clean_lines(text: str) -> str:
    """Escapes the same characters in several lines; spaces stay, because they align columns.

    Example:
        >>> clean_lines("a  b\\n  c\\x00")
        'a  b\\n  c\\\\x00'
    """
    return "\n".join(" ".join(clean(word) for word in line.split(" ")) for line in text.split("\n"))
