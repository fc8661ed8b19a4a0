"""Type errors in words: from what the solver found to a text that tells its reader what to do."""

from __future__ import annotations

from collections.abc import Sequence

from arrows.combinators import (
    Apply,
    Choice,
    Constant,
    Fan,
    Fix,
    Fold,
    Graph,
    Item,
    Layer,
    Map,
    PairItem,
    Read,
    Reference,
    Zip,
)
from arrows.inference.explain_sequences import open_state, sequence_joint
from arrows.inference.explain_size import too_wide
from arrows.inference.hints import NOTHING, guess
from arrows.inference.occurrences import ASSUMED, CoercionPlace, Occurrence
from arrows.inference.reasons import (
    case,
    first_of,
    fixed,
    is_case,
    last_of,
    meet,
    name_of,
    origin_words,
    path,
    repair,
    side_of,
    step_of,
    type_of,
)
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, Side, SourceLine, message
from arrows.typesys.terms import Clash, Constraint, Struct, TooWide, TypeVariable, find, ground, notation

FEW = 4
"""Of how many items a text says which block fixed each."""


def failure(nodes: Sequence[Occurrence], constraint: Constraint, error: Exception) -> ArrowTypeError:
    """The error for something that could not hold."""
    if isinstance(error, TooWide):
        context = getattr(constraint, "context", None)
        where = context.node if isinstance(context, CoercionPlace) else getattr(constraint, "node", nodes[0])
        return too_wide(where, error.width)
    if isinstance(error, Clash):
        context = getattr(constraint, "context", None)
        if isinstance(context, CoercionPlace):
            return _joined(context, error)
        node: Occurrence = constraint.node  # type: ignore[attr-defined]
        return _own(node, error)
    node = getattr(constraint, "node", nodes[0])
    if isinstance(node.form, Reference) and node.knot is None:
        return ArrowTypeError(*error.args)
    return refused(node, error, nodes)


# Two sides that do not meet


def _joined(joined: CoercionPlace, clash: Clash) -> ArrowTypeError:
    node, kind, i = joined.node, joined.kind, joined.index
    left, right = _outer(clash, joined)
    form = node.form
    if clash.infinite:
        return _infinite(node)
    if kind == "step":
        a, b = last_of(node.parts[i - 1]), first_of(node.parts[i])
        attempt = f"cannot compose {step_of(a)} >> {step_of(b)}"
        return meet(attempt, a, b, left, right, node.parts[i])
    if kind == "call":
        assert isinstance(form, Graph)
        b = first_of(node.parts[i])
        source = form.nodes[i].source
        a = node.parts[source - 1] if isinstance(source, int) and source > 0 else node
        site = form.nodes[i].site
        what = (
            "its input"
            if source == 0
            else "the result of " + name_of(last_of(a))
            if a is not node
            else "the wires"
        )
        return meet(
            f"cannot call {name_of(b)} on {what} in {form.words} at {site}"
            if not form.title
            else f"cannot let {name_of(b)} read {what} in {form.words} at {site}",
            last_of(a) if a is not node else None,
            b,
            left,
            right,
            node.parts[i],
            left_name=what,
            left_site=site,
        )
    if kind in ("part", "case", "key input"):
        b = first_of(node.parts[i])
        words = {"part": f"part {i + 1}", "case": case(node, i), "key input": "the key"}[kind]
        return meet(
            f"cannot give the input of {name_of(node)} to {words}, {name_of(b)}",
            None,
            b,
            left,
            right,
            node.parts[i],
            left_name=f"input of {name_of(node)}",
            left_site=form.site,
        )
    if kind == "result":
        first = next((j for j in range(len(node.parts)) if j != i and is_case(node, j)), i)
        a, b = node.parts[first], node.parts[i]
        return meet(
            f"cannot choose between {case(node, first)} and {case(node, i)} of {name_of(node)}",
            last_of(a),
            last_of(b),
            find(a.output) if find(a.output).head is not None else right,
            left,
            node,
            results=True,
            hint="every case must give the same type: add a step to one of them",
        )
    if kind == "key":
        return meet(
            f"cannot choose by {name_of(last_of(node.parts[0]))} in {name_of(node)}",
            last_of(node.parts[0]),
            None,
            left,
            right,
            node.parts[0],
            right_name="a key",
            hint="a key is a Python object, known before there are tensors: choose by a field of the input",
        )
    if kind == "body":
        return meet(
            f"cannot tie the recursion {name_of(node)}",
            last_of(node.parts[0]),
            None,
            left,
            right,
            node.parts[0],
            right_name=f"{name_of(node)}, as used inside",
            hint="what the body gives must be what its own references are used as"
            + (", and what was declared" if isinstance(form, Reference) and form.token.declared else ""),
        )
    if (made := sequence_joint(joined, clash)) is not None:
        return made
    if kind == "label":
        return ArrowTypeError(
            message(
                f"cannot record {name_of(node)}",
                [side_of(node)],
                str(node.path),
                f"the second item labels the first, and must be a Python object, not {notation(left)}",
                "leave a label as it comes from the input: ar.GetItem('id'), without a Scalar after it",
            )
        )
    return meet(
        f"cannot give {notation(left)} to {name_of(first_of(node))}",
        None,
        first_of(node),
        left,
        right,
        node,
        left_name="the input assumed",
    )


