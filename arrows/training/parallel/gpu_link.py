"""NCCL through CuPy: gradients travel from GPU to GPU, and never cross to the host."""

from __future__ import annotations

import json
import socket
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrows.engine.device import Device
from arrows.ops.arrays import Array, ArrayModule, HostArray
from arrows.training.parallel.communicator import Communicator

# What NCCL calls the element types that travel.
_TYPES = {"float32": "NCCL_FLOAT32", "float64": "NCCL_FLOAT64", "int64": "NCCL_INT64"}


class GpuLink:
    """NCCL: what travels stays on the GPUs.

    All of it goes to CuPy's current stream, behind what computes the gradients and before what reads the
    sums, so that the host waits for none of it.

    Args:
        communicator: connects the ranks' hosts, which tell each other of rows and wishes.
        device: the GPU of this rank.
        identity: of the job, from `new_identity` on one rank.
    """

    stays = True

    def __init__(self, communicator: Communicator, device: Device, identity: list[int] | str) -> None:
        import cupy
        from cupy.cuda import nccl

        self._communicator, self._device, self._cupy = communicator, device, cupy
        self._nccl: Any = nccl
        device.synchronize()  # NCCL takes the GPU that is the current one
        key = bytes.fromhex(identity) if isinstance(identity, str) else tuple(identity)
        self._network = self._nccl.NcclCommunicator(communicator.size, key, communicator.rank)

    @property
    def xp(self) -> ArrayModule:
        return self._device.xp

    def empty(self, size: int, dtype: str) -> Array:
        return self._device.empty((size,), dtype)

    def brought(self, array: Array) -> Array:
        return array

    def returned(self, array: Array) -> Array:
        return array

    def tail(self, loss: Array, share: float, wishes: HostArray) -> Array:
        return self.xp.multiply(loss, np.dtype(loss.dtype).type(share)).reshape((1,))

    def untail(self, tail: Array, dtype: np.dtype[Any], wishes: HostArray) -> tuple[Array, HostArray]:
        # A copy, which outlives the buffer: losses are read some steps later.
        return tail.astype(dtype).reshape(()), self._communicator.gather_numbers(wishes).sum(0)

    def start_sum(self, buffer: Array) -> Callable[[], None]:
        address = self._device.address(buffer)
        self._network.allReduce(
            address, address, buffer.size, self._type(buffer), self._nccl.NCCL_SUM, self._stream()
        )
        return _nothing

    def counts(self, rows: int) -> list[int]:
        counts: list[int] = self._communicator.gather_numbers(np.array([rows]))[:, 0].tolist()
        return counts

    def gather(self, array: Array, counts: Sequence[int]) -> Array:
        array = self.xp.ascontiguousarray(array)
        rows = self._device.empty((sum(counts), *array.shape[1:]), array.dtype)
        width, item = int(np.prod(array.shape[1:], dtype=np.int64)), array.dtype.itemsize
        target, stream = self._device.address(rows), self._stream()
        # NCCL gathers as many rows of each rank; as a group, broadcasts are one operation.
        self._nccl.groupStart()
        for rank, count in enumerate(counts):
            if count * width:
                source = self._device.address(array) if rank == self._communicator.rank else target
                self._network.broadcast(source, target, count * width, self._type(array), rank, stream)
            target += count * width * item
        self._nccl.groupEnd()
        return rows

    def _type(self, array: Array) -> int:
        number: int = getattr(self._nccl, _TYPES[str(array.dtype)])
        return number

    def _stream(self) -> int:
        stream: int = self._cupy.cuda.get_current_stream().ptr
        return stream


def linked_gpus(
    communicator: Communicator,
    device: Device,
    from_first: Callable[[Callable[[], Any]], Any],
) -> GpuLink | None:
    """Links the GPUs of all ranks; None: gradients travel through the hosts' memory.

    They do so where a rank computes on the CPU, where NCCL is missing, and where ranks share a GPU, which
    NCCL refuses.  If there are GPUs at all, a warning on rank 0 says why.

    Args:
        communicator: connects the ranks' hosts.
        device: of this rank's model.
        from_first: gives all ranks what a function returns on rank 0.
    """
    gpus = [json.loads(text) for text in communicator.gather_texts(json.dumps(_gpu(device)))]
    reason = _reason(gpus)
    if reason is None:
        return GpuLink(communicator, device, from_first(new_identity))
    if communicator.rank == 0 and any(gpu["name"] for gpu in gpus):
        warnings.warn(
            f"train: gradients travel through the host's memory, since {reason}", UserWarning, stacklevel=5
        )
    return None


def new_identity() -> list[int] | str:
    """What the ranks of a job tell NCCL, so that it finds them: numbers of CuPy 13, or bytes of CuPy 14."""
    from cupy.cuda import nccl

    identity = nccl.get_unique_id()
    return identity.hex() if isinstance(identity, bytes) else list(identity)


def _gpu(device: Device) -> dict[str, Any]:
    """What other ranks need to know of this rank's GPU; its name is empty where it computes on the CPU."""
    if not device.name.startswith("cuda"):
        return {"name": "", "nccl": False}
    import cupy
    from cupy.cuda import nccl

    number = int(device.name.partition(":")[2] or 0)
    name = f"{socket.gethostname()} {cupy.cuda.Device(number).pci_bus_id}"
    return {"name": name, "nccl": bool(nccl.available)}


def _reason(gpus: Sequence[dict[str, Any]]) -> str | None:
    """Why NCCL does not link the ranks; None: it does."""
    ranks: dict[str, int] = {}
    for rank, gpu in enumerate(gpus):
        if not gpu["name"]:
            return f"rank {rank} has no GPU: its model is compiled for the CPU"
        if not gpu["nccl"]:
            return f"CuPy finds no NCCL on rank {rank}: pip install nvidia-nccl-cu12 (-cu13 for CUDA 13)"
        first = ranks.setdefault(gpu["name"], rank)
        if first != rank:
            return (
                f"ranks {first} and {rank} share a GPU: compile with device=f'cuda:{{number}}', another "
                "number for each rank of a machine"
            )
    return None


def _nothing() -> None:
    """There is nothing to wait for: what reads the sums stands behind them in the stream."""
