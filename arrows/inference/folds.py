"""`Fold`, `Reduce`, `Scan` and `RNN`: blocks that go over elements one after the other, or two by two."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from arrows.combinators import RNN, Fold, InferredZeros, Layer, NoDefault, Reduce, Scan
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import (
    first_of,
    items_of,
    last_of,
    meet,
    name_of,
    problem,
    refused_by_part,
    side_of,
)
from arrows.inference.rules import (
    Misfit,
    StartRule,
    TypeRule,
    explain_element,
    sequence_of,
    spread_elements,
    structure_of,
)
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.terms import Clash, TypeVariable, find, ground, notation
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_fold(inference: Inference, fold: Occurrence) -> None:
    solver = inference.solver
    pair, step, element = TypeVariable(), TypeVariable(), TypeVariable()
    start_in, start = TypeVariable(), TypeVariable()
    container = _container(inference, fold, start_in)
    solver.coerce(start, fold.output, CoercionPlace(fold, 1, _explain_fold_state))
    solver.coerce(solver.make("tuple", [fold.output, element]), pair, CoercionPlace(fold, 0, _explain_pair))
    solver.coerce(step, fold.output, CoercionPlace(fold, 0, _explain_fold_state))
    inference.expect(FoldRule(fold, container, element), container)
    inference.enter(fold, fold.form.parts[0], pair, None, "step", result=step)
    inference.enter(fold, fold.form.parts[1], start_in, None, "start", result=start)


def constrain_reduce(inference: Inference, reduce: Occurrence) -> None:
    solver = inference.solver
    pair, combined, default_in, default = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    inference.expect(FoldRule(reduce, reduce.input, reduce.output), reduce.input)
    neighbours = solver.make("tuple", [reduce.output, reduce.output])
    solver.coerce(neighbours, pair, CoercionPlace(reduce, 0, _explain_neighbours))
    solver.coerce(combined, reduce.output, CoercionPlace(reduce, 0, _explain_reduced))
    solver.coerce(TypeVariable(T.Void()), default_in, CoercionPlace(reduce, 1, _explain_default_input))
    solver.coerce(default, reduce.output, CoercionPlace(reduce, 1, _explain_reduced))
    inference.enter(reduce, reduce.form.parts[0], pair, None, "combine", result=combined)
    inference.enter(reduce, reduce.form.parts[1], default_in, None, "default", result=default)


def constrain_scan(inference: Inference, scan: Occurrence) -> None:
    form = scan.form
    assert isinstance(form, Scan)
    solver = inference.solver
    pair, step, start_in, start = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    element, state, output = TypeVariable(), TypeVariable(), TypeVariable()
    solver.bind(scan.output, "tuple", [solver.make("sequence", [output]), state], None, scan, None)
    container = _container(inference, scan, start_in)
    solver.coerce(start, state, CoercionPlace(scan, 1, _explain_scan_state))
    solver.coerce(solver.make("tuple", [element, state]), pair, CoercionPlace(scan, 0, _explain_pair))
    if form.by_state:
        solver.coerce(step, state, CoercionPlace(scan, 0, _explain_scan_state))
        solver.add(OutputRule(scan, state, output), state)
    else:
        solver.coerce(
            step, solver.make("tuple", [output, state]), CoercionPlace(scan, 0, _explain_scan_state)
        )
    inference.expect(FoldRule(scan, container, element), container)
    inference.enter(scan, form.step, pair, None, "cell" if form.by_state else "step", result=step)
    inference.enter(scan, form.start, start_in, None, "start", result=start)


def _container(inference: Inference, fold: Occurrence, start: TypeVariable) -> TypeVariable:
    """Returns what holds the elements, and says what the block that gives the first state gets as `start`."""
    assert isinstance(fold.form, (Fold, Scan))
    if not fold.form.start_from_input:
        place = CoercionPlace(fold, 1, _explain_start_input)
        inference.solver.coerce(TypeVariable(T.Void()), start, place)
        return fold.input
    container = TypeVariable()
    inference.expect(StartRule(fold, container, start), fold.input)
    return container


_WARNED: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""What Python's filter of warnings remembers, by file: a block is inferred many times, and warns once."""