def _outer(clash: Clash, joined: CoercionPlace) -> tuple[TypeVariable, TypeVariable]:
    """The whole types on both sides of a joint, of which the clash may concern a part only."""
    node, kind, i = joined.node, joined.kind, joined.index
    if kind == "step":
        return node.parts[i - 1].output, node.parts[i].input
    if kind in ("part", "case", "key input"):
        return node.input, node.parts[i].input
    if kind == "result":
        return node.parts[i].output, node.output
    if kind in ("body", "state", "start state"):
        return node.parts[i].output, node.output
    return clash.left, clash.right


# A form that refuses what it gets


def refused(node: Occurrence, error: Exception, nodes: Sequence[Occurrence] = ()) -> ArrowTypeError:
    """The error of a single block that cannot take its input; `nodes` are all there are."""
    form = node.form
    reason = getattr(error, "reason", None) or getattr(error, "message", None) or str(error)
    hint = getattr(error, "hint", None) or ""
    if not hint and isinstance(form, Apply) and isinstance(find(node.input).head, T.Sequence):
        hint = f"apply it to every element: ar.Map({name_of(node)})"
    meant = guess(nodes, node) if nodes else NOTHING
    reason, hint = meant[0] or reason, meant[1] or hint
    t = notation(node.input)
    verb = "apply" if isinstance(form, Apply) else "use"
    attempt = f"cannot {verb} {name_of(node)} {'to' if verb == 'apply' else 'on'} {t}"
    if isinstance(form, PairItem):
        attempt, hint = f"cannot use blocks side by side on {t}", "f * g takes a pair: make one with f & g"
    site = getattr(error, "site", None)
    if isinstance(site, SourceLine) and site not in (form.site, SourceLine.here()) and site.line:
        reason = f"{reason} (at {site})"
    made = ArrowTypeError(
        message(attempt, [side_of(node)], path(node), _with_input_origin(node, reason), hint)
    )
    made.__cause__ = error.__cause__
    return made


def _with_input_origin(node: Occurrence, reason: str) -> str:
    v = find(node.input)
    if v.origin is ASSUMED:
        return f"{reason}\nnothing says what flows in here, so it is taken to be a Python object"
    if isinstance(v.origin, Occurrence) and isinstance(v.origin.form, Fan):
        return reason + _items_origin(v.origin, v, node)
    words = origin_words(v, node)
    if words and isinstance(v.head, T.Input) and isinstance(v.origin.form, (Read, Choice)):
        return f"{reason}\nthe input is one since it is read by {words}"
    return f"{reason}\nthe input was fixed by {words}" if words else reason


