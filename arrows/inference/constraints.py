"""The constraints of the forms: each function makes those of one node and plans the nodes of its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arrows.combinators import (
    AnyBlock,
    Apply,
    Choice,
    Constant,
    Fan,
    Fix,
    Graph,
    Item,
    Layer,
    Metric,
    Pipe,
    Read,
    Reference,
    Shared,
    Source,
    Tap,
    Transform,
)
from arrows.inference import explain
from arrows.inference.occurrences import CoercionPlace, Leave, Occurrence
from arrows.inference.rules import ApplyRule, ItemRule, MetricRule
from arrows.inference.sequence_constraints import SEQUENCES
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError
from arrows.typesys.terms import TypeVariable

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

INPUT = T.Input()


def _pipe(run: Inference, node: Occurrence) -> None:
    steps = node.form.parts
    if not steps:
        run.solver.unify(node.input, node.output)
        return
    given, value, joined = node.input, node.value, None
    count = len(steps)
    for i, step in enumerate(steps):
        word = f"step {i + 1} of {count}" if count > 1 else ""
        result = node.output if i == count - 1 else None
        before = run.enter(node, step, given, joined, word, value=value, result=result)
        given, value, joined = before.output, before, CoercionPlace("step", node, i + 1)


def _fan(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Fan)
    labels = node.form.labels
    count = len(node.form.parts)
    results = []
    for i, part in enumerate(node.form.parts):
        word = f"part {i + 1} of {count}" if labels is None else f"field {labels[i]!r}"
        entered = run.enter(node, part, node.input, CoercionPlace("part", node, i), word, value=node.value)
        results.append(entered.output)
    run.solver.bind(node.output, "tuple", results, labels, node, None)


def _graph(run: Inference, node: Occurrence) -> None:
    form = node.form
    assert isinstance(form, Graph)
    wires = [(node.input, node.value)]
    for j, (call, block) in enumerate(zip(form.nodes, form.parts, strict=True)):
        word = block.kind if block.name is None or block.parts else block.name
        line = call.site.line
        given, value = _wires(run, call.source, wires)
        joined = CoercionPlace("call", node, j)
        entered = run.enter(
            node, block, given, joined, f"{word} in line {line}" if line else word, value=value
        )
        wires.append((entered.output, entered))
    run.solver.unify(node.output, _wires(run, form.output, wires)[0])


def _wires(
    run: Inference, source: Source, wires: list[tuple[TypeVariable, object]]
) -> tuple[TypeVariable, object]:
    """The type of what is read, and which value it is."""
    if isinstance(source, int):
        return wires[source]
    done: list[tuple[TypeVariable, object]] = []
    todo: list[tuple[Source, bool]] = [(source, False)]
    while todo:
        x, ready = todo.pop()
        if isinstance(x, int):
            done.append(wires[x])
        elif ready:
            items = done[len(done) - len(x) :]
            del done[len(done) - len(x) :]
            together = run.solver.make("tuple", [var for var, _ in items])
            done.append((together, run.tuple_of([value for _, value in items])))
        else:
            todo.append((x, True))
            todo.extend((item, False) for item in reversed(x))
    return done[0]


def _choice(run: Inference, node: Occurrence) -> None:
    form = node.form
    assert isinstance(form, Choice)
    solver = run.solver
    if form.key_block is None:
        solver.assign(node.input, INPUT, node)
    else:
        joined = CoercionPlace("key input", node, 0)
        key = run.enter(node, form.key_block, node.input, joined, "key", value=node.value)
        solver.coerce(key.output, TypeVariable(INPUT), CoercionPlace("key", node, 0))
    shift = 0 if form.key_block is None else 1
    optional = form.kind == "Optional"
    for i, case in enumerate(form.cases):
        word = ("not None", "None")[i] if optional else repr(form.keys[i])
        entered = run.enter(node, case, node.input, CoercionPlace("case", node, i + shift), f"case {word}")
        solver.coerce(entered.output, node.output, CoercionPlace("result", node, i + shift))


def _fix(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Fix)
    token = node.form.token
    _knot(run, node, node.form.body, "")
    run.knots.setdefault(id(token), []).append(node)
    run.todo.append(Leave([token]))


def _reference(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Reference)
    token = node.form.token
    around = run.knots.get(id(token))
    if around:
        node.knot = around[-1]
        run.solver.unify(node.input, node.knot.input)
        run.solver.unify(node.output, node.knot.output)
        return
    if token.definition is None:
        raise ArrowTypeError(explain.loose_reference(node))
    # The first occurrence of a defined reference is its knot. All knots whose definitions refer to one
    # another stay open until the outermost of them is left, so that no definition is entered twice.
    group = run.components.of(token.definition)
    opened = run.groups.get(group)
    _knot(run, node, token.definition, token.name)
    run.knots.setdefault(id(token), []).append(node)
    for declared, var in ((token.input, node.input), (token.output, node.output)):
        if declared is not None:
            run.solver.assign(var, run.floats(declared), node)
    if opened is None:
        run.groups[group] = [token]
        run.todo.append(Leave(run.groups[group], group))
    else:
        opened.append(token)
        run.inner.add(id(node))


def _knot(run: Inference, node: Occurrence, body: AnyBlock, word: str) -> None:
    """Ties a knot: the body's result is what the whole gives."""
    node.knot = node
    entered = run.enter(node, body, node.input, None, word)
    run.solver.coerce(entered.output, node.output, CoercionPlace("body", node, 0))


def _apply(run: Inference, node: Occurrence) -> None:
    form = node.form
    assert isinstance(form, Apply)
    if isinstance(form, Layer):
        # A layer has one input type in a model: all its places are one variable.
        first = run.layers.setdefault(id(form), node)
        if first is node:
            run.unasked.append(node)
        else:
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


def _constant(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Constant)
    if node.form.type is not None:
        run.solver.assign(node.output, run.floats(node.form.type), node)
    if node.form.trainable:
        node.trace = run.traces.get(id(node.form))
        if node.trace is None:
            from arrows import ops

            node.trace = ops.trace(node.form.parameter, T.Tuple(()), float_type=run.float_type)
            run.traces[id(node.form)] = node.trace


def _read(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Read)
    run.solver.assign(node.input, INPUT, node)
    run.solver.assign(node.output, run.floats(node.form.type), node)


def _transform(run: Inference, node: Occurrence) -> None:
    run.solver.assign(node.input, INPUT, node)
    run.solver.assign(node.output, INPUT, node)


def _item(run: Inference, node: Occurrence) -> None:
    run.expect(ItemRule(node), node.input)


def _metric(run: Inference, node: Occurrence) -> None:
    run.solver.assign(node.output, T.Void(), node)
    run.solver.add(MetricRule(node), node.input)


def _tap(run: Inference, node: Occurrence) -> None:
    run.solver.unify(node.input, node.output)


def _shared(run: Inference, node: Occurrence) -> None:
    run.solver.assign(node.input, INPUT, node)
    run.enter(node, node.form.parts[0], node.input, None, "shared", result=node.output)


CONSTRAINTS: dict[type, Callable[[Inference, Occurrence], None]] = {
    Pipe: _pipe,
    Fan: _fan,
    Graph: _graph,
    Choice: _choice,
    Fix: _fix,
    Reference: _reference,
    **SEQUENCES,
    Apply: _apply,
    Constant: _constant,
    Read: _read,
    Transform: _transform,
    Item: _item,
    Metric: _metric,
    Tap: _tap,
    Shared: _shared,
}
