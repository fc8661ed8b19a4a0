"""Steps of an optimizer in kernels: the same numbers as on arrays, in few launches, and without the host."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import Device, get_device
from arrows.engine.device.fake_devices import FakeKernelsDevice
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.device.kernel import PRELUDE
from arrows.ops import RowSparse
from arrows.training import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop
from arrows.training.optimizers import kernel_update
from arrows.training.optimizers.kernel_sources import (
    ADD_SUMS,
    ROW_SETS,
    SCALE,
    SQUARES,
    count_source,
    dense_source,
    merge_source,
    rank_source,
    rows_source,
)
from arrows.training.optimizers.kernel_update import OptimizerKernels
from arrows.training.optimizers.rule_code import record
from arrows.training.optimizers.update import run_rule
from tests.training.optimizers.test_optimizers import KERNELS, Model

needs_compiler = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
NVCC = shutil.which("nvcc")
devices = pytest.mark.parametrize("device", ["cpu", "fake", KERNELS])

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda **more: SGD(0.1, **more),
    "momentum": lambda **more: SGD(0.1, momentum=0.9, weight_decay=0.01, **more),
    "adam": lambda **more: Adam(0.01, weight_decay=0.01, **more),
    "adamw": lambda **more: AdamW(0.01, weight_decay=0.1, **more),
    "rmsprop": lambda **more: RMSprop(0.01, **more),
    "adagrad": lambda **more: Adagrad(0.05, initial_accumulator=0.1, **more),
    "adadelta": lambda **more: Adadelta(1.0, **more),
}
every_optimizer = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)


def grads_of(model: Model, random: np.random.Generator) -> dict[str, Any]:
    """Gradients of all parameters; of those named `table`, of a few rows, some of them repeated."""
    grads: dict[str, Any] = {}
    for name, array in model.params.items():
        shape, dtype = array.shape, array.dtype
        if name.startswith("table"):
            rows = random.integers(0, shape[0], 7).tolist()
            values = random.normal(size=(7, *shape[1:])).astype(dtype)
            grads[name] = model.sparse(rows, values, shape)
        else:
            grads[name] = model.device.to_device(np.asarray(random.normal(size=shape).astype(dtype)))
    return grads


def mixed(device: str | Device) -> Model:
    """Parameters below, at and above the size of a chunk, of both element types, some of them tables."""
    random = np.random.default_rng(0)

    def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
        return np.asarray(random.normal(size=shape).astype(dtype))

    return Model.of(
        device,
        scalar=normal(),
        bias=normal(5),
        weight=normal(33, 31),
        chunk=normal(1024),
        long=normal(70, 1000),
        empty=normal(0, 3),
        wide=normal(9, 7, dtype="float64"),
        table=normal(11, 6),
        table_of_scalars=normal(5),
        table_wide=normal(4, 3, 2, dtype="float64"),
    )


def trained(device: str | Device, optimizer: Any, steps: int = 4) -> dict[str, np.ndarray]:
    model, random = mixed(device), np.random.default_rng(1)
    for _ in range(steps):
        optimizer.step(model, grads_of(model, random))
    return {name: model.numpy(name) for name in model.params}


@needs_compiler
@every_optimizer
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"clip_norm": 1.0},
        {"rates": {"b*": 0.5, "long": lambda step: 1 / (step + 1), "chunk": 0}},
        {"dense": True},
        {"dense": True, "clip_norm": 1.0, "average": 0.9},
    ],
    ids=["plain", "clipped", "rates", "dense", "dense, clipped"],
)
def test_kernels_compute_what_arrays_do(make: Any, more: Any) -> None:
    expected, optimizer = make(**more), make(**more)
    there = trained("fake-kernels", optimizer)
    for name, array in trained("cpu", expected).items():
        tolerance = 2e-6 if array.dtype == "float32" else 1e-11  # the norm has float32 gradients in it
        np.testing.assert_allclose(there[name], array, rtol=tolerance, atol=tolerance, err_msg=name)
    for name, slots in expected.state.items():
        for slot, array in slots.items():
            got = get_device("fake").to_numpy(optimizer.state[name][slot])
            np.testing.assert_allclose(got, array, rtol=2e-6, atol=2e-6, err_msg=f"{name} {slot}")


@needs_compiler
@every_optimizer
@pytest.mark.parametrize("more", [{}, {"clip_norm": 1.0}, {"dense": True}])
def test_rows_that_a_table_lacks_change_nothing_beside_it(make: Any, more: Any) -> None:
    """A device does not check an index that depends on parameters; its kernels keep to their arrays."""
    around = np.full((30, 2), 7.0, np.float32)
    model, wanted = (
        Model.of("fake-kernels", table=np.zeros((4, 2), "float32")),
        Model.of("fake-kernels", table=np.zeros((4, 2), "float32")),
    )
    device = model.device
    memory = device.to_device(around)
    model.params["table"] = memory[10:14]
    optimizer, plain = make(**more), make(**more)
    for rows in ([2, 9, 0], [-3, 3], [2**31 - 1, 2, -(2**31)]):
        values = np.ones((len(rows), 2), np.float32)
        kept = [n for n, row in enumerate(rows) if 0 <= row < 4]
        optimizer.step(model, {"table": model.sparse(rows, values, (4, 2))})
        plain.step(wanted, {"table": wanted.sparse([rows[n] for n in kept], values[kept], (4, 2))})
    around[10:14] = 0
    found = device.to_numpy(memory)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        np.delete(found, range(10, 14), axis=0), np.delete(around, range(10, 14), axis=0)
    )


@needs_compiler
@pytest.mark.parametrize("ranked", [0, 1 << 14])
@pytest.mark.parametrize("count", [1, 2, 300])
def test_rows_are_merged_in_order(ranked: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of equal rows are added in the order in which they stand, however rows are sorted."""
    monkeypatch.setattr(kernel_update, "_RANKED", ranked)
    model, random = Model.of("fake-kernels", table=np.zeros((7, 2))), np.random.default_rng(0)
    rows, values = random.integers(0, 7, count), random.normal(size=(count, 2)).astype("float32")
    merged = OptimizerKernels(model.device).merge(model.sparse(rows.tolist(), values, (7, 2)))
    to_numpy = model.device.to_numpy
    order = np.argsort(rows, kind="stable")
    assert np.array_equal(to_numpy(merged.rows), rows[order])
    for place, (row, sums) in enumerate(zip(rows[order], to_numpy(merged.values), strict=True)):
        first = place == 0 or rows[order][place - 1] != row
        wanted = values[rows == row].astype(float).sum(0) if first else np.zeros(2)
        np.testing.assert_allclose(sums, wanted, rtol=1e-6, atol=1e-6)


