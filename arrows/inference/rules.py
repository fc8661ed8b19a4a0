"""The typing rule of each core form: which parts it enters, and what it says of their types.

The tables at the end have the rule of each form. A rule that must wait for a type is a generator. Behind it
stand its explanations, for where two types do not fit. `elements` has the forms that take elements or go over
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows import combinators as core
from arrows.combinators import (
    AnyBlock,
    Apply,
    Block,
    Choice,
    Constant,
    Fan,
    Graph,
    Layer,
    Reduce,
    Reduction,
    Reference,
    SideOutput,
    Source,
    Tap,
    without_zero,
)
from arrows.inference import elements
from arrows.inference.messages import (
    SELECT,
    ZEROS,
    Misfit,
    explain_input,
    first_of,
    last_of,
    meet,
    name_of,
    no_object,
    passes,
    problem,
    refused,
    side_of,
    step_of,
)
from arrows.inference.typed import Edge, Occurrence, case_names
from arrows.ops import Parameter
from arrows.typesys import (
    ALIKE,
    INPUT,
    LAYER,
    VOID,
    ArrowTypeError,
    Cause,
    Clash,
    Rule,
    Side,
    Variable,
    find,
    items_of,
    kind_of,
    leaf_of,
    notation,
    of_type,
    parts_of,
    tuple_of,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

# Blocks that pass their results to others: `Pipe`, `Fan`, `Graph`


def pipe(inference: Inference, pipe: Occurrence, form: AnyBlock) -> None:
    steps = form.parts
    if not steps:
        inference.gives(pipe, pipe.input)
        return
    value, edge = pipe.input, None
    count = len(steps)
    for i, block in enumerate(steps):
        word = f"step {i + 1} of {count}" if count > 1 else ""
        output = pipe.output if i == count - 1 else None
        value = inference.enter(pipe, block, value, edge, word, output).output
        edge = Edge(pipe, i + 1, _explain_step)


def fan(inference: Inference, fan: Occurrence, form: Fan[Any, Any]) -> None:
    labels, count = form.labels, len(form.parts)
    results = []
    for i, block in enumerate(form.parts):
        word = f"part {i + 1} of {count}" if labels is None else f"field {labels[i]!r}"
        results.append(inference.enter(fan, block, fan.input, Edge(fan, i, _explain_part), word).output)
    inference.gives(fan, tuple_of(results, Cause(fan), frozenset([labels])))


def graph(inference: Inference, graph: Occurrence, form: Graph[Any, Any]) -> None:
    wires = [graph.input]
    for j, (call, block) in enumerate(zip(form.nodes, form.parts, strict=True)):
        word = block.kind if block.name is None or block.parts else block.name
        if call.site.line:
            word = f"{word} in line {call.site.line}"
        edge = Edge(graph, j, _explain_call, call.site)
        wires.append(inference.enter(graph, block, _read(inference, call.source, wires), edge, word).output)
    inference.gives(graph, _read(inference, form.result, wires))


def _read(inference: Inference, source: Source, wires: list[Variable]) -> Variable:
    """Returns the value that a call reads."""
    if isinstance(source, int):
        return wires[source]
    return inference.tuple_of([_read(inference, item, wires) for item in source])


def _explain_step(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of a step cannot pass to the next step."""
    before = edge.owner.parts[edge.index - 1]
    left, right = last_of(before), first_of(edge.part)
    attempt = f"cannot compose {step_of(left)} >> {step_of(right)}"
    return meet(attempt, left, right, clash.left, clash.right, edge.part)


_explain_part = explain_input("part {number}")


