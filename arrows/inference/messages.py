"""The texts of type errors: what does not fit, which block fixed each type, and what to do about it.

A rule says what is wrong with an input (`Misfit`), or how a value passes between two blocks (`passes`,
`meet`); `failure` makes the whole text of what the solver found. An error inside of a block that is made of
others speaks of the block that the user wrote.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from arrows.combinators import (
    AndFan,
    Apply,
    Choice,
    Fan,
    Function,
    Graph,
    InferredZeros,
    Item,
    Layer,
    Pipe,
    Reference,
    Scan,
    brief,
    title,
)
from arrows.inference.typed import ASSUMED, Edge, Occurrence, Traces
from arrows.typesys import (
    ENDS,
    INPUT,
    ArrowTypeError,
    ArrowValueError,
    Clash,
    Message,
    Side,
    SourceLine,
    Variable,
    find,
    ground,
    items_of,
    kind_of,
    labels_of,
    leaf_of,
    may_be_equal,
    message,
    notation,
    of_type,
    parts_of,
    readable,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

NAME = 40  # a message names a block in at most so many characters

Guess: TypeAlias = tuple[str, str]
"""A reason and a hint; an empty text keeps the reason or hint that the error had."""

NOTHING: Guess = ("", "")


class Misfit(ArrowTypeError):
    """A form cannot take its input, for a reason in one sentence, perhaps with a hint: the obvious repair.

    `refused` turns it into the whole message when the types around the form are known.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(Message.of(reason, reason=reason, hint=hint))


# Where two types meet


def difference(
    left: Variable, right: Variable, a: Occurrence | None, b: Occurrence | None, results: bool
) -> str:
    """Says where two types first differ, and which block fixed each of them there."""
    left, right, where = _first_difference(left, right)
    start = " of ".join(reversed(where)) + ": " if where else ""
    verb, l_word, r_word = _contrast(left, right)
    l_by = fixed(left, a)
    r_by = fixed(right, b)
    sides = ("in the first", "in the second") if results else ("on the left", "on the right")
    join = "\nand " if l_by or r_by else " and "
    return f"{start}{verb}{l_word} {sides[0]}{l_by}{',' if l_by else ''}{join}{r_word} {sides[1]}{r_by}"


def _first_difference(left: Variable, right: Variable) -> tuple[Variable, Variable, list[str]]:
    """The first parts of two types that differ, and the words for the way to them, from the outside in."""
    left, right = find(left), find(right)
    where: list[str] = []
    while left.args and left.con == right.con:
        parts = list(zip(parts_of(left), parts_of(right), strict=True))
        wrong = [i for i, (x, y) in enumerate(parts) if not may_be_equal(x, y)]
        if not wrong:
            break
        i = wrong[0]
        labels = labels_of(left)
        if kind_of(left) == "tuple":
            where.append(f"item {i}" if labels is None else f"item {labels[i]!r}")
        else:
            where.append("the element")
        left, right = parts[i]
    return left, right, where


def _contrast(left: Variable, right: Variable) -> tuple[str, str, str]:
    """Words the difference of two types: the start of the sentence, and the words for each side."""
    x, y = leaf_of(left), leaf_of(right)
    if isinstance(x, T.Tensor) and isinstance(y, T.Tensor):
        if len(x.shape) != len(y.shape):
            return "there is ", str(x), str(y)
        for i, (n, m) in enumerate(zip(x.shape, y.shape, strict=True)):
            if n != m:
                return f"axis {i} is ", str(n), str(m)
        return "the element type is ", x.dtype, y.dtype
    if kind_of(left) == kind_of(right) == "tuple":
        n, m = len(left.args), len(right.args)
        return "the tuple has ", f"{n} item{'s' * (n != 1)}", str(m)
    return "there is ", _word(left), _word(right)


def _word(v: Variable) -> str:
    return {
        "Input": "a Python object",
        "Tensor": "a tensor",
        "Void": "nothing (Void)",
        "tuple": "a tuple",
        "sequence": "a sequence",
        "broadcast": "an endless sequence",
    }.get(kind_of(v) or type(leaf_of(v)).__name__, "something still open")


def fixed(v: Variable, shown: Occurrence | None) -> str:
    """Says which block fixed a type, if that is not the block shown on this side."""
    words = origin_words(v, shown)
    return f", fixed by {words}" if words else ""


def origin_of(v: Variable) -> Occurrence | None:
    """The occurrence that fixed a type, if one did."""
    cause = find(v).cause
    return cause.occurrence if cause is not None and isinstance(cause.occurrence, Occurrence) else None


