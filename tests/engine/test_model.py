"""`compile` and the model it makes: arguments, calls, results, metrics, gradients, prepared sets."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.engine.scheduling import Batch
from tests.agree import agree, agrees
from tests.compare import dense
from tests.profile import sampled

SETTINGS = [(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES]
everywhere = pytest.mark.parametrize(("device", "schedule"), sampled(SETTINGS, 3))

total = ar.Map(ar.Scalar(name="x")) >> ar.Sum()


# ------------------------------------------------------------------------------------------ compile


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"schedule": "fastest"}, ar.ArrowValueError, "'strata', 'depth', 'agenda', 'none', not 'fastest'"),
        ({"schedule": None}, ar.ArrowValueError, "schedule"),
        ({"max_nodes": 0}, ar.ArrowValueError, "max_nodes is 0, and should be 1 or more"),
        ({"max_nodes": True}, ar.ArrowTypeError, "max_nodes"),
        ({"max_nodes": 1.5}, ar.ArrowTypeError, "max_nodes"),
        ({"device": "tpu"}, ar.ArrowValueError, "tpu"),
        ({"loss": "los"}, ar.ArrowValueError, "no Metric is named 'los'; the block has none"),
        ({"loss": {}}, ar.ArrowTypeError, "loss"),
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
    for weight in (None, "2", True):
        with pytest.raises(ar.ArrowTypeError, match="the weight of the metric 'a' must be a number, not "):
            ar.compile(block, loss={"a": weight})  # type: ignore[dict-item]
    with pytest.raises(ar.ArrowTypeError, match=r"the metric 'n' is int32, and only floats can be a loss"):
        ar.compile(ar.Scalar("int32") >> ar.Metric("n"), loss="n")


def test_a_model_gives_tensors() -> None:
    with pytest.raises(ar.ArrowTypeError, match="holds a Python object"):
        ar.compile(ar.Scalar() & ar.InputTransform(len))
    with pytest.raises(ar.ArrowTypeError, match="holds a Python object"):
        ar.compile(ar.Map(ar.GetItem(0)))


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
    layer = ar.Vector(3) >> ar.FC(2) >> (block_sum() & ar.Zeros([2]))
    model = ar.compile(block, float_type=float_type, device=device, schedule=schedule)
    value, _ = model.value_and_grad([{"x": [1, 2], "k": 3}])
    assert value.dtype == float_type and float(ar.to_numpy(value)) == 9
    other = ar.compile(layer, float_type=float_type, device=device, schedule=schedule)
    assert {array.dtype.name for array in other.params.values()} == {float_type}
    assert {array.dtype.name for array in other([[1, 2, 3]])} == {float_type}
    assert {array.dtype.name for array in other([])} == {float_type}


def block_sum() -> Any:
    return ar.Function(lambda x: x.sum())


# ------------------------------------------------------------------------------------------ batches


# ------------------------------------------------------------------------------------------ results


# ------------------------------------------------------------------------------------------ gradients


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


def test_a_block_without_a_loss() -> None:
    model = ar.compile(ar.Vector(2) >> ar.FC(2))
    model([[1, 2]])
    with pytest.raises(ar.ArrowTypeError, match=r"cannot differentiate a model without a loss(.|\n)*hint"):
        model.value_and_grad([[1, 2]])
    model = ar.compile(ar.Map(ar.Scalar()))
    with pytest.raises(ar.ArrowTypeError, match=r"of elements, take the mean: block >> ar\.Mean\(\)"):
        model.value_and_grad([[1, 2]])


# ------------------------------------------------------------------------------------------ metrics


def test_labels_stand_beside_the_values_of_a_metric() -> None:
    """In the order of visits, by example; a metric without labels has none."""

    @ar.arrow
    def element(x: Any) -> Any:
        number = ar.Scalar()(x["x"])
        ar.Metric("m")(number, x["name"])
        return number

    examples = [[{"x": 1, "name": "a"}, {"x": 2, "name": "b"}], [], [{"x": 3, "name": "c"}]]
    agree(ar.Map(element) >> ar.Sum() >> ar.Metric("sum"), examples, loss="sum")


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
        assert dense(model(batch)).tolist() == wanted.tolist()
        value, _ = model.value_and_grad(batch)
        assert float(ar.to_numpy(value)) == pytest.approx(float(wanted.mean()) if len(wanted) else 0)
    for one in (2, -1, np.int64(1), np.uint8(3)):
        assert dense(model(prepared[one])).tolist() == [every[one]]
    assert dense(model(prepared)).tolist() == every
    assert model.prepare(prepared) is prepared
    assert "4 examples" in repr(prepared)


def test_indices_that_cannot_be() -> None:
    prepared = ar.compile(total).prepare([[1], [2]])
    wrong: list[Any] = [[2], [-3], 2, -3, np.array([0, 5]), [0.0], "a", None, [None], [[0]], [True]]
    for index in (*wrong, np.zeros((1, 1), int)):
        with pytest.raises(IndexError):
            prepared[index]
    assert prepared[np.array([False, True])].indices.tolist() == [1]


def test_a_prepared_set_belongs_to_models_that_read_alike() -> None:
    one, two, third = ar.compile(total), ar.compile(total), ar.compile(ar.Map(ar.Scalar()) >> ar.Mean())
    prepared = one.prepare([[1]])
    for foreign in (prepared, prepared[[0]]):
        for call in (third, third.value_and_grad, third.prepare):
            with pytest.raises(ar.ArrowValueError, match="prepared by another model"):
                call(foreign)
        assert two(foreign).tolist() == [1] and len(two.prepare(foreign)) == 1


# ------------------------------------------------------------------------------------------ training


def test_train_step_takes_an_optimizer() -> None:
    model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y.sum()))
    for other in ("adam", None, dict):
        with pytest.raises(ar.ArrowTypeError, match="optimizer must be one such as"):
            model.train_step([[1.0, 2.0]], other)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_many_steps_multiply_by_transposes_that_are_copied(device: str) -> None:
    block = ar.Map(ar.Vector(1)) >> ar.RNN(ar.GRUCell(2)) >> ar.GetItem(1) >> ar.Function(lambda h: h.sum())
    model = ar.compile(block, device=device, float_type="float64", jit=False)
    agrees(model, [[[n + k] for k in range(12)] for n in range(20)])
    assert any(executor._transposes for executor in model.executors.kept.values())
