"""Random functions of vectors: memory is used again, and written in place, only where that is right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.ops import trace
from arrows.typesys import types as T
from tests.engine.python_loops import loops_as_python
from tests.engine.random_functions import (
    BINARY,
    UNARY,
    WIDTH,
    agrees,
    functions,
    in_a_fold,
    numbers,
    two_operations,
)

devices = pytest.mark.parametrize("device", ["cpu", "fake", pytest.param("cuda", marks=pytest.mark.gpu)])
# Each example compiles a model and runs it many times.
fewer = settings(max_examples=max(settings.default.max_examples // 3, 1))


@devices
@fewer
@given(drawn=functions(), late=functions(), parameters=st.booleans())
def test_random_programs_of_rows(device: str, drawn: Any, late: Any, parameters: bool) -> None:
    """Two operations, the second of which reads what the first gives, in several steps."""
    (first, count), (second, _) = drawn, late
    block = two_operations(first, count, second, parameters)
    examples = [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(3)]
    agrees(block, examples, device)


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


@fewer
@given(drawn=functions(), late=functions())
def test_random_programs_as_loops(drawn: Any, late: Any) -> None:
    (first, count), (second, _) = drawn, late
    examples = [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(3)]
    with loops_as_python():
        agrees(two_operations(first, count, second), examples, "cpu")


SMOOTH = [*UNARY[:5], UNARY[9], UNARY[10], UNARY[11], UNARY[14], UNARY[15]]


@fewer
@given(drawn=functions(SMOOTH, BINARY[:6]))
def test_random_programs_that_fuse_well(drawn: Any) -> None:
    block, examples = in_a_fold(*drawn)
    with loops_as_python():
        agrees(block, examples, "cpu")
