"""What inference notes about the occurrences of an expression while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrows.combinators import AnyBlock, Token
from arrows.inference.typed import Path
from arrows.typesys.terms import Constraint, TypeVariable
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.ops import Trace


ASSUMED = object()
"""The origin of a root input that nothing fixes, and that is therefore taken to be a Python object."""


class Occurrence:
    """One occurrence of a block, before its types are known: the block on one value.

    Attributes:
        form: the block.
        value: what tells the value that it reads from others: the node that gives it, or an object of
            its own.
        input, output: variables of its types.
        path: where it stands first.
        places: at how many places it stands.
        entered: whether its constraints are made.
        parts: nodes of its parts.
        trace: what an `Apply` computes, once known.
        knot: the node of the `Fix` that a `Fix` or `Reference` belongs to.
        first: for a layer that stands in several places, the node of its first one.
    """

    __slots__ = (
        "entered",
        "first",
        "form",
        "input",
        "knot",
        "output",
        "parts",
        "path",
        "places",
        "trace",
        "value",
    )

    def __init__(
        self, form: AnyBlock, value: object, input: TypeVariable, output: TypeVariable, path: Path
    ) -> None:
        self.form = form
        self.value = value
        self.input = input
        self.output = output
        self.path = path
        self.places = 1
        self.entered = False
        self.parts: list[Occurrence] = []
        self.trace: Trace | None = None
        self.knot: Occurrence | None = None
        self.first: Occurrence | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """Stands among the nodes to come where a recursive block is left, or a group of them.

    Attributes:
        tokens: those of the blocks.
        group: the number of the group; None for a `Fix`.
    """

    tokens: list[Token]
    group: int | None = None


@dataclass(slots=True, eq=False)  # frozen takes four times as long to make
class CoercionPlace:
    """Where a joint is.

    Attributes:
        kind: which joint of the form.
        node: the node around it.
        index: which of the parts it leads to, or from.
    """

    kind: str
    node: Occurrence
    index: int


class Refusal(Constraint):
    """Stands for a node whose own types contradict what is around it."""

    __slots__ = ("node",)

    def __init__(self, node: Occurrence) -> None:
        super().__init__()
        self.node = node

    def run(self, solver: Solver) -> None:
        """There is nothing to run."""
