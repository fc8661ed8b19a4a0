"""Functions made of several primitives: derivatives, formulas, element types, operators, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import EagerEvaluation, ShapeError, trace
from arrows.testing import check_grads
from arrows.typesys import types as T

from .table import d, i, n

SOME = np.array([[True, False, True], [False, False, False]])
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "clip": lambda x: ops.clip(x, -0.05, 0.7) + ops.clip(x, high=0.0) * ops.clip(x, 0.02),
    "elu": lambda x: ops.elu(x, 0.3),
    "leaky_relu": lambda x: ops.leaky_relu(x, 3),
    "softmax of some": lambda x: ops.softmax(x, where=SOME),
    "log_softmax of some": lambda x: ops.where(SOME, ops.log_softmax(x, axis=0, where=SOME), x.sum() * 0),
    "logsumexp": ops.logsumexp,
    "logsumexp of columns": lambda x: ops.logsumexp(x, axis=0, keepdims=True),
    "normalize": ops.normalize,
    "normalize a column": lambda x: ops.normalize(x, axis=0),
    "standardize": ops.standardize,
    "variance": ops.variance,
    "norm": ops.norm,
    "stack": lambda x: ops.stack([x, ops.tanh(x), x], axis=-1),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name: str) -> None:
    check_grads(SMOOTH[name], n(2, 3))


@pytest.mark.parametrize("name", SMOOTH)
def test_the_element_type_stays(name: str) -> None:
    for dtype in ("float32", "float64"):
        x = n(2, 3).astype(dtype)
        assert np.asarray(SMOOTH[name](x)).dtype == dtype
        assert trace(SMOOTH[name], T.Tensor((2, 3), dtype)).output.dtype == dtype


def test_formulas() -> None:
    for bounds in ((-0.4, 0.45), (None, 0.45), (-0.4, None), (None, None), (1, -1)):
        x = np.array([-1.0, -0.4, 0.0, 0.45, 2.0, np.nan])
        np.testing.assert_array_equal(
            ops.clip(x, *bounds), x if bounds == (None, None) else np.clip(x, *bounds)
        )
    whole = i(9)
    np.testing.assert_array_equal(ops.clip(whole, 1, 2), np.clip(whole, 1, 2))
    x = np.linspace(-9, 9, 721)
    wanted = np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(ops.erf(x), wanted, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(ops.erf(x.astype("float16")), wanted, atol=2e-3)


def test_softmax_of_what_is_allowed() -> None:
    x, wanted = n(2, 3), np.zeros((2, 3))
    wanted[0, [0, 2]] = np.exp(x[0, [0, 2]]) / np.exp(x[0, [0, 2]]).sum()
    logs = ar.Function(lambda x, some: ops.log_softmax(x, where=some))
    model = ar.compile(
        ar.Record((ar.Tensor([2, 3]), ar.Tensor([2, 3], "bool"))) >> logs, float_type="float64"
    )
    for found in model([(x, SOME)] * 2):
        np.testing.assert_allclose(np.exp(found), wanted, atol=1e-12)
    np.testing.assert_allclose(ops.softmax(x, where=SOME), wanted, atol=1e-12)
    evaluation = EagerEvaluation(record=True)
    y = ops.sum(ops.log_softmax(value := evaluation.value(x), where=SOME))  # -inf, with a gradient
    share = evaluation.backward([(y, np.array(1.0))])[value]
    np.testing.assert_allclose(share, np.where(SOME, 1 - 2 * wanted, 0), atol=1e-12)


def test_the_gradient_of_a_length_of_zero_is_zero() -> None:
    evaluation = EagerEvaluation(record=True)
    x = evaluation.value(np.zeros(3))
    gradient = evaluation.backward([(ops.norm(x), np.array(1.0))])[x]
    assert gradient.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)),
        ((0, 3, 4), (4, 5)), ((1, 3, 4), (1, 4, 0)),
    ],
)  # fmt: skip
def test_matmul_with_three_axes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = n(*a), n(*b)
    np.testing.assert_allclose(ops.matmul(x, y), x @ y, atol=1e-12)
    check_grads(ops.matmul, x, y)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_gather_is_take(shape: tuple[int, ...]) -> None:
    x, index = n(4, 5, 4), i(*shape)
    np.testing.assert_array_equal(ops.gather(x, index), np.take(x, index, 0))
    check_grads(ops.gather, x, index)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4)])
def test_pick_takes_along_the_last_axis(shape: tuple[int, ...]) -> None:
    x, index = n(*shape), i(*shape[:-1])
    wanted = np.take_along_axis(x, index[..., None], -1)[..., 0]
    np.testing.assert_array_equal(ops.pick(x, index), wanted)
    masked = np.where(np.arange(4) == index[..., None], x, -np.inf)  # what is not picked counts for nothing
    np.testing.assert_array_equal(ops.pick(masked, index), wanted)
    check_grads(ops.pick, x, index)


def test_one_hot_follows_the_float_type() -> None:
    def encode(label: Any) -> Any:
        return ops.one_hot(label, 3), ops.one_hot(label, 3, "int32")

    t = trace(encode, T.Tensor((), "int32"), float_type="float64")
    assert str(t.output) == "(float64[3], int32[3])"
    with pytest.raises(IndexError, match="one_hot: index 3 is out of range for an axis of size 3"):
        ops.one_hot(np.array([0, 3]), 3)


def test_operators_and_methods_are_those_of_numpy() -> None:
    x, y = d(6), d(6)
    evaluation = EagerEvaluation()
    a, b = evaluation.value(x), evaluation.value(y)
    pairs: list[tuple[Any, Any]] = [
        (a > b, x > y), (a >= 0.4, x >= 0.4), (a < b, x < y), (a >= 0.4, x >= 0.4), (a == b, x == y),
        (a != 0.4, x != 0.4), ((a > 0) & (b > 0), (x > 0) & (y > 0)), ((a > 0) | (b > 0), (x > 0) | (y > 0)),
        (~(a > 0), ~(x > 0)), ((x > 0) & (b > 0), (x > 0) & (y > 0)), (y < a, y < x),
        (a.argmax(), x.argmax(-1)), (a.argmax(axis=0), x.argmax(0)), (a.clip(-0.5, 0.5), x.clip(-0.5, 0.5)),
    ]  # fmt: skip
    for got, wanted in pairs:
        np.testing.assert_array_equal(got.array, wanted)
    assert {a: 1, b: 2}[b] == 2  # tensors are found by identity


@pytest.mark.parametrize("branch", [lambda x: x if x > 0 else -x, lambda x: 0 < x < 1, lambda x: not (x > 0)])
def test_python_truth_says_what_to_write(branch: Any) -> None:
    with pytest.raises(ShapeError) as caught:
        trace(branch, T.Tensor(()))
    text = str(caught.value)
    assert "the truth of a tensor (bool) is not known while the function is built" in text
    assert "use arrows.ops.where" in text
    assert "a < x < b is (a < x) & (x < b)" in text


V3 = np.ones(3)

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.clip(i(3), 0.5), "0.5 is not a whole number, but the tensor beside it is int32"),
    (lambda: ops.logical_and(V3, V3), r"logical_and takes truth values, not float64\[3\]"),
    (lambda: ops.softmax(np.array(1.0)), "softmax: a tensor with 0 axes has no axis -1"),
    (lambda: ops.one_hot(i(3), -1), "one_hot: num_classes is a whole number >= 0, got -1"),
    (lambda: ops.argmax(n(2, 0)), r"argmax: float64\[2, 0\] has no elements along the axis"),
    (lambda: ops.matmul(n(2, 3, 4), n(3, 4, 5)), "axis 0 is 2 on the left and axis 0 is 3 on the right"),
    (lambda: ops.matmul(n(2, 3, 4), n(2, 3, 5)), "axis 2 is 4 on the left and axis 1 is 3 on the right"),
    (lambda: ops.matmul(n(2, 2, 2, 2), n(2)), "matmul takes one, two or three axes"),
    (lambda: ops.reshape(n(6), (4, 2)), r"reshape: \[6\] has 6 elements and does not fit into \[4, 2\]"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_refusals(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        call()


@pytest.mark.parametrize(("dtype", "default"), [("int32", 0.5), ("bool", 1), ("bool", 0.5)])
def test_the_default_of_a_place_has_the_type_of_the_elements(dtype: str, default: float) -> None:
    taken = ar.Function(lambda x, place: ops.segment_take(x, place, default=default))
    with pytest.raises(ar.ArrowTypeError, match=f"segment_take: the default {default} is not {dtype}"):
        ar.infer((ar.Map(ar.Scalar(dtype)) & ar.Constant(0, "int32")) >> taken)


def test_a_shape_is_found_without_memory_for_the_numbers() -> None:
    large = ar.Tensor([10**8, 10**7])
    assert str(ar.infer(large >> ar.Function(lambda x: x[0, ::2])).output) == "float32[5000000]"
    assert str(ar.infer(large >> ar.Function(lambda x: ops.reshape(x, (-1, 10))[3])).output) == "float32[10]"
