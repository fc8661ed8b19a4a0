"""Lowering in several processes: the same wirings, the same errors, whatever happens to a process."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.spread import spread

COUNT = 700
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


def model() -> Any:
    """Of lists of numbers, with labels that are functions: what cannot be pickled."""
    mine = os.getpid()

    @ar.arrow
    def block(x: Any) -> Any:
        where = ar.InputTransform(lambda _: float(os.getpid() == mine))(x)
        total = (ar.GetItem("numbers") >> ar.Map(ar.Scalar()) >> ar.Sum())(x)
        ar.Metric("here")(ar.Scalar()(where))
        return ar.Function(lambda a: a * 2)(total)

    return ar.compile(block)


def examples(rng: np.random.Generator) -> list[dict[str, Any]]:
    return [{"numbers": rng.integers(0, 9, rng.integers(0, 5)).tolist()} for _ in range(COUNT)]


@forks
def test_other_processes_do_the_work_and_the_numbers_are_the_same() -> None:
    sums, some = model(), examples(np.random.default_rng(0))
    alone = sums(sums.prepare(some))
    assert set(sums.metrics["here"].values.tolist()) == {1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spread_out = sums.prepare(some, processes=3)
    np.testing.assert_array_equal(sums(spread_out), alone)
    np.testing.assert_array_equal(sums(spread_out[[699, 0, 3]]), alone[[699, 0, 3]])
    assert set(sums.metrics["here"].values.tolist()) == {0.0}


@forks
def test_an_example_that_does_not_fit_is_named_as_ever() -> None:
    sums, some = model(), examples(np.random.default_rng(1))
    some[612]["numbers"] = [1.0, "two"]
    with pytest.raises(ar.InputError) as alone:
        sums.prepare(some)
    with pytest.raises(ar.InputError) as spread_out:
        sums.prepare(some, processes=2)
    assert str(spread_out.value) == str(alone.value)
    assert "example 612: numbers > [1]" in str(alone.value)


@forks
def test_labels_that_cannot_be_pickled_are_made_here() -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        number = (ar.GetItem("x") >> ar.Scalar())(x)
        ar.Metric("x")(number, ar.GetItem("f")(x))
        return number

    labelled = ar.compile(block)
    some = [{"x": n, "f": lambda: None} for n in range(COUNT)]
    labelled(labelled.prepare(some, processes=2))
    assert labelled.labels["x"] == [[one["f"]] for one in some]


@forks
def test_a_process_that_is_killed_loses_nothing() -> None:
    here = os.getpid()

    def task(chunk: slice) -> int:
        if chunk.start == 256 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return chunk.stop

    assert spread(task, COUNT, 128, processes=2) == [128, 256, 384, 512, 640, 700]


def test_few_examples_and_none_stay_here() -> None:
    here = []
    for count in (0, 1, 100):
        assert spread(lambda chunk: here.append(chunk) or chunk.stop, count, 512, processes=4) == [count]
    assert [chunk.start for chunk in here] == [0, 0, 0]
    sums = model()
    assert len(sums.prepare([], processes=4)) == 0


@pytest.mark.parametrize("processes", [0, -1, 1.5, "2", None, True])
def test_a_number_of_processes_is_a_positive_integer(processes: Any) -> None:
    with pytest.raises(ar.ArrowValueError, match="processes must be a positive integer, not"):
        model().prepare([], processes=processes)
