"""Type errors in words: from what the solver found to a text that tells its reader what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrows.combinators.apply import Apply
from arrows.combinators.block import Block
from arrows.combinators.compose import Pipe
from arrows.combinators.constant import Constant
from arrows.combinators.fanout import Fan
from arrows.combinators.inputs import Item
from arrows.combinators.layer import Layer
from arrows.combinators.nodes import Joined, Node
from arrows.combinators.notation import Graph
from arrows.combinators.recursion import Fix, Reference
from arrows.combinators.sequences import Fold, Map
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, Side, Site, message
from arrows.typesys.unify import Clash, Constraint, Joint, Struct, Var, compound, find, ground, notation


def failure(nodes: Sequence[Node], constraint: Constraint, error: Exception) -> ArrowTypeError:
    """The error for something that could not hold."""
    if isinstance(error, Clash):
        context = getattr(constraint, "context", None)
        if isinstance(context, Joined):
            return _joined(context, error)
        node: Node = constraint.node  # type: ignore[attr-defined]
        return _own(node, error)
    node = getattr(constraint, "node", nodes[0])
    if isinstance(node.form, Reference) and node.knot is None:
        return ArrowTypeError(str(error))
    return refused(node, error)


# Two sides that do not meet


def _joined(joined: Joined, clash: Clash) -> ArrowTypeError:
    node, kind, i = joined.node, joined.kind, joined.index
    left, right = _outer(clash, joined)
    form = node.form
    if clash.infinite:
        return _infinite(node)
    if kind == "step":
        a, b = _last(node.parts[i - 1]), _first(node.parts[i])
        attempt = f"cannot compose {_name(a)} >> {_name(b)}"
        return _meet(attempt, a, b, left, right, node.parts[i])
    if kind == "call":
        assert isinstance(form, Graph)
        b = _first(node.parts[i])
        source = form.nodes[i].source
        a = node.parts[source - 1] if isinstance(source, int) and source > 0 else node
        site = form.nodes[i].site
        what = (
            "its input"
            if source == 0
            else "the result of " + _name(_last(a))
            if a is not node
            else "the wires"
        )
        return _meet(
            f"cannot call {_name(b)} on {what} in the arrow {form.label} at {site}",
            _last(a) if a is not node else None,
            b,
            left,
            right,
            node.parts[i],
            left_name=what,
            left_site=site,
        )
    if kind in ("part", "case", "key input"):
        b = _first(node.parts[i])
        words = {"part": f"part {i + 1}", "case": _case(node, i), "key input": "the key"}[kind]
        return _meet(
            f"cannot give the input of {_name(node)} to {words}, {_name(b)}",
            None,
            b,
            left,
            right,
            node.parts[i],
            left_name=f"input of {_name(node)}",
            left_site=form.site,
        )
    if kind == "result":
        first = next((j for j in range(len(node.parts)) if j != i and _is_case(node, j)), i)
        a, b = node.parts[first], node.parts[i]
        return _meet(
            f"cannot choose between {_case(node, first)} and {_case(node, i)} of {_name(node)}",
            _last(a),
            _last(b),
            find(a.output) if find(a.output).head is not None else right,
            left,
            node,
            results=True,
            hint="every case must give the same type: add a step to one of them",
        )
    if kind == "key":
        return _meet(
            f"cannot choose by {_name(_last(node.parts[0]))} in {_name(node)}",
            _last(node.parts[0]),
            None,
            left,
            right,
            node.parts[0],
            right_name="a key",
            hint="a key is a Python object, known before there are tensors: choose by a field, or by a function of the input",
        )
    if kind == "body":
        return _meet(
            f"cannot tie the recursion {_name(node)}",
            _last(node.parts[0]),
            None,
            left,
            right,
            node.parts[0],
            right_name=f"{_name(node)}, as used inside",
            hint="what the body gives must be what its own references are used as",
        )
    if kind in ("start state", "state"):
        step, start = node.parts
        return _meet(
            f"cannot fold with {_name(_last(step))} from {_name(_last(start))}",
            _last(start),
            _last(step),
            find(start.output),
            find(step.output),
            node,
            results=True,
            hint="the start and every step must give a state of one type",
        )
    if kind == "start":
        b = _first(node.parts[1])
        return _meet(
            f"cannot start {_name(node)} from {_name(b)}",
            None,
            b,
            left,
            right,
            node.parts[1],
            left_name="start of the fold",
            left_site=form.site,
            hint="the start of a Fold gets no input: use ar.Zeros(type) or ar.Constant(value)",
        )
    if kind == "fold":
        b = _first(node.parts[0])
        return _meet(
            f"cannot give the pair (state, element) to {_name(b)}, the step of {_name(node)}",
            None,
            b,
            left,
            right,
            node.parts[0],
            left_name="(state, element)",
            left_site=form.site,
            hint="the step of a Fold takes a pair: the state so far, and the next element",
        )
    if kind in ("element", "folded"):
        if isinstance(ground(node.input), T.Tuple) or _is_tuple(node.input):
            return _mixed(node, left, right)
        b = _first(node.parts[0])
        return _meet(
            f"cannot give the elements to {_name(b)}, the block of {_name(node)}",
            None,
            b,
            left,
            right,
            node.parts[0],
            left_name="an element",
            left_site=form.site,
        )
    if kind == "label":
        return ArrowTypeError(
            message(
                f"cannot record {_name(node)}",
                [_side(node)],
                str(node.path),
                f"the second item labels the first, and must be a Python object, not {notation(left)}",
                "leave a label as it comes from the input: ar.GetItem('id'), without reading it into a tensor",
            )
        )
    return _meet(
        f"cannot give {notation(left)} to {_name(_first(node))}",
        None,
        _first(node),
        left,
        right,
        node,
        left_name="the input assumed",
    )


def _outer(clash: Clash, joined: Joined) -> tuple[Var, Var]:
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


def _meet(
    attempt: str,
    a: Node | None,
    b: Node | None,
    left: Var,
    right: Var,
    at: Node,
    *,
    left_name: str = "",
    right_name: str = "",
    left_site: Site | None = None,
    results: bool = False,
    hint: str = "",
) -> ArrowTypeError:
    sides = [
        _side(a) if a is not None else Side(left_name, notation(left), left_site),
        _side(b) if b is not None else Side(right_name, notation(right)),
    ]
    reason = _difference(left, right, a, b, results)
    return ArrowTypeError(message(attempt, sides, str(at.path), reason, hint or _repair(left, right, b)))


def _difference(left: Var, right: Var, a: Node | None, b: Node | None, results: bool) -> str:
    """Where two types differ first, and what fixed each of them there."""
    left, right = find(left), find(right)
    where: list[str] = []
    while True:
        x, y = left.head, right.head
        if not (compound(x) and compound(y)) or _word(x) != _word(y):
            break
        xs, ys = _parts(left), _parts(right)
        if len(xs) != len(ys):
            break
        wrong = [i for i, (p, q) in enumerate(zip(xs, ys, strict=True)) if not _agree(p, q)]
        if not wrong:
            break
        i = wrong[0]
        if _word(x) == "a tuple":
            names = x.labels if isinstance(x, (T.Tuple, Struct)) else None
            where.append(f"item {names[i]!r}" if names is not None else f"item {i}")
        else:
            where.append("the element")
        left, right = find(xs[i]), find(ys[i])
    start = " of ".join(reversed(where)) + ": " if where else ""
    what, l_word, r_word = _contrast(left.head, right.head)
    l_by = _fixed(left, a, "first" if results else "left")
    r_by = _fixed(right, b, "second" if results else "right")
    sides = ("in the first", "in the second") if results else ("on the left", "on the right")
    join = "\nand " if l_by or r_by else " and "
    return f"{start}{what}{l_word} {sides[0]}{l_by}{',' if l_by else ''}{join}{r_word} {sides[1]}{r_by}"


def _contrast(x: Any, y: Any) -> tuple[str, str, str]:
    """What is different, and each side's part of it."""
    if isinstance(x, T.Tensor) and isinstance(y, T.Tensor):
        if len(x.shape) != len(y.shape):
            return "there ", f"{_axes(x)} ({x})", f"{_axes(y, False)} ({y})"
        for i, (n, m) in enumerate(zip(x.shape, y.shape, strict=True)):
            if n != m:
                return f"axis {i} is ", str(n), str(m)
        return "the element type is ", x.dtype, y.dtype
    if _word(x) == _word(y) == "a tuple":
        n, m = _count(x), _count(y)
        return "the tuple has ", f"{n} item{'s' * (n != 1)}", str(m)
    return "there is ", _word(x), _word(y)