def origin_words(v: Variable, shown: Occurrence | None) -> str:
    """Names the block that fixed a type and its place, unless the error shows it already."""
    origin = origin_of(v)
    if origin is None or origin is shown or (shown is not None and origin.form is shown.form):
        return ""
    words = brief(origin.form, 2)  # kind and arguments, even if it has a name
    return (words if len(words) <= NAME else brief(origin.form, 0)) + f" at {origin.form.site}"


# Whole errors


def reason_and_hint(error: ArrowTypeError | ArrowValueError) -> tuple[str, str]:
    """Why a rule or a function refused, and the repair that it names; a whole message is a reason itself."""
    return (str(error), "") if error.details.attempt else (error.details.reason, error.details.hint)


def problem(attempt: str, at: Occurrence, reason: str, hint: str, *sides: Side) -> ArrowTypeError:
    """Makes the error for one occurrence; the occurrence is also the side shown, unless `sides` are given."""
    return ArrowTypeError(message(attempt, sides or [side_of(at)], str(at.path), reason, hint))


def meet(
    attempt: str,
    a: Occurrence | None,
    b: Occurrence | None,
    left: Variable,
    right: Variable,
    at: Occurrence,
    *,
    left_name: str = "",
    right_name: str = "",
    left_site: SourceLine | None = None,
    results: bool = False,
    hint: str = "",
) -> ArrowTypeError:
    """Makes the error for two sides that do not fit: `a` or `left_name`, and `b` or `right_name`.

    An edge is one variable, which has one type, so `a` shows the result `left`, and `b` the input `right`,
    unless two results meet.
    """
    given, wanted = notation(left), notation(right)
    sides = [Side(left_name, given, left_site), Side(right_name, wanted)]
    if a is not None:
        takes = given if find(a.input) is find(a.output) else notation(a.input)
        sides[0] = side_of(a, type_of(a) if results else f"{takes} -> {given}")
    if b is not None:
        sides[1] = side_of(b, type_of(b) if results else f"{wanted} -> {notation(b.output)}")
    reason = difference(left, right, a, b, results)
    hint = _one_object(left, right) or hint or repair(left, right, b)
    return ArrowTypeError(message(attempt, sides, str(at.path), reason, hint))


def _one_object(left: Variable, right: Variable) -> str:
    """Hints at what to do where a tuple of Python objects and an object come together; empty elsewhere."""
    left, right = _first_difference(left, right)[:2]
    pair = (left, right) if kind_of(left) else (right, left)
    if leaf_of(pair[1]) is INPUT and kind_of(pair[0]) in ("tuple", "sequence") and readable(pair[0]):
        return "make one Python object of the tuple: add >> ar.Input(tuple) to it"
    return ""


def passes(
    attempt: str, value: str = "", hint: str = "", *, result: str = ""
) -> Callable[[Edge, Clash], ArrowTypeError]:
    """Makes what explains why a value that a form passes is not what its part takes, or a result.

    Args:
        attempt: what cannot be done. In all texts `{owner}` and `{part}` name the form and the block that
            gets the value, or gives the result; `{number}` and `{role}` say which part it is, and `{a}` names
            the form's kind.
        value: what the text calls the value.
        hint: the obvious repair, if the types do not say it.
        result: what the text calls that which the result of the part must be; empty for a value.
    """

    def explain(edge: Edge, clash: Clash) -> ArrowTypeError:
        part, form = edge.part, edge.owner.form
        giver, taker = (last_of(part), None) if result else (None, first_of(part))
        words = {
            "owner": name_of(edge.owner),
            "part": name_of(giver or taker or part),
            "number": edge.index + 1,
            "role": part.path.word or f"case {edge.index}",
            "a": f"{'an' if form.kind == 'RNN' else 'a'} {form.kind}",
        }
        return meet(
            attempt.format(**words),
            giver,
            taker,
            clash.left,
            clash.right,
            part,
            left_name=value.format(**words),
            right_name=result.format(**words),
            left_site=edge.site,
            hint=hint.format(**words),
        )

    return explain


def no_object(attempt: str, reason: str, hint: str) -> Callable[[Edge, Clash], ArrowTypeError]:
    """Makes what explains why a value of `{type}` is not the Python object that `{owner}` reads."""

    def explain(edge: Edge, clash: Clash) -> ArrowTypeError:
        words = {"owner": name_of(edge.owner), "type": notation(clash.left)}
        return problem(attempt.format(**words), edge.owner, reason.format(**words), hint)

    return explain


def explain_input(role: str) -> Callable[[Edge, Clash], ArrowTypeError]:
    """Makes what explains why the input of a form cannot pass to a part, which plays this role."""
    return passes(f"cannot give the input of {{owner}} to {role}, {{part}}", "input of {owner}")


# Obvious repairs

SELECT = "to choose by computed numbers, compute both and select in a Function: ar.ops.where(condition, f, g)"


