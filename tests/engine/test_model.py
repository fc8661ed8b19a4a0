"""`compile` and the model it makes: arguments, calls, results, metrics, gradients, prepared sets."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import FakeArray
from arrows.engine.scheduling import Batch
from arrows.engine.values import Labelled
from arrows.ops import RowSparse
from tests.profile import sampled

SETTINGS = [
    (device, schedule) for device in ("cpu", "fake") for schedule in ("strata", "depth", "agenda", "none")
]
everywhere = pytest.mark.parametrize(("device", "schedule"), sampled(SETTINGS, 3))

total = ar.Map(ar.Scalar(name="x")) >> ar.Sum()


def host(value: Any) -> Any:
    """A gradient or value as a dense NumPy array."""
    value = ar.to_numpy(value)
    return value.to_dense(np) if isinstance(value, RowSparse) else value


# ------------------------------------------------------------------------------------------ compile


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"schedule": "fastest"}, ar.ArrowValueError, "'strata', 'depth', 'agenda', 'none', not 'fastest'"),
        ({"schedule": None}, ar.ArrowValueError, "schedule"),
        ({"max_nodes": 0}, ar.ArrowValueError, "max_nodes must be a positive integer, not 0"),
        ({"max_nodes": True}, ar.ArrowValueError, "max_nodes"),
        ({"max_nodes": 1.5}, ar.ArrowValueError, "max_nodes"),
        ({"device": "tpu"}, ar.ArrowValueError, "tpu"),
        ({"loss": "los"}, ar.ArrowValueError, "no Metric is named 'los'; the block has none"),
        ({"loss": {}}, ar.ArrowValueError, "loss"),
        ({"loss": 3}, ar.ArrowTypeError, "loss must be the name of a Metric"),
        ({"float_type": "int32"}, (ar.ArrowTypeError, ar.ArrowValueError), "int32"),
        ({"float_type": "half a float"}, (ar.ArrowTypeError, ar.ArrowValueError), "half a float"),
        ({"seed": -1}, ar.ArrowValueError, "seed"),
        ({"seed": 0.5}, ar.ArrowValueError, "seed"),
        ({"params": 3}, ar.ArrowTypeError, "params"),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, Any], error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        ar.compile(ar.Vector(2) >> ar.FC(1), **arguments)


def test_the_loss_is_a_float_metric_with_a_number_for_a_weight() -> None:
    block = ar.Scalar() >> (ar.Metric("a") & ar.Identity()) >> ar.GetItem(1) >> ar.Metric("b")
    with pytest.raises(ar.ArrowValueError, match="no Metric is named 'c'; the block has 'a', 'b'"):
        ar.compile(block, loss={"a": 1, "c": 2})
    for weight in ("1", None, True):
        with pytest.raises(ar.ArrowTypeError, match="the weight of the metric 'a' must be a number"):
            ar.compile(block, loss={"a": weight})
    with pytest.raises(ar.ArrowTypeError, match=r"the metric 'n' is int32, and only floats can be a loss"):
        ar.compile(ar.Scalar("int32") >> ar.Metric("n"), loss="n")


def test_a_model_gives_tensors() -> None:
    with pytest.raises(ar.ArrowTypeError, match="holds a Python object"):
        ar.compile(ar.Scalar() & ar.InputTransform(len))
    with pytest.raises(ar.ArrowTypeError, match="holds a Python object"):
        ar.compile(ar.Map(ar.GetItem(0)))


def test_nothing_is_kept_on_a_block() -> None:
    block = ar.Vector(2) >> ar.FC(3)
    one, two = ar.compile(block, seed=1), ar.compile(block, seed=2)
    assert not np.array_equal(one.params["FC_1/weight"], two.params["FC_1/weight"])
    one.params["FC_1/weight"][...] = 7
    assert not np.array_equal(one.params["FC_1/weight"], two.params["FC_1/weight"])


def test_a_seed_gives_the_same_parameters_in_another_process() -> None:
    source = (
        "import arrows as ar\n"
        "m = ar.compile(ar.Vector(2) >> ar.FC(3) >> ar.FC(2, name='out'), seed=5)\n"
        "print({name: a.tolist() for name, a in m.params.items()})"
    )
    model = ar.compile(ar.Vector(2) >> ar.FC(3) >> ar.FC(2, name="out"), seed=5)
    here = {name: array.tolist() for name, array in model.params.items()}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(here)
    # By name: what else stands in the block does not count, nor does what was run.
    model([[1, 2]])
    other = ar.compile(ar.Vector(2) >> ar.FC(2, name="out"), seed=5)
    shape = other.params["out/weight"].shape
    assert shape == (2, 2)
    bigger = ar.compile(ar.Vector(9) >> ar.FC(4) >> ar.FC(2) >> ar.FC(2, name="out"), seed=5)
    assert np.array_equal(bigger.params["out/weight"], other.params["out/weight"])


@everywhere
@pytest.mark.parametrize("float_type", ["float64", "float32", "float16"])
def test_float_type_is_the_type_of_all_floats(device: str, schedule: str, float_type: str) -> None:
    block = ar.Record(
        {"x": ar.Vector(2), "k": ar.Scalar("float64") >> ar.Function(lambda x: x.astype("float32"))}
    )
    block = block >> ar.Function(lambda x, k: (x * k).sum())
    dense = ar.Vector(3) >> ar.FC(2) >> (block_sum() & ar.Zeros([2]))
    model = ar.compile(block, float_type=float_type, device=device, schedule=schedule)
    value, _ = model.value_and_grad([{"x": [1, 2], "k": 3}])
    assert value.dtype == float_type and float(ar.to_numpy(value)) == 9
    other = ar.compile(dense, float_type=float_type, device=device, schedule=schedule)
    assert {array.dtype.name for array in other.params.values()} == {float_type}
    assert {array.dtype.name for array in other([[1, 2, 3]])} == {float_type}
    assert {array.dtype.name for array in other([])} == {float_type}


def block_sum() -> Any:
    return ar.Function(lambda x: x.sum())


# ------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize("call", ["__call__", "value_and_grad", "prepare"])
@pytest.mark.parametrize("single", ["text", b"bytes", {"a": 1}, 3, None, 2.5])
def test_a_single_example_is_no_batch(call: str, single: Any) -> None:
    model = ar.compile(total)
    with pytest.raises(ar.ArrowTypeError, match=r"expected a list of examples, got .*\n.*\[example\]"):
        getattr(model, call)(single)


def test_any_iterable_is_a_batch() -> None:
    model = ar.compile(ar.Scalar())
    for batch in (
        [1, 2],
        (1, 2),
        iter([1, 2]),
        (i for i in (1, 2)),
        np.array([1, 2]),
        {1: 0, 2: 0}.keys(),
        range(1, 3),
    ):
        assert model(batch).tolist() == [1, 2]
    assert float(model.value_and_grad(i for i in (1, 2))[0]) == 1.5
    assert len(model.prepare(i for i in (1, 2))) == 2


def test_generators_as_examples() -> None:
    model = ar.compile(total)
    assert model([(i for i in range(4)), iter([]), range(3)]).tolist() == [6, 0, 3]

    def broken() -> Any:
        yield 1
        raise OSError("the file is gone")

    with pytest.raises(ar.InputError, match=r"example 1: .*OSError: the file is gone") as caught:
        model([[1], broken()])
    assert isinstance(caught.value.__cause__, OSError)


def chained(error: BaseException | None) -> list[str]:
    found = []
    while error is not None:
        found.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return found


@everywhere
def test_an_empty_batch(device: str, schedule: str) -> None:
    table, dense = ar.Embedding(5, 2), ar.FC(2)

    @ar.arrow
    def block(x: Any) -> Any:
        found = table(ar.Scalar("int32")(x["word"]))
        score = dense(found)
        ar.Metric("loss")(ar.Function(lambda s: s.sum())(score), x["word"])
        ar.Metric("unused")(ar.Function(lambda s, k: (s * k).sum())(score, ar.Scalar(name="k")(x["k"])))
        return {"score": score, "rows": ar.Map(ar.Scalar("int32"))(x["rows"]), "nothing": ar.Void()(x)}

    model = ar.compile(block, loss={"loss": 1.0, "unused": 2.0}, device=device, schedule=schedule)
    result = model([])
    assert result["score"].shape == (0, 2) and result["score"].dtype == "float32"
    assert len(result["rows"]) == 0 and result["rows"].values.dtype == "int32" and result["nothing"] is None
    assert model.metrics["loss"].values.shape == (0,) and len(model.metrics["loss"]) == 0
    assert model.labels == {"loss": []}
    value, grads = model.value_and_grad([], inputs=["k"])
    assert float(ar.to_numpy(value)) == 0 and value.dtype == "float32" and value.shape == ()
    assert isinstance(grads["Embedding_1/weight"], RowSparse)
    for name, array in model.params.items():
        found = host(grads[name])
        assert found.shape == array.shape and found.dtype == array.dtype and not found.any(), name
    assert grads["k"].tolist() == [] and grads["k"].values.shape == (0,)
    assert len(model.prepare([])[[]].wired) == 0
    # And the same model goes on.
    value, grads = model.value_and_grad([{"word": 1, "k": 1, "rows": [1, 2]}], inputs=["k"])
    assert len(grads["k"][0]) == 1


@everywhere
def test_parameters_that_a_batch_does_not_reach(device: str, schedule: str) -> None:
    table, dense = ar.Embedding(5, 2), ar.FC(2)
    block = (
        ar.OneOf(
            lambda x: x["kind"],
            {
                "word": ar.GetItem("x") >> ar.Scalar("int64") >> table,
                "vector": ar.GetItem("x") >> ar.Vector(3) >> dense,
                "none": ar.Zeros([2]),
            },
        )
        >> block_sum()
    )
    model = ar.compile(block, device=device, schedule=schedule)
    words = {"kind": "word", "x": 1}
    vectors = {"kind": "vector", "x": [1, 2, 3]}
    nothing = {"kind": "none", "x": 0}
    for batch, reached in (
        ([nothing], set()),
        ([words], {"Embedding_1/weight"}),
        ([vectors, nothing], {"FC_1/weight", "FC_1/bias"}),
        ([words, vectors], {"Embedding_1/weight", "FC_1/weight", "FC_1/bias"}),
        ([], set()),
    ):
        _, grads = model.value_and_grad(batch)
        assert list(grads) == list(model.params)
        for name, gradient in grads.items():
            assert isinstance(gradient, RowSparse) == name.startswith("Embedding")
            assert host(gradient).any() == (name in reached), name


# ------------------------------------------------------------------------------------------ results


@everywhere
def test_results_have_the_shape_of_the_output_type(device: str, schedule: str) -> None:
    pair = ar.Scalar("int32") & ar.Void()
    block = ar.GetItem("x") >> ar.Vector(2) & ar.GetItem("rows") >> ar.Map(ar.Map(pair)) & ar.Void()
    model = ar.compile(block, device=device, schedule=schedule)
    examples = [
        {"x": [1, 2], "rows": [[1], [], [2, 3]]},
        {"x": [3, 4], "rows": []},
        {"x": [5, 6], "rows": [[4]]},
    ]
    for batch in (examples, model.prepare(examples)):
        x, rows, void = model(batch)
        assert host(x).tolist() == [[1, 2], [3, 4], [5, 6]] and void is None
        assert rows.tolist() == [
            [[(1, None)], [], [(2, None), (3, None)]],
            [],
            [[(4, None)]],
        ]
        assert isinstance(rows.values.values[0], FakeArray if device == "fake" else np.ndarray)
        assert len(rows) == 3 and rows.lengths.tolist() == [3, 0, 1]
    assert model.eval(examples[1])[1] == []


@everywhere
def test_results_with_keys(device: str, schedule: str) -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        return {"b": ar.Scalar()(x["p"]), "a": ar.Map(ar.Record({"u": ar.Scalar(), 1: ar.Scalar()}))(x["q"])}

    model = ar.compile(block, device=device, schedule=schedule)
    result = model([{"p": 1, "q": [{"u": 2, 1: 3}]}, {"p": 4, "q": []}])
    assert isinstance(result, Labelled) and result.keys() == ("b", "a")
    assert host(result["b"]).tolist() == host(result[0]).tolist() == [1, 4]
    assert result["a"].tolist() == [[(2, 3)], []]
    assert result["a"].tolist()[0][0]["u"] == 2
    assert result["a"][0].keys() == ("u", 1)


def test_void_and_nothing_else() -> None:
    model = ar.compile(ar.Scalar() >> ar.Metric("m"))
    assert model([1, 2]) is None
    assert model.metrics["m"].tolist() == [[1], [2]]
    assert ar.compile(ar.Void())([None, 1]) is None
    assert ar.compile(ar.Map(ar.Void()))([[0, 0], []]).tolist() == [[None, None], []]
    assert ar.compile(ar.Void() & ar.Void())([0]) == (None, None)
    assert ar.compile(ar.OneOf(lambda x: x, {1: ar.Void(), 2: ar.Void()}))([1, 2]) is None
    assert ar.compile(ar.Fold(ar.Void(), ar.Void()))([[1, 2]]) is None
    countdown = ar.InputTransform(lambda x: x - 1)
    block = ar.fix(lambda me: ar.OneOf(lambda x: x == 0, {True: ar.Void(), False: countdown >> me}))
    assert ar.compile(block)([3, 0]) is None


@everywhere
def test_constant_results(device: str, schedule: str) -> None:
    block = ar.Zeros(([2], "int32")) & ar.Constant(np.arange(3.0)) & ar.Map(ar.Constant(5, "int32"))
    (zeros, number), array, rows = ar.compile(block, device=device, schedule=schedule)([[1, 2], []])
    assert host(zeros).tolist() == [[0, 0], [0, 0]] and host(number).tolist() == [0, 0]
    assert host(array).tolist() == [[0, 1, 2]] * 2
    assert rows.tolist() == [[5, 5], []]


@everywhere
def test_results_are_copies(device: str, schedule: str) -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        v = ar.Vector(2)(x)
        ar.Metric("m")(v)
        return v, ar.Map(ar.Scalar())(x), ar.Function(lambda v: v * 2.0)(v)

    model = ar.compile(block, device=device, schedule=schedule)
    first = model([[1, 2], [3, 4]])
    metrics = model.metrics
    before = [host(first[0]).tolist(), first[1].tolist(), host(first[2]).tolist(), metrics["m"].tolist()]
    model([[9, 9], [9, 9]])
    model(model.prepare([[8, 8]]))
    assert [
        host(first[0]).tolist(),
        first[1].tolist(),
        host(first[2]).tolist(),
        metrics["m"].tolist(),
    ] == before
    assert model.metrics["m"].tolist() == [[[8, 8]]]
    # Nor does writing into a result change anything else.
    prepared = model.prepare([[1, 2], [3, 4]])
    one = model(prepared)
    one[0][...] = 0
    one[1].values[...] = 0
    assert host(model(prepared)[0]).tolist() == [[1, 2], [3, 4]]
    assert model(prepared)[1].tolist() == [[1, 2], [3, 4]]


# ------------------------------------------------------------------------------------------ gradients


@everywhere
def test_gradients_stay_as_they_are_and_never_alias(device: str, schedule: str) -> None:
    table, same = ar.Embedding(6, 2, name="table"), ar.FC(2, name="same")
    bias = ar.FC(2, name="plus")

    @ar.arrow
    def block(x: Any) -> Any:
        found = ar.Sum()(ar.Map(ar.Scalar("int32") >> table)(x["words"]))
        v = ar.Vector(2, name="v")(x["v"])
        return ar.Function(lambda a, b, c: (a + b + c).sum())(same(v), bias(v), found)

    model = ar.compile(block, device=device, schedule=schedule)
    batch = [{"words": [1, 2, 1], "v": [1, 2]}, {"words": [5], "v": [3, 4]}]
    _, grads = model.value_and_grad(batch, inputs=["v"])
    kept = {name: np.array(host(gradient)) for name, gradient in grads.items() if name != "v"}
    given = grads["v"].tolist()
    for _ in range(2):
        model.value_and_grad([{"words": [3], "v": [9, 9]}] * 3, inputs=["v"])
        model(batch)
    assert all(np.array_equal(host(grads[name]), kept[name]) for name in kept)
    assert grads["v"].tolist() == given
    assert np.allclose(kept["same/weight"], kept["plus/weight"])  # the same numbers, in memory of their own
    flat = []
    for name in kept:
        gradient = ar.to_numpy(grads[name])
        flat += [gradient.values, gradient.rows] if isinstance(gradient, RowSparse) else [gradient]
    flat.append(ar.to_numpy(grads["v"]).values)
    flat += [ar.to_numpy(array) for array in model.params.values()]
    for i, one in enumerate(flat):
        assert one.flags.writeable
        for other in flat[:i]:
            assert not np.shares_memory(one, other)


@everywhere
def test_one_gradient_for_two_names_is_two_arrays(device: str, schedule: str) -> None:
    """`x + a + b`: the gradients of both biases are the same sum."""
    a, b = ar.FC(2, name="a"), ar.FC(2, name="b")
    both = ar.Vector(2) >> ar.Function(lambda x: (a(x) + b(x)).sum())
    model = ar.compile(both, device=device, schedule=schedule)
    _, grads = model.value_and_grad([[1, 2], [3, 4]])
    grads["a/bias"] *= 0
    grads["a/weight"] *= 0
    assert host(grads["b/bias"]).tolist() == [1, 1]
    assert host(grads["b/weight"]).tolist() == [[2, 2], [3, 3]]


@everywhere
def test_gradients_of_named_inputs(device: str, schedule: str) -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        xs = ar.Map(ar.Vector(2, name="v"))(x["vs"])
        s = ar.Scalar(name="s")(x["s"])
        return ar.Function(lambda vs, s: (ar.ops.segment_sum(vs * vs) * s).sum())(xs, s)

    model = ar.compile(block, device=device, schedule=schedule)
    batch = [{"vs": [[1, 2], [3, 4]], "s": 2}, {"vs": [], "s": 1}, {"vs": [[5, 6]], "s": 3}]
    value, grads = model.value_and_grad(batch, inputs=["v", "s"])
    assert float(ar.to_numpy(value)) == pytest.approx((60 + 183) / 3)
    found = [[(3 * np.array(x)).tolist() for x in row] for row in grads["v"].tolist()]
    assert np.allclose(found[0], [[4, 8], [12, 16]]) and found[1] == [] and np.allclose(found[2], [[30, 36]])
    assert np.allclose(ar.to_numpy(grads["s"]).values * 3, [30, 0, 61])
    reversed_batch = model.prepare(batch)[::-1]
    _, other = model.value_and_grad(reversed_batch, inputs=["s"])
    assert np.allclose(ar.to_numpy(other["s"]).values * 3, [61, 0, 30]) and "v" not in other


def test_named_inputs_that_cannot_be() -> None:
    block = ar.Record(
        {"i": ar.Scalar("int32", name="i"), "x": ar.Scalar(name="x"), "v": ar.Vector(2, name="x")}
    )
    model = ar.compile(block >> ar.Function(lambda i, x, v: (x * v).sum()))
    with pytest.raises(ar.ArrowValueError, match=r"no input is named 'y'; named inputs are \['i', 'x'\]"):
        model.value_and_grad([], inputs=["y"])
    with pytest.raises(ar.ArrowTypeError, match="only floats have gradients"):
        model.value_and_grad([], inputs=["i"])
    with pytest.raises(ar.ArrowTypeError, match="inputs of two types have that name"):
        model.value_and_grad([], inputs=["x"])
    with pytest.raises(ar.ArrowValueError, match="named inputs are none"):
        ar.compile(ar.Scalar()).value_and_grad([], inputs=["x"])
    with pytest.raises(ar.ArrowTypeError, match="list of names"):
        ar.compile(ar.Scalar(name="xy")).value_and_grad([], inputs="xy")


@everywhere
def test_an_input_that_the_loss_does_not_depend_on(device: str, schedule: str) -> None:
    block = ar.GetItem(0) >> ar.Scalar(name="x") & ar.GetItem(1) >> ar.Scalar(name="y")
    model = ar.compile(block >> ar.Function(lambda x, y: x * 2.0), device=device, schedule=schedule)
    _, grads = model.value_and_grad([(1, 2), (3, 4)], inputs=["x", "y"])
    assert grads["x"].tolist() == [[1], [1]] and grads["y"].tolist() == [[0], [0]]


@everywhere
def test_a_loss_without_anything_to_learn(device: str, schedule: str) -> None:
    model = ar.compile(ar.Scalar() >> ar.Metric("m"), loss="m", device=device, schedule=schedule)
    value, grads = model.value_and_grad([1, 5])
    assert float(ar.to_numpy(value)) == 3 and grads == {}


def test_a_block_without_a_loss() -> None:
    model = ar.compile(ar.Vector(2) >> ar.FC(2))
    model([[1, 2]])
    with pytest.raises(ar.ArrowTypeError, match=r"cannot differentiate a model without a loss(.|\n)*hint"):
        model.value_and_grad([[1, 2]])
    model = ar.compile(ar.Map(ar.Scalar()))
    with pytest.raises(ar.ArrowTypeError, match=r"of elements, take the mean: block >> ar\.Mean\(\)"):
        model.value_and_grad([[1, 2]])


@everywhere
def test_losses_by_name_and_by_weight(device: str, schedule: str) -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        v = ar.Scalar(name="v")(x["v"])
        ar.Metric("a")(v)
        ar.Metric("b")(ar.Function(lambda v: v * v)(v))
        return v

    for loss, value, slope in (
        ("a", 2, [0.5, 0.5]),
        ("b", 5, [1, 3]),
        ({"a": 2, "b": 0.5}, 6.5, [1.5, 2.5]),
        ({"b": 0}, 0, [0, 0]),
        ({"b": -1}, -5, [-1, -3]),
    ):
        model = ar.compile(block, loss=loss, device=device, schedule=schedule)
        found, grads = model.value_and_grad([{"v": 1}, {"v": 3}], inputs=["v"])
        assert float(ar.to_numpy(found)) == value
        assert ar.to_numpy(grads["v"]).values.tolist() == slope


# ------------------------------------------------------------------------------------------ metrics


@everywhere
def test_metrics_by_example_in_the_order_of_visits(device: str, schedule: str) -> None:
    @ar.fix
    def tree(me: Any) -> Any:
        @ar.arrow
        def node(t: Any) -> Any:
            x = ar.Scalar()(t["x"])
            ar.Metric("pre")(x, t["name"])
            below = (ar.Map(me) >> ar.Sum())(t["kids"])
            out = ar.Function(lambda a, b: a + b)(x, below)
            ar.Metric("post")(out)
            return out

        # The last case is never taken; it gives the recursion its type.
        return ar.OneOf(lambda t: True, {True: node, False: ar.Zeros([])})

    def t(name: str, x: float, *kids: Any) -> Any:
        return {"name": name, "x": x, "kids": list(kids)}

    never = ar.OneOf(lambda t: t["x"] < 0, {True: tree >> ar.Metric("never"), False: tree >> ar.Void()})
    model = ar.compile(never, device=device, schedule=schedule)
    assert {name: m.tolist() for name, m in model.metrics.items()} == {"pre": [], "post": [], "never": []}
    batch = [t("r", 1, t("a", 2, t("b", 3)), t("c", 4)), t("s", 5), t("u", 6, t("v", 7))]
    model(batch)
    assert model.metrics["pre"].tolist() == [[1, 2, 3, 4], [5], [6, 7]]
    assert model.labels["pre"] == [["r", "a", "b", "c"], ["s"], ["u", "v"]]
    assert model.metrics["post"].tolist() == [[3, 5, 4, 10], [5], [7, 13]]
    assert model.metrics["never"].tolist() == [[], [], []]
    assert "post" not in model.labels
    model(model.prepare(batch)[[2, 0, 2]])
    assert model.labels["pre"] == [["u", "v"], ["r", "a", "b", "c"], ["u", "v"]]
    before = model.metrics, model.labels
    for bad in ([batch[0], t("r", "one")], 5):
        with pytest.raises((ar.InputError, ar.ArrowTypeError)):
            model(bad)
    assert (model.metrics, model.labels) == before
    assert model.metrics is before[0]


# ------------------------------------------------------------------------------------------ prepared


@everywhere
def test_prepared_sets_are_indexed_like_arrays(device: str, schedule: str) -> None:
    model = ar.compile(total, device=device, schedule=schedule)
    prepared = model.prepare([[1], [2, 2], [], [4]])
    every = [1, 4, 0, 4]
    indices = [
        *([0, 1, 2, 3], [3, 0], [1, 1, 1], [], [-1, -4], (2,), range(4)),
        *(slice(None), slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(9, 12)),
        *(np.array([2, 0]), np.array([], int), np.array([3], np.uint8), np.arange(4)[::-1]),
    ]
    for index in indices:
        batch = prepared[index]
        assert isinstance(batch, Batch)
        wanted = np.array(every)[list(index) if isinstance(index, (tuple, range)) else index]
        assert len(batch) == len(wanted)
        assert host(model(batch)).tolist() == wanted.tolist()
        value, _ = model.value_and_grad(batch)
        assert float(ar.to_numpy(value)) == pytest.approx(float(wanted.mean()) if len(wanted) else 0)
    for one in (2, -1, np.int64(1), np.uint8(3)):
        assert host(model(prepared[one])).tolist() == [every[one]]
    assert host(model(prepared)).tolist() == every
    assert model.prepare(prepared) is prepared
    assert "4 examples" in repr(prepared)


def test_indices_that_cannot_be() -> None:
    prepared = ar.compile(total).prepare([[1], [2]])
    for index in ([2], [-3], 2, -3, np.array([0, 5]), np.array([2**63], np.uint64)):
        with pytest.raises(IndexError, match="2 examples"):
            prepared[index]
    for index in (
        [0.0],
        "a",
        None,
        [None],
        [[0]],
        [[0, 1], [1]],
        np.array([True, False]),
        [True],
        np.zeros((1, 1), int),
    ):
        with pytest.raises(ar.ArrowTypeError, match="expected places in the set"):
            prepared[index]


def test_a_prepared_set_belongs_to_models_that_read_alike() -> None:
    one, two, third = ar.compile(total), ar.compile(total), ar.compile(ar.Map(ar.Scalar()) >> ar.Mean())
    prepared = one.prepare([[1]])
    for foreign in (prepared, prepared[[0]]):
        for call in (third, third.value_and_grad, third.prepare):
            with pytest.raises(ar.ArrowValueError, match="prepared by another model"):
                call(foreign)
        assert two(foreign).tolist() == [1] and len(two.prepare(foreign)) == 1


def test_a_batch_is_prepared_as_a_set_of_its_own() -> None:
    model = ar.compile(total)
    part = model.prepare(model.prepare([[1], [2], [3]])[[2, 0]])
    assert len(part) == 2 and model(part[[1, 0]]).tolist() == [1, 3]


def test_preparing_remembers_what_functions_said() -> None:
    calls = []

    def seen(x: Any) -> Any:
        calls.append(x)
        return x

    model = ar.compile(ar.InputTransform(seen) >> ar.Scalar())
    prepared = model.prepare([1, 2, 3])
    for _ in range(3):
        assert model(prepared[[0, 2]]).tolist() == [1, 3]
    assert calls == [1, 2, 3]


def test_more_examples_than_are_lowered_at_once() -> None:
    model = ar.compile(ar.Map(ar.Scalar("int64") >> (ar.Metric("m") & ar.Identity()) >> ar.GetItem(1)))
    examples = [[i] * (i % 3) for i in range(3_000)]
    assert model(examples).tolist() == examples
    prepared = model.prepare(examples)
    order = np.random.default_rng(0).permutation(3_000)
    assert model(prepared[order]).tolist() == [examples[i] for i in order]
    assert model.metrics["m"].tolist() == [examples[i] for i in order]
    examples[2_500] = [1, "two"]
    with pytest.raises(ar.InputError, match=r"example 2500: \[1\]"):
        model(examples)


# ------------------------------------------------------------------------------------------ users' functions


@pytest.mark.nightly
@everywhere
def test_a_function_that_uses_the_same_model(device: str, schedule: str) -> None:
    """A user's function may call the model that is being lowered."""
    models: list[ar.Model] = []
    results = []

    def again(x: Any) -> Any:
        if isinstance(x, list) and x:
            model = models[0]
            results.append(host(model([x[1:]])).tolist())
            model.prepare([x[1:], []])
            model.eval(x[1:])
            model.value_and_grad([x[1:]])
            with pytest.raises(ar.InputError):
                model(["text"])
            return [len(x), *x[1:]]
        return x

    models.append(ar.compile(ar.InputTransform(again) >> total, device=device, schedule=schedule))
    assert host(models[0]([[1, 2], []])).tolist() == [2 + 2, 0]
    assert host(models[0]([[5, 5]])).tolist() == [2 + 5]
    assert results