def _axes(t: T.Tensor, verb: bool = True) -> str:
    n = len(t.shape)
    words = {0: "no axis", 1: "one axis", 2: "two axes", 3: "three axes"}.get(n, f"{n} axes")
    return f"{'is' if n < 2 else 'are'} {words}" if verb else words


def _word(head: Any) -> str:
    if head is None:
        return "something still open"
    if isinstance(head, T.Input):
        return "a Python object"
    if isinstance(head, T.Tensor):
        return "a tensor"
    if isinstance(head, T.Void):
        return "nothing (Void)"
    kind = head.kind if isinstance(head, Struct) else type(head).__name__.lower()
    return {"tuple": "a tuple", "sequence": "a sequence", "broadcast": "an endless sequence"}[kind]


def _count(head: Any) -> int:
    return len(head.args) if isinstance(head, Struct) else len(head.items)


def _parts(v: Var) -> list[Var]:
    if v.struct is not None:
        return v.struct.args
    return [Var(t, v.origin) for t in v.head.children] if isinstance(v.head, T.Type) else []


def _agree(x: Var, y: Var) -> bool:
    """Whether two parts may meet, as far as is known."""
    from arrows.typesys.unify import passes

    todo = [(x, y)]
    while todo:
        x, y = todo.pop()
        x, y = find(x), find(y)
        if x is y or x.head is None or y.head is None:
            continue
        if isinstance(x.head, T.Type) and isinstance(y.head, T.Type):
            if not passes(x.head, y.head):
                return False
        elif isinstance(y.head, T.Input):
            if isinstance(x.head, Struct) and x.head.impure:
                return False
        elif not (compound(x.head) and compound(y.head)) or len(_parts(x)) != len(_parts(y)):
            return False
        else:
            todo.extend(zip(_parts(x), _parts(y), strict=True))
    return True


