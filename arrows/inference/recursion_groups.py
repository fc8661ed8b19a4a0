"""Which definitions refer to one another."""

from __future__ import annotations

from arrows.combinators import AnyBlock


class Components:
    """Strongly connected components of the graph in which a block leads to its parts, and a reference to its
    definition; found when first asked for, by an explicit stack (Tarjan 1972).

    Example:
        >>> import arrows as ar
        >>> a, b = ar.fix(lambda a, b: (ar.GetItem(0) >> b, ar.GetItem(1) >> a))
        >>> components = Components()
        >>> components.of(a.definition) == components.of(b.definition) == components.of(a)
        True
        >>> components.of(ar.Map(a)) == components.of(a)
        False
    """

    def __init__(self) -> None:
        self._number: dict[int, int] = {}
        self._found: dict[int, int] = {}
        self._kept: list[AnyBlock] = []  # so that an identity stays its block's own

    def of(self, block: AnyBlock) -> int:
        """The number of a block's component."""
        if id(block) not in self._number:
            self._search(block)
        return self._number[id(block)]

    def _search(self, root: AnyBlock) -> None:
        found, low = self._found, {}
        path: list[AnyBlock] = []
        todo: list[tuple[AnyBlock, list[AnyBlock]]] = []

        def enter(block: AnyBlock) -> None:
            found[id(block)] = low[id(block)] = len(found)
            self._kept.append(block)
            path.append(block)
            beyond = block.definition
            todo.append((block, [*block.parts, *([beyond] if beyond is not None else [])]))

        enter(root)
        while todo:
            block, rest = todo[-1]
            me = id(block)
            if rest:
                other = rest.pop()
                if id(other) not in found:
                    enter(other)
                elif id(other) not in self._number:  # it is on the path
                    low[me] = min(low[me], found[id(other)])
                continue
            todo.pop()
            if todo:
                above = id(todo[-1][0])
                low[above] = min(low[above], low[me])
            if low[me] == found[me]:
                while True:
                    member = path.pop()
                    self._number[id(member)] = found[me]
                    if member is block:
                        break