@needs_compiler
@every_optimizer
def test_the_order_of_items_does_not_matter(make: Any) -> None:
    """A GPU runs them in any order."""
    backwards = FakeKernelsDevice(backwards=True)
    there, here = (trained(device, make(clip_norm=1.0)) for device in (backwards, "fake-kernels"))
    for name, array in here.items():
        assert np.array_equal(there[name], array), name


@every_optimizer
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [3, None])
def test_every_rule_is_recorded(make: Any, dtype: str, count: int | None) -> None:
    """None runs on arrays, where each line is a launch, without anyone noticing."""
    optimizer = make()

    def run(*arguments: Any, **keywords: Any) -> None:
        run_rule(*arguments, rule=optimizer.rule, rate=0.1, **keywords)

    assert record(run, optimizer.rule.slots, dtype, scaled=True, count=count) is not None


@needs_compiler
@every_optimizer
def test_a_step_is_one_launch(make: Any) -> None:
    model, optimizer = mixed("fake-kernels"), make()
    model.params = {name: array for name, array in model.params.items() if array.dtype == "float32"}
    grads = grads_of(model, np.random.default_rng(1))
    tables = [name for name in grads if name.startswith("table")]
    dense = {name: gradient for name, gradient in grads.items() if name not in tables}
    for _ in range(2):  # the first step makes the state
        optimizer.step(model, grads)
    before = model.device.counts
    optimizer.step(model, dense)
    once = model.device.counts - before
    assert (once.launches, once.uploads, once.downloads, once.synchronizations) == (1, 0, 0, 0)
    before = model.device.counts
    optimizer.step(model, grads)
    step = model.device.counts - before
    # Of each table: sort, add up, update, count.
    assert (step.launches, step.downloads, step.synchronizations) == (1 + 4 * len(tables), 0, 0)


