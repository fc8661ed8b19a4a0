"""`Pipe`, `Fan` and `Graph`: how the results of blocks pass to other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import Fan, Graph, Item, Source, Tap
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import first_of, last_of, meet, name_of, path, step_of
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import Side, message
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
        source, value, place = step.output, step, StepCoercion(pipe, i + 1)


def constrain_fan(inference: Inference, fan: Occurrence) -> None:
    assert isinstance(fan.form, Fan)
    labels = fan.form.labels
    count = len(fan.form.parts)
    results = []
    for i, block in enumerate(fan.form.parts):
        word = f"part {i + 1} of {count}" if labels is None else f"field {labels[i]!r}"
        part = inference.enter(fan, block, fan.input, PartCoercion(fan, i), word, value=fan.value)
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
        part = inference.enter(graph, block, source, CallCoercion(graph, j), word, value=value)
        wires.append((part.output, part))
    inference.solver.unify(graph.output, _read(inference, form.output, wires)[0])


def _read(
    inference: Inference, source: Source, wires: list[tuple[TypeVariable, object]]
) -> tuple[TypeVariable, object]:
    """The type that a call reads, and the identity of the value."""
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


class StepCoercion(CoercionPlace):
    """The result of a step passes to the next one, the part at `index`."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        before = self.owner.parts[self.index - 1]
        left, right = last_of(before), first_of(self.part)
        attempt = f"cannot compose {step_of(left)} >> {step_of(right)}"
        return meet(attempt, left, right, before.output, self.part.input, self.part)


class InputCoercion(CoercionPlace):
    """The input of a form passes to one of its parts."""

    __slots__ = ()

    @property
    def role(self) -> str:
        """What the part is to the form."""
        raise NotImplementedError

    def explain(self, clash: Clash) -> ArrowTypeError:
        owner, block = self.owner, first_of(self.part)
        return meet(
            f"cannot give the input of {name_of(owner)} to {self.role}, {name_of(block)}",
            None,
            block,
            owner.input,
            self.part.input,
            self.part,
            left_name=f"input of {name_of(owner)}",
            left_site=self.site,
        )


class PartCoercion(InputCoercion):
    """The input of a fan-out passes to one of its parts."""

    __slots__ = ()

    @property
    def role(self) -> str:
        return f"part {self.index + 1}"


class CallCoercion(CoercionPlace):
    """What a call in a wiring graph reads passes to its block."""

    __slots__ = ()

    @property
    def site(self) -> SourceLine:
        assert isinstance(self.owner.form, Graph)
        return self.owner.form.nodes[self.index].site

    def explain(self, clash: Clash) -> ArrowTypeError:
        graph, form, block = self.owner, self.owner.form, first_of(self.part)
        assert isinstance(form, Graph)
        source = form.nodes[self.index].source
        producer = graph.parts[source - 1] if isinstance(source, int) and source > 0 else None
        words = "its input" if source == 0 else "the wires"
        if producer is not None:
            words = f"the result of {name_of(last_of(producer))}"
        attempt = f"let {name_of(block)} read {words}" if form.title else f"call {name_of(block)} on {words}"
        return meet(
            f"cannot {attempt} in {form.words} at {self.site}",
            last_of(producer) if producer is not None else None,
            block,
            clash.left,
            clash.right,
            self.part,
            left_name=words,
            left_site=self.site,
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
            hint += f"; name a parameter that is not needed _{parameter}"
    return ArrowTypeError(
        message(
            f"cannot leave {words} unread in {form.words}",
            [Side(parameter or block.label, str(ground(graph.parts[j].output)), call.site)],
            path(graph),
            "nobody reads this wire, so it would be computed for nothing",
            hint,
        )
    )
