"""The loop nest of a `RowMap`: the same numbers as equation by equation, whatever is sliced and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.program.emitters.loops import FUNCTIONS, can_write, loop_nest, python_source
from arrows.engine.program.instructions import RowMap
from arrows.ops import trace
from arrows.typesys import types as T
from tests.engine.python_loops import interpreted


def loops_of(function: Any, input: Any) -> RowMap:
    traced = trace(function, T.as_type(input))
    results = tuple(dict.fromkeys(traced.results))
    return RowMap(traced.equations, results)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def check(function: Any, *shapes: int) -> RowMap:
    """Five rows of vectors through the loops are what the function gives for each."""
    loops = loops_of(function, T.Tuple(tuple(T.Tensor((size,)) for size in shapes)))
    inputs = [numbers(n, 5, size) for n, size in enumerate(shapes)]
    traced = trace(function, T.Tuple(tuple(T.Tensor((size,)) for size in shapes)))
    arrays = dict(zip(traced.inputs, inputs, strict=True))
    outputs = {var: np.empty((5, *var.type.shape)) for var in loops.results}
    arrays |= {var: array.astype(float) for array, var in traced.constants}
    interpreted(python_source(loops))(*(arrays[v] for v in loops.reads), *outputs.values())
    for row in range(5):
        one = function(*(x[row] for x in inputs))
        ones = one if isinstance(one, tuple) else (one,)
        for var, value in zip(traced.results, ones, strict=True):
            assert np.allclose(outputs[var][row], value, 1e-9, 1e-9)
    return loops


def test_a_cell_is_one_loop() -> None:
    def cell(z: Any, c: Any) -> Any:
        i, f, u = (ops.sigmoid(z[:4]), ops.sigmoid(z[4:8]), ops.tanh(z[8:]))
        new = i * u + f * c
        return ops.tanh(new), new

    loops = check(cell, 12, 4)
    assert python_source(loops).count("for ") == 2  # rows, and the places of all gates together
    assert [loop.length for loop in loop_nest(loops)] == [4]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_function(name: str) -> None:
    function = getattr(ops, name)
    two = "{1}" in FUNCTIONS[name]
    if two:
        check(lambda x, y: function(x, y), 3, 3)
    else:
        check(lambda x: function(x * x + 0.5), 3)


def test_what_loops_cannot_be_written_for() -> None:
    def last(function: Any, shape: tuple[int, ...], dtype: str = "float32") -> bool:
        return can_write(trace(function, T.Tensor(shape, dtype)).equations[-1], "float32")

    assert last(lambda x: ops.tanh(x), (3,)) and last(lambda x: x[1:], (3,))
    assert not last(lambda x: x * x, (3,), "int32")
    assert not last(lambda x: x * x, (2, 3))
    assert not last(lambda x: x[::2], (6,))
    assert not last(lambda x: x.sum(), (6,))
    assert not last(lambda x: ops.exp(x), (6,))
