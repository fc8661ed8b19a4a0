"""Blocks that ignore their input: constants that are trained, zeros, and nothing."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import arrows as ar
from arrows.engine.planning import SCHEDULES


def test_one_block_is_one_parameter_and_copies_keep_that() -> None:
    twice = ar.Constant(1.0, trainable=True)
    block = twice & ar.Map(twice) >> ar.Sum() & ar.Constant(1.0, trainable=True)
    for some in (block, pickle.loads(pickle.dumps(block)), copy.deepcopy(block)):
        model = ar.compile(some)
        assert list(model.params) == ["Constant_1/value", "Constant_2/value"]
        model.params["Constant_1/value"][...] = 5
        assert [x.tolist() for x in model([[0, 0]])] == [[5], [10], [1]]
    name = "Constant_1/value"
    again, same = pickle.loads(pickle.dumps([block, twice]))
    model = ar.compile(again)
    assert ar.compile(same, params=model.params).params[name] is model.params[name]


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
