"""Averages against plain means over the values after every step, dense and row-sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows.ops import RowSparse
from arrows.training import SGD, Adam, Epoch, parameters as blocks, save_state, train
from arrows.typesys.errors import ArrowValueError
from tests.training.optimizers.test_optimizers import DEVICES, KERNELS, Model
from tests.training.test_train import Bookkeeper


def mean(values: list[Any], decay: float) -> Any:
    """The weights of `Averages`, written out."""
    weights = [decay ** (len(values) - i) for i in range(1, len(values) + 1)]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


@pytest.mark.parametrize("device", DEVICES)
@given(
    decay=st.sampled_from([1.0, 0.9, 0.1]),
    steps=st.lists(st.none() | st.just("dense") | st.lists(st.integers(0, 3), max_size=4), max_size=6),
    looks=st.sets(st.integers(0, 5)),
)
def test_means_over_all_steps(device, decay, steps, looks):
    random = np.random.default_rng(len(steps))
    start = random.normal(size=(4, 2))
    model, optimizer = Model.of(device, w=start, b=np.zeros(1)), SGD(0.5, average=decay)
    up = model.device.to_device
    seen: list[Any] = []
    for number, what in enumerate(steps):
        grads: dict[str, Any] = {"b": up(np.ones(1))}
        if what == "dense":
            grads["w"] = up(random.normal(size=(4, 2)))
        elif what is not None:
            grads["w"] = RowSparse(
                up(np.array(what, np.int64)), up(random.normal(size=(len(what), 2))), (4, 2)
            )
        optimizer.step(model, grads)
        seen.append(model.numpy("w").copy())
        if number in looks:  # looking changes nothing
            with optimizer.use_averages(model):
                np.testing.assert_allclose(model.numpy("w"), mean(seen, decay), rtol=1e-10, atol=1e-12)
            assert (model.numpy("w") == seen[-1]).all()
    with optimizer.use_averages(model):
        np.testing.assert_allclose(
            model.numpy("w"), mean(seen, decay) if seen else start, rtol=1e-10, atol=1e-12
        )
        if steps:
            counted = [-0.5 * np.ones(1) * t for t in range(1, len(steps) + 1)]
            np.testing.assert_allclose(model.numpy("b"), mean(counted, decay), rtol=1e-10)


def test_a_mistake_within_the_context_leaves_the_parameters_as_they_were():
    model, optimizer = Model.of("cpu", w=np.zeros(1)), SGD(1.0, average=1.0)
    live = model.params["w"]
    for _ in range(3):
        optimizer.step(model, {"w": np.ones(1)})

    def fail() -> None:
        with optimizer.use_averages(model):
            assert model.numpy("w").tolist() == [-2.0]
            raise RuntimeError("oh")

    with pytest.raises(RuntimeError, match="oh"):
        fail()
    assert model.numpy("w").tolist() == [-3.0] and model.params["w"] is live


def test_no_step_no_saving_and_no_second_use_within_the_context(tmp_path):
    model, optimizer = Model.of("cpu", w=np.zeros(1)), SGD(1.0, average=0.5)
    optimizer.step(model, {"w": np.ones(1)})
    with optimizer.use_averages(model):
        with pytest.raises(ArrowValueError, match="no step is taken while averages"):
            optimizer.step(model, {"w": np.ones(1)})
        with pytest.raises(ArrowValueError, match=r"save_state.*not while averages stand in"):
            save_state(tmp_path / "run", model, optimizer)
        with pytest.raises(ArrowValueError, match="in use already"), optimizer.use_averages(model):
            raise AssertionError("not reached")
    assert model.numpy("w").tolist() == [-1.0]


@pytest.mark.parametrize("device", DEVICES)
def test_a_scalar_parameter_and_blocks(device, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 4)
    model, optimizer = Model.of(device, s=np.float64(0.0), w=np.zeros((5, 2))), SGD(1.0, average=1.0)
    up = model.device.to_device
    for _ in range(3):
        optimizer.step(model, {"s": up(np.array(1.0)), "w": up(np.ones((5, 2)))})
    with optimizer.use_averages(model):
        assert model.numpy("s") == -2.0 and (model.numpy("w") == -2.0).all()


def test_without_averages_there_are_none_to_use():
    with pytest.raises(ArrowValueError, match="keeps no averages: give it average="):
        Adam().use_averages(Model.of("cpu", w=np.zeros(1)))


@pytest.mark.parametrize("device", ["cpu", "fake", KERNELS])
def test_train_evaluates_and_hands_over_the_averages(device):
    model, optimizer, shown = Bookkeeper(device), SGD(1.0, average=1.0), []

    def look(_: Epoch | None = None) -> dict[str, float]:
        shown.append(float(model.device.to_numpy(model.params["w"])[0]))
        return {}

    train(model, [1, 2], optimizer, batch_size=1, epochs=2, evaluate=look, callbacks=[look], progress=False)
    assert shown == [-1.5, -1.5, -2.5, -2.5]
    assert model.device.to_numpy(model.params["w"]).tolist() == [-4.0]
