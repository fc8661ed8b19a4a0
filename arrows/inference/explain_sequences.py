"""Type errors of blocks over sequences, in words."""

from __future__ import annotations

from collections.abc import Sequence

from arrows.combinators import InferredZeros, NoDefault, Reduce, Scan
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import first_of, is_tuple, items_of, last_of, meet, name_of, path, side_of
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, message
from arrows.typesys.terms import Clash, TypeVariable, find, ground, notation


def sequence_joint(joined: CoercionPlace, clash: Clash) -> ArrowTypeError | None:
    """The error of a joint of a `Map`, `Fold`, `Scan` or `Zip`; None if it is none of theirs."""
    node, kind = joined.node, joined.kind
    left, right = clash.left, clash.right
    if kind in ("start state", "state"):
        return _states(node, "fold", find(node.parts[1].output), find(node.parts[0].output))
    if kind in ("start of scan", "state of scan"):
        return _scanned(node, clash)
    if kind == "start":
        return _start(node, left, right)
    if kind in ("fold", "scan"):
        b = first_of(node.parts[0])
        pair, what = (
            ("(state, element)", "the state so far, and the next element")
            if kind == "fold"
            else ("(element, state)", "the next element, and the state so far")
        )
        word = "cell" if isinstance(node.form, Scan) and node.form.by_state else "step"
        return meet(
            f"cannot give {pair} to {name_of(b)}, the {word} of {name_of(node)}",
            None,
            b,
            left,
            right,
            node.parts[0],
            left_name=pair,
            left_site=node.form.site,
            hint=f"the {word} of {_a(node)} takes a pair: {what}",
        )
    of_reduce = kind == "folded" and isinstance(node.form, Reduce)
    if of_reduce and not isinstance(ground(node.input), T.Tuple) and not is_tuple(node.input):
        return _reduced(joined, left, right)
    if kind in ("pair", "combined", "default", "no default"):
        return _reduced(joined, left, right)
    if kind == "place":
        return _place(node, left)
    if kind in ("element", "folded", "zipped"):
        if kind == "zipped" or isinstance(ground(node.input), T.Tuple) or is_tuple(node.input):
            return _mixed(node, left, right)
        b = first_of(node.parts[0])
        return meet(
            f"cannot give the elements to {name_of(b)}, the block of {name_of(node)}",
            None,
            b,
            left,
            right,
            node.parts[0],
            left_name="an element",
            left_site=node.form.site,
        )
    return None


def _reduced(joined: CoercionPlace, left: TypeVariable, right: TypeVariable) -> ArrowTypeError:
    """A `Reduce` whose elements, results and default are not of one type."""
    node, kind = joined.node, joined.kind
    combine, default = node.parts
    if kind == "pair":
        b = first_of(combine)
        return meet(
            f"cannot give (element, element) to {name_of(b)}, the combine of {name_of(node)}",
            None,
            b,
            left,
            right,
            combine,
            left_name="(element, element)",
            left_site=node.form.site,
            hint="the combine of a Reduce takes a pair of elements: two neighbours",
        )
    if kind == "no default":
        b = first_of(default)
        return meet(
            f"cannot begin with {name_of(b)} in {name_of(node)}",
            None,
            b,
            left,
            right,
            default,
            left_name="where nothing is",
            left_site=node.form.site,
            hint="the default of a Reduce gets no input: use ar.Zeros(type) or ar.Constant(value)",
        )
    if kind == "folded":  # the type of the result was known before that of the elements
        element = left
        source = (
            combine if find(default.output).head is None or isinstance(default.form, NoDefault) else default
        )
    else:
        element = find(node.output)
        source = combine if kind == "combined" else default
    last = last_of(source)
    return meet(
        f"cannot reduce with {name_of(last)}",
        None,
        last,
        element,
        find(source.output),
        node,
        results=True,
        left_name="an element",
        left_site=node.form.site,
        hint="what a Reduce combines and what it gives are of one type; from one type to another goes a Fold"
        if source is combine
        else "the default of a Reduce is of the type of its elements",
    )