@needs_compiler
def test_a_dense_step_sends_nothing() -> None:
    """Of each table: sort, add up, write into zeros, make them zeros again; and one launch for all."""
    model, optimizer = mixed("fake-kernels"), Adam(0.01, dense=True)
    model.params = {name: array for name, array in model.params.items() if array.dtype == "float32"}
    grads = grads_of(model, np.random.default_rng(1))
    tables = [name for name in grads if name.startswith("table")]
    for _ in range(2):
        optimizer.step(model, grads)
    before = model.device.counts
    optimizer.step(model, grads)
    step = model.device.counts - before
    counted = (step.launches, step.uploads, step.downloads, step.synchronizations)
    assert counted == (1 + 4 * len(tables), 0, 0, 0)


@needs_compiler
def test_clipping_takes_three_launches() -> None:
    """However many tables there are; none of them sends anything once it knows where dense gradients lie."""
    model, optimizer, random = mixed("fake-kernels"), SGD(0.1, clip_norm=1.0), np.random.default_rng(1)
    model.params = {name: array for name, array in model.params.items() if array.dtype == "float32"}
    grads = grads_of(model, random)
    tables = {name: gradient for name, gradient in grads.items() if name.startswith("table")}
    dense = {name: gradient for name, gradient in grads.items() if name not in tables}
    for grads, launches in ((dense, 4), (dense | tables, 4 + 4 * len(tables))):
        for _ in range(2):
            before = model.device.counts
            optimizer.step(model, grads)
            step = model.device.counts - before
        assert (step.launches, step.uploads, step.downloads, step.synchronizations) == (launches, 0, 0, 0)


@needs_compiler
def test_clipping_a_table_alone() -> None:
    """There is no dense gradient then."""
    steps = []
    for device in ("cpu", "fake-kernels"):
        model, optimizer = Model.of(device, table=np.ones((4, 3))), SGD(1.0, clip_norm=0.5)
        optimizer.step(model, {"table": model.sparse([2, 0, 2], np.ones((3, 3)), (4, 3))})
        steps.append(model.numpy("table"))
    np.testing.assert_allclose(steps[1], steps[0], rtol=1e-12)


@needs_compiler
def test_clipping_more_tables_than_a_launch_takes() -> None:
    steps = []
    for device in ("cpu", "fake-kernels"):
        tables = {f"table{number}": np.ones((4, 3)) for number in range(ROW_SETS + 1)}
        model, optimizer = Model.of(device, dense=np.ones(5), **tables), SGD(1.0, clip_norm=0.5)
        grads = {name: model.sparse([2, 0, 2], np.ones((3, 3)), (4, 3)) for name in tables}
        optimizer.step(model, grads | {"dense": model.device.to_device(np.ones(5))})
        steps.append({name: model.numpy(name) for name in model.params})
    for name, parameter in steps[0].items():
        np.testing.assert_allclose(steps[1][name], parameter, rtol=1e-12)


@dataclass(frozen=True)
class SignDescent:
    """A rule of a user's."""

    learning_rate: float = 0.1
    weight_decay: float = 0.0
    slots: Any = None

    def update(self, xp: Any, parameter: Any, gradient: Any, *_: Any, rate: Any, step: Any) -> None:
        parameter -= rate * xp.sign(gradient) / (1 + step) ** 0.5


class Deciding(SignDescent):
    """Looks at a number, which symbols do not have."""

    def update(self, xp: Any, parameter: Any, gradient: Any, *_: Any, rate: Any, step: Any) -> None:
        parameter -= xp.where(gradient > 0, rate, -rate)


class Normalizing(SignDescent):
    """Looks at a whole array."""

    def update(self, xp: Any, parameter: Any, gradient: Any, *_: Any, rate: Any, step: Any) -> None:
        parameter -= rate * gradient / xp.max(xp.abs(gradient))


@needs_compiler
@pytest.mark.parametrize("rule", [SignDescent, Deciding, Normalizing])
def test_rules_of_users(rule: Any) -> None:
    """Those that symbols record run in kernels, all others on arrays."""
    expected = trained_on(rule, "cpu")
    np.testing.assert_allclose(trained_on(rule, "fake-kernels"), expected, rtol=1e-6)