def test_two_threads() -> None:
    model = ar.compile(total)
    wrong = []

    def work(number: int) -> None:
        for i in range(50):
            prepared = model.prepare([[number] * (i % 5), [i]])
            if len(prepared) != 2:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert model([[1, 2]]).tolist() == [3]


def test_what_users_functions_raise_is_chained() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("inner")

    for block in (
        ar.InputTransform(broken) >> ar.Scalar(),
        ar.OneOf(broken, {True: ar.Scalar(), False: ar.Zeros([])}),
        ar.GetItem(0) >> ar.InputTransform(broken) >> ar.Scalar(),
    ):
        model = ar.compile(block)
        with pytest.raises(ar.InputError, match=r"example 0: .*KeyError: 'inner'") as caught:
            model([[1]])
        assert any("KeyError: 'inner'" in line for line in chained(caught.value)[1:])


def test_a_function_that_fails_only_once() -> None:
    count = [0]

    def flaky(x: Any) -> Any:
        count[0] += 1
        if count[0] == 2:
            raise OSError("try again")
        return x

    model = ar.compile(ar.InputTransform(flaky) >> ar.Scalar())
    with pytest.raises(ar.InputError, match="example 1: OSError: try again") as caught:
        model([1, 2, 3])
    assert isinstance(caught.value.__cause__, OSError)
    assert model([1, 2, 3]).tolist() == [1, 2, 3]


