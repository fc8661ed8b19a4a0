"""`Scan` and `RNN`: a step that gives an output at every element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arrows.combinators import InferredZeros, Scan
from arrows.inference.folds import FoldRule, PairCoercion, StartInputCoercion, two_states
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import items_of, last_of, meet, name_of, path, side_of
from arrows.inference.rules import Misfit, TypeRule, is_no_object, structure_of, type_words
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.errors import message
from arrows.typesys.terms import Clash, TypeVariable, find, ground, notation
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_scan(inference: Inference, scan: Occurrence) -> None:
    form = scan.form
    assert isinstance(form, Scan)
    solver = inference.solver
    pair, step, start_in, start = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    element, state, output = TypeVariable(), TypeVariable(), TypeVariable()
    solver.bind(scan.output, "tuple", [solver.make("sequence", [output]), state], None, scan, None)
    container = scan.input
    if form.start_from_input:
        container = TypeVariable()
        inference.expect(StartRule(scan, container, start_in), scan.input)
    else:
        solver.coerce(TypeVariable(T.Void()), start_in, StartInputCoercion(scan, 1))
    solver.coerce(start, state, ScanStateCoercion(scan, 1))
    solver.coerce(solver.make("tuple", [element, state]), pair, PairCoercion(scan, 0))
    if form.by_state:
        solver.coerce(step, state, ScanStateCoercion(scan, 0))
        solver.add(OutputRule(scan, state, output), state)
    else:
        solver.coerce(step, solver.make("tuple", [output, state]), ScanStateCoercion(scan, 0))
    inference.expect(FoldRule(scan, element, container), container)
    inference.enter(scan, form.step, pair, None, "cell" if form.by_state else "step", result=step)
    inference.enter(scan, form.start, start_in, None, "start", result=start)


class OutputRule(TypeRule):
    """`RNN`: the output is the state, and of a tuple its first item."""

    __slots__ = ("output", "state")

    def __init__(self, occurrence: Occurrence, state: TypeVariable, output: TypeVariable) -> None:
        super().__init__(occurrence)
        self.state = state
        self.output = output

    def run(self, solver: Solver) -> None:
        v = find(self.state)
        if self.done or v.head is None:
            return
        self.done = True
        if structure_of(v) != "tuple":
            solver.unify(self.output, v)
            return
        items = solver.view(v).args
        if not items:
            raise Misfit(
                "the output at an element is the first item of the state, "
                "and the state of its cell is an empty tuple",
                "for a step with outputs of its own use ar.Scan(step, start)",
            )
        solver.unify(self.output, items[0])


class StartRule(TypeRule):
    """`RNN` and `Scan` whose input is the pair of a sequence and a start."""

    __slots__ = ("pair",)

    def __init__(self, occurrence: Occurrence, container: TypeVariable, start: TypeVariable) -> None:
        super().__init__(occurrence)
        self.pair = [container, start]

    def run(self, solver: Solver) -> None:
        v = find(self.occurrence.input)
        if self.done or v.head is None:
            return
        self.done = True
        items = solver.view(v).args if structure_of(v) == "tuple" else None
        if items is None or len(items) != 2:
            actual = type_words(v) if items is None else f"a tuple of {len(items)}"
            raise Misfit(
                f"with start_from_input it takes the pair of a sequence and a start, and it gets {actual}",
                "put them side by side first: (sequence & start) >> "
                f"ar.{self.occurrence.form.kind}(..., start_from_input=True)",
            )
        for part, item in zip(self.pair, items, strict=True):
            solver.unify(part, item)

    def default(self, solver: Solver) -> bool:
        if find(self.occurrence.input).head is not None or not any(is_no_object(v) for v in self.pair):
            return False
        solver.bind(self.occurrence.input, "tuple", self.pair, None, self.occurrence, None)
        return True


class ScanStateCoercion(CoercionPlace):
    """The result of the start, or of the step, becomes the state of a `Scan`."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        scan, form = self.owner, self.owner.form
        assert isinstance(form, Scan)
        step, start = scan.parts
        result = find(step.output)
        if not form.by_state and result.head is not None:
            items = items_of(result)
            if len(items) != 2:
                return _no_pair(step, result)
            result = items[1]
        if isinstance(start.form, InferredZeros):
            # The first state is made up from what the cell gives: the cell alone is at odds with itself.
            return meet(
                f"cannot repeat {name_of(last_of(step))} in {name_of(scan)}",
                None,
                last_of(step),
                clash.left,
                clash.right,
                step,
                left_name="the state",
                left_site=form.site,
                hint="a cell must give a state of the type that it takes",
            )
        first = find(start.output)
        if form.start_from_input:
            return meet(
                f"cannot start {name_of(scan)} from item 1 of its input",
                None,
                last_of(step),
                first,
                result if result.head is not None else clash.right,
                step,
                results=result.head is not None,
                left_name="item 1",
                left_site=form.site,
                hint="the start in the input and every step must give a state of the same type",
            )
        if first.head is not None and result.head is not None:
            return two_states(scan, "scan", first, result)
        return two_states(scan, "scan", clash.left, clash.right)


def _no_pair(step: Occurrence, result: TypeVariable) -> ArrowTypeError:
    """A step of a `Scan` that does not give an output and a state."""
    return ArrowTypeError(
        message(
            f"cannot scan with {name_of(last_of(step))}",
            [side_of(last_of(step))],
            path(step),
            f"the step of a Scan must give a pair, an output and the next state, not {notation(result)}",
            "for a cell that gives its state alone use ar.RNN(cell)",
        )
    )


def open_state(occurrences: Sequence[Occurrence], culprit: Occurrence) -> ArrowTypeError | None:
    """The error of an RNN whose state has no type; None if that is not what stays open."""
    scan = next((x for x in occurrences if isinstance(x.form, Scan) and culprit in x.parts), None)
    if scan is None:
        return None
    cell, start = scan.parts
    if not isinstance(start.form, InferredZeros) or ground(start.output) is not None:
        return None
    return ArrowTypeError(
        message(
            f"cannot infer the state of {name_of(scan)}",
            [side_of(scan)],
            path(scan),
            f"{name_of(cell)} does not say the type of its state before it is given one, and an RNN without "
            "a start has none to give",
            "say what it starts from: ar.RNN(cell, ar.Zeros(type))",
        )
    )
