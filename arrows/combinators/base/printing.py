"""Blocks as text.

`Block.pieces` gives the text of one block, and the blocks that stand in it. An explicit stack joins the
pieces here, so that a block may be as deep as memory allows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

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
        head: the function or class.
        arguments: what stands between the brackets.
        roles: of the blocks among the arguments, in the order in which they run; empty if nothing needs to
            be said.
    """

    head: str
    arguments: tuple[Argument, ...]
    roles: tuple[str, ...] = ()

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


class Precedence(IntEnum):
    """The precedence of the operator that a block is printed with, as in Python."""

    FAN_OUT = 1  # f & g
    CHAIN = 2  # f >> g
    PARALLEL = 3  # f * g
    CALL = 4  # FC(3), or a name


MOST_PIECES = 1_000_000
"""Longer text is cut off: nobody reads it, and it might not fit in memory."""
LONG = 20_000
"""An expression of more pieces is written with names for the blocks that stand in it more than once."""
SHORT = 12
"""A block of so few pieces gets no name even there: the name would be about as long."""


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

        So are blocks that stand in several places, if the expression would get too long without:

        >>> block = ar.Scalar()
        >>> for _ in range(60):
        ...     block = ar.AllOf(block, block) >> ar.Sum()
        >>> block
        AllOf(block, block) >> Sum() where block = AllOf(block_2, block_2) >> Sum(), ...
    """
    text: list[str] = []
    repeated = _repeated(block)
    todo: Pieces = [block]
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    definitions: deque[tuple[str, AnyBlock]] = deque()  # to be printed behind the expression
    count = 0
    begun = block
    while todo:
        if len(text) > MOST_PIECES:
            return "".join(text) + "..."
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif id(x) in repeated and x is not begun:
            name = names.get(id(x))
            if name is None:
                name = names[id(x)] = _unused(x.name or "block", taken)
                definitions.append((name, x))
            text.append(name)
        elif x.token is not None:
            name = names.get(id(x.token))
            if name is not None or x.definition is None:
                text.append(name or x.token.name)
                continue
            name = names[id(x.token)] = _unused(x.token.name, taken)
            if x.token.alone:
                todo.extend((")", x.definition, f"fix({name}: "))
            else:
                text.append(name)
                definitions.append((name, x.definition))
        else:
            todo.extend(reversed(x.pieces()))
        if not todo and definitions:
            name, begun = definitions.popleft()
            todo = [begun, f"{', ' if count else ' where '}{name} = "]
            count += 1
    return "".join(text)


def _printed(x: AnyBlock) -> list[AnyBlock]:
    """Lists the blocks that are printed inside a block."""
    return [piece for piece in (x.pieces() if x.token is None else x.parts) if not isinstance(piece, str)]


def _repeated(root: AnyBlock) -> set[int]:
    """Returns the identities of the blocks to print once, by name, because the whole would be too long."""
    sizes: dict[int, int] = {}
    inside: dict[int, list[AnyBlock]] = {}
    roots = [root]
    for start in roots:
        todo = [start]
        while todo:
            x = todo[-1]
            if id(x) not in inside:
                inside[id(x)] = _printed(x)
                todo.extend(piece for piece in inside[id(x)] if id(piece) not in inside)
                roots.extend([x.definition] if x.definition is not None else [])
                continue
            todo.pop()
            if id(x) not in sizes:
                sizes[id(x)] = 1 + sum(sizes[id(piece)] for piece in inside[id(x)])
    if sum(sizes[id(start)] for start in {id(start): start for start in roots}.values()) <= LONG:
        return set()
    places: dict[int, int] = {}
    for pieces in inside.values():
        for piece in pieces:
            places[id(piece)] = places.get(id(piece), 0) + 1
    return {block for block, count in places.items() if count > 1 and sizes[block] > SHORT}


def _unused(name: str, taken: dict[str, int]) -> str:
    """Makes a name that no other definition has; `taken` counts the names made from each."""
    unused = name
    while unused in taken:
        taken[name] += 1
        unused = f"{name}_{taken[name]}"
    taken[unused] = 1
    return unused


def call(spelling: Spelling, name: str | None) -> Pieces:
    """`head(argument, name='...')`."""
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


def within(block: AnyBlock, operator: Precedence) -> Pieces:
    """Writes a block as an operand: in brackets unless it binds closer than the operator."""
    return [block] if block.precedence > operator else ["(", block, ")"]


def chain_of(steps: Sequence[AnyBlock]) -> Pieces:
    """Writes the steps of a chain, `f >> g`; without steps it is the identity."""
    return joined((within(step, Precedence.CHAIN) for step in steps), " >> ") or ["Identity()"]
