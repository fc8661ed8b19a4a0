"""Tracing: what is recorded, keys, levels, structures, and every refusal in its words."""

from __future__ import annotations

import functools
import operator
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from arrows import ops
from arrows.ops import Parameter, ShapeError, parameter, trace
from arrows.typesys import types as T
from tests.ops.lifted import run_lifted

V3, V4, S = T.Tensor((3,)), T.Tensor((4,)), T.Tensor(())
I32 = T.Tensor((), "int32")


def names(t: ops.Trace) -> list[str]:
    return [equation.primitive.name for equation in t.equations]


def weight(shape: tuple[int, ...], name: str = "weight", dtype: str = "float32") -> Parameter:
    return Parameter(name, shape, dtype, lambda generator, shape, dtype: np.ones(shape, dtype))


OWNER = object()


def test_equal_equations_are_recorded_once_and_dead_ones_dropped() -> None:
    def f(x: Any) -> Any:
        ops.exp(x) * 5.0
        return ops.tanh(x) + ops.tanh(x)

    t = trace(f, V3)
    assert names(t) == ["tanh", "add"]
    assert t.constants == ()


def test_equations_that_differ_by_the_sign_of_a_zero_are_two() -> None:
    def bounded(x: Any) -> Any:
        return ops.clip(x, 0.0, 1.0), ops.clip(x, -0.0, 1.0), ops.clip(x, 0.0, 1.0)

    first, second, third = trace(bounded, T.Tensor(())).results
    assert first is third and first is not second


def test_keys_are_equal_exactly_for_the_same_operation() -> None:
    def key(f: Any, kind: T.Type = V3) -> Any:
        return trace(f, kind).key

    same = key(lambda x: ops.tanh(x) * 2)
    assert same == key(lambda x: ops.tanh(x.cast("float32").reshape(3)) * 2)
    assert same == key(lambda y: ops.tanh(y) * 2.0)
    assert hash(same) == hash(key(lambda y: ops.tanh(y) * 2.0))
    assert same != key(lambda x: ops.tanh(x) * 3)
    assert same != key(lambda x: ops.tanh(x) * 2, V4)
    assert same != key(lambda x: ops.sigmoid(x) * 2)
    assert key(lambda x: x[0:2]) != key(lambda x: x[1:3])
    pair = T.Tuple((V3, V3))
    assert key(lambda x, y: x - y, pair) != key(lambda x, y: y - x, pair)
    assert key(lambda x, y: (x, y), pair) != key(lambda x, y: (y, x), pair)
    assert key(lambda x: x, T.Sequence(V3)) != key(lambda x: x, V3)
    assert key(lambda x: x) == key(lambda x: {"x": x})


def test_keys_tell_owners_apart() -> None:
    def f(owner: object, name: str = "weight") -> Any:
        return trace(lambda x: x * parameter(owner, weight((3,), name)), V3).key

    other = object()
    assert f(OWNER) == f(OWNER)
    assert f(OWNER) != f(other)
    assert f(OWNER) != f(OWNER, "bias")


def test_constants_are_copies_and_count_by_all_their_bytes() -> None:
    a, kind = np.zeros(10_000, "float32"), T.Tensor((10_000,))
    first, again = (trace(lambda x: x + a.copy(), kind) for _ in range(2))
    kept = trace(lambda x: x + a, kind)
    a[5_000] = 1
    assert first.key == again.key == kept.key != trace(lambda x: x + a, kind).key
    assert not kept.constants[0][0].any()


def test_parameters_come_once_in_order_of_first_use() -> None:
    def f(x: Any) -> Any:
        b, a = weight((3,), "b"), weight((3,), "a")
        return x * parameter(OWNER, b) + parameter(OWNER, a) * parameter(OWNER, b)

    t = trace(f, V3)
    assert [(owner, spec.name) for owner, spec, _ in t.parameters] == [(OWNER, "b"), (OWNER, "a")]


def test_float_type_reaches_inputs_constants_casts_and_parameters() -> None:
    def f(x: Any, i: Any) -> Any:
        return x * np.float32(2) + i.cast("float32") + parameter(OWNER, weight((3,)))

    t = trace(f, T.Tuple((V3, I32)), float_type="float64")
    assert {var.type.dtype for var in t.results} == {"float64"}
    assert t.inputs[1].type == I32
    assert t.parameters[0][1].dtype == "float64"
    assert all(a.dtype == "float64" for a, _ in t.constants)


