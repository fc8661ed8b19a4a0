"""The typed tree, which inference makes and the engine reads.

One `Typed` stands for one occurrence of a block: a block that reads two values has two, each with its own
types. A block that reads the same value at several places is one `Typed`, which is a part of several others,
unless the block has an effect.

The first reference to a recursive block has its `Knot`, and the references inside point to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from arrows.combinators import (
    AnyBlock,
    Choice,
    Fan,
    Loop,
    Optional,
    Pipe,
    Reduce,
    Reference,
    title,
)
from arrows.typesys import types as T

if TYPE_CHECKING:
    from arrows.ops import Trace

INDENT = 40
TYPE = 100  # a line shows a type up to this number of parts


@dataclass(frozen=True, eq=False, slots=True)
class Typed:
    """One occurrence of a block on a value, with its types.

    When a value passes from one occurrence to another, the types on both sides may differ in two ways: a
    tuple or sequence of `Input`s may pass to a block that wants an `Input`, and the labels of a tuple may
    differ.
    Values pass from step to step, from the input to a part or a case, from a wire to a call, from a case to
    the result, from a container to the block of a `Map`, from the state to the step of a `Fold`, from a call
    to a knot, and from a body to its knot.

    Attributes:
        form: the block.
        input: the type of its input, ground.
        output: the type of its result, ground.
        parts: its typed parts, in the order of the core form; empty for a `Reference`.
        trace: for an `Apply`, what it computes; else None.
        knot: for a `Reference`, the recursive block that it stands for; else None.
        places: the number of places where it stands; the result is computed once for all of them.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Scalar())
        Scalar('float32'): Input -> float32
    """

    form: AnyBlock
    input: T.Type
    output: T.Type
    parts: tuple[Typed, ...] = ()
    trace: Trace | None = None
    knot: Knot | None = None
    places: int = 1

    def __str__(self) -> str:
        return typed_tree(self)

    __repr__ = __str__

    def walk(self) -> Iterator[Typed]:
        """Yields every occurrence once, in the order of the expression; a body follows its reference."""
        todo = [self]
        repeated: set[int] = set()
        while todo:
            typed = todo.pop()
            if typed.places > 1:
                if id(typed) in repeated:
                    continue
                repeated.add(id(typed))
            yield typed
            if isinstance(typed.knot, Knot) and typed.knot.fix is typed:
                todo.append(typed.knot.body)
            todo.extend(reversed(typed.parts))


@dataclass(slots=True, eq=False, repr=False)
class Knot:
    """A recursive block at one of its occurrences.

    A knot is made before its parts, because the references inside its body point to it.

    Attributes:
        name: the name of the recursive block.
        outer: whether a block outside of its component enters it. Of definitions that refer to one another,
            those that only the others use have inner knots.
        fix: the occurrence of the `Reference` that made the knot.
        body: the typed definition.
    """

    name: str
    outer: bool = True
    fix: Typed = field(init=False)
    body: Typed = field(init=False)

    @property
    def input(self) -> T.Type:
        """The type of its input."""
        return self.fix.input

    @property
    def output(self) -> T.Type:
        """The type of its result."""
        return self.fix.output


# The typed tree as it is printed: the parts that the author wrote, each with its role


class TreePart(NamedTuple):
    """A part of an expression.

    Attributes:
        role: its role in the block around it, such as `case True` or `start`; empty if it needs none.
        typed: the part.
    """

    role: str
    typed: Typed


def visible(typed: Typed) -> list[TreePart]:
    """Lists the parts of an expression that its author wrote, without those that a block is made of inside.

    Example:
        >>> import arrows as ar
        >>> both = ar.infer(ar.Map(ar.Vector(3)) >> ar.Bidirectional(ar.LSTMCell(4), ar.LSTMCell(5)))
        >>> [part.typed.form.label for part in visible(both.parts[1])]
        ['LSTMCell(4)', 'LSTMCell(5)']
    """
    if typed.knot is not None:
        return [TreePart("", typed.knot.body)] if typed.knot.fix is typed else []
    form = typed.form
    roles = _roles(form) or [""] * len(typed.parts)
    if not isinstance(form, (Loop, Reduce)) and (not isinstance(form, Pipe) or form.is_chain):
        return list(map(TreePart, roles, typed.parts))
    wanted = {id(block) for block in form.spelling.blocks}
    tree_parts: list[TreePart] = []
    todo = list(enumerate(typed.parts))[::-1]
    while todo:
        i, part = todo.pop()
        if id(part.form) in wanted:
            tree_parts.append(TreePart(roles[i] if i >= 0 and len(wanted) > 1 else "", part))
        else:
            todo.extend((-1, inner) for inner in reversed(part.parts))
    return tree_parts


def case_names(form: Choice[Any, Any]) -> list[str]:
    """Names the cases of a choice, in order."""
    return ["not None", "None"] if isinstance(form, Optional) else [f"case {key!r}" for key in form.keys]


def _roles(form: AnyBlock) -> list[str]:
    """What the parts of a form are for, in order; nothing where they need no words."""
    if isinstance(form, Choice):
        return [*([] if form.key_block is None else ["key"]), *case_names(form)]
    if isinstance(form, Fan):
        return list(map(T.label, form.labels or ()))
    if isinstance(form, Loop):
        return [form.cell_word, "initial_state"]
    return ["combine", "default"] if isinstance(form, Reduce) else []


def typed_tree(typed: Typed) -> str:
    """Writes a typed expression with one occurrence on each line and parts indented.

    The role of a part stands before it: `case True = ...`. A recursive block inside its own definition is
    `tree (again)`. The tree leaves out the blocks that a block such as `Bidirectional` is made of, and
    does not repeat the parts of a block that stands above already, on the same value.

    Example:
        >>> import arrows as ar
        >>> print(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()))
        Map(Scalar('float32')) >> Sum(): Input -> float32
          Map(Scalar('float32')): Input -> Sequence(float32)
            Scalar('float32'): Input -> float32
          Sum(): Sequence(float32) -> float32
    """
    lines: list[str] = []
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
        indent = "  " * depth if depth <= INDENT else "  " * INDENT + f"[{depth}] "
        types = f"{T.notation(x.input, TYPE)} -> {T.notation(x.output, TYPE)}"
        lines.append(f"{indent}{f'{role} = ' if role else ''}{title(x.form)}{word}: {types}")
        todo.extend((part, depth + 1) for part in reversed(parts))
    return "\n".join(lines)
