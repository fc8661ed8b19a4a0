"""A limit on the memory of a batch: parts with the same numbers; and what is said when memory runs out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.engine.device import Arena, Device, get_device
from arrows.engine.running import BatchMemoryError, parse_memory
from arrows.engine.running.batch_runner import BatchRunner, bytes_beside
from arrows.engine.scheduling import DropoutSeed
from arrows.ops import RowSparse
from tests.agree import plain
from tests.compare import close, dense
from tests.generate import cases
from tests.marks import KERNELS
from tests.profile import draws

devices = pytest.mark.parametrize("device", ["cpu", "fake", KERNELS])


def block() -> Any:
    """Words with dropout in a recurrent cell, a metric at each, and a loss at the end."""
    cell = ar.LSTMCell(6, name="cell")
    word = ar.Scalar("int32", name="word") >> ar.Embedding(9, 5, name="table") >> ar.Dropout(0.3)
    states = ar.Map(word) >> ar.RNN(cell)
    score = ar.FC(1, name="out") >> ar.Function(lambda v: (v[0] - 1.0) ** 2) >> ar.Tap("score")
    return states >> ar.GetItem(0) >> ar.Map(score >> ar.AllOf(ar.Metric("loss"), ar.Identity()))


def examples(count: int = 12, longest: int = 9) -> list[list[int]]:
    random = np.random.default_rng(0)
    return [random.integers(0, 9, random.integers(0, longest)).tolist() for _ in range(count)]


def needs(model: ar.Model, batch: Any, *, gradients: bool) -> tuple[int, int]:
    """What a batch would take: of an empty arena, and beside it."""
    executor = model.executors.get(training=gradients, gradients=gradients)
    wired = model.prepare(batch)[:].wired
    seeds = model.runner._seeds(len(batch)) if gradients else ()  # they are sent as well
    planned = executor.merge(wired, DropoutSeed(0, 0, np.arange(len(batch))), seeds)
    arena = Arena(model.device).bytes_with(planned.buffers())
    return arena, planned.upload.bytes + bytes_beside(executor, planned)


def need(model: ar.Model, batch: Any, *, gradients: bool) -> int:
    """What a batch would take with an empty arena, the gradients of parameters and their sum included."""
    executor = model.executors.get(training=gradients, gradients=gradients)
    return sum(needs(model, batch, gradients=gradients)) + 2 * executor.parameter_gradients.dense_bytes


def need_alone(model: ar.Model, batch: Any, *, gradients: bool) -> int:
    """What every example of a batch would take alone, beside all that the others have left."""
    left = sum(needs(model, [each], gradients=gradients)[1] for each in batch)
    return left + max((need(model, [each], gradients=gradients) for each in batch), default=0)


def parts_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many examples run at once, noted from now on."""
    sizes: list[int] = []
    runs = BatchRunner.runs

    def noted(*arguments: Any, **keywords: Any) -> Any:
        for part in runs(*arguments, **keywords):
            sizes.append(len(part.part))
            yield part

    monkeypatch.setattr(BatchRunner, "runs", noted)
    return sizes


# ------------------------------------------------------------------------------------------ micro-batches


