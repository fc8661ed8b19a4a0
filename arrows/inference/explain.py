"""Turns the contradictions that the solver finds into texts that tell the user what to do.

The file of each family of forms explains what concerns these forms alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from arrows.combinators import (
    Apply,
    Choice,
    Constant,
    Fan,
    Fix,
    Fold,
    Map,
    PairItem,
    Read,
    Reference,
    Zip,
)
from arrows.inference.choice_and_recursion import ending_hint
from arrows.inference.derived import misfit, misfit_between, spokesman
from arrows.inference.folds import open_state
from arrows.inference.hints import NOTHING, Guess, guess
from arrows.inference.occurrences import ASSUMED, CoercionPlace, Occurrence, Refusal
from arrows.inference.reasons import (
    first_of,
    fixed,
    meet,
    name_of,
    origin_words,
    problem,
    repair,
    untyped_side,
)
from arrows.inference.rules import TypeRule
from arrows.inference.traces import Traces
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.coercion import Coercion
from arrows.typesys.terms import (
    MAX_PARTS,
    Clash,
    Constraint,
    Struct,
    TooWide,
    TypeVariable,
    find,
    ground,
    notation,
)

FEW = 4
"""For at most so many items, a text says which block fixed each."""


def failure(
    occurrences: Sequence[Occurrence], traces: Traces, constraint: Constraint, error: Exception
) -> ArrowTypeError:
    """Makes the error for a constraint that cannot hold."""
    place = constraint.context if isinstance(constraint, Coercion) else None
    if isinstance(place, CoercionPlace):
        occurrence = place.owner
    else:
        assert isinstance(constraint, (TypeRule, Refusal))
        occurrence = constraint.occurrence
    if isinstance(error, TooWide):
        return too_wide(occurrence, error.width)
    speaker = spokesman(occurrences, occurrence)
    if isinstance(error, Clash):
        if not isinstance(place, CoercionPlace):
            return _own(occurrence, error)
        told = _unpassable(place, error)
        between = None if speaker is occurrence else misfit_between(speaker, place, error, told)
        return told if between is None else refused(speaker, between)
    if speaker is not occurrence:
        return refused(speaker, misfit(speaker, occurrence, error))
    if isinstance(occurrence.form, Reference) and occurrence.knot is None:
        return ArrowTypeError(*error.args)
    return refused(occurrence, error, guess(occurrences, occurrence, traces))


def cause(failures: Sequence[tuple[Constraint, Exception]]) -> tuple[Constraint, Exception]:
    """Returns the failure to report: the first, unless its cause is known to be another.

    The key function of a choice fixes the choice's input as a Python object, and so that of its cases. If
    tensors come instead, a case that takes them fails before the choice itself does.
    """
    constraint, _ = failures[0]
    case = constraint.occurrence if isinstance(constraint, TypeRule) else None
    choice = find(case.input).origin if case is not None else None
    if isinstance(choice, Occurrence) and isinstance(choice.form, Choice):
        for failure in failures:
            place = failure[0].context if isinstance(failure[0], Coercion) else None
            if isinstance(place, CoercionPlace) and first_of(place.part) is choice:
                return failure
    return failures[0]


def _unpassable(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    return _infinite(place.owner) if clash.infinite else place.explain(place, clash)


def explain_assumed_input(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the input that `infer` was told to assume cannot pass to the expression."""
    root = first_of(place.owner)
    return meet(
        f"cannot give {notation(clash.left)} to {name_of(root)}",
        None,
        root,
        clash.left,
        clash.right,
        place.owner,
        left_name="the input assumed",
    )


# A form that refuses its input


def refused(occurrence: Occurrence, error: Exception, likely: Guess = NOTHING) -> ArrowTypeError:
    """Makes the error for a single block that cannot take its input; `likely` goes before its own words."""
    form = occurrence.form
    reason = getattr(error, "reason", None) or getattr(error, "message", None) or str(error)
    hint = getattr(error, "hint", None) or ""
    if not hint and isinstance(form, Apply) and isinstance(find(occurrence.input).head, T.Sequence):
        hint = f"apply it to every element: ar.Map({name_of(occurrence)})"
    if not hint and isinstance(form, Apply) and _are_sequences(ground(occurrence.input)):
        hint = f"to go over the sequences side by side: ar.ZipWith({name_of(occurrence)})"
    site = getattr(error, "site", None)
    if isinstance(site, SourceLine) and site not in (form.site, SourceLine.here()) and site.line:
        reason = f"{reason} (at {site})"
    reason, hint = likely[0] or reason, likely[1] or hint
    t = notation(occurrence.input)
    verb = "apply" if isinstance(form, Apply) else "use"
    attempt = f"cannot {verb} {name_of(occurrence)} {'to' if verb == 'apply' else 'on'} {t}"
    if isinstance(form, PairItem):
        attempt, hint = f"cannot use blocks side by side on {t}", "f * g takes a pair: make one with f & g"
    explained = problem(attempt, occurrence, _with_input_origin(occurrence, reason), hint)
    explained.__cause__ = error.__cause__
    return explained


def _are_sequences(t: T.Type | None) -> bool:
    """Whether a type is a tuple of several sequences."""
    return isinstance(t, T.Tuple) and len(t.items) > 1 and all(isinstance(x, T.Sequence) for x in t.items)


