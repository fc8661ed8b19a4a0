"""The texts of type errors: where two types differ, which block fixed each, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from arrows.combinators import AndFan, Choice, Layer, Pipe, brief, title
from arrows.inference.occurrences import Edge, Occurrence
from arrows.typesys import (
    INPUT,
    ArrowTypeError,
    ArrowValueError,
    Clash,
    Side,
    SourceLine,
    Var,
    find,
    kind_of,
    labels_of,
    leaf_of,
    may_be_equal,
    message,
    notation,
    parts_of,
    readable,
    types as T,
)

NAME = 40  # a message names a block in at most so many characters


def difference(left: Var, right: Var, a: Occurrence | None, b: Occurrence | None, results: bool) -> str:
    """Says where two types first differ, and which block fixed each of them there."""
    left, right, where = _first_difference(left, right)
    start = " of ".join(reversed(where)) + ": " if where else ""
    verb, l_word, r_word = _contrast(left, right)
    l_by = fixed(left, a)
    r_by = fixed(right, b)
    sides = ("in the first", "in the second") if results else ("on the left", "on the right")
    join = "\nand " if l_by or r_by else " and "
    return f"{start}{verb}{l_word} {sides[0]}{l_by}{',' if l_by else ''}{join}{r_word} {sides[1]}{r_by}"


def _first_difference(left: Var, right: Var) -> tuple[Var, Var, list[str]]:
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


def _contrast(left: Var, right: Var) -> tuple[str, str, str]:
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


def _word(v: Var) -> str:
    return {
        "Input": "a Python object",
        "Tensor": "a tensor",
        "Void": "nothing (Void)",
        "tuple": "a tuple",
        "sequence": "a sequence",
        "broadcast": "an endless sequence",
    }.get(kind_of(v) or type(leaf_of(v)).__name__, "something still open")


def fixed(v: Var, shown: Occurrence | None) -> str:
    """Says which block fixed a type, if that is not the block shown on this side."""
    words = origin_words(v, shown)
    return f", fixed by {words}" if words else ""


def origin_of(v: Var) -> Occurrence | None:
    """The occurrence that fixed a type, if one did."""
    cause = find(v).cause
    return cause.occurrence if cause is not None and isinstance(cause.occurrence, Occurrence) else None


def origin_words(v: Var, shown: Occurrence | None) -> str:
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
    left: Var,
    right: Var,
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


def _one_object(left: Var, right: Var) -> str:
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


def repair(left: Var, right: Var, b: Occurrence | None) -> str:
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