def repair(left: Variable, right: Variable, b: Occurrence | None) -> str:
    x, y = leaf_of(left), leaf_of(right)
    name = name_of(b) if b is not None else "it"
    if isinstance(x, T.Input):
        if isinstance(y, T.Tensor):
            return f"read the object into a tensor first: {_reader(y)}"
        return "take the object apart with ar.GetItem(key) or ar.Record({...}), or read it with ar.Scalar()"
    if isinstance(y, T.Input):
        if kind_of(left) == "tuple":
            hint = f"{name} takes one Python object: take it out of the tuple first, as ar.GetItem(0) >> f"
            if b is not None and b.form.kind == "OneOf":
                hint += "; the key may be such a block: ar.OneOf(ar.GetItem(0) >> ar.InputTransform(f), ...)"
            return hint
        chooses = b is not None and isinstance(b.form, Choice)
        start = f"{name} takes a Python object, and no result can be turned back into one; "
        return start + (SELECT if chooses else "a function of tensors is ar.Function(f)")
    if isinstance(x, T.Tensor) and isinstance(y, T.Tensor):
        if x.dtype != y.dtype and x.shape == y.shape:
            return f"convert it: ar.Function(lambda x: ar.ops.cast(x, {y.dtype!r}))"
        if x.ndim == y.ndim == 1:
            kind = b.form.kind if b is not None and isinstance(b.form, Layer) else ""
            return f"put FC({y.shape[0]}) between them" + (f", or use another {kind} here" if kind else "")
        return ""
    if kind_of(left) in ("sequence", "broadcast") and notation(parts_of(left)[0]) == notation(right):
        return f"apply it to every element: ar.Map({name})" + (
            "; or reduce the sequence first: ar.Sum()" if isinstance(y, T.Tensor) else ""
        )
    if kind_of(left) == "tuple" and isinstance(y, T.Tensor):
        return "take one item with ar.GetItem(0), or join the tensors with ar.Concat()"
    return ""


ZEROS = (
    "zeros stand for what is left out (an initial state, a default, what None becomes)",
    "give it: ar.Zeros(type), or a block that makes it",
)


# Words


def _reader(t: T.Tensor) -> str:
    """Writes the block that reads a Python object into `t`."""
    if t.ndim == 0:
        return f"ar.Scalar({t.dtype!r})"
    dtype = "" if t.dtype == "float32" else f", {t.dtype!r}"
    return f"ar.Vector({t.shape[0]}{dtype})" if t.ndim == 1 else f"ar.Tensor({list(t.shape)}{dtype})"


def first_of(occurrence: Occurrence) -> Occurrence:
    """Returns the occurrence that gets the input: through unnamed chains, their first step."""
    while isinstance(occurrence.form, Pipe) and occurrence.form.name is None and occurrence.parts:
        occurrence = occurrence.parts[0]
    return occurrence


def last_of(occurrence: Occurrence) -> Occurrence:
    while isinstance(occurrence.form, Pipe) and occurrence.form.name is None and occurrence.parts:
        occurrence = occurrence.parts[-1]
    return occurrence


def name_of(occurrence: Occurrence) -> str:
    """Names a block in a few words."""
    return title(occurrence.form, NAME)


def step_of(occurrence: Occurrence) -> str:
    """Names a block as an operand of `>>`, which binds closer than `&`."""
    form, words = occurrence.form, name_of(occurrence)
    return f"({words})" if isinstance(form, AndFan) and form.name is None and words == form.label else words


def type_of(occurrence: Occurrence) -> str:
    return f"{notation(occurrence.input)} -> {notation(occurrence.output)}"


def side_of(occurrence: Occurrence, type: str = "") -> Side:
    return Side(name_of(occurrence), type or type_of(occurrence), occurrence.form.site)


# What a rule or the solver refused


def spokesman(occurrence: Occurrence) -> Occurrence:
    """The occurrence of the block that the user wrote: this one, or the derived block whose inside it is."""
    speaker = occurrence
    inside = {id(occurrence.form)}  # the blocks between the speaker and where the walk is
    outer = occurrence.outer
    while outer is not None:
        if isinstance(outer.form, Pipe) and not outer.form.is_chain:  # a derived block
            if not inside.isdisjoint(map(id, outer.form.spelling.blocks)):  # the user gave it this one
                return speaker
            speaker, inside = outer, set()
        inside.add(id(outer.form))
        outer = outer.outer
    return speaker


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


def contradiction(
    occurrence: Occurrence, own: Variable, reads: bool, clash: Clash
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


# What the user may have meant. A guess looks at the block, at its input, and at the blocks around it. It
# answers only where it is sure, since a wrong hint is worse than none. Guesses run only after an error, so
# they may look at all occurrences.


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


def network_result(v: Variable) -> Guess:
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
