"""Values of float32 that a model stores in 16 bits between its kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import arrows as ar
from arrows.data import read_trees
from arrows.engine.device import STORED_TYPES, Arena, Device, StoredType
from arrows.engine.device.fake_devices import FakeKernelsDevice
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.program.instructions import Downcast
from arrows.engine.program.text import parse_program
from arrows.engine.running.executors import arena_sizes
from arrows.engine.scheduling import DropoutSeed
from arrows.models import sentiment
from arrows.training import Adam, train
from tests.agree import programs
from tests.engine.test_batching import check, models, order_of
from tests.generate import Case, cases
from tests.profile import draws
from tests.training.test_launches import WORDS, random_tree

SST = Path(__file__).resolve().parents[3] / "shared" / "data" / "sst"
KERNELS = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
# The share of a number that rounding changes, at most.
ROUNDING = {"bfloat16": 2.0**-9, "float16": 2.0**-12}

_EXACT = """\
#ifndef ARROWS_EXACT
#define ARROWS_EXACT
typedef union { float number; unsigned int bits; } exact_bits;
FUNCTION float load_exact(unsigned int stored) { exact_bits x; x.bits = stored; return x.number; }
FUNCTION unsigned int store_exact(float number) { exact_bits x; x.number = number; return x.bits; }
#endif
"""


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> str:
    """A storage that rounds nothing: whatever reads bits as numbers, or numbers as bits, shows at once."""
    stored = StoredType(
        dtype="uint32",
        c_type="unsigned int",
        functions=_EXACT,
        store=lambda numbers: np.ascontiguousarray(numbers).view(np.uint32),
        load=lambda bits: np.ascontiguousarray(bits).view(np.float32),
    )
    monkeypatch.setitem(STORED_TYPES, "exact", stored)
    return "exact"


def trees(storage: str, *, size: int = 6, embedding: int = 70, **options: Any) -> ar.Model:
    block = sentiment(WORDS, size=size, embedding=embedding).learn
    return ar.compile(block, loss="loss", device="fake-kernels", storage=storage, **options)


def some_trees(count: int = 8) -> list[Any]:
    rng = np.random.default_rng(0)
    return [random_tree(rng, int(rng.integers(2, 20))) for _ in range(count)]


def dense(gradient: Any) -> Any:
    gradient = ar.to_numpy(gradient)
    return gradient.to_dense(np) if isinstance(gradient, ar.ops.RowSparse) else gradient


# ----------------------------------------------------------------------------------------- random models


def compare(
    data: st.DataObject, storage: str, tolerance: float, kink: float, device: Device | str = "fake-kernels"
) -> None:
    case: Case = data.draw(cases())
    schedule = data.draw(st.sampled_from(["strata", "depth", "agenda", "none"]))
    numbers = [slab.type.dtype for slab in models(case, None, "cpu", schedule).plan.slabs]
    assume("float32" in numbers)
    order = order_of(data, case)
    check(case, order, None, tolerance, device, schedule, storage=storage, kink=kink)


@KERNELS
@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("backwards", [False, True])
def test_random_models_whose_storage_rounds_nothing(backwards: bool) -> None:
    device = FakeKernelsDevice(backwards=backwards)

    @draws(8, 400, str(backwards))
    @given(data=st.data())
    def one_by_one(data: st.DataObject) -> None:
        compare(data, "exact", 1e-4, 1e-6, device)

    one_by_one()


@KERNELS
@pytest.mark.parametrize("storage", ROUNDING)
def test_random_models(storage: str) -> None:
    """Away from where rounding decides on which side of a kink a number lies."""

    @draws(6, 400, storage)
    @given(data=st.data())
    def one_by_one(data: st.DataObject) -> None:
        compare(data, storage, 8 * ROUNDING[storage], 32 * ROUNDING[storage])

    one_by_one()


# ------------------------------------------------------------------------------------------------- models


@KERNELS
@pytest.mark.parametrize("storage", ROUNDING)
def test_a_tree_lstm_in_16_bits(storage: str) -> None:
    model = trees(storage)
    (value, gradients), (near, others) = (
        each.value_and_grad(some_trees()) for each in (trees("float32"), model)
    )
    assert np.isclose(ar.to_numpy(value), ar.to_numpy(near), rtol=4 * ROUNDING[storage])
    for name, gradient in gradients.items():
        assert (dense(others[name]) != dense(gradient)).any()
        error = np.abs(dense(others[name]) - dense(gradient)).max()
        assert error <= 16 * ROUNDING[storage] * np.abs(dense(gradient)).max(), name
    for (made,) in [programs(model)["cell"][1:]]:
        assert set(made.stored.values()) == {storage}
        assert any(isinstance(each, Downcast) for each in made.region("once"))
        assert f"in kept 0 as {storage} = tanh" in str(made)
        assert str(parse_program(str(made))) == str(made)


@KERNELS
def test_what_users_read_is_float32() -> None:
    model = trees("bfloat16")
    _, gradients = model.value_and_grad(some_trees())
    arrays = [*map(dense, gradients.values()), *(ar.to_numpy(model.params[name]) for name in model.params)]
    assert {str(array.dtype) for array in arrays} == {"float32"}
    assert str(ar.to_numpy(model.metrics["loss"]).values.dtype) == "float32"


# ------------------------------------------------------------------------------------------------- memory


def estimate(model: ar.Model, batch: Any) -> int:
    """What a training step takes of an empty arena."""
    executor = model.executors.get(training=True, gradients=True)
    planned = executor.merge(model.prepare(batch)[:].wired, DropoutSeed(0, 0, np.arange(len(batch))))
    return Arena(model.device).bytes_with(arena_sizes(executor, planned)) + executor.fixed_bytes


@KERNELS
def test_memory_is_less_and_as_estimated() -> None:
    taken = {}
    for storage in ("float32", "bfloat16"):
        model = trees(storage, size=32)
        expected = estimate(model, some_trees(64))
        model.value_and_grad(some_trees(64))
        fixed = model.executors.get(training=True, gradients=True).fixed_bytes
        taken[storage] = model.executors.arena.bytes + fixed
        assert 0.95 <= expected / taken[storage] <= 1.01  # less a few small arrays
    assert 0.6 < taken["bfloat16"] / taken["float32"] < 0.8


# ----------------------------------------------------------------------------------------------- training


@KERNELS
@pytest.mark.skipif(not SST.is_dir(), reason="the Stanford Sentiment Treebank is not here")
@pytest.mark.parametrize("storage", ROUNDING)
def test_training_goes_as_in_float32(storage: str) -> None:
    examples = read_trees(SST / "train.txt").to_list()[:96]
    block = sentiment(ar.Vocabulary.of(ar.data.words(examples)), size=32).learn
    losses = {}
    for each in ("float32", storage):
        model = ar.compile(block, loss="loss", device="fake-kernels", storage=each)
        history = train(model, examples, Adam(0.01), epochs=3, batch_size=32, progress=False)
        losses[each] = [epoch.loss for epoch in history]
    assert losses[storage][-1] < 0.9 * losses[storage][0]
    np.testing.assert_allclose(losses[storage], losses["float32"], rtol=16 * ROUNDING[storage])


# ------------------------------------------------------------------------------------------------ refusals


LAYER = ar.Vector(4) >> ar.FC(3)


def layer(**options: Any) -> ar.Model:
    return ar.compile(LAYER, **options)


def test_other_storages_are_refused() -> None:
    with pytest.raises(
        ar.ArrowValueError,
        match=r"the storage must be one of 'float32', 'bfloat16', 'float16', not 'tf32'",
    ):
        layer(storage="tf32")


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_device_without_kernels_refuses(device: str) -> None:
    with pytest.raises(ar.ArrowValueError) as refused:
        layer(storage="bfloat16", device=device)
    assert str(refused.value) == (
        f"storage='bfloat16' is for a GPU, and {device!r} stores float32 as it is: choose device=\"cuda\", "
        "or leave storage out"
    )


@KERNELS
def test_a_model_does_not_move_to_such_a_device() -> None:
    model = layer(storage="bfloat16", device="fake-kernels")
    with pytest.raises(ar.ArrowValueError, match=r"'cpu' stores float32 as it is"):
        model.to("cpu")
    assert model.device.name == "fake-kernels"
    sharing = layer(device="fake-kernels", params=model.params)
    sharing.to("cpu")
    with pytest.raises(ar.ArrowValueError, match=r"'cpu' stores float32 as it is"):
        model([[1, 2, 3, 4]])


@KERNELS
def test_float64_beside_float32_is_left_alone() -> None:
    wide = ar.Tensor([70], "float64") >> ar.Function(lambda x: ar.ops.cast(ar.ops.tanh(x), "float32"))
    block = wide >> ar.FC(3, activation=ar.ops.tanh) >> ar.Function(lambda x: (x * x).sum())
    model = ar.compile(block, storage="bfloat16", device="fake-kernels")
    value, _ = model.value_and_grad([np.ones(70)])
    expected, _ = ar.compile(block).value_and_grad([np.ones(70)])
    assert np.isclose(ar.to_numpy(value), expected, rtol=0.05)
    stored = [var for many in programs(model).values() for made in many for var in made.stored]
    assert stored and all(var.type.dtype == "float32" for var in stored)