def _fixed(v: Var, shown: Node | None, side: str) -> str:
    """Which block fixed a type, where that is not the block shown on this side."""
    if v.via is not None and side == "right":
        site = _site(v.via)
        if site is not None:
            by = _origin_words(v, shown)
            return f", fixed by its use at {site}" + (f" by {by}" if by else "")
    words = _origin_words(v, shown)
    return f", fixed by {words}" if words else ""


def _origin_words(v: Var, shown: Node | None) -> str:
    origin = v.origin
    if not isinstance(origin, Node) or origin is shown or (shown is not None and origin.form is shown.form):
        return ""
    return f"{_call(origin.form)} at {origin.form.site}"


def _site(joint: Joint) -> Site | None:
    context = joint.context
    if not isinstance(context, Joined):
        return None
    if context.kind == "call" and isinstance(context.node.form, Graph):
        return context.node.form.nodes[context.index].site
    return context.node.form.site


def _call(form: Block[Any, Any]) -> str:
    """A block by kind and arguments, whatever its name."""
    if isinstance(form, (Pipe, Fan)):
        return form.label
    return f"{form.kind}({form.arguments()})"


# Obvious repairs


def _repair(left: Var, right: Var, b: Node | None) -> str:
    x, y = find(left).head, find(right).head
    name = _name(b) if b is not None else "it"
    if isinstance(x, T.Input):
        if isinstance(y, T.Tensor):
            reader = {
                0: f"ar.Scalar({y.dtype!r})",
                1: f"ar.Vector({y.shape[0] if y.shape else 0}, {y.dtype!r})",
            }
            return f"read the object into a tensor first: {reader.get(y.ndim, f'ar.Tensor({list(y.shape)}, {y.dtype!r})')}"
        return "a Python object is taken apart by ar.GetItem(key) or ar.Record({...}), and read by ar.Scalar(), ar.Vector(n)"
    if isinstance(y, T.Input):
        if isinstance(x, T.Void):
            return f"Void carries nothing; give {name} its input another way"
        return (
            f"{name} takes a Python object, and there is no way back from a tensor to one; "
            "what works on tensors is ar.Function(f)"
        )
    if isinstance(x, T.Tensor) and isinstance(y, T.Tensor):
        if x.dtype != y.dtype and x.shape == y.shape:
            return f"convert it: ar.Function(lambda x: ar.ops.cast(x, {y.dtype!r}))"
        if x.ndim == y.ndim == 1:
            kind = b.form.kind if b is not None and isinstance(b.form, Layer) else ""
            return f"put FC({y.shape[0]}) between them" + (f", or use another {kind} here" if kind else "")
        return ""
    element = x.element if isinstance(x, (T.Sequence, T.Broadcast)) else None
    if element is not None and element == y:
        return f"apply it to every element: ar.Map({name})" + (
            "; or reduce the sequence first: ar.Sum()" if isinstance(element, T.Tensor) else ""
        )
    if _word(x) == "a tuple" and isinstance(y, T.Tensor):
        return "take one item with ar.GetItem(0), or join the tensors with ar.Concat()"
    if isinstance(x, T.Tensor) and _word(y) == "a sequence":
        return f"{name} goes over a sequence; a single value is a sequence of one nowhere by itself"
    return ""


