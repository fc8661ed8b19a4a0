"""NCCL among threads, beside the module that pretends to be CuPy: each thread is a rank with a GPU.

Every call is checked against the signatures of CuPy 13 and 14, and takes addresses as NCCL does.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.engine.device import pretend_cupy
from tests.engine.device.cupy_signatures import check_call

TYPES = {"NCCL_INT64": 4, "NCCL_FLOAT32": 7, "NCCL_FLOAT64": 8}
DTYPES = {4: "int64", 7: "float32", 8: "float64"}
NCCL_SUM = 0


@dataclass
class Network:
    """What the ranks of one identity share, and what they have called."""

    size: int
    slots: list[Any] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slots = [None] * self.size
        self.barrier = threading.Barrier(self.size)


NETWORKS: dict[Any, Network] = {}


def _numbers(address: int, count: int, datatype: int) -> Any:
    dtype = np.dtype(DTYPES[datatype])
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count)


class NcclCommunicator:
    """One rank of a network."""

    def __init__(self, *arguments: Any) -> None:
        check_call("cuda.nccl.NcclCommunicator", arguments, {})
        size, key, self._rank = arguments
        self._network = NETWORKS.setdefault(key, Network(size))
        assert self._network.size == size

    def _exchange(self, call: str, numbers: Any) -> list[Any]:
        network = self._network
        if self._rank == 0:
            network.calls.append((call, len(numbers)))
        network.slots[self._rank] = call, numbers
        network.barrier.wait(20)
        slots = list(network.slots)
        network.barrier.wait(20)
        assert {(name, sent.dtype, sent.shape) for name, sent in slots} == {
            (call, numbers.dtype, numbers.shape)
        }
        return [sent for _, sent in slots]

    def allReduce(self, *arguments: Any) -> None:
        check_call("cuda.nccl.NcclCommunicator.allReduce", (self, *arguments), {})
        sent, received, count, datatype, operation, stream = arguments
        assert (operation, stream) == (NCCL_SUM, 7)
        everyone = self._exchange("sum", _numbers(sent, count, datatype).copy())
        _numbers(received, count, datatype)[:] = sum(everyone)

    def broadcast(self, *arguments: Any) -> None:
        check_call("cuda.nccl.NcclCommunicator.broadcast", (self, *arguments), {})
        sent, received, count, datatype, root, stream = arguments
        assert stream == 7
        source = sent if root == self._rank else received
        everyone = self._exchange(f"broadcast {root}", _numbers(source, count, datatype).copy())
        _numbers(received, count, datatype)[:] = everyone[root]


def pretend(patch: pytest.MonkeyPatch, identity: Any, *, available: bool = True) -> None:
    """Makes `import cupy` give a module that pretends, with NCCL, and a GPU for each thread.

    Args:
        patch: undoes it.
        identity: what `get_unique_id` returns.
        available: whether CuPy finds NCCL.
    """
    pretend_cupy.pretend(patch)
    NETWORKS.clear()
    here = threading.local()
    numbers = iter(range(1000))

    def bus(_: Any) -> str:
        here.number = getattr(here, "number", None) or next(numbers)
        return f"0000:{here.number:02x}:00.0"

    patch.setattr(pretend_cupy.Device, "pci_bus_id", property(bus), raising=False)
    groups: list[str] = []
    nccl = SimpleNamespace(
        **TYPES,
        NCCL_SUM=NCCL_SUM,
        NcclCommunicator=NcclCommunicator,
        available=available,
        get_unique_id=lambda: identity,
        groupStart=lambda: groups.append("start"),
        groupEnd=lambda: groups.append("end"),
    )
    patch.setitem(sys.modules, "cupy.cuda", sys.modules["cupy"].cuda)
    patch.setattr(sys.modules["cupy"].cuda, "nccl", nccl, raising=False)
    patch.setitem(sys.modules, "cupy.cuda.nccl", nccl)
