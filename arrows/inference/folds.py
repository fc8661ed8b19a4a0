"""`Fold`, `Reduce`, `Scan` and `RNN`: blocks that go over elements one after the other, or two by two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrows.combinators import AnyBlock, InferredZeros, Loop
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import last_of, meet, name_of, passes, problem, side_of
from arrows.inference.rules import explain_element, items, until_end
from arrows.typesys import (
    VOID,
    ArrowTypeError,
    Cause,
    Clash,
    Rule,
    Var,
    find,
    items_of,
    notation,
    sequence_of,
    tuple_of,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def reduce(inference: Inference, reduce: Occurrence, form: AnyBlock) -> None:
    combine, default = form.parts
    inference.solver.run(_elements(inference, reduce, reduce.input, reduce.output), reduce)
    neighbours = tuple_of([reduce.output, reduce.output])
    combined = inference.enter(reduce, combine, neighbours, Edge(reduce, 0, _explain_neighbours), "combine")
    edge = Edge(reduce, 1, _explain_default_input)
    defaulted = inference.enter(reduce, default, Var(VOID), edge, "default")
    inference.solver.join(combined.output, reduce.output, Edge(reduce, 0, _explain_reduced))
    inference.solver.join(defaulted.output, reduce.output, Edge(reduce, 1, _explain_reduced))


def loop(inference: Inference, loop: Occurrence, form: Loop[Any, Any]) -> None:
    solver = inference.solver
    element, state, output = Var(), loop.output if form.folds else Var(), Var()
    if not form.folds:
        inference.gives(loop, tuple_of([sequence_of(output, cause=Cause(loop)), state], cause=Cause(loop)))
    container, first, edge = loop.input, Var(VOID), Edge(loop, 1, _explain_start_input)
    if form.initial_state_from_input:
        container, first = Var(), Var()
        inference.solver.run(_container_and_start(inference, loop, container, first), loop)
    inference.solver.run(_elements(inference, loop, container, element), loop)
    explain_pair = _explain_fold_pair if form.folds else _explain_pair
    pair = tuple_of([state, element] if form.folds else [element, state])
    step = inference.enter(loop, form.parts[0], pair, Edge(loop, 0, explain_pair), form.cell_word)
    start = inference.enter(loop, form.parts[1], first, edge, "initial_state")
    solver.join(start.output, state, Edge(loop, 1, _explain_state))
    result = state if form.by_state else tuple_of([output, state])
    solver.join(step.output, result, Edge(loop, 0, _explain_state))
    if form.by_state and not form.folds:
        inference.solver.run(_output(inference, state, output), loop)


# Rules that wait for a type


def _container_and_start(inference: Inference, fold: Occurrence, container: Var, start: Var) -> Rule:
    """`initial_state_from_input`: the input is the pair of a sequence and an initial state."""
    yield fold.input
    takes = "with initial_state_from_input it takes the pair of a sequence and an initial state"
    again = f"ar.{fold.form.kind}(..., initial_state_from_input=True)"
    hint = f"put them side by side first: (sequence & state) >> {again}"
    for part, item in zip((container, start), items(fold.input, 2, takes, hint), strict=True):
        inference.solver.unify(part, item)


def _elements(inference: Inference, fold: Occurrence, container: Var, element: Var) -> Rule:
    """`Loop` and `Reduce`: passes the elements of the container to the step."""
    endless = (
        f"an endless sequence has no last element, so {fold.form.kind} would never end",
        "zip it with a sequence, and go over the result",
    )
    return until_end(inference, container, element, Edge(fold, 0, explain_element), endless=endless)


def _output(inference: Inference, state: Var, output: Var) -> Rule:
    """`RNN`: the output is the state, or the first item of a state that is a tuple."""
    yield state
    inference.solver.unify(output, next(iter(items_of(state)), state))


# Explanations


_explain_pair = passes(
    "cannot give (element, state) to {part}, the {role} of {owner}",
    "(element, state)",
    "the {role} of {a} takes a pair: the next element, and the state so far",
)
_explain_fold_pair = passes(
    "cannot give (state, element) to {part}, the {role} of {owner}",
    "(state, element)",
    "the {role} of {a} takes a pair: the state so far, and the next element",
)
_explain_start_input = passes(
    "cannot start {owner} from {part}",
    "initial state of {a}",
    "the initial state of {a} gets no input: use ar.Zeros(type) or ar.Constant(value)",
)
_explain_neighbours = passes(
    "cannot give (element, element) to {part}, the combine of {owner}",
    "(element, element)",
    "the combine of a Reduce takes a pair of elements: two neighbours",
)
_explain_default_input = passes(
    "cannot use {part} as the default of {owner}",
    "without elements",
    "the default of a Reduce gets no input: use ar.Zeros(type) or ar.Constant(value)",
)


def _explain_reduced(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the combining block or of the default cannot be that of the `Reduce`."""
    reduce, last = edge.owner, last_of(edge.part)
    return meet(
        f"cannot reduce with {name_of(last)}",
        None,
        last,
        reduce.output,
        edge.part.output,
        reduce,
        results=True,
        left_name="an element",
        left_site=reduce.form.site,
        hint="the default of a Reduce must have the type of its elements"
        if edge.index
        else "a Reduce gives the type of its elements; use a Fold to get another type",
    )


def _explain_state(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the initial state or of the step cannot be the state of a `Loop`."""
    form, (step, start) = edge.owner.form, edge.owner.parts
    assert isinstance(form, Loop)
    first, result, last = find(start.output), find(step.output), last_of(step)
    if not form.folds and not form.by_state and result.con is not None:
        items = items_of(result)
        if len(items) != 2:
            return problem(
                f"cannot scan with {name_of(last)}",
                step,
                f"the step of a Scan must give a pair, an output and the next state, not {notation(result)}",
                "for a cell that gives its state alone use ar.RNN(cell)",
                side_of(last),
            )
        result = items[1]
    if first.con is None or result.con is None:
        first, result = clash.left, clash.right
    given = "zeros of its state" if isinstance(start.form, InferredZeros) else ""
    given = "item 1 of its input" if form.initial_state_from_input else given
    return meet(
        f"cannot {'fold' if form.folds else 'scan'} with {name_of(last)} from "
        + (given or name_of(last_of(start))),
        None if given else last_of(start),
        last,
        first,
        result,
        edge.owner,
        results=True,
        left_name=given,
        left_site=form.site,
        hint="the initial state and every step must be of the same type",
    )