@devices
@pytest.mark.parametrize("share", [0.6, 0.3, 0.0])
def test_parts_compute_what_the_batch_computes(
    device: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = (ar.compile(block(), loss="loss", device=device, seed=1) for _ in range(2))
    batch = examples()
    alone = need_alone(whole, batch, gradients=True)
    cut.memory_limit = alone + int(share * (need(whole, batch, gradients=True) - alone))
    sizes = parts_of(monkeypatch)
    loss, grads = cut.value_and_grad(batch)
    assert sum(sizes) == len(batch) and len(sizes) > 1
    executor = cut.executors.get(training=True, gradients=True)
    assert cut.executors.arena.bytes + executor.parameter_gradients.dense_bytes <= cut.memory_limit
    expected, wanted = whole.value_and_grad(batch)
    assert np.isclose(ar.to_numpy(loss), ar.to_numpy(expected), rtol=1e-5)
    for name, gradient in ar.to_numpy(wanted).items():
        got = ar.to_numpy(grads)[name]
        assert isinstance(got, RowSparse) == isinstance(gradient, RowSparse)
        np.testing.assert_allclose(dense(got), dense(gradient), rtol=1e-4, atol=1e-6, err_msg=name)
    for here, there in ((cut.metrics, whole.metrics), (cut.taps, whole.taps)):
        for name, ragged in there.items():
            assert close(plain(here[name]), plain(ragged), 1e-5), name
    assert close(plain(cut(batch)), plain(whole(batch)), 1e-5)


@draws(4, 200)
@given(data=st.data())
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_random_models_in_parts(device: str, data: st.DataObject) -> None:
    case = data.draw(cases())
    whole, cut = (ar.compile(case.block, loss=case.loss or None, device=device, seed=3) for _ in range(2))
    batch = [*case.examples, *case.examples]
    differentiates = case.loss != "" or False
    cut.memory_limit = max(1, need_alone(whole, batch, gradients=False))
    with np.errstate(all="ignore"):
        assert close(plain(cut(batch)), plain(whole(batch)), 1e-4)
        if differentiates:
            cut.memory_limit = max(1, need_alone(whole, batch, gradients=True))
            loss, grads = cut.value_and_grad(batch)
            expected, wanted = whole.value_and_grad(batch)
            assert close(ar.to_numpy(loss), ar.to_numpy(expected), 1e-4)
            for name, gradient in ar.to_numpy(wanted).items():
                assert close(dense(ar.to_numpy(grads)[name]), dense(gradient), 1e-3), name


def test_an_example_that_alone_is_too_large_is_named() -> None:
    model = ar.compile(block(), loss="loss")
    batch = [[1], [2], [3] * 500, [4]]
    model.memory_limit = need(model, [[1] * 100], gradients=True)
    with pytest.raises(
        BatchMemoryError, match=r"cannot run example 2\n.*alone, and memory_limit is"
    ) as caught:
        model.value_and_grad(batch)
    assert "model.memory_limit" in str(caught.value)
    assert model.step == 0
    model.value_and_grad(batch[:2])
    assert model.step == 1
    prepared = model.prepare([[1], *batch])
    with pytest.raises(BatchMemoryError, match="cannot run example 3"):
        model.value_and_grad(prepared[[1, 3]])


@pytest.mark.parametrize(
    ("limit", "size"),
    [(None, None), (10, 10), ("10", 10), ("8GB", 8 * 10**9), ("1.5 MiB", 3 * 2**19), ("2kb", 2000)],
)
def test_limits(limit: Any, size: int | None) -> None:
    assert parse_memory(limit) == size
    assert ar.compile(ar.Scalar(), memory_limit=limit).memory_limit == size


@pytest.mark.parametrize("limit", [0, -1, "8TBs", "much", "", "0GB", True, 1.5, [8]])
def test_limits_that_cannot_be(limit: Any) -> None:
    model = ar.compile(ar.Scalar())
    with pytest.raises((ar.ArrowValueError, ar.ArrowTypeError), match="memory_limit"):
        model.memory_limit = limit
    with pytest.raises((ar.ArrowValueError, ar.ArrowTypeError), match="memory_limit"):
        ar.compile(ar.Scalar(), memory_limit=limit)


# ------------------------------------------------------------------------------------------ out of memory


@pytest.fixture
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device on which no array is larger than 40 kB."""
    device = get_device(request.param)
    empty = type(device).empty

    def limited(self: Device, shape: Any, dtype: Any) -> Any:
        if np.prod(shape) * np.dtype(dtype).itemsize > 40_000:
            raise MemoryError("no such memory")
        return empty(self, shape, dtype)

    monkeypatch.setattr(type(device), "empty", limited)
    return device


@pytest.mark.parametrize("small", ["cpu", "fake"], indirect=True)
@pytest.mark.parametrize("gradients", [False, True])
def test_out_of_memory_says_for_what_and_loses_nothing(small: Device, gradients: bool) -> None:
    model = ar.compile(block(), loss="loss", device=small)
    call = model.value_and_grad if gradients else model
    call(examples(4))
    step, metrics = model.step, model.metrics["loss"].tolist()
    before = ar.to_numpy(dict(model.params))
    with pytest.raises(BatchMemoryError) as caught:
        call(examples(900))
    text = str(caught.value)
    assert f"cannot run a batch of 900 examples on {small.name!r}" in text
    assert "memory ran out at " in text and " would fit" in text and "memory_limit=" in text
    assert isinstance(caught.value.__cause__, MemoryError)
    assert model.step == step and model.metrics["loss"].tolist() == metrics
    assert model.executors.arena.bytes == 0
    call(examples(4))
    assert model.metrics["loss"].tolist() == metrics if not gradients else model.step == step + 1
    for name, array in ar.to_numpy(dict(model.params)).items():
        assert np.array_equal(array, before[name])
    # What the message says to do works.
    model.memory_limit = 100_000
    call(examples(900))


def test_memory_that_runs_out_before_a_batch_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ar.compile(block(), loss="loss", device="fake")
    expected, _ = model.value_and_grad(examples())
    model.step = 0

    def full(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(model.device), "to_device", full)
        with pytest.raises(BatchMemoryError) as refused:
            model.value_and_grad(examples())
    text = str(refused.value)
    assert text.startswith("cannot run a batch of 12 examples on 'fake'")
    assert re.search(r"it takes \S+ kB, and memory ran out at", text)
    assert model.step == 0
    again, _ = model.value_and_grad(examples())
    assert np.array_equal(ar.to_numpy(again), ar.to_numpy(expected))
