"""What inference notes about the occurrences of an expression while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrows.combinators.block import Block
from arrows.combinators.typed import Path
from arrows.typesys.terms import Constraint, Var
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.ops import Trace


ASSUMED = object()
"""The origin of a root input that nothing fixes, and that is therefore taken to be a Python object."""


class Node:
    """One occurrence of a block, before its types are known.

    Attributes:
        form: the block.
        input, output: variables of its types.
        path: where it stands.
        parts: nodes of its parts.
        trace: what an `Apply` computes, once known.
        knot: the node of the `Fix` that a `Fix` or `Reference` belongs to.
        first: for a layer that stands in several places, the node of its first one.
    """

    __slots__ = ("first", "form", "input", "knot", "output", "parts", "path", "trace")

    def __init__(self, form: Block[Any, Any], input: Var, output: Var, path: Path) -> None:
        self.form = form
        self.input = input
        self.output = output
        self.path = path
        self.parts: list[Node] = []
        self.trace: Trace | None = None
        self.knot: Node | None = None
        self.first: Node | None = None


@dataclass(slots=True, eq=False)  # frozen takes four times as long to make
class Joined:
    """Where a joint is.

    Attributes:
        kind: which joint of the form.
        node: the node around it.
        index: which of the parts it leads to, or from.
    """

    kind: str
    node: Node
    index: int


class Refusal(Constraint):
    """Stands for a node whose own types contradict what is around it."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node

    def run(self, solver: Solver) -> None:
        """There is nothing to run."""
