"""Every layer and loss: gradients against finite differences, batches against one by one, formulas."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from arrows import layers, ops
from arrows.layers import (
    FC,
    Dropout,
    Embedding,
    LSTMCell,
    SoftmaxCrossEntropy,
    SquaredError,
    TreeLSTM,
    initializers,
)
from arrows.ops import Elements, Evaluation, Segments, ShapeError, check_grads, trace
from arrows.ops.testing import run_lifted
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.static import Axis

RNG = np.random.default_rng(3)
GAUSS = initializers.normal(0.7)


def n(*shape: int) -> np.ndarray[Any, Any]:
    return np.asarray(RNG.standard_normal(shape))


def states(count: int, size: int) -> tuple[Any, ...]:
    return tuple((n(size), n(size)) for _ in range(count))


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "FC": (FC(4, initializer=GAUSS), (n(3),)),
    "FC, activation": (FC(4, ops.tanh, initializer=GAUSS), (n(3),)),
    "FC, no bias": (FC(4, bias=False), (n(3),)),
    "FC of nothing": (FC(4), (n(0),)),
    "Dropout": (Dropout(0.5), (n(3),)),
    "Embedding": (Embedding(5, 3), (np.array(2),)),
    "Embedding of many": (Embedding(5, 3), (np.array([2, 0, 2]),)),
    "LSTMCell": (LSTMCell(2, initializer=GAUSS), (n(3), *states(1, 2))),
    "TreeLSTM, 1": (TreeLSTM(2, 1, initializer=GAUSS), (n(3), states(1, 2))),
    "TreeLSTM, 2": (TreeLSTM(2, 2, initializer=GAUSS), (n(3), states(2, 2))),
    "TreeLSTM, 4": (TreeLSTM(2, 4, initializer=GAUSS), (n(3), states(4, 2))),
    "TreeLSTM, no x": (TreeLSTM(2, 2, initializer=GAUSS), (n(0), states(2, 2))),
    "TreeLSTM, sum": (TreeLSTM(2, None, initializer=GAUSS), (n(3), Elements(n(4, 2), n(4, 2)))),
    "TreeLSTM, sum of none": (TreeLSTM(2, None, initializer=GAUSS), (n(3), Elements(n(0, 2), n(0, 2)))),
    "SoftmaxCrossEntropy": (SoftmaxCrossEntropy(), (n(4), np.array(3))),
    "SquaredError": (SquaredError(), (n(2, 3), n(2, 3))),
}
NAMES = sorted(CASES)


def test_every_layer_stands_in_the_table() -> None:
    there = {type(layer).__name__ for layer, _ in CASES.values()}
    assert there == set(layers.__all__) - {"initializers", "Loss"}


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str) -> None:
    layer, arguments = CASES[name]
    check_grads(layer.function, *arguments)


def typed(item: Any) -> T.Type:
    if isinstance(item, Elements):
        kinds: list[T.Type] = [T.Tensor(a.shape[1:], a.dtype.name) for a in item.arrays]
        return T.Sequence(T.Tuple(kinds) if len(kinds) > 1 else kinds[0])
    if isinstance(item, tuple):
        return T.Tuple([typed(i) for i in item])
    return T.Tensor(item.shape, item.dtype.name)


def flat(item: Any) -> list[Any]:
    if isinstance(item, Elements):
        return list(item.arrays)
    return [a for i in item for a in flat(i)] if isinstance(item, tuple) else [item]


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_at_once_are_each_alone(name: str) -> None:
    layer, arguments = CASES[name]
    kind = typed(arguments) if len(arguments) > 1 else typed(arguments[0])
    t = trace(layer.function, kind, float_type="float64")
    generator = np.random.default_rng(1)
    values = {
        (owner, spec.name): np.asarray(spec.initializer(generator, spec.shape, spec.dtype), "float64")
        for owner, spec, _ in t.parameters
    }
    bounds = [0, 3, 3, 5]
    rows = []
    for array, var in zip(flat(arguments), t.inputs, strict=True):
        count = 5 if var.rows >= 0 else 3
        one = array[:1] if var.rows >= 0 else array[None]
        many = np.repeat(one if len(one) else np.ones((1, *one.shape[1:])), count, axis=0)
        rows.append(many + generator.standard_normal(many.shape) if many.dtype.kind == "f" else many)
    together = run_lifted(t, rows, values, {0: Segments.of(np, np.array(bounds))})
    for i in range(3):
        evaluation = Evaluation(lambda owner, spec: values[owner, spec.name], float_type="float64")
        wrapped = iter(
            [
                evaluation.value(a[bounds[i] : bounds[i + 1]], 0) if var.rows >= 0 else evaluation.value(a[i])
                for a, var in zip(rows, t.inputs, strict=True)
            ]
        )

        def shape(item: Any, wrapped: Any = wrapped) -> Any:
            if isinstance(item, Elements):
                return tuple(next(wrapped) for _ in item.arrays)
            return tuple(map(shape, item)) if isinstance(item, tuple) else next(wrapped)

        with evaluation:
            alone = layer.function(*shape(arguments))
        for got, wanted in zip(together, alone if isinstance(alone, tuple) else (alone,), strict=True):
            np.testing.assert_allclose(got[i], wanted.array, atol=1e-12)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def run(layer: Any, values: dict[str, Any], *arguments: Any) -> Any:
    evaluation = Evaluation(lambda owner, spec: values[spec.name], float_type="float64")

    def wrap(item: Any) -> Any:
        if isinstance(item, Elements):
            return tuple(evaluation.value(a, 0) for a in item.arrays)
        return tuple(map(wrap, item)) if isinstance(item, tuple) else evaluation.value(item)

    with evaluation:
        result = layer.function(*map(wrap, arguments))
    return [value.array for value in result] if isinstance(result, tuple) else result.array


def test_tree_lstm_is_that_of_the_paper() -> None:
    size = 3
    x, children = n(4), states(2, size)
    values = {"weight": n(4 + 2 * size, 5 * size), "bias": n(5 * size)}
    h, c = run(TreeLSTM(size, 2), values, x, children)

    def gate(k: int) -> Any:
        columns = slice(k * size, (k + 1) * size)
        w = values["weight"][:, columns]
        total = x @ w[:4] + children[0][0] @ w[4 : 4 + size] + children[1][0] @ w[4 + size :]
        return total + values["bias"][columns]

    i, o, u, f1, f2 = (gate(k) for k in range(5))
    wanted = sigmoid(i) * np.tanh(u) + sigmoid(f1) * children[0][1] + sigmoid(f2) * children[1][1]
    np.testing.assert_allclose(c, wanted, atol=1e-12)
    np.testing.assert_allclose(h, sigmoid(o) * np.tanh(wanted), atol=1e-12)


def test_child_sum_is_that_of_the_paper() -> None:
    size = 3
    x, hs, cs = n(4), n(5, size), n(5, size)
    values = {
        "weight": n(4 + size, 3 * size),
        "bias": n(3 * size),
        "forget_input": n(4, size),
        "forget_state": n(size, size),
        "forget_bias": n(size),
    }
    h, c = run(TreeLSTM(size, None), values, x, Elements(hs, cs))
    gates = np.concatenate([x, hs.sum(axis=0)]) @ values["weight"] + values["bias"]
    i, o, u = np.split(gates, 3)
    f = [sigmoid(x @ values["forget_input"] + a @ values["forget_state"] + values["forget_bias"]) for a in hs]
    wanted = sigmoid(i) * np.tanh(u) + sum(a * b for a, b in zip(f, cs, strict=True))
    np.testing.assert_allclose(c, wanted, atol=1e-12)
    np.testing.assert_allclose(h, sigmoid(o) * np.tanh(wanted), atol=1e-12)


def test_lstm_is_the_tree_lstm_of_one_child() -> None:
    x, (state,) = n(4), states(1, 3)
    values = {"weight": n(7, 12), "bias": n(12)}
    one, other = run(LSTMCell(3), values, x, state), run(TreeLSTM(3, 1), values, x, (state,))
    np.testing.assert_array_equal(one, other)


def test_losses_are_their_formulas() -> None:
    scores, label = n(4), np.array(2)
    wanted = np.log(np.exp(scores).sum()) - scores[2]
    np.testing.assert_allclose(run(SoftmaxCrossEntropy(), {}, scores, label), wanted)
    a, b = n(2, 3), n(2, 3)
    np.testing.assert_allclose(run(SquaredError(), {}, a, b), ((a - b) ** 2).sum())
    huge = run(SoftmaxCrossEntropy(), {}, np.array([1e4, -1e4]), np.array(1))
    assert huge == 2e4


def test_gates_take_one_product() -> None:
    cell: Any = TreeLSTM(3, 2)
    t = trace(cell.function, T.Tuple((T.Tensor((4,)), T.Tuple((cell.state, cell.state)))))
    names = [equation.primitive.name for equation in t.equations]
    assert (names.count("matmul"), names.count("concat"), names.count("sigmoid")) == (1, 1, 2)
    assert str(t.output) == "(float32[3], float32[3])"


def test_a_layer_called_in_a_function_is_the_same_layer() -> None:
    dense = FC(3)
    t = trace(lambda x: dense(dense(x)), T.Tensor((3,)))
    assert [(owner, spec.name) for owner, spec, _ in t.parameters] == [(dense, "weight"), (dense, "bias")]
    xent = SoftmaxCrossEntropy()
    t = trace(lambda x, y: xent(dense(x), y), T.Tuple((T.Tensor((3,)), T.Tensor((), "int32"))))
    assert str(t.output) == "float32"


def test_forget_gates_are_open_at_first() -> None:
    cell = TreeLSTM(2, 3, forget_bias=1.5)
    _, bias = cell.parameters(T.Tuple((T.Tensor((4,)), T.Tuple((cell.state,) * 3))))
    assert bias.initializer(RNG, bias.shape, bias.dtype).tolist() == [0] * 6 + [1.5] * 6


def test_a_label_out_of_range_is_named() -> None:
    with pytest.raises(IndexError, match="pick: index 4 is out of range for an axis of size 4"):
        run(SoftmaxCrossEntropy(), {}, n(4), np.array(4))


def make(kind: Any, *arguments: Any) -> Any:
    return kind(*arguments)


class Hidden(Axis):
    size = 7


def test_sizes_may_be_axes() -> None:
    assert FC(Hidden).size == Embedding(3, Hidden).size == LSTMCell(Hidden).size == TreeLSTM(Hidden).size == 7


def test_layers_are_frozen_and_pickle() -> None:
    for layer, _ in CASES.values():
        with pytest.raises(AttributeError, match="blocks are frozen"):
            layer.size = 5
        for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
            assert vars(other).keys() == vars(layer).keys()
            assert other.label == layer.label


V3, V4, I32 = T.Tensor((3,)), T.Tensor((4,)), T.Tensor((), "int32")
STATE = TreeLSTM(3).state

REFUSED: list[tuple[Any, T.Type, str]] = [
    (FC(3), T.Tensor(()), r"the input of FC is a vector, and float32 is none\n  hint  make a vector of it"),
    (FC(3), T.Tensor((3,), "int32"), r"the input of FC is floating, and int32\[3\] is not"),
    (FC(3), T.Tuple((V3, V3)), r"the input of FC is a vector, and \(float32\[3\], float32\[3\]\) is none"),
    (Dropout(0.5), I32, "the input of Dropout is a tensor of floating numbers, and int32 is none"),
    (Embedding(3, 2), V3, r"the input of Embedding is an integer, and float32\[3\] is not"),
    (LSTMCell(3), T.Tuple((V3, V3, V3)), r"the input of LSTMCell is \(x, \(h, c\)\), and"),
    (
        LSTMCell(4),
        T.Tuple((V3, STATE)),
        r"the state of LSTMCell is \(h, c\): \(float32\[4\], float32\[4\]\), and",
    ),
    (TreeLSTM(3), T.Tuple((V3, STATE)), r"the state of child 0 of TreeLSTM is \(h, c\)"),
    (TreeLSTM(3), T.Tuple((V3, T.Tuple((STATE,)))), r"\(x, \(2 states\)\); its second item, and \(\(float32"),
    (
        TreeLSTM(3),
        T.Tuple((I32, T.Tuple((STATE, STATE)))),
        r"the x of TreeLSTM is a vector, and int32 is none",
    ),
    (
        TreeLSTM(3),
        T.Tuple((T.Tensor((3,), "float64"), T.Tuple((STATE, STATE)))),
        r"hint  x is float64\[3\]; give the layer dtype='float64'",
    ),
    (
        TreeLSTM(3, None),
        T.Tuple((V3, T.Tuple((STATE,) * 2))),
        r"are a sequence, and .*\n  hint  give it children=2",
    ),
    (TreeLSTM(3, None), T.Tuple((V3, T.Sequence(V3))), r"the states of the children of TreeLSTM is \(h, c\)"),
]


@pytest.mark.parametrize(("layer", "kind", "text"), REFUSED)
def test_inputs_of_a_wrong_type(layer: Any, kind: T.Type, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        layer.parameters(kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.Tuple((I32, I32)), "the scores of SoftmaxCrossEntropy are a floating vector, and int32 is none"),
        (T.Tuple((V3, V3)), r"the label of SoftmaxCrossEntropy is an integer, and float32\[3\] is none"),
    ],
)
def test_cross_entropy_of_a_wrong_type(kind: T.Type, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        trace(SoftmaxCrossEntropy().function, kind)
    with pytest.raises(ShapeError, match="SquaredError takes two floating tensors of one type"):
        trace(SquaredError().function, T.Tuple((V3, V4)))


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: FC(0), ArrowValueError, "the size of FC is at least 1, got 0"),
        (lambda: make(FC, "3"), ArrowTypeError, "the size of FC is a whole number or an Axis, got '3'"),
        (
            lambda: make(FC, 3, "tanh"),
            ArrowTypeError,
            "the activation of FC is a function such as ar.ops.tanh",
        ),
        (lambda: Embedding(0, 3), ArrowValueError, "the number of buckets of Embedding is at least 1"),
        (
            lambda: Embedding(1, 3, dtype="int32"),
            ArrowValueError,
            "the element type of Embedding is floating",
        ),
        (lambda: TreeLSTM(3, 0), ArrowValueError, "the number of children of TreeLSTM is at least 1"),
        (lambda: Dropout(1), ArrowValueError, "the rate of Dropout is at least 0 and below 1, got 1"),
        (lambda: make(Dropout, "0.5"), ArrowTypeError, "the rate of Dropout is a number, got '0.5'"),
        (lambda: LSTMCell(True), ArrowTypeError, "the size of LSTMCell is a whole number"),
        (lambda: initializers.Scaled(0, "in", "normal"), ArrowValueError, "is positive"),
    ],
)
def test_bad_arguments(build: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        build()


@pytest.mark.parametrize("name", [name for name in initializers.__all__ if name != "Scaled"])
def test_initializers(name: str) -> None:
    made: Any = getattr(initializers, name)
    if isinstance(made, type):
        made = made(0.5)
    shape = (400, 300)
    a = made(np.random.default_rng(0), shape, "float32")
    assert (a.shape, a.dtype.name) == (shape, "float32")
    assert pickle.loads(pickle.dumps(made)) == made
    np.testing.assert_array_equal(a, made(np.random.default_rng(0), shape, "float64").astype("float32"))
    deviation = {"glorot": (1 / 350) ** 0.5, "he": (2 / 400) ** 0.5, "lecun": (1 / 400) ** 0.5}
    wanted = deviation.get(name.split("_", maxsplit=1)[0])
    if wanted is not None:
        assert abs(a.std() / wanted - 1) < 0.02
        assert abs(a.mean()) < 0.01 * wanted + 1e-3
    assert made(np.random.default_rng(0), (0, 3), "float32").shape == (0, 3)
