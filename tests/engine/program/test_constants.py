"""Blocks that ignore their input: constants that are trained, zeros, and nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.agree import agree

ROWS = [[[1, 2], [3, -4]], [], [[0.5, 0.25]]]


def dot(x: Any, y: Any) -> Any:
    return (x * y).sum()


def add(x: Any, y: Any) -> Any:
    return x + y


def squares(x: Any) -> Any:
    return (x * x).sum()


def scored(constant: Any) -> Any:
    """A use at every element, and one beside them."""
    each = (ar.Vector(2) & constant) >> ar.Function(dot)
    return (ar.Map(each) >> ar.Sum() & constant >> ar.Function(squares)) >> ar.Function(add)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(scored, id="everywhere"),
        pytest.param(lambda c: ar.Map(ar.Vector(2)) >> ar.Fold(ar.Function(add), c) >> ar.Function(squares)),
        pytest.param(lambda c: ar.Map(ar.Optional(ar.Vector(2), c) >> ar.Function(squares)) >> ar.Sum()),
        pytest.param(
            lambda c: ar.Map(ar.Vector(2)) >> ar.RNN(ar.Function(lambda x, h: ar.ops.tanh(x + h)), c)
            >> ar.GetItem(1) >> ar.Function(squares)
        ),
        pytest.param(lambda c: ar.Record({"c": c, 0: ar.Zeros([2])}) >> ar.Function(dot) & c >> ar.Void()
            >> c >> ar.Metric("unused") >> ar.Void()),
        pytest.param(lambda c: (c & ar.shared(ar.Map(ar.Vector(2) & c) >> ar.Sum() >> ar.Function(add)))
            >> ar.Function(dot)),
    ],
)  # fmt: skip
def test_a_trained_constant_is_a_parameter(make: Any) -> None:
    block = make(ar.Constant([0.5, -1.0], trainable=True))
    if isinstance(ar.infer(block).output, ar.types.Tuple):
        block = block >> ar.GetItem(0)
    agree(block, ROWS)
    model = ar.compile(block)
    assert model.params["Constant_1/value"].tolist() == [0.5, -1.0] and len(model.params) == 1


def test_one_block_is_one_parameter_and_copies_keep_that() -> None:
    twice = ar.Constant(1.0, trainable=True)
    block = twice & ar.Map(twice) >> ar.Sum() & ar.Constant(1.0, trainable=True)
    for some in (block, pickle.loads(pickle.dumps(block)), copy.deepcopy(block)):
        model = ar.compile(some)
        assert list(model.params) == ["Constant_1/value", "Constant_2/value"]
        model.params["Constant_1/value"][...] = 5
        assert [x.tolist() for x in model([[0, 0]])] == [[5], [10], [1]]
    again, same = pickle.loads(pickle.dumps([block, twice]))
    model = ar.compile(again)
    assert (
        ar.compile(same, params=model.params).params["Constant_1/value"] is model.params["Constant_1/value"]
    )


def test_what_is_changed_afterwards_is_not_the_first_value() -> None:
    array = np.ones(2, "float32")
    constant = ar.Constant(array, trainable=True)
    array[...] = 9
    one, other = ar.compile(constant), ar.compile(constant)
    one.params["Constant_1/value"][...] = 5
    assert other([0]).tolist() == [[1, 1]] and constant.eval().tolist() == [1, 1]


# ------------------------------------------------------------------------------------------ zeros, nothing


def test_zeros_of_an_empty_tuple_are_an_empty_tuple() -> None:
    """TensorFlow Fold made nothing (Void) of it, so that an Optional could not give it."""
    assert ar.Zeros(()).eval(3) == () and ar.infer(ar.Zeros(())).output == ar.types.Tuple(())
    assert ar.Zeros(((), [2])).eval(3)[0] == ()
    block = ar.Optional(ar.Record({}))
    assert ar.infer(block).output == ar.types.Tuple(())
    assert block.eval(None) == block.eval({}) == ()
    for schedule in SCHEDULES:
        assert ar.compile(block, schedule=schedule)([None, {}]) == ()
    assert ar.compile(ar.Map(ar.Zeros(())))([[1, 2], []]).tolist() == [[(), ()], []]
