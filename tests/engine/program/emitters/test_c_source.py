"""The kernels in C, executed through the host's compiler, compute what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.program.emitters.c_source import PRELUDE, c_kernel
from arrows.engine.program.instructions import Map
from arrows.ops import INVARIANT, Var, trace
from arrows.typesys import types as T

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")


def cell(z: Any, c: Any) -> Any:
    i, f, u = ops.sigmoid(z[:4]), ops.sigmoid(z[4:8]), ops.tanh(z[8:])
    new = i * u + f * c
    return ops.tanh(new), new


FUNCTIONS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "cell": (cell, (12, 4)),
    "slices and joins": (lambda x: ops.concat([x[3:], x[:3]]) * x, (5,)),
    "ranges of joins": (
        lambda x, y: ops.tanh(ops.concat([x * 2.0, y])[1:4]) + ops.concat([y, x])[0:3],
        (2, 3),
    ),
    "spread numbers": (lambda x: x - x[1].reshape((1,)), (4,)),
    "every function": (
        lambda x, y: ops.relu(x) + ops.sign(y) * ops.abs(x) - ops.sqrt(ops.square(y)) / (-x - 9.0),
        (7, 7),
    ),
}


def padded(array: Any, width: int) -> Any:
    """The same rows as columns of a wider array, as in a part of a slab."""
    wide = np.full((len(array), array.shape[1] + width), np.nan, array.dtype)
    wide[:, 1 : array.shape[1] + 1] = array
    return wide[:, 1 : array.shape[1] + 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_compute_what_numpy_does(dtype: str) -> None:
    rng = np.random.default_rng(0)
    sizes = [T.Tuple(tuple(T.Tensor((n,), dtype) for n in shape)) for _, shape in FUNCTIONS.values()]
    traces = [trace(function, size) for (function, _), size in zip(FUNCTIONS.values(), sizes, strict=True)]
    maps = [Map(traced.equations, tuple(dict.fromkeys(traced.results))) for traced in traces]
    kernels = [c_kernel(each) for each in maps]
    source = PRELUDE + "".join({kernel.name: kernel.source for kernel in kernels}.values())
    library = HostLibrary(source, ["DOUBLE"] if dtype == "float64" else [])
    for (function, shape), traced, loops, kernel in zip(
        FUNCTIONS.values(), traces, maps, kernels, strict=True
    ):
        inputs = [padded(rng.normal(size=(5, n)).astype(dtype), 3) for n in shape]
        values: dict[Var, Any] = dict(zip(traced.inputs, inputs, strict=True))
        values |= {var: array for array, var in traced.constants}
        outputs = {var: padded(np.zeros((5, var.type.size), dtype), 2) for var in loops.results}
        arguments: list[Any] = [5]
        for var in (*loops.reads, *loops.writes):
            array = {**values, **outputs}[var]
            arguments.append(array)
            if var.rows != INVARIANT:
                arguments.append(array.strides[0] // array.itemsize)
        library.call(kernel.name, arguments)
        tolerance = 2e-6 if dtype == "float32" else 1e-14
        for row in range(5):
            wanted = function(*(x[row] for x in inputs))
            for var, value in zip(
                traced.results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True
            ):
                np.testing.assert_allclose(outputs[var][row], value, tolerance, tolerance)


def test_not_a_number_passes_through() -> None:
    traced = trace(lambda x: (ops.relu(x), ops.sign(x), ops.sigmoid(x)), T.Tensor((3,)))
    loops = Map(traced.equations, traced.results)
    kernel = c_kernel(loops)
    x = np.array([[np.nan, np.inf, -np.inf]], np.float32)
    results = [np.zeros((1, 3), np.float32) for _ in range(3)]
    HostLibrary(PRELUDE + kernel.source).call(
        kernel.name, [1, x, 3, *(part for each in results for part in (each, 3))]
    )
    np.testing.assert_array_equal(results[0], [[np.nan, np.inf, 0]])
    np.testing.assert_array_equal(results[1], [[np.nan, 1, -1]])
    np.testing.assert_array_equal(results[2], [[np.nan, 1, 0]])


def test_a_refused_source_says_why() -> None:
    with pytest.raises(RuntimeError, match="refuses the source"):
        HostLibrary("this is not C")
