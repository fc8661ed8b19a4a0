"""`run_all`: instances are advanced together, end as they please, and go wrong one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from tests.compare import close
from tests.onthefly.said import said

HINT = "  hint  an instance is a new call of a function that yields: g.run_all(parse(s) for s in sentences)"


def test_what_instances_may_yield():
    def instance(g: Any) -> Any:
        got = [(yield g.zeros([2]))]
        got.append((yield {"a": {"b": [g.zeros([]), (g.tensor(1.0), ())]}}))
        for nothing in ((), [], {}, None):
            got.append((yield nothing))
        x = g.tensor([1.0, 2.0])
        got.append((yield x, x, [x * 2]))
        return got

    def silent() -> Any:
        return 3
        yield

    net = ar.OnTheFly()
    with net.batch() as g:
        assert g.run_all([]) == []
        assert g.run_all([silent(), silent()]) == [3, 3]
        first, three, second = g.run_all([instance(g), silent(), instance(g)])
    wanted = [[0, 0], {"a": {"b": [0, (1, ())]}}, (), [], {}, None, ([1, 2], [1, 2], [[2, 4]])]
    assert three == 3
    for got in (first, second):
        assert close(got[:2], [np.zeros(2, "f"), {"a": {"b": [np.float32(0), (np.float32(1), ())]}}], 0)
        assert got[2:6] == wanted[2:6]
        assert close(got[6][2][0], np.array([2, 4], "f"), 0)


def test_what_waits_runs_together():
    def instance(g: Any, count: int) -> Any:
        x = g.tensor(1.0)
        for _ in range(count):
            x = ops.tanh(x)
            yield x
        return count

    net = ar.OnTheFly()
    with net.batch() as g:
        assert g.run_all(instance(g, count) for count in range(5)) == [0, 1, 2, 3, 4]
        assert len(g.timelines) == 4
        assert [[count for _, count in timeline.steps] for timeline in g.timelines] == [[4], [3], [2], [1]]


def test_instances_within_instances():
    def inner(x: Any) -> Any:
        return float((yield x * 2))

    def outer(g: Any, x: Any) -> Any:
        first = float((yield x))
        together = g.run_all(inner(x * i) for i in range(3))
        delegated = yield from inner(x)
        return first, together, delegated, float((yield x + 1))

    net = ar.OnTheFly()
    with net.batch() as g:
        results = g.run_all(outer(g, g.tensor(float(i))) for i in range(3))
        assert g.instance == 0
    assert results == [(i, [0, 2 * i, 4 * i], 2 * i, i + 1) for i in range(3)]


def waits(g: Any) -> Any:
    return (yield g.tensor(1.0)), (yield g.tensor(2.0))


def test_an_instance_is_a_generator_and_runs_once_from_its_beginning() -> None:
    with ar.OnTheFly().batch() as g:
        twice, begun, over = waits(g), waits(g), waits(g)
        next(begun)
        g.run_all([over])
        for instances, reason in (
            ([3], "instance 0 is 3, not a generator"),
            ([twice, waits(g), twice], "instance 2 has been given before"),
            ([waits(g), begun], "instance 1 has begun already"),
            ([over], "instance 0 has begun already"),
        ):
            with pytest.raises(ar.ArrowTypeError) as error:
                g.run_all(instances)
            assert said(error) == f"cannot run instances at LINE\n  {reason}\n{HINT}"
        assert g.run_all([twice]) == [(1.0, 2.0)]


def yields(value: Any) -> Any:
    yield value  # the line that messages name


def waits_for(value: Any) -> Any:
    return (yield from yields(value))


YIELD = f"test_instances.py:{yields.__code__.co_firstlineno + 1}"
NO_TENSOR = "it is not a lazy tensor, nor a tuple, list or dict of lazy tensors"


@pytest.mark.parametrize("of", [yields, waits_for])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([3], f"cannot compute 3 at {YIELD}\n  {NO_TENSOR}"),
        ("a", f"cannot compute 'a' at {YIELD}\n  {NO_TENSOR}"),
        ({"x": np.zeros(2)}, f"cannot compute array([0., 0.]) at {YIELD}\n  {NO_TENSOR}"),
        (
            (x for x in "a"),
            (
                f"cannot wait for a generator at {YIELD}\n  {NO_TENSOR}\n"
                "  hint  to wait for another generator function: `x = yield from f(...)`"
            ),
        ),
    ],
)
def test_an_instance_yields_tensors_of_the_batch(of: Any, value: Any, text: str) -> None:
    net = ar.OnTheFly()
    with net.batch() as g:
        with pytest.raises(ar.ArrowTypeError) as error:
            g.run_all([of(g.tensor(1.0)), of(value)])
        assert str(error.value) == text


def test_what_a_block_gives_for_void_is_no_number() -> None:
    with ar.OnTheFly().batch() as g:
        assert g.numpy(g(ar.Scalar() & ar.Void(), 2.0)) == (2, None)
        assert g.run_all([yields(g(ar.Scalar() & ar.Void(), 2.0))]) == [None]


@pytest.mark.parametrize("failure", [KeyError("boom"), KeyboardInterrupt(), GeneratorExit()])
def test_the_others_are_closed_when_an_instance_raises(failure: BaseException) -> None:
    net, layer = ar.OnTheFly(), ar.FC(2)
    closed = []

    def good(g: Any, number: float) -> Any:
        try:
            yield layer([1.0, number])
            yield layer([2.0, number])
        finally:
            closed.append(number)

    def stubborn(g: Any) -> Any:
        try:
            yield layer([1.0, 0.0])
        finally:
            yield layer([1.0, 0.0])

    def bad(g: Any) -> Any:
        yield layer([0.0, 0.0])
        raise failure

    with net.batch() as g:
        with pytest.raises(type(failure)):
            g.run_all([good(g, 1.0), bad(g), good(g, 2.0)])
        assert sorted(closed) == [1.0, 2.0]
        assert g.instance == 0
        with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
            g.run_all([good(g, 3.0), stubborn(g), bad(g), stubborn(g), good(g, 4.0)])
        assert sorted(closed) == [1.0, 2.0, 3.0, 4.0]
        x = layer([1.0, 2.0])
        g.value_and_grad(ops.sum(x))
        numbers = x.numpy()
    with net.batch():
        assert close(numbers, layer([1.0, 2.0]).numpy(), 1e-6)


def test_masks_belong_to_instances():
    """What the others do, and when, changes nothing in the dropout of one."""

    def instance(g: Any, waits: int) -> Any:
        x = g.tensor(np.ones(20))
        for _ in range(waits):
            yield x
        first = ops.dropout(x, 0.5)
        yield first
        return [first, ops.dropout(x, 0.5)]

    net = ar.OnTheFly(seed=2)
    masks = []
    for counts in ((0, 3, 1), (2, 0, 5), (0, 0, 0)):
        with net.batch(training=True) as g:
            masks.append(g.numpy(g.run_all(instance(g, count) for count in counts)))
    assert close(masks[1], masks[0], 0)
    assert close(masks[2], masks[0], 0)
    several = [tuple(mask) for masks_of in masks[0] for mask in masks_of]
    assert len(set(several)) == 6


def test_batches_within_instances():
    """A batch that an instance begins is the innermost one for that instance alone."""
    net, layer = ar.OnTheFly(), ar.FC(2)

    def instance(g: Any) -> Any:
        assert layer([1.0, 2.0]).context is g
        with net.batch() as own:
            first = layer([1.0, 2.0])
            yield g.tensor(1.0)
            assert layer([3.0, 4.0]).context is first.context is own
        yield g.tensor(1.0)
        assert layer([1.0, 2.0]).context is g

    with net.batch() as g:
        g.run_all(instance(g) for _ in range(3))
        assert layer([1.0, 2.0]).context is g
