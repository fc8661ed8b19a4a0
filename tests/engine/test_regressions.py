"""What once went wrong for people who used the package: each test says what holds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES
from arrows.ops import Parameter
from arrows.training import SGD, train
from tests.agree import agree

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


class _Table(ar.Layer[Any, Any]):
    """A matrix that functions read as they like."""

    def __init__(self, name: str, shape: tuple[int, ...] = (3, 2)) -> None:
        super().__init__(name=name)
        self.shape = shape

    def parameters(self, input: Any) -> tuple[Parameter, ...]:
        return (Parameter("w", self.shape, "float32", ar.initializers.uniform(1.0)),)

    def forward(self, parameters: Any, *_: Any) -> Any:
        return parameters["w"]


@pytest.mark.parametrize(
    "read",
    [
        lambda w, i: ops.sum(ops.lookup(ops.tanh(w), i)),
        lambda w, i: ops.sum(ops.lookup(w, i)) + ops.sum(ops.cast(i, "float32") @ w),
        lambda w, i: ops.sum(ops.gather(w, i, axis=1)),
        lambda w, i: ops.sum(ops.lookup(w, i) * ops.lookup(ops.transpose(w), i)),
        lambda w, i: ops.sum(ops.lookup(w[1:], i) * w[0]),
        lambda w, i: ops.sum(ops.lookup(w, i) * ops.lookup(w, i[0])),
    ],
    ids=["of tanh", "and product", "along axis 1", "and transposed", "of a slice", "of two shapes"],
)
def test_what_is_looked_up_is_no_bare_parameter(read: Any) -> None:
    """Rows that are read of something computed, or beside something else, used to crash backwards."""
    table = _Table("table", (3, 3))
    block = ar.Tensor([3], "int32") >> ar.Function(lambda i: read(table(ops.cast(i, "float32")), i))
    agree(block, [[0, 1, 1], [1, 0, 0], [0, 0, 1]])


_LEVELS = {
    "products": lambda w, xs, ys, i, v: ops.sum(_sums(xs @ w)) + ops.sum(ops.tanh(v @ w)),
    "products, turned": lambda w, xs, ys, i, v: ops.sum(ops.tanh(v @ w)) + ops.sum(_sums(xs @ w)),
    "two sequences": lambda w, xs, ys, i, v: ops.sum(_sums(xs @ w)) + ops.sum(_sums(ys @ w)),
    "rows and a product": lambda w, xs, ys, i, v: ops.sum(_sums(ops.lookup(w, i)) + ops.tanh(v @ w)),
    "rows and a row": lambda w, xs, ys, i, v: ops.sum(_sums(ops.lookup(w, i)) * v) + ops.sum(w[1] * v),
    "element-wise": lambda w, xs, ys, i, v: ops.sum(_sums(xs * w[0])) + ops.sum(ops.tanh(v * w[0])),
    "a sum": lambda w, xs, ys, i, v: ops.sum(_sums(xs * ops.sum(w))) + ops.sum(w) * ops.sum(v),
    "from either side": lambda w, xs, ys, i, v: ops.sum(_sums(xs @ w)) + ops.sum(ops.tanh(w @ v)),
}


def _sums(elements: Any) -> Any:
    return ops.segment_sum(ops.tanh(elements))


@pytest.mark.parametrize("name", _LEVELS)
def test_one_operation_reads_a_parameter_for_each_example_and_for_each_element(name: str) -> None:
    """Gradients of rows and of elements used to be added before each was summed."""
    table, read = _Table("table", (3, 3)), _LEVELS[name]
    vectors = ar.Map(ar.Vector(3))
    inputs = ar.AllOf(
        ar.GetItem(0) >> vectors,
        ar.GetItem(1) >> vectors,
        ar.GetItem(2) >> ar.Map(ar.Scalar("int32")),
        ar.GetItem(3) >> ar.Vector(3),
    )
    block = inputs >> ar.Function(lambda xs, ys, i, v: read(table(v), xs, ys, i, v))
    one = ([[0.1, 0.2, 0.3], [1.0, 2.0, -1.0]], [[0.2, 0.1, 0.1]], [0, 1, 1], [1.0, 0.5, -0.5])
    other = ([], [[0.3, 0.1, 0.2], [-1.0, 0.4, 0.1]], [2], [0.3, -0.2, 0.8])
    agree(block, [one, other, (one[0], [], [], [0.1, 0.2, 0.3])])


def test_rows_of_a_sum_of_two_tables() -> None:
    """The rows went to one table as they were, and to the other through an equation that takes arrays."""
    plain, bent = _Table("plain"), _Table("bent")

    def read(i: Any) -> Any:
        x = ops.cast(i, "float32")
        return ops.sum(ops.tanh(ops.lookup(plain(x) + ops.tanh(bent(x)), i)))

    agree(ar.Scalar("int32") >> ar.Function(read), [0, 2, 0])
