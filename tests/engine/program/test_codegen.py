"""Generated code: scratch is used again once nothing reads it, and in place only where that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine import reference
from arrows.engine.program.codegen import Part
from arrows.layers import initializers
from arrows.ops import Parameter, Trace, trace
from arrows.typesys import types as T
from tests.compare import close

WIDTH = 4
devices = pytest.mark.parametrize("device", ["cpu", "fake"])
# Each example compiles a model and runs it many times.
fewer = settings(max_examples=max(settings.default.max_examples // 3, 1))

Op = Callable[..., Any]

UNARY: list[Op] = [
    ops.tanh,
    ops.sigmoid,
    lambda a: -a,
    lambda a: a * a,
    lambda a: a * 0.5 + a,
    lambda a: ops.exp(ops.tanh(a)),
    # views, and what is made of views
    lambda a: a[::-1],
    lambda a: a.reshape((2, 2)).T.reshape((4,)),
    lambda a: a.reshape((2, 2))[::-1].reshape((4,)),
    lambda a: ops.concat([a[2:], a[:2]]),
    lambda a: ops.concat([ops.tanh(a[:1]), a[1:] * a[:3]]),
    lambda a: ops.concat([a[:2] + 1.0, a[:2] + 1.0]),
    lambda a: ops.softmax(a),
    lambda a: a * a.sum(),
    lambda a: a - a[1],
    lambda a: a[:1] * a,
]
BINARY: list[Op] = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - b * b,
    lambda a, b: a / (ops.exp(ops.tanh(b)) + 1.0),
    lambda a, b: ops.concat([a[:3], b[3:]]),
    lambda a, b: ops.concat([a, b])[2:6],
    lambda a, b: (a.reshape((2, 2)) @ b.reshape((2, 2))).reshape((4,)),
    lambda a, b: a * b.sum() + b[::-1],
    lambda a, b: ops.concat([(a + b)[:2] * 2.0, (a + b)[2:]]),
]


class Scale(ar.Layer[Any, Any]):
    """A vector of parameters, so that values without rows take part."""

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        return (Parameter("scale", (WIDTH,), "float32", initializers.glorot_uniform),)

    def forward(self, parameters: Any, *args: Any) -> Any:
        (a,) = args
        return a * parameters["scale"] + ops.tanh(parameters["scale"])


@st.composite
def functions(draw: Any, unary: list[Op] = UNARY, binary: list[Op] = BINARY) -> tuple[Any, int]:
    """A straight-line program of two vectors; how many values it returns, some of them inputs or twice."""
    lines: list[tuple[Op | None, int, int]] = []
    known = 2
    for _ in range(draw(st.integers(1, 9))):
        # Mostly of the latest values, so that others die early.
        i, j = (known - 1 - min(draw(st.integers(0, 4)), known - 1) for _ in range(2))
        lines.append((draw(st.sampled_from([*unary, *binary])), i, j))
        known += 1
    results = draw(st.lists(st.integers(0, known - 1), min_size=1, max_size=4))

    def run(a: Any, b: Any) -> Any:
        values = [a, b]
        for op, i, j in lines:
            assert op is not None
            # The values stay within a few units, whatever is multiplied.
            made = op(values[i]) if op in unary else op(values[i], values[j])
            values.append(
                made / (ops.exp(ops.tanh(made * 0.1)) * 2.0) if len(values) % 3 == 0 else made * 0.5
            )
        found = tuple(values[n] for n in results)
        return found if len(found) > 1 else found[0]

    return run, len(results)


def agrees(block: Any, examples: list[Any], device: str) -> None:
    """Values and all gradients, of inputs and parameters, are those of the reference."""
    model = ar.compile(block, loss="loss", float_type="float64", device=device)

    def lookup(owner: Any, spec: Any) -> Any:
        return ar.to_numpy(model.params.of(owner, spec))

    wanted = reference.value_and_grad(
        model.typed, examples, lookup, loss="loss", inputs=["a", "b"], float_type="float64"
    )
    for _ in range(2):  # the second time the memory is full of the first
        value, grads = model.value_and_grad(examples, inputs=["a", "b"])
        assert close(float(ar.to_numpy(value)), wanted.value, 1e-9)
        for name in ("a", "b"):
            found = ar.to_numpy(grads[name])
            for n in range(len(examples)):
                assert close(list(found[n]), wanted.inputs[n][name], 1e-9)
        for name in model.params:
            owner, spec = model.params.owner(name)
            assert close(ar.to_numpy(grads[name]), wanted.parameters[owner, spec.name], 1e-9)
    found = ar.to_numpy(model(examples))
    for n, example in enumerate(examples):
        one = reference.evaluate(model.typed, example, lookup, float_type="float64").value
        parts = found if isinstance(found, tuple) else (found,)
        wholes = one if isinstance(one, tuple) else (one,)
        assert close([part[n] for part in parts], list(wholes), 1e-9)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def two_operations(first: Any, count: int, second: Any, parameters: bool = False) -> ar.Block[Any, Any]:
    """The second reads what the first gives, ``count`` values; with parameters, so do both."""
    scale = Scale()

    @ar.arrow
    def block(x: Any) -> Any:
        a, b = ar.Vector(WIDTH, name="a")(x["a"]), ar.Vector(WIDTH, name="b")(x["b"])
        if parameters:
            b = scale(b)
        found = ar.Function(first)(a, b)
        one = found[0] if count > 1 else found
        other = found[count - 1] if count > 1 else found
        again = ar.Function(second)(one, other)
        ar.Metric("loss")(ar.Function(lambda *parts: sum(total(part) for part in parts))(again, found, b))
        return found

    return block


@devices
@fewer
@given(drawn=functions(), late=functions(), parameters=st.booleans())
def test_random_programs_of_rows(device: str, drawn: Any, late: Any, parameters: bool) -> None:
    """Two operations, the second of which reads what the first gives, in several steps."""
    (first, count), (second, _) = drawn, late
    block = two_operations(first, count, second, parameters)
    examples = [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(3)]
    agrees(block, examples, device)


def total(part: Any) -> Any:
    """The sum of a vector or of a tuple of vectors, each with weights of its own."""
    parts = part if isinstance(part, tuple) else (part,)
    return sum((one * np.linspace(1, 2 + n, WIDTH)).sum() for n, one in enumerate(parts))


def in_a_fold(function: Any, count: int) -> tuple[ar.Block[Any, Any], list[Any]]:
    """A model that folds a program which gives ``count`` values over a sequence, and examples for it."""
    pick = ar.Identity() if count == 1 else ar.GetItem(count - 1)
    step = (ar.GetItem(0) & ar.GetItem(1) >> ar.Vector(WIDTH, name="a")) >> ar.Function(function) >> pick
    state = ar.GetItem("xs") >> ar.Fold(step, ar.Zeros([WIDTH])) & ar.GetItem("b") >> ar.Vector(
        WIDTH, name="b"
    )
    loss = ar.Function(lambda h, b: (h * b).sum()) >> ar.Metric("loss")
    examples = [
        {"xs": list(numbers(n, length, WIDTH)), "b": numbers(n + 9, WIDTH)}
        for n, length in enumerate((3, 0, 2, 5, 5))
    ]
    return state >> (loss & ar.GetItem(0)) >> ar.GetItem(1), examples


@devices
@fewer
@given(drawn=functions())
def test_random_programs_in_a_fold(device: str, drawn: Any) -> None:
    """The same operation at many depths: a step writes beside what other steps have written."""
    block, examples = in_a_fold(*drawn)
    agrees(block, examples, device)


@devices
@fewer
@given(drawn=functions())
def test_random_programs_of_sequences(device: str, drawn: Any) -> None:
    """The same code on the rows of sequences, beside one row an example."""
    function, _ = drawn

    def ragged(rows: Any, b: Any) -> Any:
        found = function(rows, b)
        return ops.segment_sum(sum_of(found))

    def sum_of(found: Any) -> Any:
        if not isinstance(found, tuple):
            return ops.tanh(found)
        whole = ops.tanh(found[0])
        for n, one in enumerate(found[1:]):
            whole = whole + ops.tanh(one) * (2.0 + n)
        return whole

    block = ar.GetItem("a") >> ar.Map(ar.Vector(WIDTH, name="a")) & ar.GetItem("b") >> ar.Vector(
        WIDTH, name="b"
    )
    block = block >> ar.Function(
        lambda rows, b: ragged(rows, b) if rows_are_read(function) else ops.segment_sum(rows) * b
    )
    block = (
        block >> (ar.Identity() & ar.Function(lambda v: (v * v).sum()) >> ar.Metric("loss")) >> ar.GetItem(0)
    )
    examples = [
        {"a": list(numbers(n, length, WIDTH)), "b": numbers(n + 9, WIDTH)}
        for n, length in enumerate((3, 0, 1))
    ]
    agrees(block, examples, device)


def rows_are_read(function: Any) -> bool:
    """Whether a program's first result depends on its first input."""
    traced = trace(lambda a, b: function(a, b), T.as_type(([WIDTH], [WIDTH])))
    found = {traced.inputs[0]}
    for equation in traced.equations:
        if any(operand in found for operand in equation.operands):
            found.add(equation.result)
    return traced.results[0] in found


