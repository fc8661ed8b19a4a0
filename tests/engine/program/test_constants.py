"""Blocks that ignore their input: constants that are trained, zeros, and nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD
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


def test_a_scalar_is_trained_too() -> None:
    scale = ar.Constant(2.0, trainable=True)
    scaled = (ar.Scalar() & scale) >> ar.Function(lambda x, s: x * s)
    agree(scaled, [3, 5])
    agree((scaled & scale >> ar.Function(lambda s: s * s)) >> ar.Function(add), [3, 5])
    step = (ar.Identity() & scale) >> ar.Function(lambda pair, s: pair[0] * s + pair[1])
    agree(ar.Map(scaled) >> ar.Fold(step, scale), [[1, 2], [], [3]])
    assert float(ar.compile(scaled).value_and_grad([3, 5])[1]["Constant_1/value"]) == 4


def test_in_a_recursion_it_is_one_parameter() -> None:
    leaf = ar.Constant([0.5, 2.0, -1.0], trainable=True, name="leaf")

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(
            lambda a, b: ar.ops.tanh(a * b + 0.5)
        )
        return ar.Optional(pair, leaf)

    block = tree >> ar.Function(squares)
    agree(block, [None, ((None, None), None), (None, (None, None))])
    assert list(ar.compile(block).params) == ["leaf/value"]


def test_its_gradient_is_the_sum_over_its_uses() -> None:
    model = ar.compile(scored(ar.Constant([1.0, 2.0], trainable=True, name="scale")))
    value, grads = model.value_and_grad([[[1, 2], [3, 4]], []])
    assert (float(value), grads["scale/value"].tolist()) == (13.0, [4.0, 7.0])


def test_it_is_trained() -> None:
    target = ar.Constant([3.0, -1.0])
    loss = (ar.Constant([0.0, 0.0], trainable=True, name="point") & target) >> ar.SquaredError()
    model = ar.compile(loss)
    for _ in range(100):
        model.train_step([None], SGD(0.1))
    assert np.allclose(model.params["point/value"], [3, -1], atol=1e-3)
    assert model.train_step([], SGD(0.1)) == 0


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


def test_models_share_it_by_block() -> None:
    constant = ar.Constant([1.0, 2.0], trainable=True, name="c")
    one = ar.compile(scored(constant))
    other = ar.compile(constant, params=one.params)
    one.params["c/value"][...] = 7
    assert other([None]).tolist() == [[7, 7]]
    assert ar.compile(constant, params={"c/value": np.float32([3, 4])})([0]).tolist() == [[3, 4]]


def test_float_type_and_element_type() -> None:
    constant = ar.Constant(np.array([1.0, 2.0]), trainable=True)
    assert ar.infer(constant).output == ar.types.Tensor((2,), "float64")
    model = ar.compile(constant, float_type="float32")
    assert model([1]).dtype == model.params["Constant_1/value"].dtype == "float32"
    assert float(ar.Constant(1, "float32", trainable=True).eval()) == 1


def test_what_is_changed_afterwards_is_not_the_first_value() -> None:
    array = np.ones(2, "float32")
    constant = ar.Constant(array, trainable=True)
    array[...] = 9
    one, other = ar.compile(constant), ar.compile(constant)
    one.params["Constant_1/value"][...] = 5
    assert other([0]).tolist() == [[1, 1]] and constant.eval().tolist() == [1, 1]


def test_names_of_parameters_are_told_apart() -> None:
    with pytest.raises(ar.ArrowTypeError, match="two layers 'c'"):
        ar.compile(ar.Constant(1.0, trainable=True, name="c") & ar.Constant(2.0, trainable=True, name="c"))


# ------------------------------------------------------------------------------------------ zeros, nothing


def test_zeros_of_an_empty_tuple_are_an_empty_tuple() -> None:
    """TensorFlow Fold made nothing (Void) of it, so that an Optional could not give it."""
    assert ar.Zeros(()).eval(3) == () and ar.infer(ar.Zeros(())).output == ar.types.Tuple(())
    assert ar.Zeros(((), [2])).eval(3)[0] == ()
    block = ar.Optional(ar.Record({}))
    assert ar.infer(block).output == ar.types.Tuple(())
    assert block.eval(None) == block.eval({}) == ()
    for schedule in ("strata", "depth", "agenda", "none"):
        assert ar.compile(block, schedule=schedule)([None, {}]) == ()
    assert ar.compile(ar.Map(ar.Zeros(())))([[1, 2], []]).tolist() == [[(), ()], []]


def test_zeros_of_every_kind() -> None:
    block = ar.Zeros(([2], "int32", ar.types.Sequence(ar.types.Tensor([3])), ar.types.Void(), ()))
    vector, number, rows, nothing, empty = block.eval("anything")
    assert vector.tolist() == [0, 0] and number.dtype == "int32"
    assert (rows, nothing, empty) == ([], None, ())
    found = ar.compile(block)([1, 2])
    assert found[0].tolist() == [[0, 0], [0, 0]] and found[2].tolist() == [[], []] and found[3:] == (None, ())
