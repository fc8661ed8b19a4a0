"""Copying and pickling of blocks without recursion.

Blocks that have parts are laid out in a flat list, parts first, each naming its parts by place. Blocks
without parts stand in the list as themselves, so that pickle's own memo keeps which places share a layer,
over several roots too. Definitions that refer to one another are in the list as well; what ties them together
again are the tokens of their references.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from arrows.combinators.block import AnyBlock, Block
from arrows.combinators.recursion import Reference, Token
from arrows.typesys.errors import SourceLine
from arrows.typesys.old_pickles import refusal_of

B = TypeVar("B", bound=AnyBlock)


def reduce(block: AnyBlock) -> tuple[Any, ...]:
    """What `__reduce_ex__` returns."""
    if not block.parts and block.definition is None:
        return _empty, (type(block),), dict(block.__dict__)
    rows: list[Any] = []
    place: dict[int, int] = {}
    order = parts_first(block)
    for part in order:
        place[id(part)] = len(rows)
        if part.parts or part.definition is not None:
            state = {k: v for k, v in part.__dict__.items() if k != "_parts"}
            rows.append((type(part), state, tuple(place[id(p)] for p in part.parts)))
        else:
            rows.append(part)
    knots = [(token, place[id(token.definition)]) for token in _tokens(order)]
    return restore, (rows, place[id(block)], knots)


def restore(rows: list[Any], root: int, knots: list[tuple[Token, int]]) -> AnyBlock:
    """The block that `reduce` took apart.

    Args:
        rows: blocks that stand for themselves, or class, state and places of the parts.
        root: the place of the block.
        knots: the tokens of references, and the place of each one's definition.
    """
    made: list[AnyBlock] = []
    for row in rows:
        if isinstance(row, Block):
            made.append(row)
            continue
        cls, state, places = row
        block = _empty(cls)
        block.__dict__.update(state)
        block.__dict__["_parts"] = tuple(made[i] for i in places)
        made.append(block)
    for token, definition in knots:
        token.define(made[definition])  # unless another root of the same pickle has brought it already
    return made[root]


def deep_copy(block: B, memo: dict[int, Any]) -> B:
    """A copy of everything inside; what was one block is one block in the copy."""
    order = parts_first(block)
    for part in order:
        if id(part) in memo:
            continue
        made = _empty(type(part))
        for key, value in part.__dict__.items():
            if key == "_parts":
                made.__dict__[key] = tuple(memo[id(p)] for p in value)
            else:
                made.__dict__[key] = value if isinstance(value, SourceLine) else copy.deepcopy(value, memo)
        memo[id(part)] = made
    for token in _tokens(order):
        memo[id(token)].define(memo[id(token.definition)])
    copied: B = memo[id(block)]
    return copied


def _tokens(blocks: list[AnyBlock]) -> list[Token]:
    """The tokens with definitions that blocks refer to, each once."""
    found: dict[int, Token] = {}
    for block in blocks:
        if isinstance(block, Reference) and block.definition is not None:
            found[id(block.token)] = block.token
    return list(found.values())


def shallow_copy(block: B) -> B:
    """Another block with the same parts."""
    block.parts  # noqa: B018  lays a chain flat, so that the state is complete
    made = _empty(type(block))
    made.__dict__.update(block.__dict__)
    return made


def parts_first(block: AnyBlock) -> list[AnyBlock]:
    """Every block inside once, after its parts; definitions of references, and what is in them, as well."""
    order: list[AnyBlock] = []
    seen: set[int] = set()
    beyond = [block]
    while beyond:
        todo: list[tuple[AnyBlock, bool]] = [(beyond.pop(), False)]
        while todo:
            x, ready = todo.pop()
            if ready:
                order.append(x)
            elif id(x) not in seen:
                seen.add(id(x))
                todo.append((x, True))
                todo.extend((p, False) for p in reversed(x.parts))
                if x.definition is not None:
                    beyond.append(x.definition)
    return order


def _empty(cls: type[B]) -> B:
    return object.__new__(cls)


# Every pickle of a block from before the modules moved begins with one of these functions.
__getattr__ = refusal_of(__name__, {"assemble", "_bare"}, "a block", "build it again from its source")