# ------------------------------------------------------------------------------------------ by hand


def written(function: Any, input: Any) -> tuple[Part, Trace]:
    traced = trace(function, T.as_type(input))
    part = Part(np)
    for number, var in enumerate(traced.inputs):
        part.names[var] = f"x{number}"
    for number, (_, var) in enumerate(traced.constants):
        part.names[var] = f"c{number}"
    part.kept = set(traced.results)
    part.write(traced.equations)
    return part, traced


def test_a_chain_runs_in_one_scratch_array() -> None:
    part, _ = written(lambda x: ops.tanh(ops.exp(-ops.tanh(x))), [4])
    assert len(part.slots) == 1 and len(part.kernels) == 4


def test_what_is_read_again_is_not_written_over() -> None:
    def twice(x: Any) -> Any:
        kept = ops.tanh(x)
        return ops.exp(kept) * kept

    part, _ = written(twice, [4])
    assert len(part.slots) == 2


def test_a_view_keeps_what_it_shows() -> None:
    """The reversed view is read after the next value was made: that one goes elsewhere."""

    def function(x: Any) -> Any:
        kept = ops.tanh(x)
        back = kept[::-1]
        return ops.exp(kept) + back

    part, _ = written(function, [4])
    assert len(part.slots) == 2

    def shown(x: Any) -> Any:
        kept = ops.tanh(x)
        return kept + kept[::-1]  # in place this would read what it has written

    part, _ = written(shown, [4])
    assert len(part.slots) == 2


def test_pieces_of_a_concat_are_written_where_they_belong() -> None:
    part, _ = written(lambda x, y: ops.concat([ops.tanh(x), ops.exp(y)]), ([2], [3]))
    assert len(part.slots) == 1
    assert sum("concat" in line for line in part.lines) == 0
    # What is read elsewhere as well has a place of its own.
    part, traced = written(lambda x: (ops.concat([ops.tanh(x), x]), ops.tanh(x)), [2])
    assert len(traced.results) == 2 and len(part.slots) >= 2
