"""Rules of `RNN` and `Zip` that must wait for a type."""

from __future__ import annotations

from arrows.combinators.nodes import Node
from arrows.combinators.rules import Misfit, Rule, spread_elements
from arrows.typesys import types as T
from arrows.typesys.terms import Struct, Var, compound, find
from arrows.typesys.unify import Solver


class OutputRule(Rule):
    """`RNN`: the output is the state, and of a tuple its first item."""

    __slots__ = ("output", "state")

    def __init__(self, node: Node, state: Var, output: Var) -> None:
        super().__init__(node)
        self.state = state
        self.output = output

    def run(self, solver: Solver) -> None:
        v = find(self.state)
        if self.done or v.head is None:
            return
        self.done = True
        if not _is(v, T.Tuple, "tuple"):
            solver.unify(self.output, v)
            return
        items = solver.view(v).args
        if not items:
            raise Misfit(
                "the state of its cell is an empty tuple, and the output at an element is the first item",
                "a step with outputs of its own is ar.Scan(step, start)",
            )
        solver.unify(self.output, items[0])


class ZipRule(Rule):
    """`Zip`: known as soon as the kinds of all items are."""

    __slots__ = ("watching",)

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.watching = False

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        if isinstance(v.head, T.Input):
            self.done = True
            solver.bind(self.node.output, "sequence", [Var(v.head, self.node)], None, self.node, None)
            return
        if not _is(v, T.Tuple, "tuple"):
            what = v.head if isinstance(v.head, T.Type) else "a sequence"
            raise Misfit(
                f"{self.node.form.kind} takes a tuple of sequences, and {what} is none",
                "put the sequences side by side first: (f & g) >> ar.Zip()",
            )
        items = [find(arg) for arg in solver.view(v).args]
        if not items:
            raise Misfit("there are no sequences in an empty tuple")
        if any(item.head is None for item in items):
            if not self.watching:
                self.watching = True
                solver.add(self, *(item for item in items if item.head is None))
            return
        self.done = True
        endless, elements = True, []
        for i, item in enumerate(items):
            if not isinstance(item.head, T.Input) and not compound(item.head):
                raise Misfit(
                    f"item {i} is {item.head}, which has no elements",
                    "what stands beside every element goes into the block on the elements",
                )
            elements.append(Var())
            endless = spread_elements(solver, self.node, item, elements[-1], "zipped") and endless
        pair = solver.make("tuple", elements)
        kind = "broadcast" if endless else "sequence"
        solver.bind(self.node.output, kind, [pair], None, self.node, None)  # type: ignore[arg-type]


def _is(v: Var, ground: type[T.Type], kind: str) -> bool:
    return isinstance(v.head, ground) or (isinstance(v.head, Struct) and v.head.kind == kind)
