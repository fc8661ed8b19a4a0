"""Random functions that read parameters, examples and elements in all ways, several of them at once.

A parameter has one gradient, whether it is looked up, multiplied from either side, transposed or taken apart,
for each example or for each element of one sequence and of another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.ops import ShapeError
from tests.agree import agree
from tests.profile import draws

WIDTH = 3

VECTOR, MATRIX, INDEX = "vector", "matrix", "index"
Op = tuple[tuple[str, ...], str, Callable[..., Any]]

OPS: list[Op] = [
    ((VECTOR,), VECTOR, ops.tanh),
    ((VECTOR,), VECTOR, lambda a: a[::-1]),
    ((VECTOR,), VECTOR, ops.softmax),
    ((VECTOR,), VECTOR, ops.segment_sum),
    ((VECTOR,), VECTOR, lambda a: ops.segment_max(a, default=0.0)),
    ((VECTOR,), MATRIX, lambda a: ops.outer(a, a)),
    ((VECTOR, VECTOR), VECTOR, lambda a, b: a + b),
    ((VECTOR, VECTOR), VECTOR, lambda a, b: a * b),
    ((VECTOR, VECTOR), VECTOR, lambda a, b: ops.concat([a[:1], b[1:]])),
    ((VECTOR, MATRIX), VECTOR, lambda a, w: a @ w),
    ((MATRIX, VECTOR), VECTOR, lambda w, a: w @ a),
    ((MATRIX,), VECTOR, lambda w: w[1]),
    ((MATRIX,), VECTOR, lambda w: ops.sum(w, axis=0)),
    ((MATRIX, INDEX), VECTOR, ops.lookup),
    ((MATRIX, INDEX), VECTOR, lambda w, i: ops.gather(w, i, axis=1)),
    ((MATRIX, INDEX), VECTOR, lambda w, i: ops.lookup(ops.concat([w[1:], w[:1]]), i)),
    ((MATRIX, INDEX), VECTOR, lambda w, i: ops.pick(w, ops.concat([i[None], i[None], i[None]]))),
    ((MATRIX,), MATRIX, ops.tanh),
    ((MATRIX,), MATRIX, ops.transpose),
    ((MATRIX,), MATRIX, lambda w: ops.softmax(w)),
    ((MATRIX, VECTOR), MATRIX, lambda w, a: w * a),
    ((MATRIX, MATRIX), MATRIX, lambda w, m: w @ m),
]


class Parameters(ar.Layer[Any, Any]):
    """A matrix and a vector."""

    def parameters(self, *inputs: Any) -> tuple[ops.Parameter, ...]:
        uniform = ar.initializers.uniform(1.0)
        return (
            ops.Parameter("matrix", (WIDTH, WIDTH), "float32", uniform),
            ops.Parameter("vector", (WIDTH,), "float32", uniform),
        )

    def forward(self, parameters: Any, *_: Any) -> Any:
        return parameters["matrix"], parameters["vector"]


@st.composite
def programs(draw: Any) -> list[tuple[int, int, int]]:
    """Lines: the number of an operation, and which of the latest values of the right kind it reads."""
    lines = st.tuples(st.integers(0, len(OPS) - 1), st.integers(0, 5), st.integers(0, 5))
    return draw(st.lists(lines, min_size=1, max_size=8))


def run(lines: list[tuple[int, int, int]], layer: Any, xs: Any, ys: Any, i: Any, js: Any, a: Any) -> Any:
    """Runs a program; what does not go together, such as elements of two sequences, is left out."""
    matrix, vector = layer(a)
    values = {VECTOR: [ys, xs, a, vector], MATRIX: [matrix], INDEX: [js, i]}
    total = ops.sum(a) * ops.sum(vector)
    for number, *latest in lines:
        kinds, result, compute = OPS[number]
        operands = [values[kind][-1 - k % len(values[kind])] for kind, k in zip(kinds, latest, strict=False)]
        try:
            value = compute(*operands)
        except ShapeError:
            continue
        values[result].append(value)
        scaled = ops.tanh(value * 0.5)
        scaled = ops.segment_sum(scaled) if scaled.rows >= 0 else scaled
        total = total + ops.sum(scaled)
    return total


@draws(3, 2000)
@given(lines=programs(), other=programs(), apart=st.booleans())
def test_gradients_of_parameters_that_are_read_at_all_levels(lines: Any, other: Any, apart: bool) -> None:
    layer = Parameters(name="layer")
    vectors, index = ar.Map(ar.Vector(WIDTH, name="x")), ar.Scalar("int32")
    inputs = ar.AllOf(
        ar.GetItem(0) >> vectors,
        ar.GetItem(1) >> vectors,
        ar.GetItem(2) >> index,
        ar.GetItem(3) >> ar.Map(index),
        ar.GetItem(4) >> ar.Vector(WIDTH),
    )
    block = inputs >> ar.Function(lambda *values: run(lines, layer, *values))
    if apart:
        block = (block & inputs >> ar.Function(lambda *values: run(other, layer, *values))) >> ar.Sum()
    random = np.random.default_rng(len(lines))
    examples = [
        (
            random.normal(size=(n, WIDTH)).tolist(),
            random.normal(size=(m, WIDTH)).tolist(),
            n % WIDTH,
            random.integers(0, WIDTH, n).tolist(),
            random.normal(size=WIDTH).tolist(),
        )
        for n, m in ((2, 1), (0, 3), (1, 0), (0, 0))
    ]
    agree(block, examples, inputs=["x"])
