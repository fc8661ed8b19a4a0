"""Sorting along the last axis: values, places, ties, NaN, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import ShapeError, trace
from arrows.testing import check_grads
from arrows.typesys import types as T

from .table import d


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 5), (2, 3, 4), (0,), (3, 0), (0, 3)])
@pytest.mark.parametrize("descending", [False, True])
def test_values_stand_where_the_indices_say(shape: tuple[int, ...], descending: bool) -> None:
    x = d(*shape)
    values, indices = (np.asarray(y) for y in ops.sort(x, descending))
    order = np.argsort(-x if descending else x, axis=-1, kind="stable")
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))
    assert indices.dtype == "int64" and values.dtype == x.dtype


@pytest.mark.parametrize("descending", [False, True])
def test_of_equal_elements_the_first_stands_first(descending: bool) -> None:
    order = ops.argsort(np.array([2, 1, 2, 1, 2]), descending)
    assert order.tolist() == ([0, 2, 4, 1, 3] if descending else [1, 3, 0, 2, 4])
    assert ops.top_k(np.array([5, 7, 7, 7]), 2)[1].tolist() == [1, 2]


def test_nan_counts_as_greatest() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf, np.nan])
    assert ops.argsort(x).tolist() == [3, 0, 2, 1, 4]
    assert ops.argsort(x, descending=True).tolist() == [1, 4, 2, 0, 3]
    assert np.isnan(ops.top_k(x, 1)[0]).all()
    assert ops.top_k(x, 2, largest=False)[1].tolist() == [3, 0]


@pytest.mark.parametrize("shape", [(5,), (2, 4), (2, 2, 3)])
def test_gradients_go_to_the_elements(shape: tuple[int, ...]) -> None:
    weights = np.arange(1.0, shape[-1] + 1)
    check_grads(lambda x: ops.sort(x)[0] * weights, d(*shape))
    check_grads(lambda x: ops.sort(x, descending=True)[0] * weights, d(*shape))
    for k in (0, 2, shape[-1]):
        check_grads(lambda x, k=k: ops.top_k(x, k)[0] * weights[:k], d(*shape))
    check_grads(lambda x: ops.top_k(x, 2, largest=False)[0] * weights[:2], d(*shape))


@pytest.mark.parametrize("device", ["cpu", "fake", "fake-kernels"])
@pytest.mark.parametrize("size", [6, 300])
def test_batches_on_every_device(device: str, size: int) -> None:
    """300 elements are left to the array module."""
    block = ar.Vector(size, name="x") >> ar.Function(lambda x: ops.top_k(x, 3)[0].sum() + x[0] * 0.0)
    rng = np.random.default_rng(3)
    xs = rng.permuted(np.arange(4.0 * size).reshape(4, size), axis=1)
    model = ar.compile(block, device=device)
    value, grads = model.value_and_grad(list(xs), inputs=["x"])
    ordered = np.sort(xs, axis=1)[:, -3:]
    np.testing.assert_allclose(ar.to_numpy(value), ordered.sum(axis=1).mean())
    wanted = (xs >= ordered[:, :1]) / 4
    np.testing.assert_allclose(ar.to_numpy(grads["x"].values), wanted)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: ops.top_k(x, 4), r"top_k: the last axis of \[3\] has 3 elements, fewer than 4"),
        (lambda x: ops.top_k(x, -1), "top_k: k is a whole number >= 0, got -1"),
        (lambda x: ops.top_k(x, True), "top_k: k is a whole number >= 0, got True"),
        (lambda x: ops.sort(x[0]), "sort: a scalar has no axis to sort along"),
    ],
)
def test_refusals(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        trace(call, T.Tensor((3,)))
