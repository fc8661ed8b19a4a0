"""One block in several places: in one model or several, none of which changes another."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import ApplyOperation
from arrows.engine.scheduling import merge
from tests.agree import agree

SCHEDULES = ["strata", "depth"]


def double(x: Any) -> Any:
    return x * 2.0


# ------------------------------------------------------------------------------------------ models apart


def block_and_parts() -> tuple[Any, list[Any]]:
    """A block that has all kinds of parts, and these."""
    read = ar.Vector(2)
    layer = ar.FC(2, activation=ar.ops.tanh)
    state = ar.GetItem("x") >> read >> layer

    @ar.fix
    def tree(me: Any) -> Any:
        below = ar.GetItem("below") >> ar.Map(me) >> ar.Sum()
        return ar.OneOf(lambda t: "x" in t).case(True, state).case(False, below)

    total = ar.Function(lambda h: (h * h).sum())
    whole = tree >> layer >> total
    return whole, [read, layer, state, tree, tree >> total, whole, tree & tree, ar.Map(tree)]


EXAMPLES = [{"x": [1.0, 2.0]}, {"below": [{"x": [0.5, 0.5]}, {"below": []}, {"x": [1.0, -1.0]}]}]


@pytest.mark.parametrize("schedule", ["strata", "depth", "none"])
def test_compiling_and_evaluating_parts_changes_no_model(schedule: str) -> None:
    whole, parts = block_and_parts()
    text = repr(whole)
    model = ar.compile(whole, schedule=schedule)
    prepared = model.prepare(EXAMPLES)
    values = ar.to_numpy(model(prepared))
    loss, grads = model.value_and_grad(prepared)
    names = list(model.params)
    for part in parts:
        for options in ({}, {"seed": 9}, {"float_type": "float64"}, {"schedule": "none"}):
            try:
                other = ar.compile(part, **options)  # type: ignore[arg-type]
            except ar.ArrowTypeError:  # a layer alone takes no Python object
                assert part is parts[1]
                continue
            example: Any = {0: [1.0, 2.0], 7: EXAMPLES}.get(parts.index(part), EXAMPLES[1])
            if part is parts[2]:
                example = EXAMPLES[0]
            other([example])
            other.eval(example)
            part.eval(example)
            for name in other.params:
                other.params[name][...] = 100.0
    assert repr(whole) == text and list(model.params) == names
    assert np.array_equal(ar.to_numpy(model(prepared)), values)
    assert np.array_equal(ar.to_numpy(model(EXAMPLES)), values)
    again, grads_again = model.value_and_grad(prepared)
    assert float(again) == float(loss)
    assert all(np.array_equal(grads[name], grads_again[name]) for name in names)
    # ... and a model made afterwards is the model that was made before
    assert np.array_equal(ar.to_numpy(ar.compile(whole, schedule=schedule)(EXAMPLES)), values)


def test_models_of_one_block_are_made_by_threads_at_once() -> None:
    whole, _ = block_and_parts()
    wanted = ar.to_numpy(ar.compile(whole)(EXAMPLES))
    found: list[Any] = []

    def work() -> None:
        found.extend(ar.to_numpy(ar.compile(whole)(EXAMPLES)) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12 and all(np.array_equal(one, wanted) for one in found)


def test_a_block_that_stands_twice_has_types_of_its_own_in_each_place() -> None:
    halves = ar.Function(lambda x: x * 0.5)
    block = ar.GetItem(0) >> ar.Scalar() >> halves & ar.GetItem(1) >> ar.Vector(3) >> halves
    assert str(ar.infer(block).output) == "(float32, float32[3])"
    one, three = ar.compile(block)([(2, [2, 4, 6])])
    assert (one.tolist(), three.tolist()) == ([1], [[1, 2, 3]])


# ------------------------------------------------------------------------------------------ one operation


def five_places(step: Any) -> Any:
    """`step`, from two numbers to two, on its own, in a Map, in a Fold, in a choice and in a recursion."""
    read = ar.Vector(2)

    @ar.fix
    def nested(me: Any) -> Any:
        return (
            ar.OneOf(lambda x: isinstance(x, list))
            .case(True, ar.GetItem(0) >> me >> step)
            .case(False, ar.GetItem("x") >> read)
        )

    fold = ar.Fold(ar.Function(lambda a, b: a + b) >> step, ar.Zeros([2]))
    record = {
        "alone": read >> step,
        "many": ar.Map(read) >> ar.Map(step) >> ar.Sum(),
        "run": ar.Map(read) >> fold,
        "choice": ar.OneOf(len).case(2, read >> step).case(0, ar.Zeros([2])),
        "nested": nested,
    }
    return record >> ar.Function(lambda a, b, c, d, e: ((a + b) * (c + d) * e).sum())


FIVE: list[Any] = [
    {
        "alone": [1, 2],
        "many": [[1, 1], [0, 2]],
        "run": [[1, 0], [0, 1]],
        "choice": [3, 1],
        "nested": [[{"x": [1, 1]}]],
    },
    {"alone": [0, 1], "many": [], "run": [[2, 2]], "choice": [], "nested": {"x": [0.5, 2]}},
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_layer_in_five_blocks_is_one_operation(schedule: str) -> None:
    layer = ar.FC(2, activation=ar.ops.tanh)
    model = ar.compile(five_places(layer), schedule=schedule)
    assert [one.name for one in model.plan.operations].count("FC") == 1
    assert list(model.params) == ["FC_1/weight", "FC_1/bias"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_function_in_five_blocks_is_one_operation(schedule: str) -> None:
    once = ar.compile(five_places(ar.Function(double)), schedule=schedule)
    # ... were it even five Functions of the same
    apart = ar.compile(five_places(ar.Function(double)).parts[0] >> ar.Function(lambda *xs: xs[0].sum()))
    for model in (once, apart):
        traces = [one.trace for one in model.plan.operations if isinstance(one, ApplyOperation)]
        names = [trace.equations[0].primitive.name for trace in traces if len(trace.equations) == 1]
        assert names.count("multiply") == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_five_places_at_one_depth_are_one_step(schedule: str) -> None:
    layer = ar.FC(2)
    read = ar.Vector(2)
    places = [read >> layer, ar.GetItem(slice(2)) >> read >> layer, ar.Identity() >> (read >> layer)]
    places += [ar.OneOf(len).case(2, read >> layer), ar.arrow(lambda x: layer(read(x)))]
    block = ar.AllOf(*places) >> ar.Function(lambda *hs: sum(h.sum() for h in hs))
    model = ar.compile(block, schedule=schedule)
    merged = merge(model.plan, model.prepare([[1, 2], [3, 4], [5, 6]])[:].wired)
    assert len(merged.steps) == 2  # the layer, and the sum


def test_five_places_have_the_numbers_of_one_by_one() -> None:
    agree(five_places(ar.FC(2, activation=ar.ops.tanh)), FIVE)
    agree(five_places(ar.Function(double)), FIVE)
