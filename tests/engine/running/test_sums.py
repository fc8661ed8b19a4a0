"""The gradients and losses of batches of 100,000 rows, in float32: to 1e-6 of the sum of what is added."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from tests.compare import dense
from tests.marks import needs_compiler, numba

MANY = 100_000


class Uses(ar.Layer[Any, Any]):
    """One parameter of each kind of use."""

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        fill = ar.initializers.constant(0.3)
        shapes = {"gain": (3,), "shift": (3,), "scale": (), "column": (3,), "matrix": (3, 2), "twice": (2, 3),
                  "table": (2, 2)}  # fmt: skip
        return tuple(ops.Parameter(name, shape, "float32", fill) for name, shape in shapes.items())

    def forward(self, p: Any, x: Any) -> Any:
        return (
            ops.sum(x * p["gain"] + p["shift"]) * 0.1
            + ops.dot(x, p["column"]) * p["scale"]
            + ops.sum(x @ p["matrix"])
            + ops.sum(p["twice"] @ x) * 0.7
            + ops.sum(ops.lookup(p["table"], ops.cast(x[0] > 0.2, "int32"))) * 0.1
        )


def gradients(float_type: str, data: Any, **how: Any) -> tuple[Any, dict[str, Any]]:
    """Of a loss that reads every element through layers, a table and a value that all elements share."""
    element = ar.Vector(3) >> Uses(name="uses")
    start = ar.Vector(3, name="start") >> ar.FC(1, name="fc") >> ar.Function(lambda x: x.sum())
    block = (
        (ar.GetItem(0) >> start >> ar.Broadcast() & ar.GetItem(1) >> ar.Map(element))
        >> ar.Zip()
        >> ar.Map(ar.Function(lambda a, b: a * 0.1 + b))
        >> (ar.Sum() & ar.Mean())
        >> ar.Function(lambda a, b: a * 1e-5 + b)
    )
    model = ar.compile(block, float_type=float_type, max_nodes=10**8, **how)
    value, grads = model.value_and_grad(data, inputs=["start"])
    return value, {name: g.values if name == "start" else g for name, g in grads.items()}


@pytest.fixture(scope="module")
def data() -> Any:
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((MANY, 1)) < 0.5, rng.random((MANY, 3)), 0.1).astype("float32")
    return [(np.ones(3, "float32"), list(rows))]


@pytest.fixture(scope="module")
def wanted(data: Any) -> Any:
    value, grads = gradients("float64", data, jit=False)
    return value, {name: dense(g) for name, g in grads.items()}


HOW = [{"jit": False}, pytest.param({"jit": True}, marks=numba), {"device": "fake"}, {"schedule": "depth"}]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_batch_of_many_rows(
    data: Any, wanted: Any, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("ARROWS_CACHE", os.environ.get("ARROWS_CACHE", str(tmp_path)))
    value, grads = gradients("float32", data, **how)
    np.testing.assert_allclose(ar.to_numpy(value), wanted[0], rtol=1e-6)
    assert grads.keys() == wanted[1].keys()
    for name, g in grads.items():
        np.testing.assert_allclose(dense(g), wanted[1][name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_the_loss_of_many_examples(device: str) -> None:
    block = ar.Vector(2) >> ar.FC(2, name="fc") >> ar.Function(lambda x: x * 0.1 + 1.1) >> ar.Metric("error")
    model = ar.compile(block, loss="error", device=device)
    model.params["fc/weight"], model.params["fc/bias"] = (
        model.device.to_device(np.full(shape, 0.3, "float32")) for shape in ((2, 2), (2,))
    )
    examples = np.full((MANY, 2), 0.1, "float32")
    value, grads = model.value_and_grad(examples)
    np.testing.assert_allclose(ar.to_numpy(value), 2 * (0.36 * 0.1 + 1.1), rtol=1e-6)
    np.testing.assert_allclose(ar.to_numpy(grads["fc/bias"]), [0.1, 0.1], rtol=1e-6)
    np.testing.assert_allclose(ar.to_numpy(grads["fc/weight"]), np.full((2, 2), 0.01), rtol=1e-6)


@needs_compiler
def test_a_loss_of_vectors_on_a_device_with_kernels() -> None:
    block = ar.Map(ar.Vector(2) >> ar.FC(2) >> ar.Metric("error")) >> ar.Length()
    here, there = (ar.compile(block, loss="error", device=name) for name in ("cpu", "fake-kernels"))
    examples = [[[1, 2], [3, 4]], [], [[5, 6]]]
    (value, grads), (other, others) = here.value_and_grad(examples), there.value_and_grad(examples)
    np.testing.assert_allclose(ar.to_numpy(other), value, rtol=1e-6)
    for name, grad in grads.items():
        np.testing.assert_allclose(ar.to_numpy(others[name]), grad, rtol=1e-6)
    assert float(ar.to_numpy(there.value_and_grad([[]])[0])) == 0
