"""The constraints of the forms over sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arrows.combinators.elements import Broadcast, Length, Nth, Unroll
from arrows.combinators.scans import Scan
from arrows.combinators.sequences import Fold, Map, Reduce
from arrows.combinators.zips import Zip
from arrows.inference.occurrences import Joined, Node
from arrows.inference.rules import FoldRule, MapRule
from arrows.inference.sequence_rules import LengthRule, NthRule, OutputRule, StartRule, UnrollRule, ZipRule
from arrows.typesys import types as T
from arrows.typesys.terms import Var

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def _map(run: Inference, node: Node) -> None:
    source = Var()
    entered = run.enter(node, node.form.parts[0], source, None, "element")
    run.expect(MapRule(node, source, entered.output), node.input, node.output)


def _fold(run: Inference, node: Node) -> None:
    solver = run.solver
    pair, step, start_in, start = Var(), Var(), Var(), Var()
    element = Var()
    solver.join(Var(T.Void()), start_in, Joined("start", node, 1))
    solver.join(start, node.output, Joined("start state", node, 1))
    solver.join(solver.make("tuple", [node.output, element]), pair, Joined("fold", node, 0))
    solver.join(step, node.output, Joined("state", node, 0))
    run.expect(FoldRule(node, element), node.input)
    run.enter(node, node.form.parts[0], pair, None, "step", result=step)
    run.enter(node, node.form.parts[1], start_in, None, "start", result=start)


def _scan(run: Inference, node: Node) -> None:
    assert isinstance(node.form, Scan)
    solver = run.solver
    pair, step, start_in, start = Var(), Var(), Var(), Var()
    element, state, output = Var(), Var(), Var()
    solver.bind(node.output, "tuple", [solver.make("sequence", [output]), state], None, node, None)
    container = node.input
    if node.form.start_from_input:
        container = Var()
        run.expect(StartRule(node, container, start_in), node.input)
    else:
        solver.join(Var(T.Void()), start_in, Joined("start", node, 1))
    solver.join(start, state, Joined("start of scan", node, 1))
    solver.join(solver.make("tuple", [element, state]), pair, Joined("scan", node, 0))
    if node.form.by_state:
        solver.join(step, state, Joined("state of scan", node, 0))
        solver.add(OutputRule(node, state, output), state)
    else:
        solver.join(step, solver.make("tuple", [output, state]), Joined("state of scan", node, 0))
    run.expect(FoldRule(node, element, container), container)
    run.enter(node, node.form.step, pair, None, "cell" if node.form.by_state else "step", result=step)
    run.enter(node, node.form.start, start_in, None, "start", result=start)


def _zip(run: Inference, node: Node) -> None:
    run.expect(ZipRule(node), node.input)


def _broadcast(run: Inference, node: Node) -> None:
    run.solver.bind(node.output, "broadcast", [node.input], None, node, None)


def _reduce(run: Inference, node: Node) -> None:
    solver = run.solver
    pair, combined, nothing, default = Var(), Var(), Var(), Var()
    run.expect(FoldRule(node, node.output), node.input)
    solver.join(solver.make("tuple", [node.output, node.output]), pair, Joined("pair", node, 0))
    solver.join(combined, node.output, Joined("combined", node, 0))
    solver.join(Var(T.Void()), nothing, Joined("no default", node, 1))
    solver.join(default, node.output, Joined("default", node, 1))
    run.enter(node, node.form.parts[0], pair, None, "combine", result=combined)
    run.enter(node, node.form.parts[1], nothing, None, "default", result=default)


def _unroll(run: Inference, node: Node) -> None:
    run.solver.add(UnrollRule(node), node.input)


def _length(run: Inference, node: Node) -> None:
    assert isinstance(node.form, Length)
    run.solver.assign(node.output, run.floats(node.form.type), node)
    run.solver.add(LengthRule(node), node.input)


def _nth(run: Inference, node: Node) -> None:
    run.expect(NthRule(node), node.input)


SEQUENCES: dict[type, Callable[[Inference, Node], None]] = {
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