def _items_origin(fan: Occurrence, v: TypeVariable, node: Occurrence) -> str:
    """Which blocks fixed the items of a tuple, for a block whose trouble may be any of them."""
    if not isinstance(node.form, (Apply, Zip)) or len(fan.parts) > FEW:
        return ""
    items = [origin_words(find(part.output), node) for part in fan.parts]
    if len(items) > 1 and len(set(items)) == 1:
        return f"\nthe items were fixed by {items[0]}" if items[0] else ""
    labels = v.head.labels if isinstance(v.head, (T.Tuple, Struct)) else None
    found = [
        f"item {k!r} by {words}" for k, words in zip(labels or range(len(items)), items, strict=True) if words
    ]
    return "\n" + ", ".join(found).replace(" by ", " was fixed by ", 1) if found else ""


def _own(node: Occurrence, clash: Clash) -> ArrowTypeError:
    """A block whose own type is not what its place wants."""
    if clash.infinite:
        return _infinite(node)
    known, wanted = find(clash.left), find(clash.right)
    via = wanted.via
    if wanted is find(node.output) and via is not None and known.origin is node:
        # What it should give came back from its reader: show it as it is by itself, where both meet.
        reader = find(via.right)
        wanted.head, wanted.struct, wanted.origin, wanted.via = known.head, known.struct, node, None
        if isinstance(via.context, CoercionPlace):
            return _joined(via.context, Clash(wanted, reader))
    left, right = notation(known), notation(wanted)
    by = fixed(wanted, node, "right")
    form = node.form
    if isinstance(form, Layer) and node.first is not None:
        first = node.first
        return ArrowTypeError(
            message(
                f"cannot use the layer {name_of(node)} on two types",
                [Side(name_of(first), type_of(first), first.form.site)],
                f"{path(first)}, and {path(node)}",
                f"a layer has one input type in a model, and here it meets {left} and {right}{by}",
                f"make a second layer for the second place: another {form.kind}(...)",
            )
        )
    return ArrowTypeError(
        message(
            f"cannot use {name_of(node)} here",
            [side_of(node)],
            path(node),
            f"it is {left} by itself, and {right} is wanted{by}",
            repair(wanted, known, node) if isinstance(wanted.head, T.Type) else "",
        )
    )


def _infinite(node: Occurrence) -> ArrowTypeError:
    fixes = path(node)
    return ArrowTypeError(
        message(
            f"cannot type {name_of(node)}",
            [Side(name_of(node), "? -> ?", node.form.site)],
            fixes,
            "the type would be infinite: a value would have to contain another of its own type",
            "combine the results of the references into one tensor or tuple, with a Function or a layer",
        )
    )


def loose_reference(node: Occurrence) -> str:
    """The text for a reference outside of its definition, or without one."""
    assert isinstance(node.form, Reference)
    token = node.form.token
    if token.declared:
        return message(
            f"cannot use {token.words}",
            [Side(token.name, "? -> ?", node.form.site)],
            path(node),
            f"it was declared at {token.site}, and is not resolved: nothing says what it stands for",
            "say it before the block is used: declaration.resolve_to(block)",
        )
    return message(
        f"cannot use the reference {node.form.label} here",
        [Side(node.form.label, "? -> ?", node.form.site)],
        path(node),
        f"the reference that fix passes to {node.form.label} stands for the block inside its definition only",
        f"outside of it use the finished block {node.form.label} itself",
    )


def two_metrics(node: Occurrence, t: T.Type, first: Occurrence, first_type: T.Type) -> ArrowTypeError:
    """One metric name for tensors of two types."""
    return ArrowTypeError(
        message(
            f"cannot record two types under {name_of(node)}",
            [
                Side(name_of(first), str(first_type), first.form.site),
                Side(name_of(node), str(t), node.form.site),
            ],
            f"{path(first)}, and {path(node)}",
            f"a {node.form.kind.lower()} has one type in a model, and here it is {first_type} first "
            f"and {t} then",
            "give one of them another name",
        )
    )


