"""Gradients with respect to what an example holds, wherever it is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.agree import agree

fn = ar.Function
tanh, add = fn(ar.ops.tanh), fn(lambda a, b: ar.ops.tanh(a + b * 0.5))
total = fn(lambda x: x.sum())
powers = ar.Scalar(name="y") >> fn(lambda y: ar.ops.stack([y, y * y]))
cell = ar.LSTMCell(3)


def x(size: int = 2, name: str = "x") -> Any:
    return ar.Vector(size, name=name)


@ar.fix
def tree(me: Any) -> Any:
    pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> add
    own = (ar.GetItem("bias") >> x(name="bias") & pair) >> add
    return ar.OneOf(lambda t: isinstance(t, list)).case(True, x() >> tanh).case(False, own)


@ar.fix
def graph(me: Any) -> Any:
    """A graph whose nodes may be reached more than once: each is read once."""
    own = ar.GetItem("own") >> x()
    below = ar.GetItem("in") >> ar.Map(ar.shared(me)) >> ar.Sum()
    inner = (own & below) >> add
    return ar.OneOf(ar.GetItem("in") >> ar.InputTransform(bool), {True: inner, False: own})


def diamond() -> Any:
    last = {"own": [1, 2], "in": []}
    sides = [SimpleNamespace(**{"own": [n, 0.5], "in": [last]}) for n in range(3)]
    return {"own": [0, 1], "in": [*sides, sides[0], last]}


TREE = {"left": [1, 2], "bias": [0.5, 0], "right": {"left": [3, -1], "bias": [1, 1], "right": [1, 2]}}
CASES: dict[str, tuple[Any, list[Any], list[str]]] = {
    "scalar": (ar.Scalar(name="x") >> fn(lambda x: x * x), [1, 2.5, True], ["x"]),
    "matrix": (ar.Tensor([2, 2], name="x") >> fn(lambda x: (x @ x).sum()), [[[1, 2], [3, 4]]] * 2, ["x"]),
    "float64": (ar.Scalar("float64", name="x") >> fn(lambda x: ar.ops.cast(x * x, "float32")), [3], ["x"]),
    "through parameters": (x() >> ar.FC(3, ar.ops.tanh) >> total, [[1, 2], [3, 4]], ["x"]),
    "map": (ar.Map(x() >> tanh) >> ar.Sum() >> total, [[[1, 2], [3, 4]], [], [[1, 2]]], ["x"]),
    "nested maps": (ar.Map(ar.Map(x() >> tanh) >> ar.Sum()) >> ar.Map(tanh) >> ar.Sum() >> total,
                    [[[[1, 2]], [], [[3, 4], [5, 6]]], []], ["x"]),
    "fold": (ar.Fold((ar.GetItem(0) & ar.GetItem(1) >> x()) >> add, ar.Zeros([2])) >> total,
             [[[1, 2], [3, 4]], []], ["x"]),
    "network": (ar.Map(x(3)) >> ar.RNN(cell) >> ar.GetItem(1) >> ar.GetItem(0) >> total,
                [[[1, 2, 3], [0.5, 0, 1]], [], [[1, 2, 3]]], ["x"]),
    "both directions": (ar.Map(x(3)) >> ar.Bidirectional(cell, ar.LSTMCell(2)) >> ar.GetItem(0)
                        >> ar.Map(total) >> ar.Sum(),
                        [[[1, 2, 3], [0.5, 0, 1]], [[1, 0, 0]]], ["x"]),
    "zip": ((ar.GetItem(0) >> ar.Map(x()) & ar.GetItem(1) >> ar.Map(x(name="y")))
            >> ar.ZipWith(add, strict=False) >> ar.Sum() >> total,
             [([[1, 2], [3, 4]], [[5, 6]]), ([], [])], ["x", "y"]),
    "recursion": (tree >> total, [TREE, [1, 2], {"left": TREE, "bias": [2, 2], "right": [0, 0]}],
                  ["x", "bias"]),
    "shared": (graph >> total, [diamond(), {"own": [1, 2], "in": []}], ["x"]),
    "choice": (ar.OneOf(len).case(2, x() >> tanh).case(1, ar.GetItem(0) >> powers) >> total,
               [[1, 2], [3], [4, 5]], ["x", "y"]),
    "not reached": (ar.Optional(x() >> total, ar.Constant(1.0)), [None, [1, 2], None], ["x"]),
    "one name twice": (ar.Record({"a": x(), "b": x()}) >> fn(lambda a, b: (a * b).sum()),
                       [{"a": [1, 2], "b": [3, 4]}, SimpleNamespace(a=[5, 6], b=[7, 8])], ["x"]),
    "unused": (ar.Record({"a": x(), "b": ar.Scalar(name="b")}) >> ar.GetItem("b"),
               [{"a": [1, 2], "b": 3}], ["x", "b"]),
    "dropped digits": (x() >> fn(lambda x: (ar.ops.cast(ar.ops.cast(x, "int32"), "float32") + x).sum()),
                       [[1.5, 2.25]], ["x"]),
    "segments": (ar.Map(x()) >> fn(lambda r: ar.ops.segment_sum(r * ar.ops.segment_softmax(r)).sum()),
                 [[[1, 2], [3, 4]], [[1, 1]]], ["x"]),
    "rows of a function": (ar.Map(x()) >> fn(lambda rows: rows - ar.ops.segment_mean(rows, default=0.0))
                           >> ar.Map(tanh) >> ar.Sum() >> total, [[[1, 2], [3, 5]], []], ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_batched_is_one_by_one(name: str) -> None:
    block, examples, inputs = CASES[name]
    agree(block, examples, inputs=inputs)


@pytest.mark.parametrize("name", ["through parameters", "dropped digits"])
def test_they_are_finite_differences(name: str) -> None:
    block, examples, inputs = CASES[name]
    model = ar.compile(block, float_type="float64")
    _, grads = model.value_and_grad(examples[:1], inputs=inputs)
    (found,) = grads[inputs[0]].tolist()[0]
    for place in range(len(examples[0])):
        sides = []
        for change in (1e-6, -1e-6):
            moved = list(examples[0])
            moved[place] += change
            sides.append(float(model([moved])[0]))
        assert np.isclose((sides[0] - sides[1]) / 2e-6, found[place], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_of_a_metric_and_of_prepared_examples(schedule: str) -> None:
    """The loss is a metric; equal subtrees keep gradients of their own."""
    scored = tree >> (ar.Identity() & total >> ar.Metric("loss")) >> ar.GetItem(0)
    model = ar.compile(scored, loss="loss", schedule=schedule)
    examples = [TREE, [1, 2], [1, 2], TREE]
    prepared = model.prepare(examples)
    _, grads = model.value_and_grad(prepared[[1, 0, 1]], inputs=["x", "bias"])
    assert grads["x"].lengths.tolist() == [1, 3, 1] and grads["bias"].lengths.tolist() == [0, 2, 0]
    _, alone = model.value_and_grad([TREE], inputs=["x"])
    assert np.allclose(grads["x"][1] * 3, alone["x"][0])
    _, empty = model.value_and_grad([], inputs=["x"])
    assert empty["x"].tolist() == []


def test_integers_have_none() -> None:
    model = ar.compile(ar.Scalar("int32", name="i") >> ar.Function(lambda i: ar.ops.cast(i, "float32")))
    with pytest.raises(ar.ArrowTypeError, match="only floats have gradients"):
        model.value_and_grad([1], inputs=["i"])
    with pytest.raises(ar.ArrowValueError, match="no input is named 'j'; named inputs are \\['i'\\]"):
        model.value_and_grad([1], inputs=["j"])


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_nobody_wrote_is_no_gradient(
    schedule: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = np.empty

    def stale(*args: Any, **options: Any) -> Any:
        made = empty(*args, **options)
        if made.dtype.kind == "f":
            made.fill(7.5)
        return made

    monkeypatch.setattr(np, "empty", stale)
    times = ar.Function(lambda a, b: a * b)

    @ar.arrow
    def step(x: Any, state: Any) -> Any:
        return ar.Identity()(state), times(x, state)

    start = ar.GetItem(1) >> ar.Vector(3, name="u")
    states = (ar.GetItem(0) >> ar.Map(ar.Scalar("int32") >> ar.Embedding(4, 3)) & start) >> ar.Scan(
        step, start_from_input=True, reverse=True
    )
    block = states >> ar.GetItem(0) >> ar.Reverse() >> ar.Fold(times, ar.Zeros([3]))
    model = ar.compile(block >> ar.Function(lambda x: x.sum()), schedule=schedule, device=device)
    for example in (([0], [1, 2, 3]), ([0, 1], [1, 2, 3])):
        _, grads = model.value_and_grad([example], inputs=["u"])
        assert ar.to_numpy(grads["u"]).tolist() == [[[0, 0, 0]]]
