"""Copying and pickling of blocks without recursion.

Blocks that have parts are laid out in a flat list, parts first, each naming its parts by place. Blocks
without parts stand in the list as themselves, so that pickle's own memo keeps which places share a layer,
over several roots too.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from arrows.combinators.block import Block
from arrows.typesys.errors import Site

B = TypeVar("B", bound=Block[Any, Any])


def reduce(block: Block[Any, Any]) -> tuple[Any, ...]:
    """What `__reduce_ex__` returns."""
    if not block.parts:
        return _bare, (type(block),), dict(block.__dict__)
    rows: list[Any] = []
    place: dict[int, int] = {}
    for part in parts_first(block):
        place[id(part)] = len(rows)
        if part.parts:
            state = {k: v for k, v in part.__dict__.items() if k != "_parts"}
            rows.append((type(part), state, tuple(place[id(p)] for p in part.parts)))
        else:
            rows.append(part)
    return assemble, (rows,)


def assemble(rows: list[Any]) -> Block[Any, Any]:
    """The block that `reduce` took apart: the last row."""
    made: list[Block[Any, Any]] = []
    for row in rows:
        if isinstance(row, Block):
            made.append(row)
            continue
        cls, state, places = row
        block = _bare(cls)
        block.__dict__.update(state)
        block.__dict__["_parts"] = tuple(made[i] for i in places)
        made.append(block)
    return made[-1]


def deep_copy(block: B, memo: dict[int, Any]) -> B:
    """A copy of everything inside; what was one block is one block in the copy."""
    for part in parts_first(block):
        if id(part) in memo:
            continue
        made = _bare(type(part))
        for key, value in part.__dict__.items():
            if key == "_parts":
                made.__dict__[key] = tuple(memo[id(p)] for p in value)
            else:
                made.__dict__[key] = value if isinstance(value, Site) else copy.deepcopy(value, memo)
        memo[id(part)] = made
    copied: B = memo[id(block)]
    return copied


def shallow_copy(block: B) -> B:
    """Another block with the same parts."""
    block.parts  # noqa: B018  lays a chain flat, so that the state is complete
    made = _bare(type(block))
    made.__dict__.update(block.__dict__)
    return made


def parts_first(block: Block[Any, Any]) -> list[Block[Any, Any]]:
    """Every block inside once, after its parts; the block itself comes last."""
    order: list[Block[Any, Any]] = []
    seen: set[int] = set()
    todo: list[tuple[Block[Any, Any], bool]] = [(block, False)]
    while todo:
        x, ready = todo.pop()
        if ready:
            order.append(x)
        elif id(x) not in seen:
            seen.add(id(x))
            todo.append((x, True))
            todo.extend((p, False) for p in reversed(x.parts))
    return order


def _bare(cls: type[B]) -> B:
    return object.__new__(cls)
