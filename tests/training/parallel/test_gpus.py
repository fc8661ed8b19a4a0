"""Ranks with GPUs, on modules that pretend to be CuPy and NCCL: gradients never cross to the host."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device.devices import shared_device
from arrows.engine.device.host_compiler import host_compiler
from arrows.training import SGD, Adam, losses, train
from arrows.typesys.errors import NotFiniteError
from tests.training.parallel import pretend_nccl
from tests.training.parallel.test_train import (
    EXAMPLES,
    OPTIMIZERS,
    assert_close,
    compiled,
    numbers,
    trained,
)
from tests.training.parallel.threads import run

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
CUPY_13 = tuple(range(-64, 64))
CUPY_14 = bytes(range(128))


@pytest.fixture(params=[CUPY_13, CUPY_14], ids=["CuPy 13", "CuPy 14"])
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pretend_nccl.pretend(monkeypatch, request.param)
    yield request.param
    shared_device.cache_clear()


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are read by their number alone: how long a step takes changes nothing."""
    monkeypatch.setattr(losses, "_SECONDS", 1e9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_numbers_are_those_of_one_process(gpus: Any, ranks: int, optimizer: str) -> None:
    expected, history = trained(None, optimizer)
    outcomes, reasons = run(ranks, lambda comm: trained(comm, optimizer, compiled(device="cuda")))
    assert not reasons
    for params, epochs in outcomes:
        assert_close(params, expected)
        np.testing.assert_allclose([e.loss for e in epochs], [e.loss for e in history], rtol=1e-9)
        for name, values in outcomes[0][0].items():
            np.testing.assert_array_equal(params[name], values)  # bit for bit among ranks
    assert list(pretend_nccl.NETWORKS) == [gpus]


def test_a_step_takes_one_sum_on_the_gpus(gpus: Any) -> None:
    def work(comm: Any) -> list[str]:
        trained(comm, model=compiled(device="cuda"), epochs=1)
        return comm.calls

    outcomes, reasons = run(2, work)
    assert not reasons
    calls = pretend_nccl.NETWORKS[gpus].calls
    steps = -(-len(EXAMPLES) // 8)
    assert [name for name, _ in calls].count("sum") == steps
    assert [name for name, _ in calls].count("broadcast 1") == 2 * steps  # rows and values of the table
    for own in outcomes:
        assert "sum" not in own and "gather" not in own  # the hosts send no gradients
        assert own.count("numbers") == 2 * steps  # how many rows each has, and what each wishes


@pytest.mark.usefixtures("gpus", "unread")
def test_no_step_waits_and_no_gradient_crosses(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps there are: losses come down together, and batches alone go up."""
    crossed: dict[str, list[int]] = {"asarray": [], "asnumpy": []}
    for name, sizes in crossed.items():
        function = getattr(sys.modules["cupy"], name)

        def noted(array: Any, sizes: list[int] = sizes, function: Any = function) -> Any:
            sizes.append(array.size)
            return function(array)

        monkeypatch.setattr(sys.modules["cupy"], name, noted)

    def crossings(examples: int) -> tuple[int, int]:
        def work(comm: Any) -> None:
            model = compiled(device="cuda")
            comm.gather_texts("")
            if comm.rank == 0:
                for sizes in crossed.values():
                    sizes.clear()
            comm.gather_texts("")
            optimizer = Adam(0.01, clip_norm=1.0)
            train(model, EXAMPLES[:examples], optimizer, batch_size=4, progress=False, comm=comm)

        assert run(2, work)[1] == []
        return len(crossed["asarray"]), len(crossed["asnumpy"])

    (up, down), (ups, downs) = crossings(8), crossings(20)
    assert down == downs
    assert ups - up == 2 * 3  # each rank sends each batch


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("eager", [(), (1,), (0, 1)])
def test_all_ranks_read_losses_at_the_same_step(eager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long each rank finds that losses are unread, all see the same one that is not finite."""
    wishes: dict[int, bool] = {}

    def is_overdue(self: Any) -> bool:
        return wishes[threading.get_ident()]

    monkeypatch.setattr(losses.Losses, "are_overdue", property(is_overdue))

    def work(comm: Any) -> Any:
        wishes[threading.get_ident()] = comm is not None and comm.rank in eager
        block = ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: ar.ops.log(y[0] * y[0]))
        model = ar.compile(block, device="cpu" if comm is None else "cuda")
        model.params["fc/weight"][...] = 1.0
        examples = [[1.0], [0.0], [1.0]] * 6
        try:
            train(model, examples, SGD(0.0), batch_size=3, comm=comm, progress=False)
        except NotFiniteError as error:
            return str(error), numbers(model)["fc/weight"].tolist(), model.step

    alone = work(None)
    outcomes, reasons = run(2, work)
    assert not reasons and outcomes == [alone, alone]


@pytest.mark.parametrize("reason", ["shared", "missing", "cpu"])
def test_without_nccl_gradients_go_through_the_host(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_nccl.pretend(monkeypatch, CUPY_14, available=reason != "missing")
    if reason == "shared":
        monkeypatch.setattr("tests.engine.device.pretend_cupy.Device.pci_bus_id", "0000:00:00.0")
    expected, _ = trained(None)

    def work(comm: Any) -> Any:
        return trained(comm, model=compiled(device="cpu" if reason == "cpu" and comm.rank else "cuda"))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcomes, reasons = run(2, work)
    shared_device.cache_clear()
    assert not reasons and not pretend_nccl.NETWORKS
    for params, _ in outcomes:
        assert_close(params, expected)
    text = {
        "shared": "ranks 0 and 1 share a GPU: compile with device=f'cuda:{number}'",
        "missing": "CuPy finds no NCCL on rank 0: pip install nvidia-nccl-cu12",
        "cpu": "rank 1 has no GPU: its model is compiled for the CPU",
    }[reason]
    [message] = [str(warning.message) for warning in caught if "train:" in str(warning.message)]
    assert message.startswith(f"train: gradients travel through the host's memory, since {text}")