def no_default(node: Occurrence, t: T.Type) -> ArrowTypeError:
    """Zeros that are to be made up, of a type that has no zero."""
    if node.path.word == "start":
        return ArrowTypeError(
            message(
                "cannot make up the first state of an RNN",
                [Side("state", str(t), node.form.site)],
                path(node),
                "an RNN starts from zeros of its state, and a Python object has no zero",
                "say what it starts from: ar.RNN(cell, start)",
            )
        )
    return ArrowTypeError(
        message(
            f"cannot make up a value of {t} for None",
            [Side("Optional", f"Input -> {t}", node.form.site)],
            path(node),
            "an Optional gives zeros for None, and a Python object has no zero",
            "say what None becomes: ar.Optional(some, ar.InputTransform(lambda x: value))",
        )
    )


def unread(node: Occurrence, j: int) -> ArrowTypeError:
    """A wire that nobody reads."""
    form = node.form
    assert isinstance(form, Graph)
    block = form.parts[j]
    parameter = ""
    if (
        isinstance(block, Item)
        and form.nodes[j].source == 0
        and block.arity is not None
        and len(form.parameters) > 1
    ):
        parameter = form.parameters[block.key]
    what = f"the parameter {parameter}" if parameter else f"the result of {block.label}"
    return ArrowTypeError(
        message(
            f"cannot leave {what} unread in {form.words}",
            [Side(parameter or block.label, str(ground(node.parts[j].output)), form.nodes[j].site)],
            path(node),
            "nobody reads this wire, so it would be computed for nothing",
            "read it, or drop it: ar.Void().reads(wire)"
            if form.title
            else f"return it, pass it on, or drop it: ar.Void()({parameter or 'wire'})"
            + (f"; a parameter that is not needed is called _{parameter}" if parameter else ""),
        )
    )


def _recursion_end(nodes: Sequence[Occurrence]) -> str:
    """What would give a recursion its type."""
    for node in nodes:
        if node.parts and isinstance(node.parts[-1].form, Constant) and ground(node.parts[-1].output) is None:
            if node.form.kind == "Optional":
                return "say what None gives: ar.Optional(some, ar.Zeros(type))"
            if node.form.kind == "Reduce":
                return "say what no elements give: ar.Reduce(combine, ar.Zeros(type))"
    return "some case of the recursion must end without a reference, and give a type, as ar.Zeros(type) does"


def still_open(nodes: Sequence[Occurrence]) -> ArrowTypeError:
    """A type that nothing fixes."""
    culprit = next(
        (n for n in nodes if ground(n.input) is not None and ground(n.output) is None and not n.parts),
        None,
    ) or next(n for n in nodes if ground(n.input) is None or ground(n.output) is None)
    if (made := open_state(nodes, culprit)) is not None:
        return made
    form = culprit.form
    side = "input" if ground(culprit.input) is None else "output"
    hint = "say what flows in, for instance ar.infer(block, input=[300])"
    if isinstance(form, Constant):
        side, hint = "output", "give the missing case: ar.Optional(some, ar.Zeros(type))"
    elif isinstance(form, (Reference, Fix)):
        hint = _recursion_end(nodes)
    elif isinstance(form, (Map, Fold)):
        hint = f"put a block that reads the data before {form.kind}"
    known = notation(culprit.input if side == "input" else culprit.output)
    return ArrowTypeError(
        message(
            f"cannot infer the {side} of {name_of(culprit)}",
            [side_of(culprit)],
            path(culprit),
            f"nothing fixes the type of the {side}"
            + ("" if known == "?" else f"; as far as known, it is {known}"),
            hint,
        )
    )


def without_end(knot: Occurrence) -> ArrowTypeError:
    """A recursion whose every case calls it again."""
    return ArrowTypeError(
        message(
            f"cannot end the recursion {name_of(knot)}",
            [side_of(knot)],
            path(knot),
            "every case of it calls it again, and so does not end, whatever the data",
            "some case must end without a reference: OneOf(key, {..., False: block without it})",
        )
    )