# Rules that wait for a type


class FoldRule(TypeRule):
    """`Fold`, `Scan` and `Reduce`: passes the elements of the container to the step."""

    __slots__ = ("container", "element")

    def __init__(self, occurrence: Occurrence, container: TypeVariable, element: TypeVariable) -> None:
        super().__init__(occurrence)
        self.container = container
        self.element = element

    def run(self, solver: Solver) -> None:
        v = find(self.container)
        if self.done or v.head is None:
            return
        self.done = True
        form = self.occurrence.form
        if structure_of(v) == "broadcast":
            raise Misfit(
                f"an endless sequence has no last element, so {form.kind} would never end",
                "zip it with a sequence, and go over the result",
            )
        explain = _explain_reduced_element if isinstance(form, Reduce) else explain_element
        place = CoercionPlace(self.occurrence, 0, explain)
        spread_elements(solver, v, self.element, place)

    @property
    def inside(self) -> TypeVariable:
        return self.element

    def default(self, solver: Solver) -> bool:
        return sequence_of(solver, self.occurrence, self.container, self.element)


class OutputRule(TypeRule):
    """`RNN`: the output is the state, or the first item of a state that is a tuple."""

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


def check_fold(inference: Inference, fold: Occurrence) -> None:
    """Warns of a recurrent cell as the step, if types cannot tell that it gets element and state swapped."""
    cell = first_of(fold.parts[0])
    pair, state = ground(cell.input), getattr(cell.form, "state", None)
    if not isinstance(cell.form, Layer) or not isinstance(state, T.Type) or not isinstance(pair, T.Tuple):
        return
    if len(pair.items) != 2 or pair.items[0] != pair.items[1]:
        return
    site, name = fold.form.site, name_of(cell)
    warnings.warn_explicit(
        f"a Fold gives (state, element) to {name}, which takes (element, state), and both are "
        f"{pair.items[0]}: use ar.RNN({name}), or swap them, (ar.GetItem(1) & ar.GetItem(0)) >> {name}; "
        f"if it is meant, (ar.GetItem(0) & ar.GetItem(1)) >> {name} does not warn",
        UserWarning,
        site.file,
        site.line,
        registry=_WARNED.setdefault(site.file, {}),
    )


# Explanations


