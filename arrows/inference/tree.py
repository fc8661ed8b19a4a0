"""A typed expression as a reader sees it: the parts that were written, each with what it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from arrows.combinators import AndFan, AnyBlock, Block, Choice, Fan, Graph, OneOfWithPreBlock, Pipe, Reference
from arrows.inference.typed import Typed
from arrows.typesys import types as T

INDENT = 40
TYPE = 100  # parts of a type that a line shows at most
LABEL = 60  # characters of a block that a line shows at most
# A place in a row says nothing by itself.
PLACE = re.compile(r"(step|part) \d+ of \d+|.* in line \d+|shared|")


class TreePart(NamedTuple):
    """A part of an expression.

    Attributes:
        role: what it is for, `case True` or `start` for instance; empty if that goes without saying.
        typed: the part.
    """

    role: str
    typed: Typed


def title(form: AnyBlock, width: int = LABEL) -> str:
    """A block in one line of at most `width` characters.

    Example:
        >>> import arrows as ar
        >>> title(ar.GetItem("word")), title(ar.GetItem("word") >> ar.Scalar() >> ar.Zeros([300]), 20)
        ("GetItem('word')", 'a chain of 3')
    """
    label = " ".join(form.label.split())
    if len(label) <= width:
        return label
    if form.name is not None:
        return f"{label[: width - 3]}..."
    if type(form) is Pipe:
        return f"a chain of {len(form.parts)}"
    return f"a fan of {len(form.parts)}" if isinstance(form, AndFan) else f"{form.kind}(...)"[:width]


def visible(typed: Typed) -> list[TreePart]:
    """The parts of an expression that its author wrote: not what a block is made of behind its name.

    Example:
        >>> import arrows as ar
        >>> both = ar.infer(ar.Map(ar.Vector(3)) >> ar.Bidirectional(ar.LSTMCell(4), ar.LSTMCell(5)))
        >>> [part.typed.form.label for part in visible(both.parts[1])]
        ['LSTMCell(4)', 'LSTMCell(5)']
    """
    if typed.form.kind == "Composition" and not isinstance(typed.form, Graph) and len(typed.parts) == 1:
        typed = typed.parts[0]  # the wiring graph inside is the Composition itself
    if typed.knot is not None:
        return [TreePart("", typed.knot.body)] if typed.knot.fix is typed else []
    written = typed.form.written()
    if written is None:
        return [TreePart(_role(typed, i), part) for i, part in enumerate(typed.parts)]
    wanted = {id(piece) for piece in written if isinstance(piece, Block)}
    found: list[TreePart] = []
    todo = list(enumerate(typed.parts))[::-1]
    while todo:
        i, part = todo.pop()
        if id(part.form) in wanted:
            found.append(TreePart(_role(typed, i) if i >= 0 and len(wanted) > 1 else "", part))
        else:
            todo.extend((-1, inner) for inner in reversed(part.parts))
    if isinstance(typed.form, OneOfWithPreBlock):
        return [TreePart(role, part.typed) for role, part in zip(typed.form.roles, found, strict=True)]
    return found


def _role(typed: Typed, i: int) -> str:
    form = typed.form
    if isinstance(form, Choice):
        case = i if form.key_block is None else i - 1
        if case < 0:
            return "key"
        return ("not None", "None")[case] if form.kind == "Optional" else f"case {form.keys[case]!r}"
    if isinstance(form, Fan):
        return "" if form.labels is None else f"{T.label(form.labels[i])}"
    if isinstance(form, (Pipe, Graph)):  # their parts may stand elsewhere too, with a word of that place
        return ""
    word = typed.parts[i].path.word.partition(" > ")[0]
    return "" if len(typed.parts) < 2 or PLACE.fullmatch(word) or word == typed.parts[i].form.name else word


class TreeLine(NamedTuple):
    """A line of the tree.

    Attributes:
        depth: how deep it stands.
        role: see `TreePart`.
        typed: the occurrence.
        title: the block in one line; with a word behind it where its parts stand elsewhere.
    """

    depth: int
    role: str
    typed: Typed
    title: str


def tree_lines(typed: Typed) -> Iterator[TreeLine]:
    """The lines of `typed_tree`. What stands at several places has its parts below the first of them."""
    shown: set[int] = set()
    todo = [(TreePart("", typed), 0)]
    while todo:
        (role, x), depth = todo.pop()
        parts = visible(x)
        word = " (again)" if isinstance(x.form, Reference) and not parts else ""
        if x.places > 1 and parts:
            if id(x) in shown:
                parts, word = [], " (as above)"
            shown.add(id(x))
        yield TreeLine(depth, role, x, f"{title(x.form)}{word}")
        todo.extend((part, depth + 1) for part in reversed(parts))


def typed_tree(typed: Typed) -> str:
    """A typed expression, one occurrence a line, parts indented.

    What a part is for stands before it: `case True = ...`. The recursive block inside its own definition is
    `tree (again)`. What a block such as `Bidirectional` is made of is left out, and so are the parts of a
    block that stands above already, on the same value.

    Example:
        >>> import arrows as ar
        >>> print(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()))
        Map(Scalar('float32')) >> Sum(): Input -> float32
          Map(Scalar('float32')): Input -> Sequence(float32)
            Scalar('float32'): Input -> float32
          Sum(): Sequence(float32) -> float32
    """
    lines: list[str] = []
    for line in tree_lines(typed):
        indent = "  " * line.depth if line.depth <= INDENT else "  " * INDENT + f"[{line.depth}] "
        types = f"{T.notation(line.typed.input, TYPE)} -> {T.notation(line.typed.output, TYPE)}"
        lines.append(f"{indent}{f'{line.role} = ' if line.role else ''}{line.title}: {types}")
    return "\n".join(lines)
