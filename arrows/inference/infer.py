"""Inference: from a block to its typed tree.

Three passes, none of which recurses. The first walks the expression and makes, for every occurrence, a node
with a variable for its input and one for its result, and the constraints of its form. The second solves them
(`typesys.unify`): types flow both ways, a function is traced as soon as its input is known, and what is still
open when nothing moves any more is settled in a fixed order, conversions last. The third builds the typed
tree.

An occurrence is a block on a value. The same block object that stands at several places, and reads the same
value there, is one occurrence, unless it has an effect: a `Metric`, a `Tap`, a random operation. Each case of
a choice, each element and each body of a recursion has values of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from arrows.combinators import AnyBlock, Layer, Token, as_block, core_form
from arrows.inference import explain
from arrows.inference.constraints import CONSTRAINTS, INPUT
from arrows.inference.containers import Containers, object_reader, open_part
from arrows.inference.endless_recursion import endless
from arrows.inference.explain_size import too_large, too_wide
from arrows.inference.final_checks import final_check
from arrows.inference.occurrences import ASSUMED, CoercionPlace, Leave, Occurrence, Refusal
from arrows.inference.recursion_groups import Components
from arrows.inference.repeats import Around, outermost_first, written_out
from arrows.inference.rules import TypeRule
from arrows.inference.typed import Knot, Path, Typed
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.runtime import gc_paused
from arrows.typesys.terms import MAX_PARTS, Clash, TypeVariable, find, ground
from arrows.typesys.unify import Solver

# How many occurrences an expression may have: so many take seconds to write down and a gigabyte.
_MOST_PLACES = 500_000
_FAR_LONGER = 4


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
    given = None if input is None else T.as_type(input)
    with gc_paused():
        run = Inference(root, float_type)
        typed = run.infer(given)
        random = run.random()
        if not (run.repeats and random):
            return typed
        # Masks are drawn by the numbers of sites and nodes. They stay what they are if all places are written
        # out; what would get far longer by that is written once, all but what is random.
        far_longer = written_out(run.nodes) > _FAR_LONGER * len(run.nodes)
        apart = random if far_longer else None
        return Inference(root, float_type, apart, run.traces).infer(given)


def _path(parent: Occurrence | None, form: AnyBlock, word: str) -> Path:
    if form.name is not None and form.parts:
        word = f"{word} > {form.name}" if word else form.name
    return Path(parent.path if parent is not None else None, word)


class Inference:
    """The state of one inference.

    Args:
        root: the block.
        float_type: see `infer`.
        apart: identities of blocks that have an effect, besides those that say so; None: no places are one.
        traces: those of a run before.

    Attributes:
        nodes: the occurrences, each before its parts.
        repeats: whether some occurrence stands at several places.
    """

    def __init__(
        self,
        root: AnyBlock,
        float_type: str | None,
        apart: AbstractSet[int] | None = frozenset(),
        traces: dict[Any, Any] | None = None,
    ) -> None:
        self.root = root
        self.float_type = float_type
        self.apart = apart
        self.repeats = False
        self.solver = Solver()
        self.nodes: list[Occurrence] = []
        self.todo: list[Occurrence | Leave] = []
        self.at: dict[tuple[int, int], Occurrence] = {}  # by block and by value that it reads
        self.tuples: dict[tuple[int, ...], tuple[object, Sequence[object]]] = {}
        self.knots: dict[int, list[Occurrence]] = {}
        self.components = Components()
        self.groups: dict[int, list[Token]] = {}
        self.inner: set[int] = set()
        self.layers: dict[int, Occurrence] = {}
        self.unasked: deque[Occurrence] = (
            deque()
        )  # layers whose own word on their output was not asked for yet
        self.traces: dict[Any, Any] = traces if traces is not None else {}
        self.containers = Containers()
        self._effects: set[int] | None = None

    def infer(self, input: T.Type | None) -> Typed:
        """The typed tree; see `infer`."""
        self.build(input)
        self.solve(self.nodes[0], given=input is not None)
        return self.finish()

    # First pass

    def build(self, input: T.Type | None) -> None:
        """Makes nodes and constraints for the expression."""
        todo = self.todo
        root = Occurrence(self.root, object(), TypeVariable(), TypeVariable(), _path(None, self.root, ""))
        todo.append(root)
        if input is not None:
            self.solver.coerce(TypeVariable(self.floats(input)), root.input, CoercionPlace("given", root, 0))
        while todo:
            node = todo.pop()
            if isinstance(node, Leave):
                for token in node.tokens:
                    self.knots[id(token)].pop()
                if node.group is not None:
                    self.groups.pop(node.group)
                continue
            if node.entered:
                continue
            node.entered = True
            self.nodes.append(node)
            if len(self.nodes) > _MOST_PLACES:
                raise too_large(node, _MOST_PLACES)
            mark = len(todo)
            try:
                CONSTRAINTS[core_form(node.form)](self, node)
            except (Clash, ArrowTypeError, ArrowValueError) as error:
                self.solver.failures.append((Refusal(node), error))
            todo[mark:] = todo[mark:][::-1]
        if self.repeats:
            self.nodes = outermost_first(root)

    def enter(
        self,
        parent: Occurrence,
        form: AnyBlock,
        given: TypeVariable,
        joined: CoercionPlace | None,
        word: str,
        *,
        value: object = None,
        result: TypeVariable | None = None,
    ) -> Occurrence:
        """The node of a part; new ones are entered in the order of planning.

        Args:
            parent: the node around it.
            form: the part.
            given: the type of what it gets.
            joined: where this passes to it; None if it is its input.
            word: the last stretch of the way to it.
            value: which value it gets; None: one that no other part gets.
            result: the type of what it gives, if there is a variable for it.
        """
        if value is None:
            value = object()
        key = id(form), id(value)
        node = self.at.get(key)
        if node is None or self.alone(form):
            source = given if joined is None else TypeVariable()
            if joined is not None:
                self.solver.coerce(given, source, joined)
            node = self.at[key] = Occurrence(
                form, value, source, result or TypeVariable(), _path(parent, form, word)
            )
        else:
            self.repeats = True
            node.places += 1
            if result is not None:
                self.solver.unify(node.output, result)
            if not node.entered:  # it was planned for a later place
                node.path = _path(parent, form, word)
        parent.parts.append(node)
        self.todo.append(node)
        return node

    def tuple_of(self, values: Sequence[object]) -> object:
        """Which value the tuple of some values is."""
        return self.tuples.setdefault(tuple(map(id, values)), (object(), values))[0]

    def alone(self, form: AnyBlock) -> bool:
        """Whether a block is another occurrence at each place."""
        if self.apart is None:
            return True
        if self._effects is None:
            apart = self.apart
            self._effects = Around(self.root).those_with(lambda block: block.effect or id(block) in apart)
        return id(form) in self._effects

    def random(self) -> set[int]:
        """The identities of the blocks that draw random numbers."""
        return {
            id(node.form)
            for node in self.nodes
            if node.trace is not None and node.trace.dropout_key is not None
        }

    def floats(self, t: T.Type) -> T.Type:
        """The type under the run's `float_type`."""
        return t if self.float_type is None else T.with_float(t, self.float_type)

    def expect(self, rule: TypeRule, *watched: TypeVariable) -> None:
        """A rule of a block that goes over a container."""
        self.solver.add(rule, *watched)
        self.containers.add(rule)

    # Second pass

    def solve(self, root: Occurrence, given: bool = False) -> None:
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
            output = ground(node.output)
            if output is None or ground(node.input) is None:
                error = explain.still_open(self.nodes)
                error.unresolved = True
                raise error
            if output.width > MAX_PARTS:
                raise too_wide(node, output.width)
        if (loop := endless(self.nodes)) is not None:
            raise explain.without_end(loop)
        metrics: dict[str, tuple[T.Type, Occurrence]] = {}
        for node in self.nodes:
            final_check(node, metrics)
        typed: dict[int, Typed] = {}
        knots: dict[int, Knot] = {}
        for node in self.nodes:
            if node.knot is node:
                knots[id(node)] = Knot(node.form.label, id(node) not in self.inner)
        for node in reversed(self.nodes):
            inside = tuple([typed[id(p)] for p in node.parts])
            knot = knots[id(node.knot)] if node.knot is not None else None
            source, result = ground(node.input), ground(node.output)
            assert source is not None and result is not None
            parts = () if knot is not None else inside
            made = Typed(node.form, source, result, parts, node.trace, knot, node.path, node.places)
            if knot is not None and node.knot is node:
                knot.input, knot.output, knot.body, knot.fix = source, result, inside[0], made
            typed[id(node)] = made
        return typed[id(self.nodes[0])]