def test_results_keep_their_structure() -> None:
    class Pair(NamedTuple):
        left: Any
        right: Any

    @dataclass
    class Out:
        h: Any
        c: Any

    assert str(trace(lambda x: Pair(x, x.sum()), V3).output) == "(left: float32[3], right: float32)"
    assert str(trace(lambda x: Out(x, 1.0), V3).output) == "(h: float32[3], c: float32)"
    assert (
        str(trace(lambda x: {"a": [x, (x, 2)], "b": ()}, V3).output)
        == "(a: (float32[3], (float32[3], int32)), b: ())"
    )
    assert str(trace(lambda: (), T.Tuple(())).output) == "()"
    assert str(trace(lambda x: np.zeros(2), V3).output) == "float64[2]"


def test_inputs_are_spread() -> None:
    state = T.Tuple((V3, V4))
    t = trace(lambda x, s: (x, s[0], s[1]), T.Tuple((S, state)))
    assert [str(var.type) for var in t.inputs] == ["float32", "float32[3]", "float32[4]"]
    t = trace(lambda x, s: (x, s[0]), T.Tuple((S, T.Sequence(state))))
    assert [var.rows for var in t.inputs] == [-1, 0, 0]
    assert str(t.output) == "(float32, Sequence(float32[3]))"
    t = trace(lambda a, b: (a, b), T.Tuple((T.Sequence(S), T.Sequence(S))))
    assert [var.rows for var in t.inputs] == [0, 1]


def test_rows_meet_the_elements_of_a_sequence() -> None:
    def f(x: Any, hs: Any) -> Any:
        w = parameter(OWNER, weight((3, 3)))
        return ops.segment_sum(ops.sigmoid(x + hs @ w) * hs), hs * 2

    t = trace(f, T.Tuple((V3, T.Sequence(V3))))
    assert names(t).count("segment_broadcast") == 1
    assert [var.rows for var in t.results] == [-1, 0]
    rng = np.random.default_rng(0)
    x, hs = rng.standard_normal((3, 3)), rng.standard_normal((4, 3))
    w = rng.standard_normal((3, 3))
    t = trace(f, T.Tuple((V3, T.Sequence(V3))), float_type="float64")
    segments = ops.Segments.of(np, np.array([0, 3, 3, 4]))
    total, doubled = run_lifted(t, [x, hs], {(OWNER, "weight"): w}, {0: segments})
    for i, part in enumerate((slice(0, 3), slice(3, 3), slice(3, 4))):
        evaluation = ops.EagerEvaluation(lambda owner, spec: w, float_type="float64")
        with evaluation:
            got = f(evaluation.value(x[i]), evaluation.value(hs[part], rows=0))
        np.testing.assert_allclose(got[0].array, total[i], atol=1e-12)
        np.testing.assert_allclose(got[1].array, doubled[part], atol=1e-12)


def test_numpy_functions_and_constants_work_on_tensors() -> None:
    a = np.ones((2, 3), "float32")
    assert names(trace(lambda x: a @ x, V3)) == ["matmul"]
    assert names(trace(lambda x: np.tanh(a * x), V3)) == ["reshape", "multiply", "tanh"]
    assert names(trace(lambda x: np.float32(2) - x, V3)) == ["subtract"]


def test_traces_pickle() -> None:
    t = trace(lambda x: ops.tanh(x) * 2, V3)
    assert pickle.loads(pickle.dumps(t)).key == t.key


def test_shape_errors_know_the_line() -> None:
    with pytest.raises(ShapeError) as caught:
        trace(lambda x: x + np.zeros(4, "float32"), V3)
    assert str(caught.value.site).startswith("test_trace.py:")


def test_user_errors_are_chained() -> None:
    def broken(x: Any) -> Any:
        return vars(ops)["no such name"]

    with pytest.raises(ops.FunctionError, match=r"^broken raised KeyError: 'no such name'$") as caught:
        trace(broken, V3)
    assert isinstance(caught.value.__cause__, KeyError)


KEPT: list[Any] = []


@functools.lru_cache
def kept(x: Any, y: Any) -> Any:
    return x


@pytest.mark.parametrize("function", [operator.add, [].insert, divmod, isinstance, kept])
def test_functions_without_python_code_are_named_too(function: Any) -> None:
    with pytest.raises(ops.FunctionError, match=rf"^{function.__name__} raised TypeError"):
        trace(function, V3)


def _leak(x: Any) -> Any:
    KEPT.append(x)
    return x + KEPT[0]


TWO = T.Tuple((V3, V4))
MIXED = T.Tuple((V3, T.Tensor((3,), "int32")))
RAGGED = T.Tuple((T.Sequence(V3), T.Sequence(V3)))

