"""Functions of several numbers over the whole range of float32: values and gradients agree with float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device import get_device
from arrows.ops import EagerEvaluation, get

Array = np.ndarray[Any, Any]

# Each row is of normal numbers: others have fewer digits, and so have their lengths.
SIZES = [10.0**e for e in range(-32, 38)]
ROWS = np.random.default_rng(0).uniform(-1, 1, (3, 5)) * [[1], [1e-3], [3]]
ROWS[0, 2] = 0

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: ops.norm(x, axis=-1),
    "norm of all": ops.norm,
    "norm of columns": lambda x: ops.norm(x, axis=0, keepdims=True),
    "normalize": lambda x: ops.normalize(x, epsilon=1e-45),
    "standardize": ops.standardize,
    "standardize all": lambda x: ops.standardize(x, axis=(0, 1)),
    "standardize columns": lambda x: ops.standardize(x, axis=0, epsilon=1e-12),
    "standardize without epsilon": lambda x: ops.standardize(x, epsilon=0),
    "softmax": ops.softmax,
    "log_softmax": ops.log_softmax,
    "logsumexp": lambda x: ops.logsumexp(x, axis=-1),
    "mean": lambda x: ops.mean(x, axis=-1),
    "cosine": lambda x: ops.sum(ops.normalize(x, -1, 1e-45)[:2] * ops.normalize(x, -1, 1e-45)[1:], -1),
}


def run(function: Callable[[Any], Any], x: Array) -> tuple[Array, Array]:
    """The values, and the gradient of their sum with weights."""
    evaluation = EagerEvaluation(record=True)
    value = evaluation.value(x)
    result = function(value)
    weights = np.linspace(-1, 1, result.array.size).reshape(result.array.shape) + 0.3
    return result.array, evaluation.backward([(result, weights.astype(x.dtype))])[value]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_whole_range(name: str) -> None:
    function = FUNCTIONS[name]
    limits = np.finfo(np.float32)
    for size in SIZES:
        with np.errstate(all="ignore"):
            x = (ROWS * size).astype("float32")
            value, gradient = run(function, x)
            wanted, expected = run(function, x.astype("float64"))
        assert np.isfinite(value).all(), size
        top = abs(wanted).max()
        assert abs(value - wanted).max() <= 2e-6 * top + 2 * limits.smallest_subnormal, (size, value, wanted)
        if abs(expected).max() > limits.max / 8:  # float32 cannot hold the gradient
            continue
        tolerance = 5e-6 * abs(expected).max() + 4 * limits.smallest_subnormal
        if "softmax" in name:  # a difference of numbers of size 1
            tolerance += 5e-7
        assert abs(gradient - expected).max() <= tolerance, (size, gradient, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_lengths_of_vectors_that_are_not_finite(dtype: str) -> None:
    x = np.array([[0, 0], [np.inf, 1], [-np.inf, np.inf], [np.nan, 1], [3, 4]], dtype)
    for device in ("cpu", "fake"):
        of = get_device(device)
        run = get("norm").kernel(of.xp, axes=(-1,), keepdims=False)
        with np.errstate(all="ignore"):
            found = of.to_numpy(run(of.to_device(x)))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [0, np.inf, np.inf, np.nan, 5])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_range_of_other_types(dtype: str) -> None:
    limits = np.finfo(dtype)
    for size in (float(limits.max) / 4, float(limits.tiny) * 8, 1.0):
        x = np.array([[3.0, -4.0], [0.5, 0.0]]) * (size / 4)
        with np.errstate(all="ignore"):
            found = ops.norm(x.astype(dtype), axis=-1)
        np.testing.assert_allclose(found, np.array([1.25, 0.125]) * size, rtol=4 * float(limits.eps))
        with np.errstate(all="ignore"):
            unit = ops.standardize(x.astype(dtype), epsilon=0)
        np.testing.assert_allclose(unit, [[1, -1], [1, -1]], rtol=4 * float(limits.eps))
