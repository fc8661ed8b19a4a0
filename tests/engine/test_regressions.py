"""What once went wrong for people who used the package: each test says what holds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.training import SGD, train
from tests.marks import numba

INT = ar.Scalar("int32")
CHOICE = (ar.GetItem("table") & ar.GetItem("i") >> INT) >> ar.OneOf(
    ar.GetItem(0),
    {0: ar.GetItem(1) >> ar.Embedding(3, 2), 1: ar.GetItem(1) >> ar.Embedding(10, 2)},
)
FIRST = ar.Map(INT) >> ar.GetItem(0) >> ar.Embedding(3, 2)
FIRST_TWO = ar.Map(INT) >> ar.GetItem(slice(0, 2)) >> ar.Map(ar.Embedding(3, 2)) >> ar.Sum()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("block", "example"), [(CHOICE, {"table": 1, "i": 7}), (FIRST, [1, 99]), (FIRST_TWO, [1, 1, 99])]
)
def test_an_integer_that_is_no_index_of_a_table_is_not_held_to_its_size(
    block: Any, example: Any, schedule: str
) -> None:
    model = ar.compile(block, schedule=schedule)
    assert np.allclose(model([example])[0], model.eval(example))


def test_an_example_of_a_prepared_set_is_named_by_its_place_in_the_set() -> None:
    targets = ar.GetItem(1) >> INT >> ar.Function(lambda i: i + 1)
    model = ar.compile((ar.GetItem(0) >> ar.Vector(3) & targets) >> ar.SoftmaxCrossEntropy())
    data = [([1, 2, 3], 0)] * 50 + [([1, 2, 3], 2)] + [([1, 2, 3], 0)] * 50
    with pytest.raises(ar.InputError, match="example 50"):
        train(model, data, SGD(0.1), batch_size=16, progress=False)


@pytest.mark.parametrize(("leaf", "bad"), [("int32", 2**40), ("float32", 1e300)])
def test_a_bad_number_of_an_iterator_is_an_input_error(leaf: str, bad: float) -> None:
    model = ar.compile(ar.Map(ar.Scalar(leaf)) >> ar.Sum())
    with pytest.raises(ar.InputError, match="example 1"):
        model([[1], iter([bad])])


def test_a_prepared_set_is_pickled_for_models_of_the_same_expression() -> None:
    model = ar.compile(FIRST)
    restored = pickle.loads(pickle.dumps(model.prepare([[1, 99], [2]])))
    assert np.array_equal(model(restored[[1, 0]]), model([[2], [1, 99]]))
    assert np.array_equal(ar.compile(FIRST)(restored), model([[1, 99], [2]]))
    with pytest.raises(ar.ArrowValueError, match="another model"):
        ar.compile(FIRST_TWO)(restored)


def test_an_input_named_like_a_parameter() -> None:
    layer = ar.FC(1, name="x")
    model = ar.compile(ar.Vector(3, name="x/bias") >> layer >> ar.Function(lambda v: v.sum()))
    with pytest.raises(ar.ArrowValueError, match="rename the input"):
        model.value_and_grad([[1, 2, 3]], inputs=["x/bias"])


def test_a_layer_types_the_recursion_that_goes_through_it() -> None:
    @ar.fix
    def node(me: Any) -> Any:
        kids = ar.GetItem("kids") >> ar.Map(me) >> ar.Sum()
        return (ar.GetItem("x") >> ar.Scalar() & kids) >> ar.Concat() >> ar.FC(4)

    assert ar.infer(node).output == ar.types.Tensor((4,))
    assert ar.infer(node, float_type="float64").output == ar.types.Tensor((4,), "float64")
    leaf = {"x": 1, "kids": []}
    assert ar.compile(node)([{"x": 2, "kids": [leaf, leaf]}]).shape == (1, 4)


def test_zero_and_minus_zero_are_two_attributes() -> None:
    """They are equal, so operations that differ by them alone became one."""

    def inverse(least: float) -> Any:
        return ar.Function(lambda x: 1.0 / ar.ops.clip(x, least, 1.0))

    block = ar.Scalar("float64") >> (inverse(0.0) & inverse(-0.0))
    found = ar.compile(block, float_type="float64")([-5.0])
    assert [one.tolist() for one in found] == [[np.inf], [-np.inf]]
    empty = ar.Map(ar.Scalar()) >> ar.Max(default=0.0) & ar.Map(ar.Scalar()) >> ar.Max(default=-0.0)
    for found in (ar.compile(empty)([[]]), empty.eval([])):
        assert [bool(np.signbit(np.asarray(one)).any()) for one in found] == [False, True]


def test_columns_of_a_product_are_columns_of_a_matrix_not_of_a_vector() -> None:
    three = ar.Vector(2) >> ar.FC(5, activation=ar.ops.tanh) >> ar.Embedding(3, 5).attend
    one = ar.Vector(2) >> ar.FC(5) >> ar.Function(lambda x: ar.ops.tanh(x) @ ar.ops.exp(x))
    for block in (three, one):
        model = ar.compile(block, seed=1)
        assert np.allclose(model([[1.0, 2.0]])[0], model.eval([1.0, 2.0]))


class _Products(ar.Layer[Any, Any]):
    def parameters(self, input: Any) -> tuple[ar.ops.Parameter, ...]:
        shapes = {"first": (4, 3), "second": (4, 3), "matrix": (3, 3)}
        normal = ar.initializers.normal(1.0)
        return tuple(ar.ops.Parameter(name, shape, "float32", normal) for name, shape in shapes.items())

    def forward(self, parameters: Any, x: Any) -> Any:
        i, j = (ar.ops.cast(ar.ops.argmax(y), "int32") for y in (x, -x))
        rows = {name: [ar.ops.lookup(parameters[name], n) for n in (i, j)] for name in ("first", "second")}
        (a, b), (c, d) = rows["first"], rows["second"]
        return (a * b + x * 0.5 + ar.ops.tanh(a * b) @ parameters["matrix"] + c * d) * 2.0


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=numba)])
def test_rows_of_a_gradient_lie_where_nothing_else_is_computed(jit: bool) -> None:
    block = ar.Vector(3) >> ar.LayerNorm() >> _Products() >> ar.Function(lambda x: x.sum())
    model = ar.compile(block, jit=jit, seed=1)
    _, gradients = model.value_and_grad([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]])
    second = np.asarray(model.params["_Products_1/second"])
    wanted = np.zeros((4, 3), "float32")
    for i, j in ((2, 0), (0, 2)):
        wanted[i] += second[j]
        wanted[j] += second[i]
    np.testing.assert_allclose(gradients["_Products_1/second"].to_dense(np), wanted, rtol=1e-5)
