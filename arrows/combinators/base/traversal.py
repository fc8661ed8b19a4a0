"""Walks over all blocks inside a block, without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock


def parts_first(block: AnyBlock) -> list[AnyBlock]:
    """Lists every block inside once, after its parts; the definitions of references are inside too."""
    order: list[AnyBlock] = []
    seen: set[int] = set()
    roots = [block]
    while roots:
        todo: list[tuple[AnyBlock, bool]] = [(roots.pop(), False)]
        while todo:
            x, ready = todo.pop()
            if ready:
                order.append(x)
            elif id(x) not in seen:
                seen.add(id(x))
                todo.append((x, True))
                todo.extend((p, False) for p in reversed(x.parts))
                if x.definition is not None:
                    roots.append(x.definition)
    return order
