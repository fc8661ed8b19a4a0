"""Hints for common mistakes: guesses what the user meant where a block cannot take its input.

Each guess looks at the block, at its input, and at the blocks around it. It answers only where it is sure,
since a wrong hint is worse than none. The guesses run only after an error, so they may look at all
occurrences.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from arrows.combinators import (
    AndFan,
    Apply,
    Fan,
    Function,
    Layer,
    Scan,
)
from arrows.inference.occurrences import Occurrence, Traces
from arrows.inference.reasons import name_of, origin_of
from arrows.typesys import Var, ground, types as T

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

Guess: TypeAlias = tuple[str, str]
"""A reason and a hint; an empty text keeps the reason or hint that the error had."""

NOTHING: Guess = ("", "")


def guess(inference: Inference, occurrence: Occurrence) -> Guess:
    """Guesses what the user meant at this occurrence; returns empty texts where nothing is certain."""
    t = ground(occurrence.input)
    guesses = (look(occurrence, t, inference.traces) for look in _CONFUSIONS)
    return next((reason_and_hint for reason_and_hint in guesses if reason_and_hint != NOTHING), NOTHING)


def _swapped_pair(occurrence: Occurrence, t: T.Type | None, traces: Traces) -> Guess:
    """Guesses that a pair is in the wrong order, as (label, scores) for a loss."""
    form = occurrence.form
    if not isinstance(form, Apply) or not isinstance(t, T.Tuple) or len(t.items) != 2:
        return NOTHING
    if T.holds(t, T.Input) or not traces.takes(form, T.Tuple((t.items[1], t.items[0]))):
        return NOTHING
    return (
        f"{name_of(occurrence)} takes this pair the other way round: {t.items[1]} first, {t.items[0]} second",
        "swap the two",
    )


def _fan_for_chain(occurrence: Occurrence, t: T.Type | None, traces: Traces) -> Guess:
    """Guesses that `f & g` should be `f >> g`, because `g` takes what `f` gives."""
    form, edge = occurrence.form, occurrence.edge
    if not isinstance(form, Apply) or not isinstance(t, T.Input) or edge is None or not edge.index:
        return NOTHING
    before = edge.owner.parts[edge.index - 1]
    result = ground(before.output)
    if not isinstance(edge.owner.form, AndFan) or result is None or not traces.takes(form, result):
        return NOTHING
    name, other = name_of(occurrence), name_of(before)
    reason = f"`&` gives {name} the input itself, a Python object, not the result of {other}"
    return reason, f"to pass the result on: {other} >> {name}"


def _argument_count(occurrence: Occurrence, t: T.Type | None, traces: Traces) -> Guess:
    """Guesses that a function takes another number of tensors than it gets."""
    form = occurrence.form
    if not isinstance(form, Apply) or isinstance(form, Layer) or t is None:
        return NOTHING
    try:
        signature = inspect.signature(form.of_example)
    except (TypeError, ValueError):
        return NOTHING
    count = len(t.items) if isinstance(t, T.Tuple) else 1
    try:
        signature.bind(*[None] * count)
    except TypeError:
        pass
    else:
        return NOTHING
    wanted = [
        p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    names = [p.name for p in wanted if p.default is p.empty]
    if isinstance(t, T.Tuple) and count == 1 and isinstance(t.items[0], T.Tuple):
        hint = (
            "to read an item of it: ar.GetItem(0); a record is ar.Record({...}), without ar.AllOf around it"
        )
        return "its input is a tuple with one item, which is itself a tuple", hint
    taken = "no tensor" if not names else f"{_number(len(names))} ({', '.join(names)})"
    before, hint = "(f & g)" if isinstance(form, Function) else form.example, ""
    if count < len(names) and before:
        hint = f"put them side by side first: {before} >> {name_of(occurrence)}"
    if count > len(names) and isinstance(form, Function):
        hint = f"each item of a tuple is an argument: ar.Function(lambda {', '.join('xyzuvw'[:count])}: ...)"
    function = "the function" if isinstance(form, Function) else form.kind
    tensors = all(isinstance(item, T.Tensor) for item in (t.items if isinstance(t, T.Tuple) else [t]))
    return f"{function} takes {taken}, and it gets {_number(count) if tensors else t}", hint


def _number(count: int) -> str:
    return "one tensor" if count == 1 else f"{count} tensors"


def _network_result(occurrence: Occurrence, t: T.Type | None, traces: Traces) -> Guess:
    """Guesses that one tensor of a network's result was meant, not the whole result or the last state."""
    return network_result(occurrence.input) if isinstance(occurrence.form, Apply) else NOTHING


def network_result(v: Var) -> Guess:
    """Says which part of a network's result may be meant, if `v` is such a result or its state."""
    origin, t = origin_of(v), ground(v)
    if origin is None or not isinstance(t, T.Tuple) or len(t.items) != 2:
        return NOTHING
    if isinstance(origin.form, Fan) and origin.form.kind == "Bidirectional":
        return (
            f"{origin.form.kind} gives the pair of its outputs and its last states",
            "take the outputs with ar.GetItem(0), and the pair of last states with ar.GetItem(1)",
        )
    if not isinstance(origin.form, Scan):
        return NOTHING
    first, state = t.items
    kind = origin.form.kind
    if isinstance(first, T.Sequence):
        last = "ar.GetItem(1) >> ar.GetItem(0)" if isinstance(state, T.Tuple) else "ar.GetItem(1)"
        state_words = "the last h" if isinstance(state, T.Tuple) else "the last state"
        return (
            f"{kind} gives the pair of its outputs and its last state",
            f"take the outputs with ar.GetItem(0), and {state_words} with {last}",
        )
    return f"the state of {kind} is the pair (h, c)", "take h with ar.GetItem(0)"


_CONFUSIONS: tuple[Callable[[Occurrence, T.Type | None, Traces], Guess], ...] = (
    _swapped_pair,
    _network_result,
    _fan_for_chain,
    _argument_count,
)
"""The guesses in order; the first that is sure answers."""
