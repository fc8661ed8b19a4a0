"""Copying and pickling of blocks without recursion.

A flat list holds the blocks that have parts, parts first; each refers to its parts by their index. Blocks
without parts stand in the list as themselves, so that the memo of `pickle` and `copy` keeps track of shared
layers, over several roots too. The list also holds definitions that refer to one another; the tokens of
their references tie them together again. `parts_first` walks over all blocks inside a block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from arrows.combinators.base.printing import Spelling, pieces_of
from arrows.typesys import types as T

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock
    from arrows.combinators.control_flow import Token


B = TypeVar("B", bound="AnyBlock")

Row: TypeAlias = "AnyBlock | tuple[type[AnyBlock], dict[str, object], tuple[int, ...]]"
"""A block without parts, or the class, the state and the indices of the parts."""


def parts_first(block: AnyBlock) -> list[AnyBlock]:
    """Lists every block inside once, after its parts; the definitions of references are inside too."""
    order: list[AnyBlock] = []
    seen: set[int] = set()
    roots = [block]
    while roots:
        inside = T.postorder(roots.pop(), lambda x: reversed(x.parts), seen)
        order += inside
        roots += [x.definition for x in inside if x.definition is not None]
    return order


def reduce(block: AnyBlock) -> tuple[Any, ...]:
    """Makes the result of `__reduce_ex__`."""
    block.check_finished("something to copy or pickle")
    if not block.parts and block.definition is None:
        return _empty, (type(block),), dict(block.__dict__)
    rows: list[Row] = []
    place: dict[int, int] = {}
    order = parts_first(block)
    for part in order:
        place[id(part)] = len(rows)
        if part.parts or part.definition is not None:
            state = {k: v for k, v in part.__dict__.items() if k != "_parts"}
            if "_spelling" in state:
                state["_spelling"] = _with_blocks(part.spelling, lambda inner: place[id(inner)])
            rows.append((type(part), state, tuple(place[id(p)] for p in part.parts)))
        else:
            rows.append(part)
    tokens = {id(x.token): x.token for x in order if x.token is not None and x.definition is not None}
    knots = [(token, place[id(token.definition)]) for token in tokens.values()]
    return restore, (rows, place[id(block)], knots)


def restore(rows: list[Row], root: int, knots: list[tuple[Token, int]]) -> AnyBlock:
    """Rebuilds a block from `reduce`; `knots` has the tokens, each with the index of its definition."""
    blocks: list[AnyBlock] = []
    for row in rows:
        if not isinstance(row, tuple):
            blocks.append(row)
            continue
        cls, state, places = row
        block = _empty(cls)
        block.__dict__.update(state)
        block.__dict__["_parts"] = tuple(blocks[i] for i in places)
        if "_spelling" in state:
            block.__dict__["_spelling"] = _with_blocks(block.spelling, blocks.__getitem__)
        blocks.append(block)
    for token, definition in knots:
        token.define(blocks[definition])  # unless another root of the same pickle has brought it already
    return blocks[root]


def _with_blocks(spelling: Spelling, change: Callable[[Any], Any]) -> Spelling:
    """A spelling with its blocks changed to their indices, or back."""
    arguments = [
        [piece if isinstance(piece, str) else change(piece) for piece in pieces_of(argument)]
        for argument in spelling.arguments
    ]
    return replace(spelling, arguments=tuple(arguments))


def _empty(cls: type[B]) -> B:
    return object.__new__(cls)
