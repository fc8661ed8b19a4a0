"""Inference: from a block to its typed tree.

Three passes, none of which recurses. The first walks the expression and makes, for every occurrence, a node
with a variable for its input and one for its result, and the constraints of its form. The second solves them
(`typesys.unify`): types flow both ways, a function is traced as soon as its input is known, and what is still
open when nothing moves any more is settled in a fixed order, conversions last. The third builds the typed
tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrows.combinators import explain
from arrows.combinators.apply import Apply
from arrows.combinators.block import Block
from arrows.combinators.choice import Choice
from arrows.combinators.compose import Pipe
from arrows.combinators.constant import Constant
from arrows.combinators.convert import as_block
from arrows.combinators.effects import Metric, Shared
from arrows.combinators.fanout import Fan
from arrows.combinators.inputs import Item, Read, Transform
from arrows.combinators.layer import Layer
from arrows.combinators.nodes import Joined, Node, Refusal
from arrows.combinators.notation import Graph
from arrows.combinators.recursion import Fix, Reference
from arrows.combinators.rules import ApplyRule, FoldRule, ItemRule, MapRule, MetricRule, final_check
from arrows.combinators.scans import Scan
from arrows.combinators.sequence_rules import OutputRule, ZipRule
from arrows.combinators.sequences import Fold, Map
from arrows.combinators.typed import Knot, Path, Typed
from arrows.combinators.wires import Source
from arrows.combinators.zips import Zip
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.terms import Clash, Var, find, ground
from arrows.typesys.unify import Solver

INPUT = T.Input()


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
    run = _Run(float_type)
    node = run.build(root, None if input is None else T.as_type(input))
    run.solve(node)
    return run.finish()


class _Run:
    """The state of one inference."""

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self.solver = Solver()
        self.nodes: list[Node] = []
        self.todo: list[tuple[Any, ...]] = []
        self.knots: dict[int, list[Node]] = {}
        self.layers: dict[int, Node] = {}
        self.traces: dict[Any, Any] = {}
        self.maps: list[MapRule] = []

    # First pass

    def build(self, block: Block[Any, Any], input: T.Type | None) -> Node:
        """Makes nodes and constraints for the expression."""
        start, end = Var(), Var()
        self.enter(None, block, start, end, "")
        todo = self.todo
        first = True
        while todo:
            task = todo.pop()
            if len(task) == 1:  # a recursive block is left
                self.knots[id(task[0])].pop()
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
                _handler(form)(self, node)
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

    # Second pass

    def solve(self, root: Node) -> None:
        """Solves the constraints.

        Raises:
            ArrowTypeError: they contradict one another.
        """
        solver = self.solver
        while True:
            solver.drain()
            if solver.failures:
                raise explain.failure(self.nodes, *solver.failures[0])
            if solver.settle_one("certain"):
                continue
            if solver.settle_one("forward"):
                continue
            while self.maps and not self.maps[-1].open():
                self.maps.pop()
            if self.maps and self.maps.pop().default(solver):
                continue
            if find(root.input).head is None:
                solver.assign(root.input, INPUT, root)
                continue
            if solver.settle_one("backward") or solver.settle_one("undecided"):
                continue
            if not self.settle_default():
                return

    def settle_default(self) -> bool:
        """Takes one layer at its word about its output, where nothing else settles it."""
        for node in self.layers.values():
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
                raise explain.still_open(self.nodes)
        metrics: dict[str, tuple[T.Type, Node]] = {}
        for node in self.nodes:
            final_check(node, metrics)
        typed: dict[int, Typed] = {}
        knots: dict[int, Knot] = {id(n): Knot(n.form.label) for n in self.nodes if isinstance(n.form, Fix)}
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


# The rules of the forms. Each makes the constraints of one node and plans its parts.


def _pipe(run: _Run, node: Node) -> None:
    steps = node.form.parts
    if not steps:
        run.solver.unify(node.input, node.output)
        return
    source = node.input
    count = len(steps)
    for i, step in enumerate(steps):
        last = i == count - 1
        result = node.output if last else Var()
        run.enter(node, step, source, result, f"step {i + 1} of {count}" if count > 1 else "")
        if not last:
            following = Var()
            run.solver.join(result, following, Joined("step", node, i + 1))
            source = following


def _fan(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Fan)
    labels = node.form.labels
    count = len(node.form.parts)
    results = []
    for i, part in enumerate(node.form.parts):
        source, result = Var(), Var()
        run.solver.join(node.input, source, Joined("part", node, i))
        results.append(result)
        word = f"part {i + 1} of {count}" if labels is None else f"field {labels[i]!r}"
        run.enter(node, part, source, result, word)
    run.solver.bind(node.output, "tuple", results, labels, node, None)


def _graph(run: _Run, node: Node) -> None:
    form = node.form
    assert isinstance(form, Graph)
    wires = [node.input]
    sources = []
    for j, call in enumerate(form.nodes):
        sources.append(Var())
        run.solver.join(_wires(run.solver, call.source, wires), sources[j], Joined("call", node, j))
        wires.append(Var())
    for j, block in enumerate(form.parts):
        word = block.kind if block.name is None or block.parts else block.name
        line = form.nodes[j].site.line
        run.enter(node, block, sources[j], wires[j + 1], f"{word} in line {line}" if line else word)
    run.solver.unify(node.output, _wires(run.solver, form.output, wires))


def _wires(solver: Solver, source: Source, wires: list[Var]) -> Var:
    if isinstance(source, int):
        return wires[source]
    done: list[Var] = []
    todo: list[tuple[Source, bool]] = [(source, False)]
    while todo:
        x, ready = todo.pop()
        if isinstance(x, int):
            done.append(wires[x])
        elif ready:
            cut = len(done) - len(x)
            done[cut:] = [solver.make("tuple", done[cut:])]
        else:
            todo.append((x, True))
            todo.extend((item, False) for item in reversed(x))
    return done[0]


def _choice(run: _Run, node: Node) -> None:
    form = node.form
    assert isinstance(form, Choice)
    solver = run.solver
    if form.key_block is None:
        solver.assign(node.input, INPUT, node)
    else:
        source, key = Var(), Var()
        solver.join(node.input, source, Joined("key input", node, 0))
        run.enter(node, form.key_block, source, key, "key")
        solver.join(key, Var(INPUT), Joined("key", node, 0))
    shift = 0 if form.key_block is None else 1
    optional = form.kind == "Optional"
    for i, case in enumerate(form.cases):
        source, result = Var(), Var()
        solver.join(node.input, source, Joined("case", node, i + shift))
        word = ("not None", "None")[i] if optional else repr(form.keys[i])
        run.enter(node, case, source, result, f"case {word}")
        solver.join(result, node.output, Joined("result", node, i + shift))


def _fix(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Fix)
    result = Var()
    node.knot = node
    run.knots.setdefault(id(node.form.token), []).append(node)
    run.enter(node, node.form.body, node.input, result, "")
    run.solver.join(result, node.output, Joined("body", node, 0))
    run.todo.append((node.form.token,))


def _reference(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Reference)
    around = run.knots.get(id(node.form.token))
    if not around:
        raise ArrowTypeError(explain.loose_reference(node))
    node.knot = around[-1]
    run.solver.unify(node.input, node.knot.input)
    run.solver.unify(node.output, node.knot.output)


def _map(run: _Run, node: Node) -> None:
    source, result = Var(), Var()
    rule = MapRule(node, source, result)
    run.enter(node, node.form.parts[0], source, result, "element")
    run.solver.add(rule, node.input, node.output)
    run.maps.append(rule)


def _fold(run: _Run, node: Node) -> None:
    solver = run.solver
    pair, step, start_in, start = Var(), Var(), Var(), Var()
    element = Var()
    solver.join(Var(T.Void()), start_in, Joined("start", node, 1))
    solver.join(start, node.output, Joined("start state", node, 1))
    solver.join(solver.make("tuple", [node.output, element]), pair, Joined("fold", node, 0))
    solver.join(step, node.output, Joined("state", node, 0))
    solver.add(FoldRule(node, element), node.input)
    run.enter(node, node.form.parts[0], pair, step, "step")
    run.enter(node, node.form.parts[1], start_in, start, "start")


def _scan(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Scan)
    solver = run.solver
    pair, step, start_in, start = Var(), Var(), Var(), Var()
    element, state, output = Var(), Var(), Var()
    solver.bind(node.output, "tuple", [solver.make("sequence", [output]), state], None, node, None)
    solver.join(Var(T.Void()), start_in, Joined("start", node, 1))
    solver.join(start, state, Joined("start of scan", node, 1))
    solver.join(solver.make("tuple", [element, state]), pair, Joined("scan", node, 0))
    if node.form.by_state:
        solver.join(step, state, Joined("state of scan", node, 0))
        solver.add(OutputRule(node, state, output), state)
    else:
        solver.join(step, solver.make("tuple", [output, state]), Joined("state of scan", node, 0))
    solver.add(FoldRule(node, element), node.input)
    run.enter(node, node.form.step, pair, step, "cell" if node.form.by_state else "step")
    run.enter(node, node.form.start, start_in, start, "start")


def _zip(run: _Run, node: Node) -> None:
    run.solver.add(ZipRule(node), node.input)


def _apply(run: _Run, node: Node) -> None:
    form = node.form
    assert isinstance(form, Apply)
    if isinstance(form, Layer):
        # A layer has one input type in a model: all its places are one variable.
        first = run.layers.setdefault(id(form), node)
        if first is not node:
            node.first = first
            run.solver.unify(node.input, first.input)
            run.solver.unify(node.output, first.output)
            return
        source, result = form.signature()
        if source is not None:
            run.solver.assign(node.input, run.floats(source), node)
        if result is not None:
            run.solver.assign(node.output, run.floats(result), node)
    run.solver.add(ApplyRule(node, run.float_type, run.traces), node.input)


def _constant(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Constant)
    if node.form.type is not None:
        run.solver.assign(node.output, run.floats(node.form.type), node)


def _read(run: _Run, node: Node) -> None:
    assert isinstance(node.form, Read)
    run.solver.assign(node.input, INPUT, node)
    run.solver.assign(node.output, run.floats(node.form.type), node)


def _transform(run: _Run, node: Node) -> None:
    run.solver.assign(node.input, INPUT, node)
    run.solver.assign(node.output, INPUT, node)


def _item(run: _Run, node: Node) -> None:
    run.solver.add(ItemRule(node), node.input)


def _metric(run: _Run, node: Node) -> None:
    run.solver.assign(node.output, T.Void(), node)
    run.solver.add(MetricRule(node), node.input)


def _shared(run: _Run, node: Node) -> None:
    run.solver.assign(node.input, INPUT, node)
    run.enter(node, node.form.parts[0], node.input, node.output, "shared")


_HANDLERS: dict[type, Callable[[_Run, Node], None]] = {
    Pipe: _pipe,
    Fan: _fan,
    Graph: _graph,
    Choice: _choice,
    Fix: _fix,
    Reference: _reference,
    Map: _map,
    Fold: _fold,
    Scan: _scan,
    Zip: _zip,
    Apply: _apply,
    Constant: _constant,
    Read: _read,
    Transform: _transform,
    Item: _item,
    Metric: _metric,
    Shared: _shared,
}


def _handler(form: Block[Any, Any]) -> Callable[[_Run, Node], None]:
    """The rule of a form: that of its nearest core form."""
    for cls in type(form).__mro__:
        if (found := _HANDLERS.get(cls)) is not None:
            return found
    raise ArrowTypeError(
        f"{form.label} is no core form: a new block is a Layer, a Function, or made of other blocks, "
        "not a class derived from Block itself"
    )
