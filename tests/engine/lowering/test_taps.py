"""Taps: any value on its way, for every visit, without a change to any number."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.testing.fake import FakeArray
from tests.profile import sampled

everywhere = pytest.mark.parametrize(
    ("device", "schedule"),
    sampled([(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES], 3),
)


@everywhere
def test_float_type_and_the_device(device: str, schedule: str) -> None:
    model = ar.compile(ar.Scalar() >> ar.Tap("x"), float_type="float64", device=device, schedule=schedule)
    model([1, 2])
    values = model.taps["x"].values
    assert values.dtype == "float64" and isinstance(values, FakeArray) == (device == "fake")
    assert ar.to_numpy(model.taps)["x"].tolist() == [[1], [2]]


@everywhere
def test_dropout_is_seen_as_it_acts(device: str, schedule: str) -> None:
    dropped = ar.Vector(8) >> ar.Function(lambda x: x + 1.0) >> ar.Dropout(0.5) >> ar.Tap("dropped")
    block = dropped >> ar.Function(lambda x: x.sum())
    model = ar.compile(block, device=device, schedule=schedule, seed=5)
    rows = [[0] * 8, [1] * 8]
    for _ in range(2):
        value, _ = model.value_and_grad(rows)
        tapped = ar.to_numpy(model.taps["dropped"]).values
        assert np.isclose(float(ar.to_numpy(value)), tapped.sum() / 2)
        assert 0 < (tapped == 0).sum() < 16
    model(rows)
    assert ar.to_numpy(model.taps["dropped"]).values.tolist() == [[1] * 8, [2] * 8]


# ---------------------------------------------------------------------------------------------- showing


@everywhere
def test_values_are_shown_in_the_order_of_examples_and_visits(device: str, schedule: str) -> None:
    seen: list[Any] = []

    def show(kind: str) -> Any:
        return lambda value: seen.append((kind, value))

    @ar.fix
    def listed(me: Any) -> Any:
        here = ar.GetItem(0) >> ar.Tap("word", show("word")) >> ar.InputTransform(len) >> ar.Scalar()
        rest = ar.GetItem(1) >> ar.Optional(me, ar.Zeros([]))
        total = (here >> ar.Tap("size", show("size")) & rest) >> ar.Function(lambda a, b: a + b)
        return total >> ar.Tap("quiet") >> ar.Tap("total", show("total"))

    model = ar.compile(listed, device=device, schedule=schedule)
    examples = [("a", ("tree", None)), ("leaf", None)]
    expected = [
        ("word", "a"), ("size", 1), ("word", "tree"), ("size", 4), ("total", 4), ("total", 5),
        ("word", "leaf"), ("size", 4), ("total", 4),
    ]  # fmt: skip
    for run in (model, model.value_and_grad, lambda xs: model(model.prepare(xs)[:])):
        seen.clear()
        run(examples)
        assert seen == expected
        assert all(isinstance(value, (str, np.generic)) for _, value in seen)
    seen.clear()
    assert [float(model.eval(x)) for x in examples] == [5, 4]
    assert seen == expected
    seen.clear()
    listed.eval(examples[0])
    assert seen == expected[:6]
    seen.clear()
    model([])
    with pytest.raises(ar.InputError):
        model([*examples, ("word", (3, None))])
    assert seen == []


def test_what_is_shown_is_the_same_batched_and_alone() -> None:
    seen: list[Any] = []
    value = ar.GetItem(0) >> ar.Map(ar.Vector(2)) & ar.GetItem(1) >> ar.Map(ar.Map(ar.Scalar()))
    block = value >> ar.Tap("value", seen.append) >> ar.GetItem(0) >> ar.Sum()
    example = ([[1, 2], [3, 4]], [[5], [], [6, 7]])
    ar.compile(block)([example, ([], [])])
    block.eval(example)
    block.eval(([], []))
    (batched, empty), (alone, empty_alone) = seen[:2], seen[2:]
    for one, other in ((batched, alone), (empty, empty_alone)):
        assert type(one[0]) is type(other[0]) is np.ndarray
        assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()
    assert alone[0].shape == (2, 2) and alone[1].tolist() == [[5], [], [6, 7]]
    assert empty[0].shape == (0, 2)


def test_what_show_raises_comes_out() -> None:
    def refuse(value: Any) -> None:
        raise RuntimeError(f"seen {value}")

    model = ar.compile(ar.Scalar() >> ar.Tap("x", refuse))
    with pytest.raises(RuntimeError, match="seen 3"):
        model([3])
    assert model.taps["x"].tolist() == [[3]]


# ------------------------------------------------------------------------------------- blocks with taps


def test_prepared_examples_know_the_taps_they_were_made_for() -> None:
    block = ar.Scalar() >> ar.Function(lambda x: x * 2)
    tapped, other = ar.compile(block >> ar.Tap("x")), ar.compile(block)
    sent = pickle.loads(pickle.dumps(tapped.prepare([1, 2])))
    with pytest.raises(ar.ArrowValueError, match="another model"):
        other(sent[:])
    with pytest.raises(ar.ArrowValueError, match="another model"):
        tapped(pickle.loads(pickle.dumps(other.prepare([1])))[:])
    again = ar.compile(block >> ar.Tap("x"))
    assert again(sent[[1]]).tolist() == [4] and again.taps["x"].tolist() == [[4]]
