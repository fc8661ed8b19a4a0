"""`train` and `predict` find out by themselves on how many threads matrices are multiplied in less time."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import machine
from arrows.training import SGD, Checkpoint, train

pytestmark = pytest.mark.skipif(not machine.settable(), reason="the threads of this BLAS cannot be set")
EXAMPLES = [[float(n), 1.0] for n in range(9)]


class Clock:
    """Gives seconds: between two looks on `n` threads so many pass. Notes the numbers of threads."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.seconds, self.now, self.seen = seconds, 0.0, list[int]()

    def __call__(self) -> float:
        self.seen.append(machine.threads())
        self.now += self.seconds[self.seen[-1]]
        return self.now


class Model:
    """Stands for a model; it is no key of a dict."""

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[int, float]], Clock]]:
    """A process where nobody has said how many threads there are to be, and that has two; sets the clock."""
    for name in machine.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "_told", False)
    monkeypatch.setattr(machine, "_found", {})
    before, faster = machine.threads(), machine.faster
    machine._set(2)

    def use(seconds: dict[int, float]) -> Clock:
        clock = Clock(seconds)
        for module in ("arrows.machine", "arrows.engine.model"):
            monkeypatch.setattr(f"{module}.faster", partial(faster, clock=clock))
        return clock

    yield use
    assert machine.threads() == 2 and not machine.is_told()
    machine._set(before)


Free = Callable[[dict[int, float]], Clock]


@pytest.mark.parametrize(("one", "two", "best"), [(1.0, 10.0, 1), (1.0, 0.95, 1), (1.0, 0.6, 2)])
def test_the_faster_number_is_taken_and_told(free: Free, one: float, two: float, best: int) -> None:
    clock = free({1: one, 2: two})
    assert machine.faster("work", Model(), lambda: None) == best
    assert clock.seen == [1, 1, 2, 2, 1, 1, 2, 2, 1, 1]
    ar.show_config(text := io.StringIO())
    assert f"work: {best} of 2 threads (1: {1e3 * one:.3g} ms, 2: {1e3 * two:.3g} ms)\n" in text.getvalue()
    assert [machine.faster("work", Model(), lambda: None, known) for known in (1, 2, 4)] == [1, 2, 2]
    assert len(clock.seen) == 10


def test_contexts_of_several_threads_end_in_any_order(free: Free) -> None:
    first, second = machine.limited_to(1), machine.limited_to(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert machine.threads() == 2 and machine.is_told()
    second.__exit__(None, None, None)


def learners() -> Iterator[tuple[str, Callable[[], Any], Any]]:
    layers = ar.FC(4, name="a"), ar.Dropout(0.5, name="drop"), ar.FC(1, name="b")
    square = ar.Function(lambda y: y[0] ** 2)
    block = ar.Vector(2) >> layers[0] >> layers[1] >> layers[2] >> square
    yield "compiled", lambda: ar.compile(block), EXAMPLES

    def on_the_fly() -> Any:
        def loss(g: Any, x: Any) -> Any:
            y = layers[2](layers[1](layers[0](g.constant(np.array(list(x), np.float32)))))
            return (y * y)[0]

        return ar.OnTheFly(seed=0).learner(loss)

    yield "on the fly", on_the_fly, EXAMPLES


@pytest.mark.parametrize(("kind", "make", "examples"), list(learners()), ids=lambda value: str(value)[:10])
def test_a_rehearsal_counts_as_no_step(free: Free, kind: str, make: Callable[[], Any], examples: Any) -> None:
    def run(**more: Any) -> tuple[Any, list[int]]:
        model, seen = make(), list[int]()
        train(
            model,
            examples,
            SGD(0.01),
            batch_size=4,
            progress=False,
            evaluate=lambda: seen.append(machine.threads()) or {"steps": model.step},
            **more,
        )
        return {name: ar.to_numpy(array).tobytes() for name, array in model.params.items()}, seen

    clock = free({1: 1.0, 2: 9.0})
    expected = run(threads=1)
    assert expected[1] == [1] and not clock.seen
    found = run()
    assert found[0] == expected[0]
    assert found[1] == [1] and len(clock.seen) == 10


def test_a_resumed_run_takes_the_number_of_the_run_before(free: Free, tmp_path: Path) -> None:
    seen: list[int] = []

    def run(epochs: int) -> Any:
        model = ar.compile(ar.Vector(2) >> ar.FC(1, name="a") >> ar.Function(lambda y: y[0] ** 2))

        def evaluate() -> dict[str, float]:
            seen.append(machine.threads())
            model.predict(EXAMPLES)  # takes that of the run, without a trial
            return {"first": 1.0}

        checkpoint = Checkpoint(tmp_path / "state", resume=True)
        train(
            model,
            EXAMPLES,
            SGD(0.01),
            epochs=epochs,
            evaluate=evaluate,
            checkpoint=checkpoint,
            progress=False,
        )

    first = free({1: 1.0, 2: 9.0})
    run(1)
    second = free({1: 9.0, 2: 1.0})
    run(2)
    assert (seen, len(first.seen), len(second.seen)) == ([1, 1], 10, 0)


def test_a_model_finds_out_once(free: Free) -> None:
    clock = free({1: 1.0, 2: 0.5})
    model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0] ** 2))
    first = model.predict(EXAMPLES, batch_size=2)
    np.testing.assert_array_equal(model.predict(EXAMPLES, batch_size=2), first)
    assert len(clock.seen) == 10
    for _ in range(2):
        train(model, EXAMPLES, SGD(0.01), progress=False)
        assert len(clock.seen) == 20


@pytest.mark.parametrize("how", ["environment", "set_threads"])
def test_who_has_said_a_number_is_obeyed(free: Free, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = free({1: 1.0, 2: 1.0})
    model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0] ** 2))
    with monkeypatch.context() as told:
        if how == "environment":
            told.setitem(os.environ, "OPENBLAS_NUM_THREADS", "2")
        else:
            told.setattr(machine, "_told", False)
            ar.set_threads(2)
        seen: list[int] = []
        train(
            model, EXAMPLES, SGD(0.01), callbacks=[lambda _: seen.append(machine.threads())], progress=False
        )
        model.predict(EXAMPLES)
        assert seen == [2] and not clock.seen


@pytest.mark.parametrize("optimizer", [None, SGD(0.01)])
def test_a_profile_is_of_the_threads_that_training_takes(free: Free, optimizer: Any) -> None:
    clock, seen = free({1: 1.0, 2: 9.0}), list[int]()
    note = ar.InputTransform(lambda x: seen.append(machine.threads()) or x)
    model = ar.compile(note >> ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0] ** 2))
    model.profile(EXAMPLES, optimizer, runs=1)
    assert seen[-1] == 1 and len(clock.seen) == 10 and model.step == (2 if optimizer else 0)
    train(model, EXAMPLES, SGD(0.01), progress=False)
    assert len(clock.seen) == 10
