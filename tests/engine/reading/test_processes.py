"""Lowering in several processes: the same numbers, the same errors, whatever happens to a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.reading import workers

COUNT = 1400


@pytest.fixture(autouse=True)
def _alone() -> None:
    """A thread that another test has left would keep this process from forking."""
    assert not workers._others_run(), threading.enumerate()


forks = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


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
    here = sums.prepare(some)
    assert where(sums, here) == {1.0}
    alone = sums(here)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spread_out = sums.prepare(some, processes=3)
    np.testing.assert_array_equal(sums(spread_out), alone)
    np.testing.assert_array_equal(sums(spread_out[[1399, 0, 3]]), alone[[1399, 0, 3]])
    assert where(sums, spread_out) == {0.0}


@forks
def test_an_example_that_does_not_fit_is_named_as_ever() -> None:
    sums, some = model(), examples(np.random.default_rng(1))
    some[1212]["numbers"] = [1.0, "two"]
    with pytest.raises(ar.InputError) as alone:
        sums.prepare(some)
    with pytest.raises(ar.InputError) as spread_out:
        sums.prepare(some, processes=2)
    assert str(spread_out.value) == str(alone.value)
    assert len(sums.prepare([], processes=2)) == 0
    assert "example 1212: numbers > [1]" in str(alone.value)


def where(numbers: ar.Model, prepared: Any) -> set[float]:
    """{1.0}: this process has read all examples; {0.0}: others have."""
    numbers(prepared)
    return set(numbers.metrics["here"].values.tolist())


@forks
def test_a_process_that_is_killed_is_said() -> None:
    here = os.getpid()

    def number(x: float) -> float:
        if x == 466 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    numbers = ar.compile(ar.InputTransform(number) >> ar.Scalar())
    with pytest.raises(ar.ArrowValueError, match="ended with exit code -9; without processes="):
        numbers.prepare(range(COUNT), processes=2)
    assert len(numbers.prepare(range(COUNT))) == COUNT


@forks
def test_beside_another_thread_nothing_is_forked() -> None:
    """It could hold a lock that a forked process would wait for."""
    sums, some = model(), examples(np.random.default_rng(2))
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        prepared = sums.prepare(some, processes=2)
    finally:
        done.set()
        other.join()
    assert where(sums, prepared) == {1.0}


INTERRUPTED = """
import os, signal, sys, time
import arrows as ar

here = os.getpid()

def number(x):
    if os.getpid() != here and x % 251 == 0:
        os.write(1, f"{os.getpid()}\\n".encode())  # at once: print may write the newline apart
        time.sleep(200)
    return x

try:
    ar.compile(ar.InputTransform(number) >> ar.Scalar()).prepare(range(1000), processes=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.nightly
@forks
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_one_that_waits(by: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        workers = [int(run.stdout.readline()) for _ in range(2)]
        run.send_signal(by)
        assert run.wait() == (0 if by == signal.SIGINT else -signal.SIGKILL)
        assert run.stdout.read() == ("interrupted\n" if by == signal.SIGINT else "")
    for _ in range(1000):
        if not any(_runs(process) for process in workers):
            return
        time.sleep(0.1)
    pytest.fail("a process still runs")


def _runs(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("processes", [0, -1, 1.5, "2", None, True])
def test_a_number_of_processes_is_a_positive_integer(processes: Any) -> None:
    sums = model()
    for examples in ([], sums.prepare([])):
        with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match="prepare: processes "):
            sums.prepare(examples, processes=processes)
    assert len(sums.prepare([], processes=np.int64(2))) == 0
