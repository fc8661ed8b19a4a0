"""Data and expressions as deep or as wide as memory allows, and endless ones that end in a clear error."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar

DEVICES = ["cpu", "fake"]


@pytest.fixture(autouse=True)
def _recursion_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing touches the interpreter's recursion limit."""

    def refuse(limit: int) -> None:
        raise AssertionError(f"the recursion limit was set to {limit}")

    before = sys.getrecursionlimit()
    monkeypatch.setattr(sys, "setrecursionlimit", refuse)
    yield
    assert sys.getrecursionlimit() == before


@ar.fix
def chain(me: Any) -> Any:
    """`x` and half of the rest: its closed form is a sum at any depth."""
    step = (ar.GetItem(0) >> ar.Scalar(name="x") & ar.GetItem(1) >> me) >> ar.Function(
        lambda x, h: x + 0.5 * h
    )
    return ar.OneOf(lambda pair: pair is None, {True: ar.Zeros([]), False: step})


def linked(values: Any) -> Any:
    """`(v0, (v1, (v2, ... None)))`."""
    pair = None
    for value in reversed(values):
        pair = (value, pair)
    return pair


@pytest.mark.parametrize("device", DEVICES)
def test_a_chain_of_20000_and_its_gradients(device: str) -> None:
    depth = 20_000
    model = ar.compile(chain, device=device, float_type="float64")
    values = np.random.default_rng(0).normal(size=depth)
    weights = 0.5 ** np.arange(depth, dtype=float)
    value, grads = model.value_and_grad([linked(values.tolist())], inputs=["x"])
    assert float(ar.to_numpy(value)) == pytest.approx(float(values @ weights))
    # Inputs are numbered as they are visited, from the outside in.
    assert np.allclose(ar.to_numpy(grads["x"])[0], weights, rtol=1e-12, atol=0)


# ------------------------------------------------------------------------------------------ expressions


@pytest.mark.nightly
@pytest.mark.parametrize("device", DEVICES)
def test_a_pipe_of_10000_blocks(device: str) -> None:
    block: Any = ar.Scalar("float64")
    add = ar.Function(lambda x: x + 1.0)
    for _ in range(10_000):
        block = block >> add
    model = ar.compile(block, device=device)
    value, _ = model.value_and_grad([1, 3])
    assert float(ar.to_numpy(value)) == 10_002.0


@pytest.mark.nightly
def test_10000_nested_fans() -> None:
    block: Any = ar.Scalar()
    for _ in range(10_000):
        block = ar.AllOf(block, ar.Void())
    model = ar.compile(block)
    for result in (model([1, 2]), model.eval(5)):
        depth = 0
        while isinstance(result, tuple):
            result, void = result
            assert void is None
            depth += 1
        assert depth == 10_000
    assert result == 5


# ------------------------------------------------------------------------------------------ no end


def peak(call: Any) -> int:
    """The largest number of bytes in use while `call` runs, beyond what was before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def refused(model: ar.Model, example: Any, match: str) -> None:
    for call in (model, model.value_and_grad, model.prepare):
        with pytest.raises(ar.InputError, match=match):
            call([linked([1]), example])
    with pytest.raises(ar.InputError, match=match.replace("example 1: ", "")):
        model.eval(example)
    assert model([linked([1, 2])]).tolist() == [2.0]  # the model is as it was


@pytest.mark.nightly
@pytest.mark.parametrize("most", [100, 20_000])
def test_endless_recursion(most: int) -> None:
    wrap = ar.fix(
        lambda me: ar.OneOf(
            lambda pair: pair is None or len(pair) == 2,
            {
                True: chain,
                False: ar.InputTransform(lambda x: [x, 0, 0]) >> me,
            },
        )
    )
    model = ar.compile(wrap, max_nodes=most)

    def endless() -> None:
        refused(model, ["no end"], "example 1: .*endless")

    assert peak(endless) < 64 << 20


@pytest.mark.parametrize("most", [100, 101, 1000])
def test_max_nodes_counts_nodes_and_calls_whichever_way_it_is_run(most: int) -> None:
    """A chain of n cells is n calls and as many reads, and one sum fewer; how deep they nest is no matter."""
    leaf = ar.GetItem("v") >> ar.Scalar()

    def total(me: Any) -> Any:
        more = (leaf & ar.GetItem("next") >> me) >> ar.Function(lambda a, b: a + b)
        return ar.OneOf(lambda x: "next" in x).case(True, more).case(False, leaf)

    def long(n: int) -> Any:
        found: Any = {"v": 1.0}
        for _ in range(n - 1):
            found = {"v": 1.0, "next": found}
        return found

    model = ar.compile(ar.fix(total), max_nodes=most)
    fits = (most + 1) // 2
    assert model([long(fits)]).tolist() == [fits] == [float(model.eval(long(fits)))]
    for length, what in ((fits + 1, "nodes"), (most + 1, "calls of recursive blocks")):
        for run in (lambda n: model([long(n)]), lambda n: model.eval(long(n))):
            with pytest.raises(ar.InputError, match=f"more than {most:,} ({what})"):
                run(length)


def test_recursion_without_nodes_may_be_as_deep_as_there_may_be_calls() -> None:
    inner = ar.fix(lambda me: ar.OneOf(len).case(0, ar.Zeros([])).case(1, ar.GetItem(0) >> me))

    def nested(n: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(n - 1):
            found = [found]
        return found

    model = ar.compile(inner, max_nodes=100)
    assert model([nested(100)]).tolist() == [0] == [float(model.eval(nested(100)))]
    for run in (lambda: model([nested(101)]), lambda: model.eval(nested(101))):
        with pytest.raises(ar.InputError, match="more than 100 calls of recursive blocks"):
            run()
