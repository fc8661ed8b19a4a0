"""Blocks that stand at several places, and on the same value there: which of them may be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arrows.combinators import AnyBlock, Fix, Reference, parts_first
from arrows.inference.occurrences import Occurrence


class Around:
    """Which blocks of an expression have certain blocks inside, also behind references.

    Example:
        >>> import arrows as ar
        >>> score = ar.Scalar() >> ar.Metric("loss")
        >>> both = score & ar.Void()
        >>> inside = Around(both).those_with(lambda block: block.effect)
        >>> id(score) in inside, id(both) in inside, id(score.parts[0]) in inside
        (True, True, False)
    """

    def __init__(self, root: AnyBlock) -> None:
        self.blocks = parts_first(root)
        self._outer: dict[int, list[int]] = {}
        bodies = {id(block.token): block.body for block in self.blocks if isinstance(block, Fix)}
        for block in self.blocks:
            inside = list(block.parts)
            if isinstance(block, Reference):
                beyond = block.definition or bodies.get(id(block.token))
                inside += [beyond] if beyond is not None else []
            for part in inside:
                self._outer.setdefault(id(part), []).append(id(block))

    def those_with(self, wanted: Callable[[AnyBlock], bool]) -> set[int]:
        """The identities of the blocks for which `wanted` holds, and of all blocks around them."""
        todo = [id(block) for block in self.blocks if wanted(block)]
        inside: set[int] = set()
        while todo:
            block = todo.pop()
            if block not in inside:
                inside.add(block)
                todo.extend(self._outer.get(block, ()))
        return inside


def outermost_first(root: Occurrence) -> list[Occurrence]:
    """All nodes, each once, before its parts, in the order of the expression."""
    order: list[Occurrence] = []
    seen: set[int] = set()
    todo = [(root, False)]
    while todo:
        node, ready = todo.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo.extend((part, False) for part in node.parts)
    return order[::-1]


def written_out(nodes: Sequence[Occurrence]) -> int:
    """How many places there are if each is one of its own; `nodes` come before their parts."""
    counts: dict[int, int] = {}
    for node in reversed(nodes):
        counts[id(node)] = 1 + sum(counts[id(part)] for part in node.parts)
    return counts[id(nodes[0])]
