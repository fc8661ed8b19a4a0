"""How exact the factors of matrix products are, which a model may choose for a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.testing.host_kernels import rounded
from tests.marks import needs_compiler

BITS = {"tf32": 11, "bfloat16": 8, "float16": 11}


def layer(**options: Any) -> ar.Model:
    return ar.compile(ar.Vector(40) >> ar.FC(30) >> ar.Function(lambda x: (x * x).sum()), seed=1, **options)


@pytest.mark.parametrize("precision", BITS)
def test_rounding_is_to_the_nearest(precision: str) -> None:
    x = np.random.default_rng(0).normal(size=1000).astype("float32")
    error = np.abs(rounded(x, precision) - x) / np.abs(x)
    assert 0.5 < (error / 2.0 ** -BITS[precision]).max() <= 1
    np.testing.assert_array_equal(rounded(rounded(x, precision), precision), rounded(x, precision))
    odd = np.array([np.nan, np.inf, -np.inf, 0, 1, -2], "float32")
    np.testing.assert_array_equal(rounded(odd, precision), odd)


@needs_compiler
@pytest.mark.parametrize("precision", BITS)
def test_products_round_their_factors(precision: str) -> None:
    examples = list(np.random.default_rng(0).normal(size=(5, 40)).astype("float32"))
    exact, rounds = layer(device="fake-kernels"), layer(device="fake-kernels", precision=precision)
    (value, gradients), (near, others) = exact.value_and_grad(examples), rounds.value_and_grad(examples)
    x = np.array(examples)
    weight, bias = (ar.to_numpy(rounds.params[f"FC_1/{name}"]) for name in ("weight", "bias"))
    answers = rounded(x, precision) @ rounded(weight, precision) + bias
    np.testing.assert_allclose(ar.to_numpy(near), (answers * answers).sum() / 5, 1e-5)
    g = 2 * answers / 5
    expected = rounded(x, precision).T @ rounded(g.astype("float32"), precision)
    np.testing.assert_allclose(ar.to_numpy(others["FC_1/weight"]), expected, 1e-4, 1e-4)
    assert ar.to_numpy(value) != ar.to_numpy(near)
    for name, gradient in gradients.items():
        scale = np.abs(ar.to_numpy(gradient)).max()
        error = np.abs(ar.to_numpy(others[name]) - ar.to_numpy(gradient)).max()
        assert error <= 8 * scale * 2.0 ** -BITS[precision]


def test_the_cpu_does_not_round() -> None:
    examples = [np.linspace(0, 1, 40)]
    assert layer(precision="bfloat16")(examples).tolist() == layer()(examples).tolist()


def test_other_precisions_are_refused() -> None:
    with pytest.raises(ValueError, match="the precision must be one of 'float32', 'tf32'"):
        layer(precision="double")
