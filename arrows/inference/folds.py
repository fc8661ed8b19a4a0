"""`Fold` and `Reduce`: one result from all elements; and what a `Scan` shares with a `Fold`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import NoDefault, Reduce, Scan
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import first_of, last_of, meet, name_of
from arrows.inference.rules import (
    ElementCoercion,
    Misfit,
    TypeRule,
    sequence_of,
    spread_elements,
    structure_of,
)
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.terms import Clash, TypeVariable, find
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


# Constraints


def constrain_fold(inference: Inference, fold: Occurrence) -> None:
    solver = inference.solver
    pair, step, start_in, start = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    element = TypeVariable()
    solver.coerce(TypeVariable(T.Void()), start_in, StartInputCoercion(fold, 1))
    solver.coerce(start, fold.output, FoldStateCoercion(fold, 1))
    solver.coerce(solver.make("tuple", [fold.output, element]), pair, PairCoercion(fold, 0))
    solver.coerce(step, fold.output, FoldStateCoercion(fold, 0))
    inference.expect(FoldRule(fold, element), fold.input)
    inference.enter(fold, fold.form.parts[0], pair, None, "step", result=step)
    inference.enter(fold, fold.form.parts[1], start_in, None, "start", result=start)


def constrain_reduce(inference: Inference, reduce: Occurrence) -> None:
    solver = inference.solver
    pair, combined, default_in, default = TypeVariable(), TypeVariable(), TypeVariable(), TypeVariable()
    inference.expect(FoldRule(reduce, reduce.output), reduce.input)
    neighbours = solver.make("tuple", [reduce.output, reduce.output])
    solver.coerce(neighbours, pair, NeighboursCoercion(reduce, 0))
    solver.coerce(combined, reduce.output, ReducedCoercion(reduce, 0))
    solver.coerce(TypeVariable(T.Void()), default_in, DefaultInputCoercion(reduce, 1))
    solver.coerce(default, reduce.output, ReducedCoercion(reduce, 1))
    inference.enter(reduce, reduce.form.parts[0], pair, None, "combine", result=combined)
    inference.enter(reduce, reduce.form.parts[1], default_in, None, "default", result=default)


# Rules that wait for a type


class FoldRule(TypeRule):
    """`Fold`, `Scan` and `Reduce`: the elements of their container."""

    __slots__ = ("container", "element")

    def __init__(
        self, occurrence: Occurrence, element: TypeVariable, container: TypeVariable | None = None
    ) -> None:
        super().__init__(occurrence)
        self.element = element
        self.container = occurrence.input if container is None else container

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
        place = (ReducedElementCoercion if isinstance(form, Reduce) else ElementCoercion)(self.occurrence)
        spread_elements(solver, v, self.element, place)

    @property
    def inside(self) -> TypeVariable:
        return self.element

    def default(self, solver: Solver) -> bool:
        return sequence_of(solver, self.occurrence, self.container, self.element)


# Explanations


class PairCoercion(CoercionPlace):
    """An element and the state so far, in the order of the form, pass to its step."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        fold, step = self.owner, first_of(self.part)
        pair, items = "(state, element)", "the state so far, and the next element"
        if isinstance(fold.form, Scan):
            pair, items = "(element, state)", "the next element, and the state so far"
        role = _step_role(fold)
        return meet(
            f"cannot give {pair} to {name_of(step)}, the {role} of {name_of(fold)}",
            None,
            step,
            clash.left,
            clash.right,
            self.part,
            left_name=pair,
            left_site=self.site,
            hint=f"the {role} of {_with_article(fold)} takes a pair: {items}",
        )


class StartInputCoercion(CoercionPlace):
    """The start gets no input."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        fold, start = self.owner, first_of(self.part)
        word = "fold" if fold.form.kind == "Fold" else fold.form.kind
        hint = f"the start of {_with_article(fold)} gets no input: use ar.Zeros(type) or ar.Constant(value)"
        return meet(
            f"cannot start {name_of(fold)} from {name_of(start)}",
            None,
            start,
            clash.left,
            clash.right,
            self.part,
            left_name=f"start of the {word}",
            left_site=self.site,
            hint=hint,
        )


class FoldStateCoercion(CoercionPlace):
    """The result of the start, or of the step, becomes the state of a `Fold`."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        step, start = self.owner.parts
        return two_states(self.owner, "fold", find(start.output), find(step.output))


class NeighboursCoercion(CoercionPlace):
    """Two neighbouring elements pass to the block that combines them."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        combine = first_of(self.part)
        return meet(
            f"cannot give (element, element) to {name_of(combine)}, the combine of {name_of(self.owner)}",
            None,
            combine,
            clash.left,
            clash.right,
            self.part,
            left_name="(element, element)",
            left_site=self.site,
            hint="the combine of a Reduce takes a pair of elements: two neighbours",
        )


class DefaultInputCoercion(CoercionPlace):
    """The default of a `Reduce` gets no input."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        default = first_of(self.part)
        return meet(
            f"cannot use {name_of(default)} as the default of {name_of(self.owner)}",
            None,
            default,
            clash.left,
            clash.right,
            self.part,
            left_name="without elements",
            left_site=self.site,
            hint="the default of a Reduce gets no input: use ar.Zeros(type) or ar.Constant(value)",
        )


class ReducedCoercion(CoercionPlace):
    """What the combining block gives, or the default, is what a `Reduce` gives."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        return _reduced(self.owner, find(self.owner.output), self.part)


class ReducedElementCoercion(ElementCoercion):
    """An element passes to the block that combines it with its neighbour."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        if structure_of(find(self.owner.input)) == "tuple":
            return super().explain(clash)
        # The result's type was known before that of the elements, so one of the parts fixed it.
        combine, default = self.owner.parts
        no_default = find(default.output).head is None or isinstance(default.form, NoDefault)
        return _reduced(self.owner, clash.left, combine if no_default else default)


def _reduced(reduce: Occurrence, element: TypeVariable, part: Occurrence) -> ArrowTypeError:
    """A `Reduce` of which one part does not give what the elements are."""
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


def two_states(fold: Occurrence, verb: str, start: TypeVariable, step: TypeVariable) -> ArrowTypeError:
    """The start and the step, each on its side, whose states differ."""
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


def _step_role(fold: Occurrence) -> str:
    return "cell" if isinstance(fold.form, Scan) and fold.form.by_state else "step"


def _with_article(fold: Occurrence) -> str:
    return f"an {fold.form.kind}" if fold.form.kind == "RNN" else f"a {fold.form.kind}"
