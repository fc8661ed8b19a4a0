"""Inference: from a block to its typed tree.

Three passes, none of which recurses. The first walks the expression and makes, for every occurrence, a node
with a variable for its input and one for its result, and the constraints of its form. The second solves them
(`typesys.unify`): types flow both ways, a function is traced as soon as its input is known, and what is still
open when nothing moves any more is settled in a fixed order, conversions last. The third builds the typed
tree.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from arrows.combinators import explain
from arrows.combinators.block import Block
from arrows.combinators.constraints import INPUT, handler
from arrows.combinators.containers import Containers, object_reader, open_part
from arrows.combinators.convert import as_block
from arrows.combinators.endless import endless
from arrows.combinators.knots import Components
from arrows.combinators.last_checks import final_check
from arrows.combinators.layer import Layer
from arrows.combinators.nodes import ASSUMED, Joined, Node, Refusal
from arrows.combinators.recursion import Token
from arrows.combinators.rules import Rule
from arrows.combinators.typed import Knot, Path, Typed
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.garbage import collector_paused
from arrows.typesys.terms import Clash, Var, find, ground
from arrows.typesys.unify import Solver


def infer(block: Any, input: Any = None, *, float_type: str | None = None) -> Typed:
    """Finds the types of a block, and of everything inside it.

    Nothing runs but key-free Python: functions are traced on shapes, no array is made.

    Args:
        block: a block, or what stands for one.
        input: type of the input, or a short-hand for one, if it is to be assumed; a root input that stays
            open is `Input`.
        float_type: every floating element type of the block becomes this one.

    Returns:
        The typed tree; `str` of it prints the expression as a tree with types.

    Raises:
        ArrowTypeError: the block is ill-typed, or something stays open; the text says where and why.

    Source: Damas and Milner, "Principal type-schemes for functional programs" (1982), without generalisation:
        every
    occurrence of a block is typed by itself, and recursion is monomorphic.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()).output
        float32
    """
    root = as_block(block, "the block to infer")
    with collector_paused():
        run = Inference(float_type)
        node = run.build(root, None if input is None else T.as_type(input))
        run.solve(node, given=input is not None)
        return run.finish()


class Inference:
    """The state of one inference."""

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self.solver = Solver()
        self.nodes: list[Node] = []
        self.todo: list[tuple[Any, ...]] = []
        self.knots: dict[int, list[Node]] = {}
        self.components = Components()
        self.groups: dict[int, list[Token]] = {}
        self.inner: set[int] = set()
        self.layers: dict[int, Node] = {}
        self.unasked: deque[Node] = deque()  # layers whose own word on their output was not asked for yet
        self.traces: dict[Any, Any] = {}
        self.containers = Containers()

    # First pass

    def build(self, block: Block[Any, Any], input: T.Type | None) -> Node:
        """Makes nodes and constraints for the expression."""
        start, end = Var(), Var()
        self.enter(None, block, start, end, "")
        todo = self.todo
        first = True
        while todo:
            task = todo.pop()
            if len(task) == 2:  # a recursive block is left, or a group of them
                for token in task[0]:
                    self.knots[id(token)].pop()
                self.groups.pop(task[1], None)
                continue
            parent, form, source, result, word = task
            if form.name is not None and form.parts:
                word = f"{word} > {form.name}" if word else form.name
            node = Node(form, source, result, Path(parent.path if parent is not None else None, word))
            self.nodes.append(node)
            if parent is not None:
                parent.parts.append(node)
            if first and input is not None:
                given = Var(self.floats(input))
                self.solver.join(given, start, Joined("given", node, 0))
            first = False
            mark = len(todo)
            try:
                handler(form)(self, node)
            except (Clash, ArrowTypeError, ArrowValueError) as error:
                self.solver.failures.append((Refusal(node), error))
            todo[mark:] = todo[mark:][::-1]
        return self.nodes[0]

    def enter(self, parent: Node | None, form: Block[Any, Any], source: Var, result: Var, word: str) -> None:
        """Plans a node; nodes planned together are made in the order of planning."""
        self.todo.append((parent, form, source, result, word))

    def floats(self, t: T.Type) -> T.Type:
        """The type under the run's `float_type`."""
        return t if self.float_type is None else T.with_float(t, self.float_type)

    def expect(self, rule: Rule, *watched: Var) -> None:
        """A rule of a block that goes over a container."""
        self.solver.add(rule, *watched)
        self.containers.add(rule)

    # Second pass

    def solve(self, root: Node, given: bool = False) -> None:
        """Solves the constraints; `given`: an input was assumed.

        Raises:
            ArrowTypeError: they contradict one another.
        """
        solver = self.solver
        solver.drain()
        if not given and find(root.input).head is None and (reader := object_reader(root.input)) is not None:
            solver.assign(root.input, INPUT, reader)
        while True:
            solver.drain()
            if solver.failures:
                raise explain.failure(self.nodes, *solver.failures[0])
            if solver.settle_one("certain"):
                continue
            if solver.settle_one("forward"):
                continue
            if self.containers.settle(solver):
                continue
            if find(root.input).head is None:
                solver.assign(root.input, INPUT, ASSUMED)
                self.containers.again()
                continue
            if solver.settle_one("backward") or solver.settle_one("undecided"):
                continue
            if self.settle_default():
                continue
            if (part := open_part(root.input)) is None:
                return
            solver.assign(part, INPUT, ASSUMED)

    def settle_default(self) -> bool:
        """Takes one layer at its word about its output, where nothing else settles it."""
        while self.unasked:
            node = self.unasked.popleft()
            assert isinstance(node.form, Layer)
            known = node.form.default_output() if find(node.output).head is None else None
            if known is not None:
                self.solver.assign(node.output, self.floats(known), node)
                return True
        return False

    # Third pass

    def finish(self) -> Typed:
        """The typed tree.

        Raises:
            ArrowTypeError: a type stays open, or a last check fails.
        """
        for node in self.nodes:
            if ground(node.input) is None or ground(node.output) is None:
                error = explain.still_open(self.nodes)
                error.unresolved = True
                raise error
        if (loop := endless(self.nodes)) is not None:
            raise explain.without_end(loop)
        metrics: dict[str, tuple[T.Type, Node]] = {}
        for node in self.nodes:
            final_check(node, metrics)
        typed: dict[int, Typed] = {}
        knots: dict[int, Knot] = {}
        for node in self.nodes:
            if node.knot is node:
                knots[id(node)] = Knot(node.form.label, id(node) not in self.inner)
        for node in reversed(self.nodes):
            inside = tuple([typed.pop(id(p)) for p in node.parts])
            knot = knots[id(node.knot)] if node.knot is not None else None
            source, result = ground(node.input), ground(node.output)
            assert source is not None and result is not None
            parts = () if knot is not None else inside
            made = Typed(node.form, source, result, parts, node.trace, knot, node.path)
            if knot is not None and node.knot is node:
                knot.input, knot.output, knot.body, knot.fix = source, result, inside[0], made
            typed[id(node)] = made
        return typed[id(self.nodes[0])]
