"""`Pipe`, `Fan` and `Graph`: forms that pass the results of blocks to other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrows.combinators import AnyBlock, Fan, Graph, Source, Tap
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import explain_input, first_of, last_of, meet, name_of, problem, step_of
from arrows.typesys import (
    ArrowTypeError,
    Cause,
    Clash,
    Side,
    Var,
    kind_of,
    leaf_of,
    notation,
    parts_of,
    tuple_of,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


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


def _read(inference: Inference, source: Source, wires: list[Var]) -> Var:
    """Returns the value that a call reads."""
    if isinstance(source, int):
        return wires[source]
    return inference.tuple_of([_read(inference, item, wires) for item in source])


# Explanations


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


# Wires that nobody reads


def check_graph(inference: Inference, graph: Occurrence, form: Graph[Any, Any]) -> None:
    """Refuses a wire that nobody reads, unless it carries nothing or its value is tapped."""
    read = _wires_read(form.result, *(call.source for call in form.nodes))
    for j, part in enumerate(graph.parts):
        if j + 1 not in read and not _carries_nothing(part.output) and not isinstance(part.form, Tap):
            raise _unread(graph, form, j)


def _carries_nothing(output: Var) -> bool:
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
