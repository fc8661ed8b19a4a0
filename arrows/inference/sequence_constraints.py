"""The constraints of the forms over sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arrows.combinators import Broadcast, Fold, Length, Map, Nth, Reduce, Scan, Unroll, Zip
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.rules import FoldRule, MapRule
from arrows.inference.sequence_rules import LengthRule, NthRule, OutputRule, StartRule, UnrollRule, ZipRule
from arrows.typesys import types as T
from arrows.typesys.terms import TypeVariable

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def _map(run: Inference, node: Occurrence) -> None:
    source = TypeVariable()
    entered = run.enter(node, node.form.parts[0], source, None, "element")
    run.expect(MapRule(node, source, entered.output), node.input, node.output)


def _fold(run: Inference, node: Occurrence) -> None:
    solver = run.solver
    pair, step, start_in, start = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    element = TypeVariable()
    solver.coerce(TypeVariable(T.Void()), start_in, CoercionPlace("start", node, 1))
    solver.coerce(start, node.output, CoercionPlace("start state", node, 1))
    solver.coerce(solver.make("tuple", [node.output, element]), pair, CoercionPlace("fold", node, 0))
    solver.coerce(step, node.output, CoercionPlace("state", node, 0))
    run.expect(FoldRule(node, element), node.input)
    run.enter(node, node.form.parts[0], pair, None, "step", result=step)
    run.enter(node, node.form.parts[1], start_in, None, "start", result=start)


def _scan(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Scan)
    solver = run.solver
    pair, step, start_in, start = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    element, state, output = TypeVariable(), TypeVariable(), TypeVariable()
    solver.bind(node.output, "tuple", [solver.make("sequence", [output]), state], None, node, None)
    container = node.input
    if node.form.start_from_input:
        container = TypeVariable()
        run.expect(StartRule(node, container, start_in), node.input)
    else:
        solver.coerce(TypeVariable(T.Void()), start_in, CoercionPlace("start", node, 1))
    solver.coerce(start, state, CoercionPlace("start of scan", node, 1))
    solver.coerce(solver.make("tuple", [element, state]), pair, CoercionPlace("scan", node, 0))
    if node.form.by_state:
        solver.coerce(step, state, CoercionPlace("state of scan", node, 0))
        solver.add(OutputRule(node, state, output), state)
    else:
        solver.coerce(step, solver.make("tuple", [output, state]), CoercionPlace("state of scan", node, 0))
    run.expect(FoldRule(node, element, container), container)
    run.enter(node, node.form.step, pair, None, "cell" if node.form.by_state else "step", result=step)
    run.enter(node, node.form.start, start_in, None, "start", result=start)


def _zip(run: Inference, node: Occurrence) -> None:
    run.expect(ZipRule(node), node.input)


def _broadcast(run: Inference, node: Occurrence) -> None:
    run.solver.bind(node.output, "broadcast", [node.input], None, node, None)


def _reduce(run: Inference, node: Occurrence) -> None:
    solver = run.solver
    pair, combined, nothing, default = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    run.expect(FoldRule(node, node.output), node.input)
    solver.coerce(solver.make("tuple", [node.output, node.output]), pair, CoercionPlace("pair", node, 0))
    solver.coerce(combined, node.output, CoercionPlace("combined", node, 0))
    solver.coerce(TypeVariable(T.Void()), nothing, CoercionPlace("no default", node, 1))
    solver.coerce(default, node.output, CoercionPlace("default", node, 1))
    run.enter(node, node.form.parts[0], pair, None, "combine", result=combined)
    run.enter(node, node.form.parts[1], nothing, None, "default", result=default)


def _unroll(run: Inference, node: Occurrence) -> None:
    run.solver.add(UnrollRule(node), node.input)


def _length(run: Inference, node: Occurrence) -> None:
    assert isinstance(node.form, Length)
    run.solver.assign(node.output, run.floats(node.form.type), node)
    run.solver.add(LengthRule(node), node.input)


def _nth(run: Inference, node: Occurrence) -> None:
    run.expect(NthRule(node), node.input)


SEQUENCES: dict[type, Callable[[Inference, Occurrence], None]] = {
    Map: _map,
    Fold: _fold,
    Scan: _scan,
    Zip: _zip,
    Broadcast: _broadcast,
    Length: _length,
    Nth: _nth,
    Reduce: _reduce,
    Unroll: _unroll,
}
