"""Steps in kernels: few launches that send nothing, rows that a table lacks."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from arrows.engine.device import Device, get_device
from arrows.ops import RowSparse
from arrows.testing import host_kernels
from arrows.testing.fake import FakeKernelsDevice
from arrows.training import SGD, Adagrad, Adam, AdamW, RMSprop
from arrows.training.optimizers.kernel_steps import KernelSteps
from tests.engine.cuda.test_kernels import Warps
from tests.marks import needs_compiler
from tests.training.optimizers.test_optimizers import Model

OPTIMIZERS: list[Any] = [
    lambda **more: SGD(0.1, momentum=0.9, weight_decay=0.01, **more),
    lambda **more: Adam(0.01, weight_decay=0.01, **more),
    lambda **more: AdamW(0.01, weight_decay=0.1, **more),
    lambda **more: RMSprop(0.01, **more),
    lambda **more: Adagrad(0.05, initial_accumulator_value=0.1, **more),
]
some_optimizers = pytest.mark.parametrize(
    "make", [OPTIMIZERS[1], *(pytest.param(make, marks=pytest.mark.nightly) for make in OPTIMIZERS)]
)


def mixed(device: str | Device) -> Model:
    random = np.random.default_rng(0)
    shapes = {"scalar": (), "weight": (33, 31), "long": (70, 1000), "table": (11, 6), "table2": (5,)}
    return Model.of(device, **{name: random.normal(size=shape).astype("f") for name, shape in shapes.items()})


def grads_of(model: Model, random: np.random.Generator) -> dict[str, Any]:
    """Gradients of all parameters; of those named `table`, of a few rows, some of them repeated."""
    grads: dict[str, Any] = {}
    for name, array in model.params.items():
        if name.startswith("table"):
            rows = random.integers(0, array.shape[0], 7).tolist()
            values = random.normal(size=(7, *array.shape[1:])).astype("f")
            grads[name] = model.sparse(rows, values, array.shape)
        else:
            grads[name] = model.device.to_device(np.asarray(random.normal(size=array.shape), "f"))
    return grads


def trained(model: Model, optimizer: Any) -> Model:
    random = np.random.default_rng(1)
    for _ in range(3):
        optimizer.step(model, grads_of(model, random))
    return model


@needs_compiler
@pytest.mark.parametrize("more", [{}, {"clip_norm": 1.0}, {"dense": True}], ids=str)
@some_optimizers
def test_rows_that_a_table_lacks_change_nothing_beside_it(make: Any, more: Any) -> None:
    """A device does not check an index that depends on parameters; its kernels keep to their arrays.

    Nor is a row counted later whose step failed: its number may lie in memory that the engine uses again.
    """
    model = Model.of("fake-kernels", table=np.zeros((4, 2), "float32"))
    device, optimizer = model.device, make(**more)
    memory = device.to_device(np.full((30, 2), 7.0, np.float32))
    model.params["table"] = memory[10:14]
    with mock.patch.object(KernelSteps, "_launch_dense", None), pytest.raises(TypeError):
        optimizer.step(model, {"table": model.sparse([0], np.ones((1, 2), "f"), (4, 2))})
    for rows in ([2, 9, 0, 2], [-3, 3], [2**31 - 1, 2, -(2**31)]):
        optimizer.step(model, {"table": model.sparse(rows, np.ones((len(rows), 2), "f"), (4, 2))})
    found = device.to_numpy(memory)
    assert np.isfinite(found).all() and (found[[10, 12, 13]] != 0).all()
    np.testing.assert_array_equal(np.delete(found, range(10, 14), axis=0), 7.0)
    if not more:
        counts = device.to_numpy(optimizer.counts["table"])
        assert counts.tolist() == [1, 0, 2, 1] and (found[11] == 7).all()


@needs_compiler
@some_optimizers
def test_the_order_of_items_does_not_matter(make: Any) -> None:
    """A GPU runs them in any order."""
    backwards, here = FakeKernelsDevice(backwards=True), get_device("fake-kernels")
    there, here = (trained(mixed(device), make(clip_norm=1.0)) for device in (backwards, here))
    for name in here.params:
        assert np.array_equal(there.numpy(name), here.numpy(name)), name


@needs_compiler
@pytest.mark.parametrize(("more", "launches"), [({}, 1), ({"clip_norm": 1.0}, 3)], ids=["plain", "clipped"])
def test_launches_of_a_step(more: Any, launches: int) -> None:
    """One for all dense parameters, one for a table; two to clip, however many gradients there are."""
    model, optimizer = mixed("fake-kernels"), Adam(0.01, rates={"long": 0.5}, **more)
    grads = grads_of(model, np.random.default_rng(1))
    tables = {
        name: RowSparse(model.device.to_device(np.array([1, 3], np.int64)), each.values[:2], each.shape, True)
        for name, each in grads.items()
        if name.startswith("table")
    }
    trained(model, optimizer)  # the first step makes the state
    for given, of_tables in (({n: g for n, g in grads.items() if n not in tables}, 0), (grads | tables, 2)):
        before = model.device.counts
        optimizer.step(model, given)
        step = model.device.counts - before
        assert step.launches <= launches + of_tables
        assert (step.uploads, step.downloads, step.synchronizations) == (0, 0, 0)


@needs_compiler
def test_lanes_add_up_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_kernels, "HostLibrary", Warps)
    here, there = (trained(mixed(each), SGD(0.1, clip_norm=1.0)) for each in ("cpu", FakeKernelsDevice()))
    assert all(np.allclose(there.numpy(name), here.numpy(name), rtol=1e-6) for name in here.params)


@needs_compiler
@pytest.mark.parametrize("clip", [None, 0.5])
def test_more_parameters_than_a_launch_takes(clip: float | None) -> None:
    arrays = {f"w{number}": np.full(1 + number % 3, 1.0) for number in range(400)}
    arrays["table"] = np.ones((4, 3))
    models = [Model.of(device, **arrays) for device in ("cpu", "fake-kernels")]
    for model in models:
        optimizer = Adam(0.1, clip_norm=clip)
        grads = {name: model.device.to_device(np.array(array)) for name, array in arrays.items()}
        optimizer.step(model, grads | {"table": model.sparse([2, 0, 2], np.ones((3, 3)), (4, 3))})
    for name in arrays:
        np.testing.assert_allclose(models[1].numpy(name), models[0].numpy(name), rtol=1e-12)


@needs_compiler
def test_what_kernels_cannot_read_runs_on_arrays() -> None:
    model, optimizer = Model.of("fake-kernels", w=np.zeros((2, 3))), SGD(1.0, clip_norm=100.0)
    turned = model.device.to_device(np.arange(6.0).reshape(3, 2)).T
    optimizer.step(model, {"w": turned})
    assert model.numpy("w").tolist() == [[0, -2, -4], [-1, -3, -5]]


@needs_compiler
def test_rows_of_a_table_that_kernels_cannot_read_are_added_up_too() -> None:
    model, optimizer = Model.of("fake-kernels"), Adagrad(1.0, initial_accumulator_value=0.0, epsilon=1e-30)
    model.params["w"] = model.device.to_device(np.zeros((3, 2))).T
    values = np.array([[3.0, -3.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 2.0]])
    optimizer.step(model, {"w": model.sparse([1, 0, 1], values, (2, 3))})
    np.testing.assert_allclose(model.numpy("w"), [[-1, -1, -1], [-1, 1, -1]])
    assert model.device.to_numpy(optimizer.counts["w"]).tolist() == [1, 1]
