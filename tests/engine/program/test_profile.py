"""A profile adds up, and leaves the model as it was."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD


def network():
    cell = ar.LSTMCell(3)
    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(5, 4, name="words")) >> ar.RNN(cell)
    return words >> ar.GetItem(0) >> ar.Map(ar.FC(2)) >> ar.Sum() >> ar.Function(lambda x: (x * x).sum())


BATCH = [[1, 2, 3], [4], [], [0, 0, 1, 2]]


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_times_add_up(device):
    model = ar.compile(network(), device=device)
    profile = model.profile(BATCH, SGD(0.1), runs=2)
    assert profile.mode == "training" and profile.examples == 4 and profile.runs == 2
    assert 0.5 * profile.seconds <= sum(profile.parts.values()) <= 1.01 * profile.seconds
    by_name = {line.name: line for line in profile.operations}
    assert (by_name["LSTMCell"].steps, by_name["LSTMCell"].rows) == (4, 8)
    for part in ("gather", "matmul", "element-wise", "sums"):
        of_lines = sum(line.seconds.get(part, 0) for line in profile.operations)
        assert profile.parts[part] == pytest.approx(of_lines) and of_lines > 0
    assert profile.parts["prepare"] > 0 and profile.parts["merge"] > 0 and profile.parts["update"] > 0


def test_the_model_is_as_it_was():
    model = ar.compile(network())
    prepared = model.prepare(BATCH)
    before = {name: array.copy() for name, array in model.params.items()}
    loss, _ = model.value_and_grad(prepared[:2])
    step, executors = model.step, model.executors.kept
    assert model.profile(prepared).mode == "gradients"
    assert model.step == step and model.executors.kept is executors
    for name, array in model.params.items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(model.value_and_grad(prepared[:2])[0], loss)
    model.profile(prepared, SGD(0.1))
    assert any((array != before[name]).any() for name, array in model.params.items())


def test_without_a_loss_it_is_inference_and_failures_leave_no_clock():
    sums = ar.Function(lambda xs: ar.ops.segment_sum(xs) * np.array([1, 2], np.float32))
    model = ar.compile(ar.Map(ar.Scalar()) >> sums)
    assert model.profile([[1, 2], [3]]).mode == "inference"
    with pytest.raises(ar.InputError):
        model.profile([["a"]])
    assert model.executors.clock is None
    assert model([[1, 2]]).tolist() == [[3, 6]]


@pytest.mark.parametrize(
    ("examples", "runs", "error"),
    [
        (BATCH, 0, ar.ArrowValueError("profile: runs is 0, and should be 1 or more")),
        (BATCH, 1.5, ar.ArrowTypeError("profile: runs must be a whole number, not 1.5")),
    ],
)
def test_what_cannot_be_profiled(examples, runs, error):
    model = ar.compile(network())
    with pytest.raises(type(error), match=str(error)):
        model.profile(examples, runs=runs)