@everywhere
def test_an_interrupt_leaves_the_model_usable(device: str, schedule: str) -> None:
    def stopped(x: Any) -> Any:
        if x == "stop":
            raise KeyboardInterrupt
        return x

    @ar.fix
    def tree(me: Any) -> Any:
        leaf = ar.InputTransform(stopped) >> ar.Scalar()
        return ar.OneOf(lambda t: isinstance(t, list), {True: ar.Map(me) >> ar.Sum(), False: leaf})

    model = ar.compile(
        ar.shared(tree) >> ar.AllOf(ar.Metric("m"), ar.Identity()), device=device, schedule=schedule
    )
    batch = [[1, [2, 3]], 4]
    model(batch)
    for bad in ([[1, ["stop"]]], [1, [2, "stop"]]):
        for call in (model, model.prepare, model.eval):
            with pytest.raises(KeyboardInterrupt):
                call(bad)
        assert model.metrics["m"].tolist() == [[6], [4]]
        assert host(model(batch)[1]).tolist() == [6, 4]


def test_train_step_takes_an_optimizer() -> None:
    model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y.sum()))
    for other in ("adam", None, dict):
        with pytest.raises(ar.ArrowTypeError, match="optimizer must be one such as"):
            model.train_step([[1.0, 2.0]], other)  # type: ignore[arg-type]


def test_train_step() -> None:
    class Steps:
        def step(self, model: Any, grads: Any) -> None:
            for name, gradient in grads.items():
                model.params[name][...] -= 0.1 * host(gradient)

    model = ar.compile(
        ar.Record({"x": ar.Vector(2) >> ar.FC(1), "y": ar.Vector(1)})
        >> ar.Function(lambda x, y: ((x - y) * (x - y)).sum())
    )
    batch = [{"x": [1, 0], "y": [1]}, {"x": [0, 1], "y": [-1]}]
    losses = [float(model.train_step(batch, Steps())) for _ in range(100)]
    assert losses[-1] < 1e-3 < losses[0]


def test_a_model_prints_in_one_line() -> None:
    assert "8 parameters" in repr(ar.compile(ar.Vector(3) >> ar.FC(2)))
