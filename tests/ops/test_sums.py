"""Every operation that adds many numbers of float32 is right to 1e-6 of the sum of their magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows import ops
from arrows.ops import EagerEvaluation, RowSparse, Segments
from arrows.ops.segments import reduce_segments
from arrows.ops.sums import matmul, sum_axes, sum_matmul, sum_products, sum_rows
from tests.profile import draws

Array = np.ndarray[Any, Any]
MANY = 30_011


def numbers(kind: str, *shape: int) -> Array:
    if kind == "equal":  # each is rounded the same way, so that the errors do not cancel
        return np.full(shape, 0.1, "float32")
    return np.random.default_rng(0).random(shape, "float32")


@draws(150, 20_000, "sums")
@given(data=st.data())
def test_sums_of_any_shape_and_layout(data: st.DataObject) -> None:
    sizes = st.lists(st.sampled_from([0, 1, 2, 5, 16, 17, 33, 65, 130, 1100, MANY]), min_size=1, max_size=4)
    shape = data.draw(sizes.filter(lambda sizes: np.prod(np.maximum(sizes, 1), dtype=float) < 3e5))
    order = data.draw(st.permutations(range(len(shape))))
    x = numbers(data.draw(st.sampled_from(["equal", "uniform"])), *shape).transpose(order)
    x = x[tuple(slice(None, None, data.draw(st.sampled_from([1, 1, -1, 2]))) for _ in shape)]
    chosen = data.draw(st.sets(st.integers(-len(shape), -1)))
    keepdims = data.draw(st.booleans())
    wanted = x.astype("float64").sum(axis=tuple(sorted(chosen)), keepdims=keepdims)
    for out in (None, np.full(wanted.shape, 7, "float32")):
        total = np.asarray(sum_axes(x, tuple(sorted(chosen)), keepdims, out))
        assert total.shape == wanted.shape and total.dtype == "float32"
        np.testing.assert_allclose(total if out is None else out, wanted, rtol=1e-6)
    np.testing.assert_allclose(sum_rows(x), x.astype("float64").sum(0), rtol=1e-6)


@pytest.mark.parametrize("kind", ["equal", "uniform"])
@pytest.mark.parametrize("width", [1, 5, 150])
@pytest.mark.parametrize("n", [0, 1, 33, 1000, 4097, MANY])
def test_sums_of_products(kind: str, width: int, n: int) -> None:
    a, b = numbers(kind, n, width), numbers("equal", n, width)
    wide = a.astype("float64"), b.astype("float64")
    np.testing.assert_allclose(sum_products(np, a, b), (wide[0] * wide[1]).sum(0), rtol=1e-6)
    for c, exact in ((b[:, :3], wide[1][:, :3]), (b[:, 0], wide[1][:, 0])):
        wanted = wide[0].T @ exact
        np.testing.assert_allclose(matmul(a.T.copy(), c), wanted, rtol=1e-6 if n > 4096 or n < 99 else 1e-5)
        if c.ndim == 2:
            np.testing.assert_allclose(sum_matmul(np, a.T, c), wanted, rtol=1e-6)


def test_wide_products_are_those_of_blas() -> None:
    """BLAS adds some hundred rows one after the other: its error is 5e-6 if all are equal, 1e-6 otherwise."""
    for kind, tolerance in (("equal", 6e-6), ("uniform", 1e-6)):
        a = numbers(kind, 50_000, 64)
        wide = a.astype("float64")
        np.testing.assert_allclose(sum_matmul(np, a.T, a), wide.T @ wide, rtol=tolerance)


@pytest.mark.parametrize(
    "shapes", [((2, 9000), (9000,)), ((9000,), (9000, 3)), ((9000,), (9000,)), ((0, 9000), (9000, 3))]
)
def test_products_of_long_rows(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (numbers("equal", *shape) for shape in shapes)
    wanted = np.matmul(a.astype("float64"), b.astype("float64"))
    out = np.empty(wanted.shape, "float32")
    np.testing.assert_allclose(matmul(a, b), wanted, rtol=1e-6)
    assert matmul(a, b).shape == wanted.shape and matmul(a, b).dtype == "float32"
    np.testing.assert_allclose(matmul(a, b, out), wanted, rtol=1e-6)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": ops.sum,
    "sum of a column": lambda x: ops.sum(x, axis=0),
    "mean": lambda x: ops.mean(x, axis=0),
    "norm": lambda x: ops.norm(x, axis=0),
    "variance": lambda x: ops.variance(x * x, axis=0),
    "softmax": lambda x: ops.softmax(x, axis=0),
    "log_softmax": lambda x: ops.log_softmax(x, axis=0),
    "logsumexp": lambda x: ops.logsumexp(x, axis=0),
    "matmul": lambda x: ops.matmul(ops.transpose(x), x),
}


@pytest.mark.parametrize("kind", ["equal", "uniform"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(kind: str, name: str) -> None:
    x = numbers(kind, MANY, 3)
    if name == "variance" and kind == "equal":
        x[::2] = 2
    wanted = FUNCTIONS[name](x.astype("float64"))
    np.testing.assert_allclose(FUNCTIONS[name](x), wanted, rtol=2e-6 if name == "variance" else 1e-6)


def test_gradients_of_broadcast_operands() -> None:
    def gradients(dtype: str) -> Any:
        evaluation = EagerEvaluation(record=True)
        row, whole = (
            evaluation.value(np.full((1, 3), 0.3, dtype)),
            evaluation.value(np.ones((MANY, 3), dtype)),
        )
        total = ops.sum(row * whole) + ops.sum((row + whole) * 0.1)
        return evaluation.backward([(total, np.array(0.7, dtype))])[row]

    np.testing.assert_allclose(gradients("float32"), gradients("float64"), rtol=1e-6)


def test_a_value_of_many_readers() -> None:
    evaluation = EagerEvaluation(record=True)
    x = evaluation.value(np.ones(2, "float32"))
    readers = [x * 0.1 for _ in range(5_000)]
    found = evaluation.backward([(y, np.ones(2, "float32")) for y in readers])[x]
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, 5_000 * np.float64(np.float32(0.1)), rtol=1e-6)


@pytest.mark.parametrize("width", [1, 3, 20])
def test_segments_and_sparse_rows(width: int) -> None:
    values = numbers("equal", MANY, width)
    bounds = np.array([0, 5, 5, 700, 1800, 20_000, MANY])
    sums = reduce_segments(np, "add", values, Segments.of(np, bounds), 0)
    wanted = np.diff(bounds)[:, None] * np.full(width, values[0].astype("float64"))
    np.testing.assert_allclose(sums, wanted, rtol=1e-6)
    rows = np.repeat([4, 2, 9], [900, MANY - 1000, 100])
    sparse = RowSparse(rows, values, (10, width))
    for dense in (sparse.to_dense(np), sparse.coalesce(np).to_dense(np)):
        counts = np.bincount(rows, minlength=10)[:, None]
        np.testing.assert_allclose(dense, counts * values[:1].astype("float64"), rtol=1e-6)
    evaluation = EagerEvaluation()
    whole = evaluation.value(values, rows=0)
    np.testing.assert_allclose(ops.segment_sum(whole).array, values.astype("float64").sum(0), rtol=1e-6)
    np.testing.assert_allclose(ops.segment_softmax(whole).array, np.full((MANY, width), 1 / MANY), rtol=1e-6)