def trained_on(rule: Any, device: str) -> np.ndarray:
    model, optimizer = Model.of(device, w=np.arange(6.0).reshape(2, 3)), Optimizer(rule(slots={}))
    random = np.random.default_rng(0)
    for _ in range(3):
        optimizer.step(model, {"w": model.device.to_device(random.normal(size=(2, 3)))})
    return model.numpy("w")


# ------------------------------------------------------------------------------------------ masked steps


@devices
@every_optimizer
@pytest.mark.parametrize("more", [{}, {"clip_norm": 1.0, "average": 0.9}], ids=["plain", "averaged"])
def test_a_masked_step_changes_nothing(device: str, make: Any, more: Any) -> None:
    model, optimizer, random = mixed(device), make(**more), np.random.default_rng(1)
    place, other = model.device, make(**more)
    twin = mixed(device)
    for _ in range(2):
        grads = grads_of(model, random)
        optimizer.step(model, grads)
        other.step(twin, grads)
    counters, optimizer.unless = optimizer.counters(), place.to_device(np.zeros(1))
    for _ in range(3):
        grads = grads_of(model, random)
        for gradient in grads.values():
            values = gradient.values if isinstance(gradient, RowSparse) else gradient
            values *= float("nan")
        optimizer.step(model, grads)
    optimizer.set_back(counters)
    optimizer.unless = None
    assert optimizer.steps == other.steps == 2
    grads = grads_of(model, random)  # the next step has the same numbers as if nothing had happened
    optimizer.step(model, grads)
    other.step(twin, grads)
    for name in model.params:
        assert np.array_equal(model.numpy(name), twin.numpy(name)), name
        for slot, array in other.state[name].items():
            assert np.array_equal(place.to_numpy(optimizer.state[name][slot]), place.to_numpy(array)), slot
    if "average" in more:
        with optimizer.use_averages(model), other.use_averages(twin):
            for name in model.params:
                assert np.array_equal(model.numpy(name), twin.numpy(name)), name


@devices
def test_a_step_that_is_not_masked_is_taken(device: str) -> None:
    model, optimizer = Model.of(device, w=np.ones(3)), SGD(0.5)
    optimizer.unless = model.device.to_device(np.ones(1))
    optimizer.step(model, {"w": model.device.to_device(np.ones(3))})
    assert model.numpy("w").tolist() == [0.5, 0.5, 0.5]


@devices
def test_a_parameter_whose_first_step_is_masked_has_no_state(device: str) -> None:
    model, optimizer = Model.of(device, w=np.ones((3, 2)), v=np.ones(2)), Adam(0.5, average=1.0)
    counters, optimizer.unless = optimizer.counters(), model.device.to_device(np.zeros(1))
    optimizer.step(model, grads_of(model, np.random.default_rng(0)))
    optimizer.set_back(counters)
    assert not optimizer.state and not optimizer.counts and optimizer.steps == 0
    assert optimizer.averages is not None
    assert not optimizer.averages.values and not optimizer.averages.since


# ------------------------------------------------------------------------------------- the compiler of GPUs


@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
def test_the_compiler_of_the_gpu_takes_all_kernels(tmp_path: Path) -> None:
    assert NVCC is not None
    sources = [SQUARES, ADD_SUMS, SCALE, count_source("int"), rank_source("int")]
    sources.append(merge_source("float32", 3, "int", "long long"))
    for make in OPTIMIZERS.values():
        rule = make().rule
        for count in (3, None):
            recorded = record(
                partial(run_rule, rule=rule, rate=0.1), rule.slots, "float32", scaled=True, count=count
            )
            assert recorded is not None
            sources.append(dense_source(recorded[0]) if count else rows_source(recorded[0], 3, "int"))
    texts = {source.name: source.text for source in sources}
    unit = tmp_path / "kernels.cu"
    unit.write_text(PRELUDE + "".join(texts.values()))
    for architecture in ("compute_80", "compute_90"):
        out = tmp_path / f"{architecture}.ptx"
        command = [NVCC, "-ptx", f"-arch={architecture}", "-o", str(out), str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
        assert out.read_text().count(".entry") == len(texts)
