"""Rounding, remainders and `stop_gradient`: values as NumPy's, gradients as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device.kernel import available


def gradients(function: Any, *vectors: list[float]) -> list[list[float]]:
    names = [f"x{n}" for n in range(len(vectors))]
    read = ar.Record({name: ar.Vector(len(x), name=name) for name, x in zip(names, vectors, strict=True)})
    model = ar.compile(read >> ar.Function(lambda *xs: function(*xs).sum()), float_type="float64")
    _, grads = model.value_and_grad([dict(zip(names, vectors, strict=True))], inputs=names)
    return [grads[name][0][0].tolist() for name in names]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("function", "theirs"), [(ops.mod, np.mod), (ops.floor_divide, np.floor_divide)])
def test_remainders_and_quotients_are_those_of_numpy_and_python(
    function: Any, theirs: Any, sign: int
) -> None:
    a = np.array([7.5, -7.5, 6.0, -6.0, 0.0, np.inf, np.nan, 1.0, 1.0, -1.0, 0.0])
    b = sign * np.array([2.0, 2.0, 3.0, 3.0, 2.0, 2.0, 2.0, np.inf, 0.1, 0.0, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(a, b), theirs(a, b))
    whole = [divmod(a, sign * 3)[theirs is np.mod] for a in (-7, 7)]
    assert function(np.array([-7, 7]), sign * 3).tolist() == whole


PAIRS = np.array(
    [[7.5, 2], [-7.5, 2], [7.5, -2], [1, 0.1], [-1, 0.1], [3e7, 3], [0, 3], [2, 0], [-2, 0], [-12, np.inf]]
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "cpu with numba", "fake", "fake-kernels"])
def test_every_device_divides_alike(device: str, dtype: str) -> None:
    jit = "numba" in device
    if jit and not available():
        pytest.skip("no numba here")
    # Two operations side by side make a loop worth compiling.
    block = ar.Vector(2, dtype) >> ar.Function(lambda x: (x[0] // x[1]) * 1.0 + x[0] % 2.0 * 0.0)
    model = ar.compile(block, device=device.split(maxsplit=1)[0], jit=jit)
    pairs = PAIRS.astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ar.to_numpy(model(pairs)), np.floor_divide(*pairs.T))


@pytest.mark.parametrize("device", ["cpu", "fake", "fake-kernels"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_divide_alike(device: str, dtype: str) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    pairs = [(7, 0), (7, 3), (most, 2), (least, 3), (most, most)]
    if least:
        pairs += [(-7, 3), (7, -3), (-7, -3), (least, -1), (most, -1)]
    block = ar.Record((ar.Scalar(dtype), ar.Scalar(dtype))) >> ar.Function(lambda a, b: (a // b, a % b))
    with np.errstate(all="ignore"):
        wanted = np.divmod(*np.array(pairs, dtype).T)
    for found, right in zip(ar.compile(block, device=device)(pairs), wanted, strict=True):
        assert ar.to_numpy(found).tolist() == right.tolist()


def test_operators_of_python_and_functions_of_numpy() -> None:
    block = ar.Scalar() >> ar.Function(
        lambda x: (x // 2, x % 2, 9 // x, 9 % x, np.floor_divide(x, 2), np.mod(x, 3), np.rint(x))
    )
    assert [float(y) for y in block.eval(3.5)] == [1.0, 1.5, 2.0, 2.0, 1.0, 0.5, 4.0]
    assert gradients(lambda x: x * (x // 2.0), [5.0]) == [[2.0]]


def test_gradients_are_those_of_pytorch() -> None:
    # torch.remainder(a, b): 1 for a, -floor(a / b) for b; torch.floor and torch.round: zero.
    assert gradients(ops.mod, [7.5, -7.5, 7.5], [2.0, 2.0, -2.0]) == [[1.0] * 3, [-3.0, 4.0, 4.0]]
    for function in (ops.floor, ops.round):
        assert gradients(lambda x, f=function: f(x) * x, [1.25, -2.75]) == [
            function(np.array([1.25, -2.75])).tolist()
        ]


def test_no_gradient_goes_through() -> None:
    assert gradients(lambda x: x * ops.stop_gradient(x), [3.0, 4.0]) == [[3.0, 4.0]]
    assert gradients(lambda x: x + ops.stop_gradient(ops.round(x) - x), [0.4, 1.7]) == [[1.0, 1.0]]
    whole = gradients(lambda x: ops.stop_gradient(x * 2.0), [3.0])
    assert whole == [[0.0]]


def test_a_layer_behind_it_does_not_learn() -> None:
    block = ar.Vector(2) >> ar.FC(2, name="a") >> ar.Function(ops.stop_gradient) >> ar.FC([], name="b")
    _, grads = ar.compile(block).value_and_grad([[1.0, 2.0]])
    assert not grads["a/weight"].any() and grads["b/weight"].any()
