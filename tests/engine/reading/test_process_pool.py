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
from arrows.engine.reading.process_pool import map_chunks

COUNT = 1400
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
    alone = sums(sums.prepare(some))
    assert set(sums.metrics["here"].values.tolist()) == {1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spread_out = sums.prepare(some, processes=3)
    np.testing.assert_array_equal(sums(spread_out), alone)
    np.testing.assert_array_equal(sums(spread_out[[1399, 0, 3]]), alone[[1399, 0, 3]])
    assert set(sums.metrics["here"].values.tolist()) == {0.0}


@forks
def test_an_example_that_does_not_fit_is_named_as_ever() -> None:
    sums, some = model(), examples(np.random.default_rng(1))
    some[1212]["numbers"] = [1.0, "two"]
    with pytest.raises(ar.InputError) as alone:
        sums.prepare(some)
    with pytest.raises(ar.InputError) as spread_out:
        sums.prepare(some, processes=2)
    assert str(spread_out.value) == str(alone.value)
    assert "example 1212: numbers > [1]" in str(alone.value)


@forks
def test_a_process_that_is_killed_loses_nothing() -> None:
    here = os.getpid()

    def task(chunk: slice) -> int:
        if chunk.start == 466 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return chunk.stop

    assert map_chunks(task, COUNT, 280, processes=2) == [233, 466, 700, 933, 1166, 1400]


@forks
def test_beside_another_thread_nothing_is_forked() -> None:
    """It could hold a lock that a forked process would wait for."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert set(map_chunks(lambda chunk: os.getpid(), COUNT, 280, processes=2)) == {os.getpid()}
    finally:
        done.set()
        other.join()


INTERRUPTED = """
import os, signal, sys, time
from arrows.engine.reading.process_pool import map_chunks

here = os.getpid()

def task(chunk):
    if os.getpid() != here:
        os.write(1, f"{os.getpid()}\\n".encode())  # at once: print may write the newline apart
        time.sleep(600)

try:
    map_chunks(task, 1000, 500, processes=2)
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
        assert run.wait(timeout=600) == (0 if by == signal.SIGINT else -signal.SIGKILL)
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


def test_few_examples_and_none_stay_here() -> None:
    here: list[slice] = []
    for count in (0, 1, 100):
        assert map_chunks(lambda chunk: here.append(chunk) or chunk.stop, count, 512, processes=4) == [count]
    assert [chunk.start for chunk in here] == [0, 0, 0]
    sums = model()
    assert len(sums.prepare([], processes=4)) == 0


@pytest.mark.parametrize("processes", [0, -1, 1.5, "2", None, True])
def test_a_number_of_processes_is_a_positive_integer(processes: Any) -> None:
    sums = model()
    for examples in ([], sums.prepare([])):
        with pytest.raises(ar.ArrowValueError, match="processes must be a positive integer, not"):
            sums.prepare(examples, processes=processes)
    assert len(sums.prepare([], processes=np.int64(2))) == 0