def _explain_call(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the value that a call in a wiring graph reads cannot pass to its block."""
    graph, form, block = edge.owner, edge.owner.form, first_of(edge.part)
    assert isinstance(form, Graph)
    source = form.nodes[edge.index].source
    producer = last_of(graph.parts[source - 1]) if isinstance(source, int) and source > 0 else None
    words = "its input" if source == 0 else "the wires"
    if producer is not None:
        words = f"the result of {name_of(producer)}"
    return meet(
        f"cannot call {name_of(block)} on {words} in {form.title} at {edge.site}",
        producer,
        block,
        clash.left,
        clash.right,
        edge.part,
        left_name=words,
        left_site=edge.site,
    )


def check_graph(inference: Inference, graph: Occurrence, form: Graph[Any, Any]) -> None:
    """Refuses a wire that nobody reads, unless it carries nothing or its value is tapped."""
    read = _wires_read(form.result, *(call.source for call in form.nodes))
    for j, part in enumerate(graph.parts):
        if j + 1 not in read and not _carries_nothing(part.output) and not isinstance(part.form, Tap):
            raise _unread(graph, form, j)


def _carries_nothing(output: Variable) -> bool:
    """Whether a value is Void, or a sequence of it, such as a metric at each element gives."""
    while kind_of(output) == "sequence":
        (output,) = parts_of(output)
    return isinstance(leaf_of(output), T.Void)


def _wires_read(*sources: Source) -> set[int]:
    inner = (_wires_read(*x) if isinstance(x, tuple) else {x} for x in sources)
    return set().union(*inner)


def _unread(graph: Occurrence, form: Graph[Any, Any], j: int) -> ArrowTypeError:
    block, call = form.parts[j], form.nodes[j]
    parameter = form.parameter(j)
    words = f"the parameter {parameter}" if parameter else f"the result of {block.label}"
    hint = f"return it, pass it on, or drop it: ar.Void()({parameter or 'wire'})"
    if parameter:
        hint += f"; name an unused parameter _{parameter}"
    return problem(
        f"cannot leave {words} unread in {form.title}",
        graph,
        "no block reads this wire, so it would be computed for nothing",
        hint,
        Side(parameter or block.label, notation(graph.parts[j].output), call.site),
    )


# Cases


def choice(inference: Inference, choice: Occurrence, form: Choice[Any, Any]) -> None:
    first_case, value = 0, choice.input
    if form.key_block is None:
        inference.reads_object(choice.input, choice, choice.edge)
        value = Variable(INPUT, cause=Cause(choice, reads=True))
    else:
        first_case = 1
        edge = Edge(choice, 0, _explain_key_input)
        key = inference.enter(choice, form.key_block, choice.input, edge, "key")
        inference.reads_object(key.output, choice, Edge(choice, 0, _explain_key))
    for i, (name, block) in enumerate(zip(case_names(form), form.cases, strict=True), first_case):
        # Each case reads a value of its own: what one case computes must not stand for the same block in
        # another case, which runs for other examples.
        own = Variable()
        inference.solver.unify(own, value)
        word = f"case {name.removeprefix('case ')}"
        case = inference.enter(choice, block, own, Edge(choice, i, _explain_case), word)
        inference.solver.join(case.output, choice.output, Edge(choice, i, _explain_result))


_explain_key_input = explain_input("the key")
_explain_case = explain_input("{role}")


_explain_key = passes(
    "cannot choose by {part} in {owner}",
    result="a key",
    hint="a key must be a Python object, since it is read before any tensor is computed: "
    f"choose by a field of the input; {SELECT}",
)


def _explain_result(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of a case cannot become the result of the choice."""
    choice, case, parts = edge.owner, edge.part, edge.owner.parts
    cases = (j for j, part in enumerate(parts) if part is not case and part.path.word.startswith("case"))
    other = next(cases, edge.index)
    output = find(parts[other].output)
    return meet(
        f"cannot choose between {parts[other].path.word} and {case.path.word} of {name_of(choice)}",
        last_of(parts[other]),
        last_of(case),
        output if output.con is not None else choice.output,
        case.output,
        choice,
        results=True,
        hint="every case must give the same type: add a step to one of them",
    )


# Recursion


def reference(inference: Inference, reference: Occurrence, form: Reference[Any, Any]) -> None:
    token, solver = form.token, inference.solver
    knot = inference.open_knot(token)
    if knot is not None:
        reference.knot = knot
        inference.gives(reference, knot.output)
        return
    if token.definition is None:
        raise _undefined(reference)
    reference.knot = reference  # the first occurrence of a reference is its knot
    path = reference.path
    path.word = f"{path.word} > {token.name}" if path.word else token.name
    input = Variable()  # what the entrance and the references have in common
    if token.input is not None:
        declared = inference.floats(token.input)
        input = of_type(declared, Cause(reference, reads=True, says=declared))
    if token.output is not None:
        inference.gives(reference, inference.floats(token.output))
    solver.join(reference.input, input, reference.edge or reference)
    inference.containers.append((reference.input, input))
    part = inference.enter(reference, token.definition, input, None, "")
    solver.join(part.output, reference.output, Edge(reference, 0, _explain_body))
    inference.enter_recursion(token, reference)


_explain_body = passes(
    "cannot type the recursion {owner}",
    result="{owner}, as used inside",
    hint="the body must give the type that its references are used with, and that was declared if one was",
)


def _undefined(reference: Occurrence) -> ArrowTypeError:
    """Makes the error for a reference that has no definition."""
    token = reference.form.token
    assert token is not None
    reason = f"it was declared at {token.site}, and nothing says yet what it stands for"
    hint = "resolve a declaration before it is used; of ar.fix, use the block that it returns"
    side = Side(token.name, "? -> ?", reference.form.site)
    return problem(f"cannot use the recursive block {token.name}", reference, reason, hint, side)


# Functions, layers and constants


def apply(inference: Inference, occurrence: Occurrence, form: Apply[Any, Any]) -> Rule:
    if isinstance(form, Layer):
        source, result = form.signature()
        if source is not None:
            inference.gives(occurrence, inference.floats(source), reads=True)
        if result is not None:
            inference.gives(occurrence, inference.floats(result))
        if (default := form.default_output()) is not None:
            inference.solver.run(_default(inference, occurrence, default), occurrence)
    return _traced(inference, occurrence, form)


def _default(inference: Inference, layer: Occurrence, type: T.Type) -> Rule:
    yield layer.output, partial(inference.gives, layer, inference.floats(type)), LAYER


def _traced(inference: Inference, occurrence: Occurrence, form: Apply[Any, Any]) -> Rule:
    """Functions and layers: traces them as soon as their input has no open part."""
    while isinstance(t := inference.solver.settled(occurrence.input), Variable):
        find(occurrence.output).computed = True
        alike = partial(_items_alike, inference, occurrence)
        yield (t, alike, ALIKE) if isinstance(form, Reduction) else t
    trouble = form.check(t) or no_tensor(t)
    if trouble is not None:
        raise Misfit(*((trouble,) if isinstance(trouble, str) else trouble))
    occurrence.trace = inference.traces.of(form, t)
    inference.gives(occurrence, occurrence.trace.output)


def _items_alike(inference: Inference, occurrence: Occurrence) -> bool:
    """A reduction of a tuple wants items of one type, so an item that is known says what the others are."""
    items = items_of(occurrence.input)
    known = [item for item in items if inference.solver.ground(item) is not None]
    unknown = [item for item in items if item.con is None]
    for item in unknown if known else []:
        inference.solver.unify(item, known[0])
    return bool(known and unknown)


def constant(inference: Inference, occurrence: Occurrence, form: Constant[Any]) -> None:
    if form.type is not None:
        inference.gives(occurrence, inference.floats(form.type))
    if form.trainable:
        occurrence.trace = inference.traces.of(form, T.Tuple(()))


_READ_IT = "read it first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape), an index by ar.Scalar('int32')"
_NO_TENSORS: dict[type[T.Type], tuple[str, str]] = {
    T.Input: ("a Python object", f"{_READ_IT}; a function of Python objects is ar.InputTransform(f)"),
    T.Void: ("nothing (Void)", ""),
    T.Broadcast: ("endless", ""),
}


def no_tensor(t: T.Type) -> tuple[str, str] | None:
    """Returns a reason and a hint if a function of tensors cannot take `t`, else None."""
    for x in T.parts_first(t):
        if (refusal := _NO_TENSORS.get(type(x))) is not None:
            where = "the input" if x is t else "a part of the input"
            return f"a function takes tensors, and {where} is {refusal[0]}", refusal[1]
    return None


def check_parameters(occurrences: Sequence[Occurrence]) -> None:
    """Refuses layers that stand on several types, if their parameters are not the same for all.

    Raises:
        ArrowTypeError: it names both places, and both descriptions of the parameter.
    """
    uses: dict[tuple[int, str], tuple[Parameter, Occurrence]] = {}
    traces: set[int] = set()
    for place in occurrences:
        if place.trace is None or id(place.trace) in traces:
            continue
        traces.add(id(place.trace))
        for owner, spec, _ in place.trace.parameters:
            first, before = uses.setdefault((id(owner), spec.name), (spec, place))
            differs = first.difference(spec)
            if differs is not None:
                layer = owner.label if isinstance(owner, Block) else type(owner).__name__
                at, there = [str(each.path) or "the root" for each in (before, place)]
                reason = (
                    "a layer may stand on several types where its parameters are the same for all; "
                    f"here parameter {spec.name!r} would be {differs[0]} at {at}, and {differs[1]} at {there}"
                )
                hint = f"make a second layer for the second place: another {type(owner).__name__}(...)"
                attempt = f"cannot use the layer {layer} on two types"
                raise problem(attempt, place, reason, hint, side_of(before), side_of(place))


def check_constant(inference: Inference, occurrence: Occurrence, form: Constant[Any]) -> None:
    """Refuses a default of zeros where the inferred type has no zero."""
    whole = occurrence.outer
    if form.type is not None or whole is None or isinstance(whole.form, Reduce):
        return  # objects have no zero, and a Reduce of none of them is refused where there is such an example
    t = inference.solver.ground(occurrence.output)
    assert t is not None
    if without_zero(t) is not None:
        reason = f"{ZEROS[0]}, and a Python object has no zero"
        none = "say what None becomes: ar.Optional(some, ar.InputTransform(lambda x: value))"
        hint = none if isinstance(whole.form, Choice) else ZEROS[1]
        raise problem(f"cannot use zeros of {t}", occurrence, reason, hint, side_of(whole))


# Side outputs, and blocks that compute once for each object


def side_output(inference: Inference, occurrence: Occurrence, form: SideOutput[Any, Any]) -> Rule | None:
    if form.passes:
        inference.gives(occurrence, occurrence.input)
        return None
    inference.gives(occurrence, VOID)
    return _labelled(inference, occurrence)


def _labelled(inference: Inference, metric: Occurrence) -> Rule:
    """A `Metric` takes a tensor, or a pair of a tensor and a label."""
    yield metric.input
    v = find(metric.input)
    if isinstance(v.con, T.Tensor):
        return
    hint = "a metric takes a tensor, or the pair of a tensor and a Python object that labels it"
    items = items_of(v)
    if v.con is INPUT:
        hint = "read it first: ar.Scalar() >> ar.Metric(...)"
    if kind_of(v) == "sequence":
        hint = f"make one number of all elements first: f >> ar.Mean() >> ar.{name_of(metric)}"
    if len(items) != 2:
        raise Misfit(f"it gets {notation(v)}, which is not a tensor", hint)
    inference.reads_object(items[1], metric, Edge(metric, 0, _explain_label))


def shared(inference: Inference, shared: Occurrence, form: AnyBlock) -> None:
    inference.reads_object(shared.input, shared, shared.edge)
    value = Variable(INPUT, cause=Cause(shared, reads=True))
    inference.enter(shared, form.parts[0], value, None, "shared", shared.output)


_explain_label = no_object(
    "cannot record {owner}",
    "the second item labels the first, and must be a Python object, not {type}",
    "leave a label as it comes from the input: ar.GetItem('id'), without a Scalar after it",
)


def check_side_output(inference: Inference, occurrence: Occurrence, form: SideOutput[Any, Any]) -> None:
    """Refuses an input that cannot be kept, or whose type differs from an earlier one under its key."""
    t = inference.solver.ground(occurrence.input)
    assert t is not None
    if not form.passes:
        t = t.children[0] if isinstance(t, T.Tuple) else t
        if not isinstance(t, T.Tensor):
            raise refused(occurrence, Misfit(f"the first item is {t}, which is not a tensor"))
    elif T.holds(t, T.Broadcast):
        reason = f"{t} is endless, and a tap keeps every value that passes"
        raise refused(occurrence, Misfit(reason, "tap one element of it"))
    elif T.holds(t, T.Input) and T.holds(t, T.Tensor):
        reason = f"{t} contains both tensors and Python objects, which are recorded separately"
        raise refused(occurrence, Misfit(reason, "tap the items one by one, each under a name of its own"))
    first_type, first = inference.side_outputs.setdefault((form.passes, form.key), (t, occurrence))
    if str(first_type) == str(t):  # the keys are the same too: values of both places are listed under them
        return
    raise problem(
        f"cannot record two types under {name_of(occurrence)}",
        occurrence,
        f"a {occurrence.form.kind.lower()} has one type in a model, and this one is {first_type} "
        f"at {first.path}",
        "give one of them another name",
        Side(name_of(first), str(first_type), first.form.site),
        Side(name_of(occurrence), str(t), occurrence.form.site),
    )


# The tables

FormRule: TypeAlias = Callable[["Inference", Occurrence, Any], "Rule | None"]
FormCheck: TypeAlias = Callable[["Inference", Occurrence, Any], None]

RULES: dict[type[AnyBlock], FormRule] = {
    core.Pipe: pipe,
    core.Fan: fan,
    core.Graph: graph,
    core.Choice: choice,
    core.Reference: reference,
    core.Map: elements.map_,
    core.Zip: elements.zip_,
    core.Broadcast: elements.broadcast,
    core.Loop: elements.loop,
    core.Reduce: elements.reduce,
    core.Item: elements.item,
    core.Nth: elements.nth,
    core.GroupBy: elements.group_by,
    core.Apply: apply,
    core.Constant: constant,
    core.Read: elements.read,
    core.SideOutput: side_output,
    core.Shared: shared,
}
"""For each core form, its typing rule: it enters the parts of an occurrence, and may wait for types."""

CHECKS: dict[type[AnyBlock], FormCheck] = {
    core.Graph: check_graph,
    core.Constant: check_constant,
    core.SideOutput: check_side_output,
}
"""For some core forms, a last check, which runs when all types are ground.

Raises:
    ArrowTypeError: the check fails.
"""
