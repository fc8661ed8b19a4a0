"""Every layer and loss: gradients against finite differences, batches against one by one, formulas."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.layers import (
    FC,
    Dropout,
    Embedding,
    GRUCell,
    Hinge,
    Huber,
    LayerNorm,
    LSTMCell,
    MultiHeadAttention,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
    Stacked,
    TreeLSTM,
    initializers,
)
from arrows.ops import EagerEvaluation, ShapeError, trace
from arrows.testing import Elements, check_grads
from arrows.typesys import ArrowTypeError, ArrowValueError, types as T

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
    "FC of a scalar, weight_norm": (FC((), initializer=GAUSS, weight_norm=True), (n(3),)),
    "FC, weight_norm": (FC(4, ops.gelu, initializer=GAUSS, weight_norm=True), (n(3),)),
    "LayerNorm": (LayerNorm(), (n(4),)),
    "LayerNorm of a matrix": (LayerNorm(0.1), (n(2, 3),)),
    "Dropout": (Dropout(0.5), (n(3),)),
    "Embedding": (Embedding(5, 3), (np.array(2),)),
    "Embedding of many": (Embedding(5, 3), (np.array([2, 0, 2]),)),
    "Embedding, given": (Embedding.of(n(5, 3)), (np.array([2, 0]),)),
    "GRUCell": (GRUCell(2, initializer=GAUSS), (n(3), n(2))),
    "GRUCell, reset after": (GRUCell(2, reset_after=True, initializer=GAUSS), (n(3), n(2))),
    "LSTMCell, dropout": (LSTMCell(2, initializer=GAUSS, dropout=0.5), (n(3), *states(1, 2))),
    "LSTMCell": (LSTMCell(2, initializer=GAUSS), (n(3), *states(1, 2))),
    "Stacked": (
        Stacked(LSTMCell(2, initializer=GAUSS), LSTMCell(1, initializer=GAUSS), GRUCell(2), dropout=0.5),
        (n(3), (n(2), (n(1), n(1)), (n(2), n(2)))),
    ),
    "TreeLSTM, 1": (TreeLSTM(2, 1, initializer=GAUSS), (n(3), states(1, 2))),
    "TreeLSTM, 2": (TreeLSTM(2, 2, initializer=GAUSS), (n(3), states(2, 2))),
    "TreeLSTM, sum": (TreeLSTM(2, None, initializer=GAUSS), (n(3), Elements(n(4, 2), n(4, 2)))),
    "TreeLSTM, sum of none": (TreeLSTM(2, None, initializer=GAUSS), (n(3), Elements(n(0, 2), n(0, 2)))),
    "MultiHeadAttention": (MultiHeadAttention(2), (Elements(n(5, 4)),)),
    "MultiHeadAttention, causal": (MultiHeadAttention(3, causal=True, bias=False), (Elements(n(4, 3)),)),
    "MultiHeadAttention of none": (MultiHeadAttention(1), (Elements(n(0, 2)),)),
    "SoftmaxCrossEntropy": (SoftmaxCrossEntropy(), (n(4), np.array(3))),
    "SoftmaxCrossEntropy, distribution": (SoftmaxCrossEntropy(), (n(4), np.array([0.1, 0.2, 0.3, 0.4]))),
    "SigmoidCrossEntropy": (SigmoidCrossEntropy(), (n(2, 3), RNG.uniform(size=(2, 3)))),
    "Hinge": (Hinge(), (n(4), np.array(3))),
    "Hinge of two": (Hinge(50.0), (n(), np.array(True))),
    "Huber": (Huber(0.5), (n(2, 3), n(2, 3))),
    "SquaredError": (SquaredError(), (n(2, 3), n(2, 3))),
}
NAMES = sorted(CASES)


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str) -> None:
    layer, arguments = CASES[name]
    check_grads(layer.of_example, *arguments)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def run(layer: Any, values: dict[str, Any], *arguments: Any) -> Any:
    evaluation = EagerEvaluation(lambda owner, spec: values[spec.name], float_type="float64")

    def wrap(item: Any) -> Any:
        if isinstance(item, Elements):
            return tuple(evaluation.value(a, 0) for a in item.arrays)
        return tuple(map(wrap, item)) if isinstance(item, tuple) else evaluation.value(item)

    with evaluation:
        result = layer.of_example(*map(wrap, arguments))
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

    u, i, o, f1, f2 = (gate(k) for k in range(5))
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
    u, i, o = np.split(gates, 3)
    f = [sigmoid(x @ values["forget_input"] + a @ values["forget_state"] + values["forget_bias"]) for a in hs]
    wanted = sigmoid(i) * np.tanh(u) + sum(a * b for a, b in zip(f, cs, strict=True))
    np.testing.assert_allclose(c, wanted, atol=1e-12)
    np.testing.assert_allclose(h, sigmoid(o) * np.tanh(wanted), atol=1e-12)


def test_stacked_cells_are_a_loop_and_pytorch() -> None:
    size, xs = 3, [n(length, 4) for length in (2, 0, 5)]
    cell = Stacked(LSTMCell(size, name="0"), LSTMCell(size, name="1"))
    model = ar.compile(ar.Map(ar.Vector(4)) >> ar.RNN(cell) >> ar.GetItem(1), float_type="float64")
    for values in model.params.values():
        values[...] = n(*values.shape)
    weights = [{each: model.params[f"{k}/{each}"] for each in ("weight", "bias")} for k in (0, 1)]
    h1, c1, (h0, c0) = model(xs)
    with ar.OnTheFly(float_type="float64", params=model.params).batch() as g:
        for number, rows in enumerate(xs):
            state, lazy = [[np.zeros(size)] * 2] * 2, g.zeros(cell.state)
            for row in rows:
                lower = run(LSTMCell(size), weights[0], row, tuple(state[0]))
                state = [lower, run(LSTMCell(size), weights[1], lower[0], tuple(state[1]))]
                lazy = cell(row, lazy)
            np.testing.assert_allclose(g.numpy(lazy[0]), state[1][0], atol=1e-12)
            found = [[h0[number], c0[number]], [h1[number], c1[number]]]
            np.testing.assert_allclose(found, state, atol=1e-12)
    torch = pytest.importorskip("torch")
    other = torch.nn.LSTM(4, size, num_layers=2, dtype=torch.float64)
    for k, width in enumerate((4, size)):
        u, i, o, f = np.split(np.r_[weights[k]["weight"], [weights[k]["bias"]]].T, 4)
        gates = np.concatenate([i, f, u, o])  # in PyTorch's order
        for kind, part in zip(
            ("weight_ih", "weight_hh", "bias_ih"), np.split(gates, [width, -1], 1), strict=True
        ):
            getattr(other, f"{kind}_l{k}").data[...] = torch.tensor(part.squeeze())
        getattr(other, f"bias_hh_l{k}").data[...] = 0.0
    for found, right in zip(([h0[2], h1[2]], [c0[2], c1[2]]), other(torch.tensor(xs[2]))[1], strict=True):
        np.testing.assert_allclose(found, right.detach(), atol=1e-12)


def test_gru_by_its_formulas() -> None:
    x, h, w = n(4), n(3), n(7, 3)
    values = {
        "weight": n(7, 6),
        "bias": n(6),
        "update_weight": w,
        "update_bias": n(3),
        "recurrent_bias": n(3),
    }
    r, z = np.split(sigmoid(np.concatenate([x, h]) @ values["weight"] + values["bias"]), 2)
    for after, inner in ((False, (r * h) @ w[4:]), (True, r * (h @ w[4:] + values["recurrent_bias"]))):
        u = np.tanh(x @ w[:4] + values["update_bias"] + inner)
        got = run(GRUCell(3, reset_after=after), values, x, h)
        np.testing.assert_allclose(got, z * h + (1 - z) * u, atol=1e-12)


def test_layer_norm_and_weight_norm_are_those_of_the_papers() -> None:
    x, values = n(2, 5), {"gain": n(5), "bias": n(5)}
    wanted = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    got = run(LayerNorm(), values, x)
    np.testing.assert_allclose(got, wanted * values["gain"] + values["bias"], atol=1e-12)
    y, values = n(4), {"weight": n(4, 3), "gain": n(3), "bias": n(3)}
    weight = values["gain"] * values["weight"] / np.linalg.norm(values["weight"], axis=0)
    got = run(FC(3, weight_norm=True), values, y)
    np.testing.assert_allclose(got, y @ weight + values["bias"], atol=1e-12)


@pytest.mark.parametrize(
    "cell", [LSTMCell(8, dropout=0.5), GRUCell(8, dropout=0.5), TreeLSTM(8, 1, dropout=0.5)]
)
def test_recurrent_dropout_acts_on_the_update_while_training(cell: Any) -> None:
    state = T.Tuple((cell.state,)) if isinstance(cell, TreeLSTM) else cell.state
    t = trace(cell.of_example, T.Tuple((T.Tensor((4,)), state)))
    made = {e.result: e for e in t.equations}
    (drop,) = (e for e in t.equations if e.primitive.name == "dropout")
    assert made[drop.operands[0]].primitive.name == "tanh"
    block = ar.Vector(4) & ar.Zeros(state)
    model = ar.compile(block >> cell >> (ar.GetItem(0) if cell.state != T.Tensor((8,)) else ar.Identity()))
    plain, again = model([[1, 2, 3, 4]] * 5), model([[1, 2, 3, 4]] * 5)
    noisy = model([[1, 2, 3, 4]] * 5, training=True)
    np.testing.assert_array_equal(plain, again)
    assert 0.2 < (noisy == 0).mean() < 0.8
    assert cell.effect
    assert not type(cell)(8).effect


def test_frozen_tables_have_no_gradient() -> None:
    table = n(5, 3)
    frozen = Embedding.of(table, trainable=False, name="given")
    (spec,) = frozen.parameters(T.Tensor((), "int32"))
    assert (spec.trainable, spec.dtype) == (False, "float64")
    np.testing.assert_array_equal(spec.initializer(RNG, (5, 3), "float64"), table)
    evaluation = EagerEvaluation(
        lambda owner, spec: spec.initializer(RNG, spec.shape, spec.dtype), record=True
    )
    dense = FC(2)
    with evaluation:
        y = ops.sum(dense(ops.cast(frozen(evaluation.value(np.array(2))), "float32")))
    found = evaluation.backward([(y, np.array(1.0, "float32"))])
    assert {key for key in found if isinstance(key, tuple)} == {(dense, "weight"), (dense, "bias")}


def test_losses_are_their_formulas() -> None:
    scores, label = n(4), np.array(2)
    wanted = np.log(np.exp(scores).sum()) - scores[2]
    np.testing.assert_allclose(run(SoftmaxCrossEntropy(), {}, scores, label), wanted)
    a, b = n(2, 3), n(2, 3)
    np.testing.assert_allclose(run(SquaredError(), {}, a, b), ((a - b) ** 2).sum())
    target = np.array([0.1, 0.2, 0.3, 0.4])
    wanted = -(target * (scores - np.log(np.exp(scores).sum()))).sum()
    np.testing.assert_allclose(run(SoftmaxCrossEntropy(), {}, scores, target), wanted)
    wanted = -(target * np.log(sigmoid(scores)) + (1 - target) * np.log(1 - sigmoid(scores))).sum()
    np.testing.assert_allclose(run(SigmoidCrossEntropy(), {}, scores, target), wanted)
    assert run(SigmoidCrossEntropy(), {}, np.array([1e4, -1e4]), np.array([1.0, 1.0])) == 1e4
    best = np.array([0.3, 2.0, 1.5, -1.0])
    assert [float(run(Hinge(m), {}, best, np.array(k))) for m, k in ((1, 1), (0.5, 1), (1, 2), (1, 3))] == [
        0.5, 0.0, 1.5, 4.0,
    ]  # fmt: skip
    for truth, value in ((True, 0.7), (False, 1.3)):
        np.testing.assert_allclose(run(Hinge(), {}, np.array(0.3), np.array(truth)), value)
    e = abs(a - b)
    wanted = np.where(e < 0.5, e * e / 2, 0.5 * (e - 0.25)).sum()
    np.testing.assert_allclose(run(Huber(0.5), {}, a, b), wanted)
    huge = run(SoftmaxCrossEntropy(), {}, np.array([1e4, -1e4]), np.array(1))
    assert huge == 2e4


def test_gates_take_one_product() -> None:
    cell: Any = TreeLSTM(3, 2)
    t = trace(cell.of_example, T.Tuple((T.Tensor((4,)), T.Tuple((cell.state, cell.state)))))
    names = [equation.primitive.name for equation in t.equations]
    assert (names.count("matmul"), names.count("concat"), names.count("sigmoid")) == (1, 1, 1)
    assert str(t.output) == "(float32[3], float32[3])"


def test_a_layer_called_in_a_function_is_the_same_layer() -> None:
    dense = FC(3)
    t = trace(lambda x: dense(dense(x)), T.Tensor((3,)))
    assert [(owner, spec.name) for owner, spec, _ in t.parameters] == [(dense, "weight"), (dense, "bias")]
    xent = SoftmaxCrossEntropy()
    t = trace(lambda x, y: xent(dense(x), y), T.Tuple((T.Tensor((3,)), T.Tensor((), "int32"))))
    assert str(t.output) == "float32"
    # What has no parameters may be made there.
    block = ar.Vector(3) >> ar.Function(lambda x: ar.Dropout(0.5)(x) * 2)
    assert ar.compile(block)([[1, 2, 3]])[0].tolist() == block.eval([1, 2, 3]).tolist() == [2, 4, 6]


def test_one_tuple_stands_for_its_items_where_a_layer_is_called() -> None:
    lstm, gru, loss = LSTMCell(3), ar.GRUCell(3), SquaredError()
    x, vectors, layer = [0.5, -1.0, 2.0], ar.Record((ar.Vector(3), ar.Vector(3))), FC(2)

    def compare(spread: Any, one: Any) -> None:
        models = [ar.compile(vectors >> ar.Function(f)) for f in (spread, one)]
        first, second = (flat(model([(x, x[::-1])])) for model in models)
        np.testing.assert_array_equal(first, second)

    def flat(result: Any) -> Any:
        return np.concatenate(result) if isinstance(result, tuple) else result

    compare(lambda a, b: lstm(a, (a, b)), lambda a, b: lstm((a, (a, b))))
    compare(lambda a, b: gru(a, b), lambda a, b: gru((a, b)))
    compare(lambda a, b: loss(a, b), lambda a, b: loss((a, b)))
    with pytest.raises(ArrowTypeError, match=r"the input of FC must be a vector, not \(float32\[3\], float"):
        ar.compile(vectors >> ar.Function(lambda a, b: layer((a, b))))
    with ar.OnTheFly().batch() as batch:
        a = batch.tensor(x)
        assert gru((a, a)).shape == (3,) and loss((a, a)).shape == ()


class Both(NamedTuple):
    low: Any
    high: Any


def test_a_function_called_in_a_function_is_its_own_function() -> None:
    layer = ar.FC(3)
    split = ar.Function(lambda x: Both(low=layer(x), high=x * 2.0))
    join = ar.Function(lambda x, y: ops.tanh(x) + y)
    scale = ar.Function(lambda x, factor: x * factor)

    def whole(x: Any) -> Any:
        both = split(x)
        assert isinstance(both, Both)  # not a tuple of the expression, but what was returned
        return join(both) + join(both.low, scale(x, 0.5)) + join((both.high, x))

    composed = ar.Function(whole)
    model = ar.compile(ar.Vector(3) >> composed >> ar.Function(ops.sum), float_type="float64")
    assert list(model.params) == ["FC_1/weight", "FC_1/bias"]
    x = np.array([0.5, -1.0, 2.0])
    low = x @ model.params["FC_1/weight"] + model.params["FC_1/bias"]
    wanted = np.tanh(low) + 2 * x + np.tanh(low) + 0.5 * x + np.tanh(2 * x) + x
    np.testing.assert_allclose(ar.to_numpy(model([x])), [wanted.sum()], rtol=1e-12)
    with ar.OnTheFly(float_type="float64").batch() as batch:
        assert composed(batch.tensor(x)).shape == (3,)


def test_forget_gates_are_open_at_first() -> None:
    cell = TreeLSTM(2, 3, forget_bias=1.5)
    _, bias = cell.parameters(T.Tuple((T.Tensor((4,)), T.Tuple((cell.state,) * 3))))
    assert bias.initializer(RNG, bias.shape, bias.dtype).tolist() == [0] * 6 + [1.5] * 6


def test_a_size_of_no_axes_gives_a_scalar() -> None:
    vector, scalar = ar.compile(ar.Vector(3) >> FC(1), seed=3), ar.compile(ar.Vector(3) >> FC([]), seed=3)
    batch = n(5, 3).tolist()
    assert scalar.typed.output == T.Tensor(())
    assert {name: p.shape for name, p in scalar.params.items()} == {
        name: p.shape for name, p in vector.params.items()
    }
    assert np.array_equal(scalar(batch), vector(batch)[:, 0])
    assert repr(FC([])) == "FC([])"
    assert repr(FC(())) == "FC(())"


def test_a_layer_may_say_its_element_type() -> None:
    layer = FC(2, dtype="float64")
    assert ar.infer(ar.Vector(3, "float64") >> layer).output == T.Tensor((2,), "float64")
    assert ar.infer(ar.Vector(3) >> layer, float_type="float32").output == T.Tensor((2,))
    with pytest.raises(
        ArrowTypeError, match=r"(?s)FC has dtype='float64', and its input is float32\[3\].*cast"
    ):
        ar.infer(ar.Vector(3) >> layer)
    # Nothing but the layer fixes the type of what comes back.
    up = ar.fix(lambda me: ar.Optional(ar.GetItem(0) >> me >> layer))
    assert ar.infer(up).output == T.Tensor((2,), "float64")
    assert ar.compile(up)([[[None]], None]).dtype == np.float64


def test_layers_are_frozen_and_pickle() -> None:
    for layer, _ in CASES.values():
        with pytest.raises(AttributeError, match="blocks are frozen"):
            layer.size = 5
        for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
            assert vars(other).keys() == vars(layer).keys()
            assert other.label == layer.label


V3, V4, I32 = T.Tensor((3,)), T.Tensor((4,)), T.Tensor((), "int32")
STATE = TreeLSTM(3).state

CHILDREN = T.Tuple((STATE, STATE))
WIDE = T.Tensor((3,), "float64")

REFUSED: list[tuple[Any, T.Type, str]] = [
    (FC(3), T.Tensor(()), r"FC must be a vector, not float32\n  hint  for a vector of one number"),
    (FC(3), T.Tensor((3,), "int32"), r"the input of FC must be floating, not int32\[3\]"),
    (Dropout(0.5), I32, "the input of Dropout must be a tensor of floats, not int32"),
    (Embedding(3, 2), V3, r"the input of Embedding must be an integer, not float32\[3\]"),
    (LayerNorm(), T.Tensor(()), r"the input of LayerNorm must be a floating tensor whose last"),
    (MultiHeadAttention(1), V3, r"vectors of floats, not float32\[3\]\n  hint  it stands behind the Map"),
    (MultiHeadAttention(1), T.Tuple((T.Sequence(V3),) * 2), r"hint  it attends within one sequence"),
    (GRUCell(3), V3, r"the input of GRUCell must be \(x, h\), not float32\[3\]"),
    (GRUCell(3), T.Tuple((V3, V4)), r"the state of GRUCell must be h: float32\[3\], not float32\[4\]"),
    (GRUCell(3), T.Tuple((WIDE, V3)), r"hint  x is float64\[3\]; give the layer dtype='float64'"),
    (LSTMCell(4), T.Tuple((V3, STATE)), r"must be \(h, c\): \(float32\[4\], float32\[4\]\), not"),
    (TreeLSTM(3), T.Tuple((V3, STATE)), r"the state of child 0 of TreeLSTM must be \(h, c\)"),
    (TreeLSTM(3), T.Tuple((V3, T.Tuple((STATE,)))), r"must be a tuple of 2 states, not \(\(float32"),
    (TreeLSTM(3, None), T.Tuple((V3, CHILDREN)), r"must be a sequence, not .*\n  hint  give it children=2"),
    (TreeLSTM(3, None), T.Tuple((V3, T.Sequence(V3))), r"the states of the children of .* must be \(h, c\)"),
    (
        SoftmaxCrossEntropy(),
        T.Tuple((I32, I32)),
        "the scores of SoftmaxCrossEntropy must be a floating vector, not int",
    ),
    (
        SoftmaxCrossEntropy(),
        T.Tuple((V3, V4)),
        r"is an integer or a distribution float32\[3\], and float32\[4\] is",
    ),
    (SquaredError(), T.Tuple((V3, V4)), "SquaredError takes two floating tensors of one type"),
    (Stacked(LSTMCell(3), GRUCell(3)), T.Tuple((V3, CHILDREN)), r"must be that of the last cell, then"),
]


@pytest.mark.parametrize(("layer", "kind", "text"), REFUSED)
def test_inputs_of_a_wrong_type(layer: Any, kind: T.Type, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        trace(layer.of_example, kind)


BAD: list[tuple[Any, Any, str]] = [
    (lambda: FC(0), ArrowValueError, "the size of FC is at least 1, got 0"),
    (lambda: FC([3]), ArrowTypeError, r"the size of FC is a whole number, got \[3\]"),
    (lambda: FC(2, dtype="int32"), ArrowValueError, "the element type of FC is floating, got int32"),
    (lambda: FC(3, "tanh"), ArrowTypeError, r"activation of FC (.|\n)* not its name: ar\.ops\.tanh"),
    (lambda: FC(300, 5), ArrowTypeError, r"got 5\n  hint  ar\.FC\(5\): the size of the input"),
    (lambda: ar.arrow(lambda x: FC(x)), ArrowTypeError, r"(?s)wire x.*make the block.*as ar\.FC\(300\)"),
    (lambda: Hinge(0), ArrowValueError, "the margin of Hinge is positive, got 0"),
    (lambda: MultiHeadAttention(2, causal=1), ArrowTypeError, "causal must be True or False, not 1"),
    (lambda: LSTMCell(2, dropout=1), ArrowValueError, "the rate of LSTMCell is at least 0 and below 1"),
    (lambda: Stacked(LSTMCell(2), TreeLSTM(2)), ArrowTypeError, "it takes two cells or more, such as"),
    (lambda: Embedding.of([1.0]), ArrowTypeError, r"is an array \[buckets, size\], got shape \[1\]"),
    (lambda: initializers.orthogonal()(RNG, (3,), "float32"), ArrowValueError, "at least two axes"),
    (lambda: initializers.given([1.0])(RNG, (3,), "float32"), ArrowValueError, r"has shape \[1\], but"),
    (lambda: SoftmaxCrossEntropy(weight=[1.0, -1.0]), ArrowValueError, "the weights of .* are finite and"),
]


@pytest.mark.parametrize(("build", "error", "text"), BAD)
def test_bad_arguments(build: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        build()
    assert "<string>" not in str(raised.value)  # the `__init__` that `@dataclass` writes is no user's line


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 2, 3), (0, 3), (3, 0), (1, 1)])
def test_orthogonal_matrices(shape: tuple[int, ...]) -> None:
    w = initializers.orthogonal(2.0)(np.random.default_rng(0), shape, "float64")
    assert w.shape == shape
    flat = w.reshape(int(np.prod(shape[:-1])), shape[-1])
    small = flat.T @ flat if flat.shape[0] >= flat.shape[1] else flat @ flat.T
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_given_numbers_are_copied() -> None:
    table = np.ones((2, 3))
    made = initializers.given(table)
    table[0] = 7
    assert made(RNG, (2, 3), "float32").tolist() == [[1.0] * 3] * 2
    again = pickle.loads(pickle.dumps(made))
    assert again(RNG, (2, 3), "float32").tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", [name for name in initializers.__all__ if name not in ("Scaled", "given")])
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


def test_a_layer_whose_methods_take_the_wrong_arguments_is_named() -> None:
    class Twice(ar.Layer[Any, Any]):
        def parameters(self) -> Any:  # type: ignore[override]
            return ()

    with pytest.raises(ar.ArrowTypeError, match=r"Twice raised TypeError:\s"):
        ar.compile(ar.Vector(3) >> Twice())


def test_sizes_of_numpy_are_numbers() -> None:
    layer = ar.FC(np.int64(3), name="fc")
    assert (type(layer.size), repr(layer)) == (int, repr(ar.FC(3, name="fc")))
    model = ar.compile(
        ar.Scalar("int32") >> ar.Embedding(np.int16(5), np.uint8(2)) >> layer, seed=np.int64(1)
    )
    assert model([1, 4]).shape == (2, 3)