def _place(node: Occurrence, left: TypeVariable) -> ArrowTypeError:
    return ArrowTypeError(
        message(
            f"cannot take an element at {notation(left)} with {name_of(node)}",
            [side_of(node)],
            path(node),
            "the place must be a Python object, known before there are tensors",
            "leave it as it comes from the input: ar.GetItem('place'), without a Scalar after it",
        )
    )


def _start(node: Occurrence, left: TypeVariable, right: TypeVariable) -> ArrowTypeError:
    b = first_of(node.parts[1])
    what = "fold" if node.form.kind == "Fold" else node.form.kind
    return meet(
        f"cannot start {name_of(node)} from {name_of(b)}",
        None,
        b,
        left,
        right,
        node.parts[1],
        left_name=f"start of the {what}",
        left_site=node.form.site,
        hint=f"the start of {_a(node)} gets no input: use ar.Zeros(type) or ar.Constant(value)",
    )


def _states(node: Occurrence, verb: str, start: TypeVariable, step: TypeVariable) -> ArrowTypeError:
    """The start and the step, each on its side, whose states differ."""
    return meet(
        f"cannot {verb} with {name_of(last_of(node.parts[0]))} from {name_of(last_of(node.parts[1]))}",
        last_of(node.parts[1]),
        last_of(node.parts[0]),
        start,
        step,
        node,
        results=True,
        hint="the start and every step must give a state of one type",
    )


def _scanned(node: Occurrence, clash: Clash) -> ArrowTypeError:
    """A step whose result is no pair, or whose state is not that of the start."""
    form = node.form
    assert isinstance(form, Scan)
    step, start = node.parts
    result = find(step.output)
    if not form.by_state and result.head is not None:
        items = items_of(result)
        if len(items) != 2:
            return ArrowTypeError(
                message(
                    f"cannot scan with {name_of(last_of(step))}",
                    [side_of(last_of(step))],
                    path(step),
                    f"the step of a Scan gives a pair, an output and the next state, not {notation(result)}",
                    "a cell that gives its state alone belongs in an ar.RNN(cell)",
                )
            )
        result = items[1]
    if isinstance(start.form, InferredZeros):
        # The first state is made up from what the cell gives: the cell alone is at odds with itself.
        return meet(
            f"cannot repeat {name_of(last_of(step))} in {name_of(node)}",
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
        last = last_of(step)
        return meet(
            f"cannot start {name_of(node)} from item 1 of its input",
            None,
            last,
            first,
            result if result.head is not None else clash.right,
            step,
            results=result.head is not None,
            left_name="item 1",
            left_site=form.site,
            hint="the start in the input and every step must give a state of one type",
        )
    if first.head is not None and result.head is not None:
        return _states(node, "scan", first, result)
    return _states(node, "scan", clash.left, clash.right)


def _mixed(node: Occurrence, left: TypeVariable, right: TypeVariable) -> ArrowTypeError:
    return ArrowTypeError(
        message(
            f"cannot go over {notation(node.input)} with {name_of(node)}",
            [side_of(node)],
            path(node),
            "the items of a tuple must have one type to be gone over, "
            f"and there are {notation(right)} and {notation(left)}",
            "treat the items one by one with a Record or ar.GetItem",
        )
    )


def open_state(nodes: Sequence[Occurrence], culprit: Occurrence) -> ArrowTypeError | None:
    """The error of a recurrent network whose state has no type; None if that is not what stays open."""
    owner = next((node for node in nodes if isinstance(node.form, Scan) and culprit in node.parts), None)
    if owner is None:
        return None
    cell, start = owner.parts
    if not isinstance(start.form, InferredZeros) or ground(start.output) is not None:
        return None
    return ArrowTypeError(
        message(
            f"cannot infer the state of {name_of(owner)}",
            [side_of(owner)],
            path(owner),
            f"{name_of(cell)} does not say the type of its state before it is given one, and an RNN without "
            "a start has none to give",
            "give it one: ar.RNN(cell, ar.Zeros(type))",
        )
    )


def _a(node: Occurrence) -> str:
    return f"an {node.form.kind}" if node.form.kind == "RNN" else f"a {node.form.kind}"