def _explain_pair(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the pair of element and state, in the order of the form, cannot pass to its step."""
    fold = place.owner
    pair, items = "(state, element)", "the state so far, and the next element"
    if isinstance(fold.form, Scan):
        pair, items = "(element, state)", "the next element, and the state so far"
    role = "cell" if isinstance(fold.form, Scan) and fold.form.by_state else "step"
    attempt = f"cannot give {pair} to {name_of(first_of(place.part))}, the {role} of {name_of(fold)}"
    hint = f"the {role} of {_with_article(fold)} takes a pair: {items}"
    return refused_by_part(place, clash, attempt, pair, hint)


def _explain_start_input(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why a start that wants an input cannot be used: it gets none."""
    fold = place.owner
    word = "fold" if isinstance(fold.form, Fold) else fold.form.kind
    attempt = f"cannot start {name_of(fold)} from {name_of(first_of(place.part))}"
    hint = f"the start of {_with_article(fold)} gets no input: use ar.Zeros(type) or ar.Constant(value)"
    return refused_by_part(place, clash, attempt, f"start of the {word}", hint)


def _explain_fold_state(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the start or of the step cannot be the state of a `Fold`."""
    step, start = place.owner.parts
    return _two_states(place.owner, "fold", find(start.output), find(step.output))


def _explain_neighbours(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why two neighbouring elements cannot pass to the block that combines them."""
    combine, reduce = name_of(first_of(place.part)), name_of(place.owner)
    attempt = f"cannot give (element, element) to {combine}, the combine of {reduce}"
    hint = "the combine of a Reduce takes a pair of elements: two neighbours"
    return refused_by_part(place, clash, attempt, "(element, element)", hint)


def _explain_default_input(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why a default of a `Reduce` that wants an input cannot be used: it gets none."""
    attempt = f"cannot use {name_of(first_of(place.part))} as the default of {name_of(place.owner)}"
    hint = "the default of a Reduce gets no input: use ar.Zeros(type) or ar.Constant(value)"
    return refused_by_part(place, clash, attempt, "without elements", hint)


def _explain_reduced(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the combining block or of the default cannot be that of the `Reduce`."""
    return _other_than_elements(place.owner, find(place.owner.output), place.part)


def _explain_reduced_element(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why an element cannot pass to the block that combines it with its neighbour."""
    if structure_of(find(place.owner.input)) == "tuple":
        return explain_element(place, clash)
    # The type of the result was known before that of the elements, so one of the parts fixed it.
    combine, default = place.owner.parts
    no_default = find(default.output).head is None or isinstance(default.form, NoDefault)
    return _other_than_elements(place.owner, clash.left, combine if no_default else default)


def _other_than_elements(reduce: Occurrence, element: TypeVariable, part: Occurrence) -> ArrowTypeError:
    """Makes the error for a `Reduce` with a part whose result has another type than the elements."""
    last = last_of(part)
    return meet(
        f"cannot reduce with {name_of(last)}",
        None,
        last,
        element,
        find(part.output),
        reduce,
        results=True,
        left_name="an element",
        left_site=reduce.form.site,
        hint="a Reduce gives the type of its elements; use a Fold to get another type"
        if part is reduce.parts[0]
        else "the default of a Reduce must have the type of its elements",
    )


def _two_states(fold: Occurrence, verb: str, start: TypeVariable, step: TypeVariable) -> ArrowTypeError:
    """Makes the error for a start and a step whose states differ; each is one side."""
    last_step, last_start = last_of(fold.parts[0]), last_of(fold.parts[1])
    return meet(
        f"cannot {verb} with {name_of(last_step)} from {name_of(last_start)}",
        last_start,
        last_step,
        start,
        step,
        fold,
        results=True,
        hint="the start and every step must give a state of the same type",
    )


def _explain_scan_state(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the start or of the step cannot be the state of a `Scan`."""
    scan, form = place.owner, place.owner.form
    assert isinstance(form, Scan)
    step, start = scan.parts
    result = find(step.output)
    if not form.by_state and result.head is not None:
        items = items_of(result)
        if len(items) != 2:
            last = last_of(step)
            return problem(
                f"cannot scan with {name_of(last)}",
                step,
                f"the step of a Scan must give a pair, an output and the next state, not {notation(result)}",
                "for a cell that gives its state alone use ar.RNN(cell)",
                side_of(last),
            )
        result = items[1]
    if isinstance(start.form, InferredZeros):
        # Without a start, the first state is zeros of what the cell gives: so the cell contradicts itself.
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
    if first.head is None or result.head is None:
        first, result = clash.left, clash.right
    return _two_states(scan, "scan", first, result)


def open_state(occurrences: Sequence[Occurrence], culprit: Occurrence) -> ArrowTypeError | None:
    """Makes the error for an `RNN` whose state has no type; None if something else is the cause."""
    scan = next((x for x in occurrences if isinstance(x.form, Scan) and culprit in x.parts), None)
    if scan is None:
        return None
    cell, start = scan.parts
    if not isinstance(start.form, InferredZeros) or ground(start.output) is not None:
        return None
    return problem(
        f"cannot infer the state of {name_of(scan)}",
        scan,
        f"{name_of(cell)} does not say the type of its state before it is given one, and an RNN without "
        "a start has none to give",
        "say what it starts from: ar.RNN(cell, ar.Zeros(type))",
    )


def _with_article(fold: Occurrence) -> str:
    return f"{'an' if isinstance(fold.form, RNN) else 'a'} {fold.form.kind}"
