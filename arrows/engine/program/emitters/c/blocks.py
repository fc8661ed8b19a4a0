"""Blocks of a kernel in C, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Callable

from arrows.engine.program.emitters.c.places import RowPlace
from arrows.ops import Var


class CodeBlock:
    """Lines of a block, and the names of the numbers that are there.

    Args:
        fresh: gives a name that is not used yet.
        outer: the block around.
        head: what stands before the block.
        elements: of a loop over the elements of a row, the names of the element and of the row.
    """

    def __init__(
        self,
        fresh: Callable[[], str],
        outer: CodeBlock | None = None,
        head: str = "",
        elements: tuple[str, str] | None = None,
    ) -> None:
        self.fresh, self.outer, self.head, self.elements = fresh, outer, head, elements
        self.lines: list[str] = []
        self.names: dict[tuple[Var, str, RowPlace], str] = {}

    def find(self, key: tuple[Var, str, RowPlace]) -> str | None:
        """The name of a number, here or in a block around."""
        scope: CodeBlock | None = self
        while scope is not None:
            if key in scope.names:
                return scope.names[key]
            scope = scope.outer
        return None

    def owner(self, element: str) -> str | None:
        """The name of the row over whose elements a loop around goes; None if there is no such loop."""
        scope: CodeBlock | None = self
        while scope is not None:
            if scope.elements is not None and scope.elements[0] == element:
                return scope.elements[1]
            scope = scope.outer
        return None

    def before_elements(self, row: str, at: RowPlace) -> CodeBlock:
        """Where a number of a row is computed once: before the loop over the row's elements, if this is one.

        Of a block in such a loop it is the block: what it computes may be there under its condition alone.
        """
        scope = self
        # A place that names nothing of the loop; the items of threads and of reductions are outside of it.
        outside = set(re.findall(r"[a-z]\w*", at.moving)) <= {"j", "k", "m"}
        while scope.elements is not None and scope.elements[1] == row and outside:
            assert scope.outer is not None
            scope = scope.outer
        return scope

    def inner(self, head: str, elements: tuple[str, str] | None = None) -> CodeBlock:
        """A block in this one; `close` ends it, behind the lines that this one has by then."""
        return CodeBlock(self.fresh, self, head, elements)

    def close(self, inner: CodeBlock) -> None:
        """Ends a block."""
        self.lines += [inner.head + " {", *("  " + line for line in inner.lines), "}"]

    def name(self, type: str, expression: str) -> str:
        """A new name for the value of an expression."""
        fresh = self.fresh()
        self.lines.append(f"{type} {fresh} = {expression};")
        return fresh
