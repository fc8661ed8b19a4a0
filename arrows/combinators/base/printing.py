"""Blocks as text.

`Block.pieces` gives the text of one block, and the blocks that stand in it. An explicit stack joins the
pieces here, so that a block may be as deep as memory allows.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock

Pieces: TypeAlias = "list[AnyBlock | str]"
"""An expression in the order of reading: text, and blocks that are written where they stand."""

Argument: TypeAlias = "AnyBlock | str | Pieces"
"""An argument as its author wrote it."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the author of a block wrote it: `head(arguments)`.

    Attributes:
        head: the function or class; or the operator, of which the arguments are the operands.
        arguments: what stands between the brackets.
    """

    head: str
    arguments: tuple[Argument, ...]

    @property
    def blocks(self) -> list[AnyBlock]:
        """The blocks among the arguments."""
        pieces = [piece for argument in self.arguments for piece in pieces_of(argument)]
        return [piece for piece in pieces if not isinstance(piece, str)]

    def __str__(self) -> str:
        return f"{self.head}({self.brief(1)})"

    def brief(self, depth: int) -> str:
        """Writes the arguments alone, with blocks down to a depth."""
        words = (
            "".join(piece if isinstance(piece, str) else piece.brief(depth) for piece in pieces_of(argument))
            for argument in self.arguments
        )
        return ", ".join(words)


def pieces_of(argument: Argument) -> Pieces:
    """An argument as pieces."""
    return argument if isinstance(argument, list) else [argument]


def keywords(**arguments: object) -> list[str]:
    """Writes the arguments of a call by keyword, but those that are None or False.

    >>> keywords(default=0.5, reverse=False, name=None)
    ['default=0.5']
    """
    return [f"{name}={x!r}" for name, x in arguments.items() if x is not None and x is not False]


class Operator(NamedTuple):
    """An operator that blocks are written with.

    Attributes:
        precedence: how close it binds, as in Python; it decides where brackets go.
        summary: names an expression of several operands.
    """

    precedence: int
    summary: str


OPERATORS = {
    "&": Operator(1, "a fan of {}"),
    ">>": Operator(2, "a chain of {}"),
    "*": Operator(3, "{} side by side"),
}
LABEL = 60  # a line shows a block up to this number of characters
MOST_PIECES = 5_000
"""Longer text is cut off: nobody reads it, and it might not fit in memory."""


def expression(block: AnyBlock) -> str:
    """Writes a block as the expression that makes it.

    Example:
        >>> import arrows as ar
        >>> (ar.GetItem("a") >> ar.Scalar() & ar.Zeros([2])) >> ar.Concat()
        (GetItem('a') >> Scalar('float32') & Zeros(float32[2])) >> Concat()

        Definitions that refer to one another are printed once, behind the expression:

        >>> a, b = ar.fix(lambda a, b: (ar.GetItem(0) >> b, ar.OneOf(len).case(0, ar.Scalar()).case(1, a)))
        >>> ar.Map(a)
        Map(a) where a = GetItem(0) >> b, b = OneOf(len, {0: Scalar('float32'), 1: a})
    """
    text: list[str] = []
    todo: Pieces = [block]
    names: dict[int, str] = {}
    taken: set[str] = set()
    definitions: deque[tuple[str, AnyBlock]] = deque()  # to be printed behind the expression
    count = 0
    while todo:
        if len(text) > MOST_PIECES:
            return "".join(text) + "..."
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif x.token is not None:
            name = names.get(id(x.token))
            if name is not None or x.definition is None:
                text.append(name or x.token.name)
                continue
            numbered = (f"{x.token.name}_{number}" for number in itertools.count(2))
            name = next(name for name in itertools.chain([x.token.name], numbered) if name not in taken)
            names[id(x.token)] = name
            taken.add(name)
            if x.token.alone:
                todo.extend((")", x.definition, f"fix({name}: "))
            else:
                text.append(name)
                definitions.append((name, x.definition))
        else:
            todo.extend(reversed(x.pieces()))
        if not todo and definitions:
            name, definition = definitions.popleft()
            todo = [definition, f"{', ' if count else ' where '}{name} = "]
            count += 1
    return "".join(text)


def title(block: AnyBlock, width: int = LABEL) -> str:
    """Names a block in one line of at most `width` characters.

    Example:
        >>> import arrows as ar
        >>> title(ar.GetItem("word")), title(ar.GetItem("word") >> ar.Scalar() >> ar.Zeros([300]), 20)
        ("GetItem('word')", 'a chain of 3')
    """
    for words in (" ".join(block.label.split()), brief(block, 0)):
        if len(words) <= width:
            return words
        if block.name is not None:
            return f"{words[: width - 3]}..."
    return f"{block.kind}(...)"[:width]


def brief(block: AnyBlock, depth: int) -> str:
    """Writes a block without a name in a few words, with blocks inside down to a depth."""
    summary = block.summary()
    if (operator := OPERATORS.get(summary.head)) is None:
        return f"{summary.head}({'...' if block.parts and depth == 0 else summary.brief(depth - 1)})"
    operands = summary.blocks
    if len(operands) > 3 or depth == 0:
        return operator.summary.format(len(operands))
    # A chain in a fan-out needs no brackets, but they help where a few words stand for it.
    loose = max(operator.precedence, OPERATORS[">>"].precedence)
    words = [within(operand, loose) for operand in operands]
    texts = ["".join(x if isinstance(x, str) else x.brief(depth - 1) for x in pieces) for pieces in words]
    return f" {summary.head} ".join(texts)


def pieces(spelling: Spelling, name: str | None) -> Pieces:
    """Writes a block in full: `head(argument, name='...')`, or operands with their operator between them."""
    if (operator := OPERATORS.get(spelling.head)) is not None:
        operands = (within(operand, operator.precedence) for operand in spelling.blocks)
        return joined(operands, f" {spelling.head} ")
    words: list[Pieces] = [] if name is None else [[f"name={name!r}"]]
    arguments = map(pieces_of, spelling.arguments)
    return [f"{spelling.head}(", *joined([*arguments, *words], ", "), ")"]


def joined(groups: Iterable[Pieces], separator: str) -> Pieces:
    """Joins the groups, with the separator between them.

    Example:
        >>> joined([["a", "b"], ["c"]], ", ")
        ['a', 'b', ', ', 'c']
    """
    pieces: Pieces = []
    for group in groups:
        if pieces:
            pieces.append(separator)
        pieces.extend(group)
    return pieces


def by_key(keys: Iterable[object], values: Iterable[Pieces]) -> Pieces:
    """Writes a dict from each key to its pieces.

    Example:
        >>> "".join(by_key(["a", 1], [["f"], ["g"]]))
        "{'a': f, 1: g}"
    """
    fields: list[Pieces] = [[f"{key!r}: ", *value] for key, value in zip(keys, values, strict=True)]
    return ["{", *joined(fields, ", "), "}"]


def within(block: AnyBlock, precedence: int) -> Pieces:
    """Writes a block as an operand: in brackets unless it binds closer than the operator."""
    operator = OPERATORS.get(block.spelling.head)
    return [block] if operator is None or operator.precedence > precedence else ["(", block, ")"]