# A form that refuses what it gets


def refused(node: Node, error: Exception) -> ArrowTypeError:
    """The error of a single block that cannot take its input."""
    form = node.form
    reason = getattr(error, "reason", None) or getattr(error, "message", None) or str(error)
    hint = getattr(error, "hint", None) or ""
    t = notation(node.input)
    verb = "apply" if isinstance(form, Apply) else "use"
    attempt = f"cannot {verb} {_name(node)} {'to' if verb == 'apply' else 'on'} {t}"
    site = getattr(error, "site", None)
    if isinstance(site, Site) and site != form.site and site.line:
        reason = f"{reason} (at {site})"
    made = ArrowTypeError(
        message(attempt, [_side(node)], _path(node), _with_input_origin(node, reason), hint)
    )
    made.__cause__ = error.__cause__
    return made


def _with_input_origin(node: Node, reason: str) -> str:
    v = find(node.input)
    words = _origin_words(v, node)
    return f"{reason}\nthe input was fixed by {words}" if words else reason


def _own(node: Node, clash: Clash) -> ArrowTypeError:
    """A block whose own type is not what its place wants."""
    if clash.infinite:
        return _infinite(node)
    known, wanted = find(clash.left), find(clash.right)
    left, right = notation(known), notation(wanted)
    by = _fixed(wanted, node, "right")
    form = node.form
    if isinstance(form, Layer) and node.first is not None:
        first = node.first
        return ArrowTypeError(
            message(
                f"cannot use the layer {_name(node)} on two types",
                [Side(_name(first), _type(first), first.form.site)],
                f"{_path(first)}, and {_path(node)}",
                f"a layer has one input type in a model, and here it meets {left} and {right}{by}",
                f"make a second layer for the second place: another {form.kind}(...)",
            )
        )
    return ArrowTypeError(
        message(
            f"cannot use {_name(node)} here",
            [_side(node)],
            _path(node),
            f"it is {left} by itself, and {right} is wanted{by}",
            _repair(wanted, known, node) if isinstance(wanted.head, T.Type) else "",
        )
    )


def _mixed(node: Node, left: Var, right: Var) -> ArrowTypeError:
    return ArrowTypeError(
        message(
            f"cannot go over {notation(node.input)} with {_name(node)}",
            [_side(node)],
            _path(node),
            f"the items of a tuple must have one type to be gone over, and there are {notation(right)} and {notation(left)}",
            "treat the items one by one with a Record or ar.GetItem",
        )
    )


def _infinite(node: Node) -> ArrowTypeError:
    fixes = _path(node)
    return ArrowTypeError(
        message(
            f"cannot type {_name(node)}",
            [_side(node)],
            fixes,
            "the type would be infinite: a value would have to contain another of its own type",
            "let the recursion give a tensor, or a tuple of fixed depth, and combine the results of its references "
            "with a Function or a layer",
        )
    )


