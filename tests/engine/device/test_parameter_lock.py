"""Threads that share a model, processes that are forked beside them, and Ctrl-C at any line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from linecache import getline
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import machine
from arrows.training import SGD
from arrows.training.optimizers.array_steps import ArraySteps
from tests.interrupts import interrupted, lines_of

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
LAYER = ar.FC(4, activation=ar.ops.tanh, name="fc")


def block() -> Any:
    state = ar.Map(ar.Vector(4) >> LAYER) >> ar.Sum() >> ar.Tap("state")
    return (
        state >> (ar.Function(lambda v: (v * v).sum()) >> ar.Metric("loss") & ar.Identity()) >> ar.GetItem(1)
    )


def batches(count: int = 8) -> list[Any]:
    """A batch knows its number: it has so many examples and one more."""
    rng = np.random.default_rng(0)
    lengths = [[int(n) for n in rng.integers(0, 5, number + 1)] for number in range(count)]
    return [[rng.normal(size=(n, 4)).round(3).tolist() for n in some] for some in lengths]


# ------------------------------------------------------------------------------------------------- threads


def test_a_thread_reads_the_metrics_of_its_own_call() -> None:
    model = ar.compile(block(), loss="loss")
    data = [model.prepare(batch) for batch in batches()]
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        for _ in range(60):
            model(data[number])
            time.sleep(0)
            assert len(model.metrics["loss"]) == len(model.taps["state"]) == number + 1
            model.value_and_grad(data[number])
            time.sleep(0)
            assert len(model.metrics["loss"]) == len(model.taps["state"]) == number + 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("in_train_step", [True, False])
def test_nobody_sees_half_a_step(in_train_step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ar.compile(block(), loss="loss")
    sharing = ar.compile(block(), params=ar.compile(block(), params=model.params).params)
    batch, seen = batches()[3], []
    thread = threading.Thread(target=lambda: seen.append(sharing(batch)))

    def slowly(_: ArraySteps, changes: Any, *__: Any) -> None:
        """Lets another thread run the model when half of the work is done."""
        for change in changes:
            change.targets[0][...] = np.nan
        thread.start()
        thread.join(0.05)
        for change in changes:
            change.targets[0][...] = 0.5

    monkeypatch.setattr(ArraySteps, "apply", slowly)
    if in_train_step:
        model.train_step(batch, SGD(0.1))
    else:
        SGD(0.1).step(model, model.value_and_grad(batch)[1])
    thread.join()
    assert np.isfinite(seen[0]).all()


# --------------------------------------------------------------------------------------------------- forks

forks = pytest.mark.skipif(sys.platform != "linux", reason="forks beside threads: Linux alone")


def in_a_fork(work: Callable[[], object]) -> str:
    """What a forked process says; if it waits for ever it is ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(200)
        try:
            said = str(work())
        except BaseException:  # noqa: BLE001  whatever it is, the parent hears it
            said = traceback.format_exc()
        os.write(writing, said.encode()[:60000])
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@contextmanager
def busy(work: Callable[[], object]) -> Iterator[None]:
    """Another thread does this over and over."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@forks
def test_a_fork_beside_a_change_of_the_number_of_threads() -> None:
    def limited() -> int:
        with machine.limited_to(1):
            return machine.threads()

    with busy(limited):
        assert {in_a_fork(limited) for _ in range(20)} == {"1"}


@forks
def test_a_model_that_another_thread_was_using_when_a_process_was_forked() -> None:
    model = ar.compile(block(), loss="loss")
    sharing = ar.compile(block(), params=model.params)
    batch, changing, go_on = batches()[3], threading.Event(), threading.Event()

    class Waits:
        def step(self, model: Any, grads: Any) -> None:
            changing.set()
            go_on.wait()

    def child() -> object:
        for one in (model, sharing):
            for call in (one, one.value_and_grad, lambda batch: model.train_step(batch, SGD(0.1))):
                with pytest.raises(RuntimeError, match=r"half old,\s+half\s+new"):
                    call(batch)
        anew = ar.compile(block(), params=dict(model.params))
        return np.isfinite(anew(batch)).all()

    thread = threading.Thread(target=model.train_step, args=(batch, Waits()))
    thread.start()
    changing.wait()
    said = in_a_fork(child)
    go_on.set()
    thread.join()
    assert said == "True", said
    assert in_a_fork(lambda: np.isfinite(model(batch)).all()) == "True"


# -------------------------------------------------------------------------------------------------- Ctrl-C


def interrupted_everywhere(call: Callable[[], object], check: Callable[[], None]) -> int:
    """Interrupts a call at each of its lines in turn; returns how many there are."""
    # Python runs no handler of signals between the end of a `with` and the release of its lock.
    lines = [
        each for each in lines_of(call) if "_lock.mutex" not in getline(each.code.co_filename, each.line)
    ]
    for line in lines:
        interrupted(call, line, 1)
        check()
    return len(lines)


@pytest.mark.nightly
def test_a_call_that_was_interrupted_leaves_the_next_alone() -> None:
    words = {"a": 0, "b": 1}
    leaf = ar.InputTransform(words.__getitem__) >> ar.Scalar("int32") >> ar.Embedding(2, 4, name="e")
    shared = ar.shared(ar.Map(leaf) >> ar.Sum())
    tree = ar.fix(
        lambda t: ar.OneOf(
            len, {1: ar.GetItem(0) >> leaf, 2: (shared & shared) >> ar.Sum(), 3: ar.Map(t) >> LAST}
        )
    )
    loss = tree >> ar.Tap("state") >> ar.Function(lambda v: (v * v).sum())
    model = ar.compile(loss >> (ar.Metric("loss") & ar.Identity()) >> ar.GetItem(1))
    twin = ar.compile(model.typed.form, params=model.params)
    batch = [["a"], ["a", "b"], [["b", "b"], ["b"], [["a"], ["b"], ["a", "a"]]]]
    wanted = twin(batch)

    def check() -> None:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(model(batch)), daemon=True)
        thread.start()  # which waits for ever if the interrupted call still holds the lock
        thread.join(300)
        for result in (*found, model(batch)):
            np.testing.assert_array_equal(result, wanted)
        assert len(found) == 1 and len(model.metrics["loss"]) == len(model.taps["state"]) == 3

    count = interrupted_everywhere(lambda: model(batch), check)
    assert count > 100
    gradients = twin.value_and_grad(batch)[1]

    def check_gradients() -> None:
        for name, gradient in model.value_and_grad(batch)[1].items():
            found, right = (
                np.asarray(g.to_dense(np) if hasattr(g, "to_dense") else g)
                for g in (gradient, gradients[name])
            )
            np.testing.assert_allclose(found, right, rtol=1e-5)

    assert interrupted_everywhere(lambda: model.prepare(batch), check) > 50
    assert interrupted_everywhere(lambda: model.value_and_grad(batch), check_gradients) > 100


LAST = ar.Sum() >> ar.FC(4, name="fc")