REFUSED = [
    (lambda x, y: x + y, TWO, r"add: float32\[3\] and float32\[4\] do not fit: axis 0 is 3"),
    (lambda x, y: x + y, MIXED, r"add: float32\[3\] and int32\[3\] have different element types\n  hint"),
    (lambda x, y: x @ y, TWO, r"matmul: float32\[3\] @ float32\[4\] do not fit: axis 0 is 3 on the left"),
    (lambda x, y: ops.concat([x, y.reshape(2, 2)]), TWO, r"concat: float32\[3\] and float32\[2, 2\] do not"),
    (lambda x: x + np.zeros(3), V3, r"add: float32\[3\] and float64\[3\] have different element types"),
    (lambda x: x + 300, T.Tensor((3,), "uint8"), r"300 is out of range for uint8"),
    (lambda x: x + "a", V3, r"add: expected a tensor, a number or a NumPy array, got str"),
    (lambda x: operator.add(x, [1, 2, 3]), V3, r"got list\n  hint  use arrows.ops.stack or numpy.array"),
    (lambda x: list(x), V3, r"\(float32\[3\]\) cannot be iterated or unpacked inside a function\n  hint"),
    (lambda x: list(x), T.Sequence(V3), r"a sequence \(float32\[3\]\) cannot be iterated or unpacked"),
    (lambda x: len(x), T.Sequence(V3), r"that of a sequence is arrows.ops.segment_count"),
    (lambda x: len(x), S, r"float32 has no length"),
    (lambda x: float(x), S, r"the value of a tensor \(float32\) is not known"),
    (lambda x: [1, 2][x], I32, r"the value of a tensor \(int32\) is not known"),
    (lambda x: np.asarray(x), V3, r"a tensor \(float32\[3\]\) of a Function is not a NumPy array"),
    (lambda x: np.concatenate([x, x]), V3, r"numpy.concatenate does not take a tensor"),
    (lambda x: x[3], V3, r"index 3 is out of bounds for axis 0 with size 3"),
    (lambda x: x[0, 0], V3, r"too many indices for array: array is 1-dim"),
    (lambda x: x["a"], V3, r"index: expected integers and slices, got str"),
    (lambda x: x[1] + x[1:] + x[1.0:], V3, r"index: expected integers and slices, got float"),
    (lambda x: x[::0], V3, r"slice step cannot be zero"),
    (lambda x: x[x], V3, r"gather\(x, i\) or x\[i\] takes integers as an index, not float32\[3\]"),
    (lambda x: x.reshape(2, 2), V3, r"reshape: \[3\] has 3 elements and does not fit into \[2, 2\]"),
    (lambda x: x.sum(axis=(0, 0)), V3, r"sum: an axis occurs twice"),
    (lambda x: x.max(), T.Tensor((0,)), r"max: float32\[0\] has no elements along the axis"),
    (lambda x: x.cast("complex64"), V3, r"cast: unknown element type 'complex64'"),
    (lambda x: x**x, V3, r"power: the exponent is a Python number, not float32\[3\]"),
    (lambda x: ops.segment_sum(x), V3, r"segment_sum takes a sequence, but float32\[3\] is one tensor"),
    (lambda a, b: a + b, RAGGED, r"add: sequences of different length: sequence 0 and sequence 1"),
    (lambda x: None, V3, r"<lambda> returned None"),
    (lambda x: x, T.Input(), r"tuples and sequences of tensors, and its input is Input$"),
    (lambda x: x, T.Sequence(T.Sequence(V3)), r"not sequences inside sequences"),
    (lambda x: x, T.Void(), r"its input is Void"),
    (lambda x: ops.pick(x, np.zeros(2, int)), V3, r"pick: \[2\] does not hold one index"),
    (lambda x: ops.broadcast_to(x, (2,)), V3, r"broadcast_to: \[3\] does not broadcast to \[2\]"),
    (lambda x: ops.stack([x, x[:2]]), V3, r"stack: shapes differ"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "kind", "text"), REFUSED, ids=[text[:40] for _, _, text in REFUSED])
def test_refusals(function: Any, kind: T.Type, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        trace(function, kind)


def test_tensors_do_not_outlive_their_call() -> None:
    KEPT.clear()
    trace(_leak, V3)
    with pytest.raises(ShapeError, match="one operand is a tensor of another function call"):
        trace(_leak, V3)
    with pytest.raises(ShapeError, match="returned a tensor of another function call"):
        trace(lambda x: KEPT[0], V3)


def test_indexing_is_numpys() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for key in (
        0, -1, (0, 1), (..., 1), (0, ..., -1), slice(None), slice(1, None),
        (slice(None), slice(None, None, -1)),
        (None, 0), (slice(0, 0),), (..., None), (1, slice(5, 1, -2)), (0, 1, 2), slice(-1, None),
    ):  # fmt: skip
        np.testing.assert_array_equal(np.asarray(ops.index(x, key)), x[key])
        t = trace(lambda y, key=key: y[key], T.Tensor((2, 3, 4), "float64"))
        np.testing.assert_array_equal(run_lifted(t, [x[None]])[0][0], x[key])
