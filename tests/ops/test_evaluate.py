"""The reference evaluation: values, tape, joined and split sequences, parameters, indices out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.ops import EagerEvaluation, Parameter, parameter
from arrows.testing import check_grads
from arrows.typesys import ArrowValueError, types as T

OWNER = object()


def array(value: Any) -> Any:
    return value.array


def normal(name: str, *shape: int) -> Parameter:
    return Parameter(name, shape, "float32", lambda generator, shape, dtype: generator.standard_normal(shape))


def test_gradients_of_parameters_and_inputs() -> None:
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    evaluation = EagerEvaluation(lambda owner, spec: w, record=True, float_type="float64")
    with evaluation:
        x = evaluation.value(np.array([1.0, -1.0]))
        y: Any = x @ parameter(OWNER, normal("weight", 2, 2)) + parameter(OWNER, normal("weight", 2, 2))[0]
    grads = evaluation.backward([(y, np.array([1.0, 10.0]))])
    np.testing.assert_array_equal(grads[x], w @ [1, 10])
    np.testing.assert_array_equal(grads[OWNER, "weight"], [[2, 20], [-1, -10]])


def test_a_parameter_without_gradient_gets_zeros() -> None:
    evaluation = EagerEvaluation(lambda owner, spec: np.ones(spec.shape, "float32"), record=True)
    with evaluation:
        parameter(OWNER, normal("weight", 2))
    assert evaluation.backward([])[OWNER, "weight"].tolist() == [0, 0]


def test_joined_and_split_sequences_pass_gradients() -> None:
    evaluation = EagerEvaluation(record=True)
    xs = [evaluation.value(np.array(float(i))) for i in range(4)]
    sequence = evaluation.join(xs, 0, xs[0].type)
    squares: Any = ops.square(sequence)
    parts = evaluation.split(squares)
    total: Any = ops.segment_sum(evaluation.join(parts[:3], 1, xs[0].type))
    grads = evaluation.backward([(total, np.array(1.0)), (parts[3], np.array(0.5))])
    assert [float(grads[x]) for x in xs] == [0, 2, 4, 3]
    empty: Any = evaluation.join([], 2, T.Tensor((3,)))
    assert array(ops.segment_sum(empty)).tolist() == [0, 0, 0]
    assert array(ops.segment_softmax(empty)).shape == (0, 3)


def test_segment_min_and_mean_of_empty_sequences() -> None:
    evaluation = EagerEvaluation()
    empty = evaluation.value(np.zeros((0, 2)), rows=0)
    assert array(ops.segment_mean(empty)).tolist() == [0, 0]
    assert array(ops.segment_min(empty, default=5.0)).tolist() == [5, 5]
    with pytest.raises(ArrowValueError, match="segment_max: a sequence is empty"):
        ops.segment_max(empty)


@pytest.mark.nightly
def test_a_long_tape() -> None:
    evaluation = EagerEvaluation(record=True)
    x: Any = evaluation.value(np.array(1.0))
    y: Any = x
    for _ in range(50_000):
        y = y + x
    assert float(evaluation.backward([(y, np.array(1.0))])[x]) == 50_001


@pytest.mark.parametrize("index", [5, -1])
def test_an_index_out_of_range_is_named(index: int) -> None:
    with pytest.raises(IndexError, match=rf"^index {index} is out of range for an axis of size 5") as caught:
        ops.lookup(np.zeros((5, 2)), np.array(index))
    assert caught.value.row is None  # type: ignore[attr-defined]
    lifted = ops.get("lookup").kernel(np, rows=(False, True))
    with pytest.raises(ops.IndexOutOfRange) as rows:
        lifted(np.zeros((5, 2)), np.array([0, 1, index, index]))
    assert (rows.value.row, rows.value.index, rows.value.size) == (2, index, 5)


def test_shared_conveniences() -> None:
    x = np.array([[1.0, -2.0], [3.0, 4.0]])

    def f(t: Any) -> Any:
        stacked = ops.stack([t[0], t.T[1], np.array([5.0, 6.0])], axis=1)
        return (
            -t + abs(t) - 1 / (t * t + 1), t**3, stacked, t.mean(axis=0), t.max(), t.min(axis=1),
            3 - t.sum(axis=-1), t.mean(keepdims=True),
            ops.dot(t[0], t[1]), ops.less(t, 0).cast("float64") * t,
            ops.less_equal(t, 1.5).astype("float64") * t,
            t.transpose(1, 0), t.transpose(), t.reshape((4,)), t.reshape(-1, 1),
        )  # fmt: skip

    check_grads(f, x)