def _with_input_origin(occurrence: Occurrence, reason: str) -> str:
    v = find(occurrence.input)
    if v.origin is ASSUMED:
        return f"{reason}\nnothing says what flows in here, so it is taken to be a Python object"
    if isinstance(v.origin, Occurrence) and isinstance(v.origin.form, Fan):
        return reason + _items_origin(v.origin, v, occurrence)
    words = origin_words(v, occurrence)
    form = v.origin.form if isinstance(v.origin, Occurrence) else None
    if words and isinstance(v.head, T.Input) and isinstance(form, (Read, Choice)):
        return f"{reason}\nthe input is a Python object because it is read by {words}"
    return f"{reason}\nthe input type was fixed by {words}" if words else reason


def _items_origin(fan: Occurrence, v: TypeVariable, occurrence: Occurrence) -> str:
    """Says which blocks fixed the items of a tuple, when any of them may be the cause."""
    if not isinstance(occurrence.form, (Apply, Zip)) or len(fan.parts) > FEW:
        return ""
    items = [origin_words(find(part.output), occurrence) for part in fan.parts]
    if len(items) > 1 and len(set(items)) == 1:
        return f"\nthe item types were fixed by {items[0]}" if items[0] else ""
    labels = v.head.labels if isinstance(v.head, (T.Tuple, Struct)) else None
    keys = labels or range(len(items))
    fixed_by = [f"item {key!r} by {words}" for key, words in zip(keys, items, strict=True) if words]
    return "\nthe item types were fixed: " + ", ".join(fixed_by) if fixed_by else ""


def _own(occurrence: Occurrence, clash: Clash) -> ArrowTypeError:
    """Makes the error for a block whose own type does not fit its place."""
    if clash.infinite:
        return _infinite(occurrence)
    own, wanted = find(clash.left), find(clash.right)
    via = wanted.via
    if wanted is find(occurrence.output) and via is not None and own.origin is occurrence:
        # The wanted type came back from the reader of the result. The block takes its own type again, so that
        # the error is about the place where the two meet.
        reader = find(via.right)
        wanted.head, wanted.struct, wanted.origin, wanted.via = own.head, own.struct, occurrence, None
        if isinstance(via.context, CoercionPlace):
            return _unpassable(via.context, Clash(wanted, reader))
    left, right = notation(own), notation(wanted)
    by = fixed(wanted, occurrence, "right")
    return problem(
        f"cannot use {name_of(occurrence)} here",
        occurrence,
        f"its own type is {left}, and {right} is expected here{by}",
        repair(wanted, own, occurrence) if isinstance(wanted.head, T.Type) else "",
    )


def _infinite(occurrence: Occurrence) -> ArrowTypeError:
    return problem(
        f"cannot type {name_of(occurrence)}",
        occurrence,
        "the type would be infinite: a value would have to contain another of its own type",
        "combine the results of the references into one tensor or tuple, with a Function or a layer",
        untyped_side(occurrence),
    )


def still_open(occurrences: Sequence[Occurrence]) -> ArrowTypeError:
    """Makes the error for a type that nothing fixes."""
    # The cause is a block without parts that takes a known type and gives an open one. If there is none, it
    # is the first open type.
    culprit = next(
        (n for n in occurrences if ground(n.input) is not None and ground(n.output) is None and not n.parts),
        None,
    ) or next(n for n in occurrences if ground(n.input) is None or ground(n.output) is None)
    if (error := open_state(occurrences, culprit)) is not None:
        return error
    form = culprit.form
    side = "input" if ground(culprit.input) is None else "output"
    hint = "say what flows in, for instance ar.infer(block, input=[300])"
    if isinstance(form, Constant):
        side, hint = "output", "give the missing case: ar.Optional(some, ar.Zeros(type))"
    elif isinstance(form, (Reference, Fix)):
        hint = ending_hint(occurrences)
    elif isinstance(form, (Map, Fold)):
        hint = f"put a block that reads the data before {form.kind}"
    partly = notation(culprit.input if side == "input" else culprit.output)
    return problem(
        f"cannot infer the {side} of {name_of(culprit)}",
        culprit,
        f"nothing fixes the type of the {side}" + ("" if partly == "?" else f"; known so far is {partly}"),
        hint,
    )


# Limits of size


def too_large(occurrence: Occurrence, most: int) -> ArrowTypeError:
    """Makes the error for an expression with more occurrences than inference takes."""
    return problem(
        "cannot type the expression",
        occurrence,
        f"it has more than {most:,} places, and this is one of them: a block that stands twice in a "
        "block that stands twice, and so on, stands at twice as many places at each level",
        "the same block on the same value is one place, if it is in one case of a choice and nothing "
        "inside has an effect (a Metric, a Tap, dropout); else name the value in an @ar.arrow, and read "
        "the name twice",
        untyped_side(occurrence),
    )


def too_wide(occurrence: Occurrence, width: int) -> ArrowTypeError:
    """Makes the error for a type with more parts than inference takes."""
    count = f"{width:,}" if width < 10**9 else f"more than 2**{(width - 1).bit_length() - 1}"
    return problem(
        f"cannot type {name_of(occurrence)}",
        occurrence,
        f"a type has {count} parts here, and {MAX_PARTS:,} is the most: "
        "a tuple of a tuple with itself, and so on, has twice as many at each level",
        "join the items before the next level: (f & f) >> ar.Concat(), or a Function of both",
        untyped_side(occurrence),
    )
