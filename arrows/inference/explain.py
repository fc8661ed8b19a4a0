"""Turns the contradictions that the solver finds into texts that tell the user what to do.

The file of each family of forms explains what concerns these forms alone.

An error inside of a block that is made of others speaks of the block that the user wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import AnyBlock, Apply, Fan, Graph, InferredZeros, Item, Pipe, Reference
from arrows.inference.hints import NOTHING, Guess, guess, network_result
from arrows.inference.occurrences import ASSUMED, Edge, Occurrence
from arrows.inference.reasons import (
    ZEROS,
    first_of,
    fixed,
    name_of,
    origin_of,
    origin_words,
    problem,
    reason_and_hint,
    repair,
    side_of,
)
from arrows.inference.rules import Misfit
from arrows.typesys import (
    ENDS,
    INPUT,
    ArrowTypeError,
    ArrowValueError,
    Clash,
    SourceLine,
    Var,
    find,
    items_of,
    kind_of,
    notation,
    of_type,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def spokesman(occurrence: Occurrence) -> Occurrence:
    """The occurrence of the block that the user wrote: this one, or the derived block whose inside it is."""
    speaker = occurrence
    inside = {id(occurrence.form)}  # the blocks between the speaker and where the walk is
    outer = occurrence.outer
    while outer is not None:
        if _is_derived(outer.form):
            if inside & _given(outer.form):
                return speaker
            speaker, inside = outer, set()
        inside.add(id(outer.form))
        outer = outer.outer
    return speaker


def _is_derived(form: AnyBlock) -> bool:
    return isinstance(form, Pipe) and not form.is_chain


def _given(form: AnyBlock) -> set[int]:
    """The blocks that the user gave to a derived block."""
    return {id(block) for block in form.spelling.blocks}


def misfit(speaker: Occurrence, inner: Occurrence, error: ArrowTypeError | ArrowValueError) -> Misfit:
    """Why a derived block does not take its input, where a block inside raised an error."""
    reason, hint = network_result(speaker.input)
    if reason:
        return Misfit(reason, hint)
    given = notation(speaker.input)
    if isinstance(inner.form, Item) and not inner.form.takes:
        return Misfit(f"{speaker.form.kind} goes over the elements of a sequence, and {given} has none")
    reason, hint = reason_and_hint(error)
    return Misfit(reason.replace(notation(inner.input), given), hint)


def misfit_between(speaker: Occurrence, edge: Edge, clash: Clash, told: ArrowTypeError) -> Misfit | None:
    """Why a derived block does not take its input, where a value cannot pass between two blocks inside.

    Args:
        speaker: the derived block.
        edge: where the value passes.
        clash: what does not fit.
        told: the error that speaks of the blocks inside.

    Returns:
        None if that error names nothing but blocks that the user wrote.
    """
    if told.details.attempt.startswith(("cannot go over", "cannot use")):
        return Misfit(told.details.reason, told.details.hint)
    if told.details.attempt.startswith("cannot compose"):
        left, right, reader = notation(clash.left), notation(clash.right), name_of(first_of(edge.part))
        return Misfit(f"it hands {left} to {reader}, which takes {right}", told.details.hint)
    return None


def failure(
    inference: Inference, context: object, error: Clash | ArrowTypeError | ArrowValueError
) -> ArrowTypeError:
    """Makes the error for what cannot hold: a rule of an occurrence, what it says, or an edge."""
    occurrence = context.owner if isinstance(context, Edge) else context
    assert isinstance(occurrence, Occurrence)
    if isinstance(error, Clash):
        if error.infinite:
            return _infinite(occurrence)
        if not isinstance(context, Edge):
            return _own(occurrence, error)
        told = context.explain(context, error)
        speaker = spokesman(occurrence)
        between = None if speaker is occurrence else misfit_between(speaker, context, error, told)
        return told if between is None else refused(speaker, between)
    speaker = spokesman(occurrence)
    if speaker is not occurrence:
        return refused(speaker, misfit(speaker, occurrence, error))
    if isinstance(occurrence.form, Reference) and occurrence.knot is None:
        return ArrowTypeError(*error.args)
    return refused(occurrence, error, guess(inference, occurrence))


# Where two types meet


def contradiction(
    occurrence: Occurrence, own: Var, reads: bool, clash: Clash
) -> tuple[Edge | Occurrence, Clash]:
    """Where an occurrence says something else of its input or result than flows there, and both sides."""
    if clash.infinite:
        return occurrence, clash
    if reads:
        return occurrence.edge or occurrence, Clash(find(occurrence.input), own)
    cause = find(clash.left if find(clash.left) is not find(own) else clash.right).cause
    if cause is None or not cause.reads or not isinstance(cause.occurrence, Occurrence):
        return occurrence, clash
    right = occurrence.output if cause.says is None else of_type(cause.says, cause)
    return cause.occurrence.edge or occurrence, Clash(own, right)


# A form that refuses its input


def refused(
    occurrence: Occurrence, error: ArrowTypeError | ArrowValueError, likely: Guess = NOTHING
) -> ArrowTypeError:
    """Makes the error for a single block that cannot take its input; `likely` goes before its own words."""
    form = occurrence.form
    reason, hint = reason_and_hint(error)
    if not hint and isinstance(form, Apply) and kind_of(occurrence.input) == "sequence":
        hint = f"apply it to every element: ar.Map({name_of(occurrence)})"
        if isinstance(getattr(form, "state", None), T.Type):
            reason = f"{name_of(occurrence)} takes one element and a state, and it gets a sequence"
            hint = f"go over it: ar.RNN({name_of(occurrence)})"
    columns = items_of(occurrence.input)
    if not hint and isinstance(form, Apply) and len(columns) > 1 and {*map(kind_of, columns)} == {"sequence"}:
        hint = f"to go over the sequences side by side: ar.ZipWith({name_of(occurrence)})"
    site = getattr(error, "site", None)
    if isinstance(site, SourceLine) and site not in (form.site, SourceLine.here()) and site.line:
        reason = f"{reason} (at {site})"
    reason, hint = likely[0] or reason, likely[1] or hint
    t = notation(occurrence.input)
    verb = "apply" if isinstance(form, Apply) else "use"
    attempt = f"cannot {verb} {name_of(occurrence)} {'to' if verb == 'apply' else 'on'} {t}"
    if isinstance(form, Item) and form.takes:
        attempt = f"cannot use {form.kind} on {t}"
    graph = occurrence.edge.owner.form if occurrence.edge else None
    if isinstance(graph, Graph) and occurrence.edge and graph.parameter(occurrence.edge.index):
        occurrence, wanted = occurrence.edge.owner, ", ".join(graph.parameters)  # the one that the user calls
        attempt = f"cannot call {name_of(occurrence)} on {t}"
        reason = f"its parameters ({wanted}) want a tuple of {len(graph.parameters)}"
        hint = "f & g makes a tuple of the results of f and g"
    explained = problem(attempt, occurrence, _with_input_origin(occurrence, reason), hint)
    explained.__cause__ = error.__cause__
    return explained


def _with_input_origin(occurrence: Occurrence, reason: str) -> str:
    v = find(occurrence.input)
    if v.cause is not None and v.cause.occurrence is ASSUMED:
        return f"{reason}\nnothing says what flows in here, so it is taken to be a Python object"
    origin = origin_of(v)
    if origin is not None and isinstance(origin.form, Fan):
        blocks = dict.fromkeys(origin_words(part.output, occurrence) for part in origin.parts[:4])
        fixed_by = " and by ".join(filter(None, blocks))
        return f"{reason}\nthe item types were fixed by {fixed_by}" if fixed_by else reason
    words = origin_words(v, occurrence)
    if words and v.con is INPUT and v.cause is not None and v.cause.reads:
        return f"{reason}\nthe input is a Python object because it is read by {words}"
    return f"{reason}\nthe input type was fixed by {words}" if words else reason


def _own(occurrence: Occurrence, clash: Clash) -> ArrowTypeError:
    """Makes the error for a block whose own type does not fit its place."""
    if clash.left.con in ENDS:
        reason = "the elements never end, and what reads the result wants a sequence that ends"
        return problem(f"cannot use {name_of(occurrence)} here", occurrence, reason, "drop the Broadcast")
    return problem(
        f"cannot use {name_of(occurrence)} here",
        occurrence,
        f"one side says {notation(clash.left)}{fixed(clash.left, occurrence)}, "
        f"the other {notation(clash.right)}{fixed(clash.right, occurrence)}",
        repair(clash.left, clash.right, occurrence),
    )


def _infinite(occurrence: Occurrence) -> ArrowTypeError:
    return problem(
        f"cannot type {name_of(occurrence)}",
        occurrence,
        "the type would be infinite: a value would have to contain another of its own type",
        "combine the results of the references into one tensor or tuple, with a Function or a layer",
        side_of(occurrence, "? -> ?"),
    )


def still_open(inference: Inference) -> ArrowTypeError:
    """Makes the error for a type that nothing fixes."""
    # The cause is a block without parts that takes a known type and gives an open one. If there is none, it
    # is the first open type.
    occurrences, known = inference.occurrences, inference.solver.ground
    culprit = next((x for x in occurrences if not x.parts and known(x.input) and not known(x.output)), None)
    culprit = culprit or next(x for x in occurrences if not known(x.input) or not known(x.output))
    form = culprit.form
    if isinstance(form, InferredZeros):
        whole = culprit.outer or culprit
        reason = f"{ZEROS[0]}, and nothing says of which type"
        return problem(f"cannot infer the type of zeros in {name_of(whole)}", whole, reason, ZEROS[1])
    side = "output" if known(culprit.input) else "input"
    hint = "say what flows in, for instance ar.infer(block, input_type=[300])"
    if isinstance(form, Reference):
        hint = (
            "some case of the recursion must end without a reference and give a type, as ar.Zeros(type) "
            "does; or declare it: output_type=type"
        )
    partly = notation(culprit.input if side == "input" else culprit.output)
    return problem(
        f"cannot infer the {side} of {name_of(culprit)}",
        culprit,
        f"nothing fixes the type of the {side}" + ("" if partly == "?" else f"; known so far is {partly}"),
        hint,
    )


def too_large(occurrence: Occurrence, limit: str) -> ArrowTypeError:
    """Makes the error for more occurrences, or more parts of a type, than inference takes."""
    return problem(
        f"cannot type {name_of(occurrence)}",
        occurrence,
        f"here are more than {limit}: what stands twice in what stands twice, and so on, stands at twice as "
        "many places at each level",
        "for a block, name the value in an @ar.arrow and read the name twice; for a tuple, join its items "
        "before the next level: (f & f) >> ar.Concat()",
        side_of(occurrence, "? -> ?"),
    )
