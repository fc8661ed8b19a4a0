"""Kernels in C, executed through the host's compiler, compute what NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device.host_compiler import HostLibrary, host_compiler

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")


def cell(z: Any, c: Any) -> Any:
    i, f, u = ops.sigmoid(z[:4]), ops.sigmoid(z[4:8]), ops.tanh(z[8:])
    new = i * u + f * c
    return ops.tanh(new).sum() + (new * new).sum()


Function = Callable[..., Any]
VECTOR, MATRIX = "float32[6]", "float32[3, 4]"
FUNCTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "cell": (cell, ("float32[12]", "float32[4]")),
    "slices and joins": (lambda x: (ops.concat([x[3:], x[:3]]) * x).sum(), (VECTOR,)),
    "steps": (lambda x: (x[::2] * x[::-2]).sum() + x[-1], (VECTOR,)),
    "ranges of joins": (
        lambda x, y: (ops.tanh(ops.concat([x * 2.0, y])[1:4]) + ops.concat([y, x])[0:3]).sum(),
        ("float32[2]", "float32[3]"),
    ),
    "spread numbers": (lambda x: ops.tanh(x - x[1].reshape((1,))).sum(), (VECTOR,)),
    "transposes": (lambda x: (ops.transpose(x)[1:] * ops.exp(x[:, 1:].T)).sum(), (MATRIX,)),
    "spread axes": (lambda x, y: ops.square(x * y - x[:, :1]).sum(), (MATRIX, "float32[4]")),
    "joined matrices": (lambda x: ops.sigmoid(ops.concat([x, x[:, 1:3] * 2.0], 1)).sum(), (MATRIX,)),
    "softmax": (lambda x: (ops.softmax(x) * ops.log_softmax(x)).sum(), (VECTOR,)),
    "softmax of columns": (lambda x: (ops.softmax(x, 0) * x).sum(), (MATRIX,)),
    "long softmax": (lambda x: (ops.softmax(x) * x).sum(), ("float32[100]",)),
    "extremes": (lambda x: ops.max(x, 0).sum() + ops.min(x) + ops.logsumexp(x, 1).sum(), (MATRIX,)),
    "layer norm": (lambda x: (ops.standardize(x, epsilon=1e-5) * x[0]).sum(), (VECTOR,)),
    "norm": (lambda x: ops.norm(x, 1).sum(), (MATRIX,)),
    "cumsum": (lambda x: (ops.cumsum(x) * x).sum() + ops.cumsum(x, reverse=True)[1], (VECTOR,)),
    "products of rows": (
        lambda x, y: (x @ y).sum() + ops.outer(y, y).sum() + ops.dot(y, y),
        (MATRIX, "float32[4]"),
    ),
    "choices": (
        lambda x: (
            ops.where(x > 0, ops.clip(x, -0.5, 0.5), ops.maximum(x, -x)).sum() + ops.minimum(x, 0.3).sum()
        ),
        (VECTOR,),
    ),
    "activations": (
        lambda x: (
            ops.relu(x) + ops.elu(x) + ops.leaky_relu(x) + ops.softplus(x) + ops.gelu(x) + ops.erf(x)
            + ops.mish(x)
        ).sum(),
        (VECTOR,),
    ),
    "functions": (
        lambda x: (
            ops.sqrt(ops.square(x) + 1.0) + ops.log1p(ops.abs(x)) + ops.expm1(x) / 3.0
            + ops.sin(x) * ops.cos(x) + ops.log(ops.power(x, 2) + 1.0) + ops.sign(x)
        ).sum(),
        (VECTOR,),
    ),
    "casts": (lambda x: (ops.cast(ops.cast(x * 10.0, "int32") + 1, "float32") * x).sum(), (VECTOR,)),
    "picks": (lambda x, i: ops.pick(ops.log_softmax(x), i) + x[0], (VECTOR, "int32")),
    "look-ups": (lambda x, i: (ops.lookup(x, i) * 2.0).sum() + ops.one_hot(i, 3).sum(), (MATRIX, "int32")),
    "places": (lambda x, i: (ops.place(x[0], i, 6) * x).sum(), (VECTOR, "int32")),
}  # fmt: skip


def numbers(rng: np.random.Generator, type: str, count: int) -> list[Any]:
    if type.startswith("int"):
        return rng.integers(0, 3, count).tolist()
    shape = tuple(map(int, type.partition("[")[2].rstrip("]").split(","))) if "[" in type else ()
    return list(rng.normal(size=(count, *shape)))


@pytest.mark.parametrize("float_type", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kernels", ["fake-kernels", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_kernels_compute_what_numpy_does(kernels: str, name: str, float_type: str) -> None:
    function, types = FUNCTIONS[name]
    leaves = [leaf(type, f"x{n}") for n, type in enumerate(types)]
    if len(types) == 1:
        block = leaves[0] >> ar.Function(lambda x: function(x))
    else:
        pair = ar.GetItem(0) >> leaves[0] & ar.GetItem(1) >> leaves[1]
        block = pair >> ar.Function(lambda x, y: function(x, y))
    rng = np.random.default_rng(1)
    columns = [numbers(rng, type, 5) for type in types]
    examples = columns[0] if len(types) == 1 else list(zip(*columns, strict=True))
    named = [f"x{n}" for n, type in enumerate(types) if type.startswith("float")]
    results = []
    for device in ("cpu", kernels):
        model = ar.compile(block, device=device, float_type=float_type, jit=False)
        value, gradients = model.value_and_grad(examples, inputs=named)
        results.append([value, *(gradients[each].values for each in named)])
    for expected, got in zip(*results, strict=True):
        tolerance = 4e-6 if float_type == "float32" else 1e-13
        np.testing.assert_allclose(ar.to_numpy(got), expected, tolerance, tolerance)


def leaf(type: str, name: str) -> Any:
    if type.startswith("int"):
        return ar.Scalar(type)
    return ar.Tensor(list(map(int, type.partition("[")[2].rstrip("]").split(","))), "float32", name=name)


def test_a_refused_source_says_why() -> None:
    with pytest.raises(RuntimeError, match="refuses the source"):
        HostLibrary("this is not C")


def both(block: Any, examples: Any, inputs: tuple[str, ...] = ()) -> list[list[Any]]:
    """The loss and all gradients of a block in float64, on the CPU and with kernels."""
    outcomes = []
    for device in ("cpu", "fake-kernels"):
        model = ar.compile(block, device=device, float_type="float64", jit=False, seed=1)
        value, gradients = model.value_and_grad(examples, inputs=inputs)
        arrays = [gradients[name].values if name in inputs else gradients[name] for name in gradients]
        outcomes.append([ar.to_numpy(array) for array in (value, *arrays)])
    return outcomes


def test_a_reduction_reads_what_readers_have_left() -> None:
    def step(state: Any, x: Any) -> Any:
        return ops.tanh(state[:1] + x[:1]) + x * 0.5  # one number, spread over the row: backwards a sum

    cell = ar.Fold(ar.Function(step), ar.Zeros([3]))
    block = ar.Map(ar.Vector(3, name="x")) >> cell >> ar.Function(lambda x: (x * x).sum())
    rng = np.random.default_rng(0)
    examples = [rng.normal(size=(length, 3)).tolist() for length in (4, 0, 7, 2)]
    for expected, got in zip(*both(block, examples, ("x",)), strict=True):
        np.testing.assert_allclose(got, expected, 1e-12, 1e-12)


def test_what_is_made_of_sums_over_rows() -> None:
    """The gradients of a weight's direction and length are computed from the sum over all rows."""
    block = ar.Vector(4) >> ar.Linear(3, weight_norm=True) >> ar.Function(lambda x: ops.tanh(x).sum())
    examples = list(np.random.default_rng(0).normal(size=(6, 4)))
    for expected, got in zip(*both(block, examples), strict=True):
        np.testing.assert_allclose(got, expected, 1e-12, 1e-12)
