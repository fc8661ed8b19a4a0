"""What a model holds is let go of: with the model, at once, and when one asks."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.testing.fake import FakeKernelsDevice
from arrows.testing.host_kernels import HostKernel
from arrows.training import Adam, train
from benchmarks.networks import bilstm_tagger
from tests.marks import needs_compiler

EXAMPLES = ["a", ["a", "b"], ["b", ["a", "a"]], [], [["b"], "a"]]


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def tree() -> Any:
    words = {"a": 0, "b": 1}
    leaf = ar.InputTransform(words.get) >> ar.Scalar("int32") >> ar.Embedding(2, 3, name="e")
    return ar.fix(
        lambda t: ar.OneOf(
            lambda x: isinstance(x, str),
            {True: leaf >> ar.Tap("words"), False: ar.Map(t) >> ar.Sum() >> ar.FC(3, name="fc")},
        )
    )


def scalar(block: Any) -> Any:
    return block >> ar.Function(lambda v: ar.ops.sum(v * v))


def parts(model: Any) -> list[weakref.ref[Any]]:
    """What takes memory in a model: only its own names reach the arrays, which nobody may keep alive."""
    arrays = list(model.params.values()) + list(model.executors.arena._arrays.values())
    arrays += [array for executor in model.executors.kept.values() for array in executor.kept]
    others = [model, model.reader, model.reader._idle[0], *model.executors.kept.values()]
    return [weakref.ref(part) for part in [*arrays, *others]]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("jit", [False, None])
def test_a_model_is_freed_at_once(schedule: str, jit: bool | None, no_collector: None) -> None:
    model = ar.compile(scalar(tree()), schedule=schedule, jit=jit)
    model(EXAMPLES)
    model.value_and_grad(EXAMPLES)
    train(model, EXAMPLES, Adam(0.1), epochs=2, batch_size=2, progress=False)
    model.profile(EXAMPLES, runs=1)
    with pytest.raises(ar.InputError):
        model([3])
    model(EXAMPLES)
    held = parts(model)
    assert len(held) > 20 and all(part() is not None for part in held)
    del model
    assert [part() for part in held if part() is not None] == []


def test_a_prepared_set_does_not_keep_its_model(no_collector: None) -> None:
    model = ar.compile(scalar(tree()))
    prepared = model.prepare(EXAMPLES)
    model(prepared)
    held = weakref.ref(model), weakref.ref(model.params["fc/weight"])
    other = ar.compile(scalar(tree()))
    wanted = model(prepared)
    del model
    assert [part() for part in held] == [None, None]
    assert np.array_equal(other(pickle.loads(pickle.dumps(prepared))), wanted)


def test_memory_is_released_and_taken_anew() -> None:
    model, twin = ar.compile(scalar(tree())), ar.compile(scalar(tree()))
    many = [[["a", "b"] * 50] * 20] * 20
    optimizer, other = Adam(0.01), Adam(0.01)
    for batch in (EXAMPLES, many, EXAMPLES):
        assert np.isclose(model.train_step(batch, optimizer), twin.train_step(batch, other))
        result, _ = model(batch), model.value_and_grad(batch)
        metrics = model.taps["words"].tolist()
        assert model.held_memory > 0
        arrays = [weakref.ref(array) for array in model.executors.arena._arrays.values()]
        model.release_memory()
        assert model.held_memory == 0
        assert [array() for array in arrays if array() is not None] == []
        assert np.array_equal(model.taps["words"].values, twin_taps(twin, batch)) and metrics
        np.testing.assert_allclose(model(batch), result)


def twin_taps(twin: Any, batch: Any) -> Any:
    twin.value_and_grad(batch)
    return twin.taps["words"].values


@needs_compiler
def test_memory_that_is_replaced_lives_as_long_as_launches_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation asks for more scratch than the one before, and takes its place in the arena."""
    made: list[tuple[int, int, Any]] = []
    empty, bind = FakeKernelsDevice.empty, HostKernel.bind

    def recorded(self: Any, shape: Any, dtype: Any) -> Any:
        array = empty(self, shape, dtype)
        start = self.address(array)
        made.append((start, start + array.nbytes, weakref.ref(array._data)))
        return array

    def checked(self: HostKernel, words: Any) -> Any:
        launch, numbers = bind(self, words), set(words.ravel().tolist())
        named = [
            array
            for start, stop, array in made
            if array() is not None and any(start <= n < stop for n in numbers)
        ]

        def run(number: int) -> None:
            assert all(array() is not None for array in named)
            launch(number)

        return run

    monkeypatch.setattr(FakeKernelsDevice, "empty", recorded)
    monkeypatch.setattr(HostKernel, "bind", checked)
    random = np.random.default_rng(0)
    rows = [(row, [0] * len(row)) for row in (random.integers(0, 50, n).tolist() for n in (34, 25, 21, 11))]
    ar.compile(bilstm_tagger(50, 8, 8, 2, 5), device="fake-kernels")(rows)
    assert any(array() is None for _, _, array in made)