def loose_reference(node: Node) -> str:
    """The text for a reference outside of its definition."""
    return message(
        f"cannot use the reference {node.form.label} here",
        [Side(node.form.label, "? -> ?", node.form.site)],
        _path(node),
        f"the reference that fix passes to {node.form.label} stands for the finished block inside its definition only",
        f"outside of it use the finished block {node.form.label} itself",
    )


def two_metrics(node: Node, t: T.Type, first: Node, first_type: T.Type) -> ArrowTypeError:
    """One metric name for tensors of two types."""
    return ArrowTypeError(
        message(
            f"cannot record two types under {_name(node)}",
            [Side(_name(first), str(first_type), first.form.site), Side(_name(node), str(t), node.form.site)],
            f"{_path(first)}, and {_path(node)}",
            f"a metric has one type in a model, and here it is {first_type} first and {t} then",
            "give one of them another name",
        )
    )


def no_default(node: Node, t: T.Type) -> ArrowTypeError:
    """An `Optional` whose missing case has no zero."""
    return ArrowTypeError(
        message(
            f"cannot make up a value of {t} for None",
            [Side("Optional", f"Input -> {t}", node.form.site)],
            _path(node),
            "an Optional gives zeros for None, and a Python object has no zero",
            "say what None becomes: ar.Optional(some, ar.InputTransform(lambda x: value))",
        )
    )


def unread(node: Node, j: int) -> ArrowTypeError:
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
            f"cannot leave {what} unread in the arrow {form.label}",
            [Side(parameter or block.label, str(ground(node.parts[j].output)), form.nodes[j].site)],
            _path(node),
            "nobody reads this wire, so it would be computed for nothing",
            f"return it, pass it on, or drop it: ar.Void()({parameter or 'wire'})"
            + (f"; a parameter that is not needed is called _{parameter}" if parameter else ""),
        )
    )


def still_open(nodes: Sequence[Node]) -> ArrowTypeError:
    """A type that nothing fixes."""
    culprit = next(
        (n for n in nodes if ground(n.input) is not None and ground(n.output) is None and not n.parts),
        None,
    ) or next(n for n in nodes if ground(n.input) is None or ground(n.output) is None)
    form = culprit.form
    side = "input" if ground(culprit.input) is None else "output"
    hint = "say what flows in, for instance ar.infer(block, input=[300])"
    if isinstance(form, Constant):
        side, hint = "output", "give the missing case: ar.Optional(some, ar.Zeros(type))"
    elif isinstance(form, (Reference, Fix)):
        hint = "some case of the recursion must end without a reference, and give a type"
    elif isinstance(form, (Map, Fold)):
        hint = f"put a block that reads the data before {form.kind}"
    return ArrowTypeError(
        message(
            f"cannot infer the {side} of {_name(culprit)}",
            [_side(culprit)],
            _path(culprit),
            f"nothing fixes what the {side} of {_name(culprit)} is: {notation(culprit.input if side == 'input' else culprit.output)}",
            hint,
        )
    )


# Words


def _first(node: Node) -> Node:
    """The block that meets the input: the first step of an unnamed chain."""
    while isinstance(node.form, Pipe) and node.form.name is None and node.parts:
        node = node.parts[0]
    return node


def _last(node: Node) -> Node:
    while isinstance(node.form, Pipe) and node.form.name is None and node.parts:
        node = node.parts[-1]
    return node


def _name(node: Node) -> str:
    label = node.form.label
    return label if len(label) <= 60 else f"{node.form.kind} ({node.form.site})"


def _type(node: Node) -> str:
    return f"{notation(node.input)} -> {notation(node.output)}"


def _side(node: Node) -> Side:
    return Side(_name(node), _type(node), node.form.site)


def _path(node: Node) -> str:
    return str(node.path)


def _case(node: Node, i: int) -> str:
    words = node.parts[i].path.word
    return words or f"case {i}"


def _is_case(node: Node, j: int) -> bool:
    return node.parts[j].path.word.startswith("case")


def _is_tuple(v: Var) -> bool:
    head = find(v).head
    return isinstance(head, Struct) and head.kind == "tuple"
