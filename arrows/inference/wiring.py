"""`Pipe`, `Fan` and `Graph`: forms that pass the results of blocks to other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import Fan, Graph, Item, Source, Tap
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import first_of, last_of, meet, name_of, problem, refused_by_part, step_of
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.errors import Side
from arrows.typesys.terms import Clash, TypeVariable, ground

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_pipe(inference: Inference, pipe: Occurrence) -> None:
    steps = pipe.form.parts
    if not steps:
        inference.solver.unify(pipe.input, pipe.output)
        return
    source, value, place = pipe.input, pipe.value, None
    count = len(steps)
    for i, block in enumerate(steps):
        word = f"step {i + 1} of {count}" if count > 1 else ""
        result = pipe.output if i == count - 1 else None
        step = inference.enter(pipe, block, source, place, word, value=value, result=result)
        source, value, place = step.output, step, CoercionPlace(pipe, i + 1, _explain_step)


def constrain_fan(inference: Inference, fan: Occurrence) -> None:
    assert isinstance(fan.form, Fan)
    labels = fan.form.labels
    count = len(fan.form.parts)
    results = []
    for i, block in enumerate(fan.form.parts):
        word = f"part {i + 1} of {count}" if labels is None else f"field {labels[i]!r}"
        place = CoercionPlace(fan, i, _explain_part)
        part = inference.enter(fan, block, fan.input, place, word, value=fan.value)
        results.append(part.output)
    inference.solver.bind(fan.output, "tuple", results, labels, fan, None)


def constrain_graph(inference: Inference, graph: Occurrence) -> None:
    form = graph.form
    assert isinstance(form, Graph)
    wires: list[tuple[TypeVariable, object]] = [(graph.input, graph.value)]
    for j, (call, block) in enumerate(zip(form.nodes, form.parts, strict=True)):
        word = block.kind if block.name is None or block.parts else block.name
        if call.site.line:
            word = f"{word} in line {call.site.line}"
        source, value = _read(inference, call.source, wires)
        place = CoercionPlace(graph, j, _explain_call, call.site)
        part = inference.enter(graph, block, source, place, word, value=value)
        wires.append((part.output, part))
    inference.solver.unify(graph.output, _read(inference, form.output, wires)[0])


def _read(
    inference: Inference, source: Source, wires: list[tuple[TypeVariable, object]]
) -> tuple[TypeVariable, object]:
    """Returns the type that a call reads, and the identity of the value."""
    if isinstance(source, int):
        return wires[source]
    done: list[tuple[TypeVariable, object]] = []
    todo: list[tuple[Source, bool]] = [(source, False)]
    while todo:
        x, items_done = todo.pop()
        if isinstance(x, int):
            done.append(wires[x])
        elif items_done:
            items = done[len(done) - len(x) :]
            del done[len(done) - len(x) :]
            together = inference.solver.make("tuple", [var for var, _ in items])
            done.append((together, inference.tuple_of([value for _, value in items])))
        else:
            todo.append((x, True))
            todo.extend((item, False) for item in reversed(x))
    return done[0]


# Explanations


def _explain_step(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the result of a step cannot pass to the next step."""
    before = place.owner.parts[place.index - 1]
    left, right = last_of(before), first_of(place.part)
    attempt = f"cannot compose {step_of(left)} >> {step_of(right)}"
    return meet(attempt, left, right, before.output, place.part.input, place.part)


def explain_input(place: CoercionPlace, role: str) -> ArrowTypeError:
    """Explains why the input of a form cannot pass to a part, whose part in the form `role` names."""
    source = f"input of {name_of(place.owner)}"
    attempt = f"cannot give the {source} to {role}, {name_of(first_of(place.part))}"
    return refused_by_part(place, Clash(place.owner.input, place.part.input), attempt, source)


def _explain_part(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the input of a fan-out cannot pass to a part."""
    return explain_input(place, f"part {place.index + 1}")


def _explain_call(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the value that a call in a wiring graph reads cannot pass to its block."""
    graph, form, block = place.owner, place.owner.form, first_of(place.part)
    assert isinstance(form, Graph)
    source = form.nodes[place.index].source
    producer = last_of(graph.parts[source - 1]) if isinstance(source, int) and source > 0 else None
    words = "its input" if source == 0 else "the wires"
    if producer is not None:
        words = f"the result of {name_of(producer)}"
    attempt = f"let {name_of(block)} read {words}" if form.title else f"call {name_of(block)} on {words}"
    return meet(
        f"cannot {attempt} in {form.words} at {place.site}",
        producer,
        block,
        clash.left,
        clash.right,
        place.part,
        left_name=words,
        left_site=place.site,
    )


# Wires that nobody reads


def check_graph(inference: Inference, graph: Occurrence) -> None:
    """Refuses a wire that nobody reads, unless it carries nothing or its value is tapped."""
    form = graph.form
    assert isinstance(form, Graph)
    read = _wires_read(form)
    for j, part in enumerate(graph.parts):
        needless = isinstance(ground(part.output), T.Void) or isinstance(part.form, Tap)
        if j + 1 not in read and not needless:
            raise _unread(graph, j)


def _wires_read(form: Graph[object, object]) -> set[int]:
    read: set[int] = set()
    todo: list[Source] = [form.output, *(call.source for call in form.nodes)]
    while todo:
        source = todo.pop()
        if isinstance(source, int):
            read.add(source)
        else:
            todo.extend(source)
    return read


def _unread(graph: Occurrence, j: int) -> ArrowTypeError:
    form = graph.form
    assert isinstance(form, Graph)
    block, call = form.parts[j], form.nodes[j]
    parameter = ""
    if isinstance(block, Item) and call.source == 0 and block.arity is not None and len(form.parameters) > 1:
        parameter = form.parameters[block.key]
    words = f"the parameter {parameter}" if parameter else f"the result of {block.label}"
    hint = "read it, or drop it: ar.Void().reads(wire)"
    if not form.title:
        hint = f"return it, pass it on, or drop it: ar.Void()({parameter or 'wire'})"
        if parameter:
            hint += f"; name an unused parameter _{parameter}"
    return problem(
        f"cannot leave {words} unread in {form.words}",
        graph,
        "no block reads this wire, so it would be computed for nothing",
        hint,
        Side(parameter or block.label, str(ground(graph.parts[j].output)), call.site),
    )
