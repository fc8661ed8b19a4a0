"""Collects what the host knows of a batch, and sends it to the device in one copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from arrows.engine.device.device import Device
from arrows.ops.arrays import Array, HostArray

_ALIGNED = 16  # bytes; no element type is wider


class Upload:
    """Collects arrays of any element type and sends them together.

    On a GPU they go through one range of pinned memory, so that the host does not wait for the copy.
    On the CPU an array of indices is copied only if its element type is not the device's, and no other is.

    >>> from arrows.engine.device import get_device
    >>> upload = Upload(get_device("fake"))
    >>> rows, weights = upload.add(np.array([1, 2])), upload.add_values(np.array([[0.5]]))
    >>> uploaded = upload.send()
    >>> uploaded.get(rows), uploaded.get(weights)
    (FakeArray(int32[2]), FakeArray(float64[1, 1]))
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: list[HostArray] = []

    def add(self, array: HostArray) -> int:
        """Adds an array of indices and returns the number by which `Uploaded.get` gives it back."""
        return self.add_values(array.astype(self.device.index_dtype, copy=False))

    def add_values(self, array: HostArray) -> int:
        """Adds an array that keeps its element type, as `add`; the caller must not change it until `send`."""
        self._arrays.append(array)
        return len(self._arrays) - 1

    @property
    def bytes(self) -> int:
        """The device's memory for what is sent; 0 on the CPU, which reads the arrays where they are."""
        return 0 if self.device.name == "cpu" else sum(map(_aligned, self._arrays))

    def send(self) -> Uploaded:
        """Sends all arrays to the device in one copy.

        Raises:
            UploadFull: the device has no memory for them.
        """
        if self.device.name == "cpu":
            views: dict[int, Array] = dict(enumerate(self._arrays))
            return Uploaded(device=self.device, memory=None, arrays=self._arrays, starts=(), views=views)
        *starts, size = accumulate(map(_aligned, self._arrays), initial=0)
        staged = self.device.staging(size)
        for start, array in zip(starts, self._arrays, strict=True):
            part = staged[start : start + array.nbytes].view(array.dtype)
            part.reshape(array.shape)[...] = array
        try:
            memory = self.device.to_device(staged) if size else self.device.empty((0,), np.uint8)
        except MemoryError as error:
            raise UploadFull(size) from error
        return Uploaded(device=self.device, memory=memory, arrays=self._arrays, starts=starts)


def _aligned(array: HostArray) -> int:
    """The bytes that an array takes among others."""
    return -(-array.nbytes // _ALIGNED) * _ALIGNED


class UploadFull(MemoryError):
    """The device has no memory for an upload.

    Attributes:
        bytes: how much it was to take.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"no {size} bytes for an upload")
        self.bytes = size


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Uploaded:
    """What an `Upload` has sent.

    Attributes:
        device: where it is.
        memory: all of it; None on the CPU, which reads the arrays where they are.
        arrays: those of the host, by number.
        starts: where each begins in ``memory``, in bytes.
        views: those of the device that have been asked for, by number.
    """

    device: Device
    memory: Array | None
    arrays: Sequence[HostArray]
    starts: Sequence[int]
    views: dict[int, Array] = field(default_factory=dict)

    def get(self, number: int) -> Array:
        """The array of that number, on the device."""
        view = self.views.get(number)
        if view is None:
            array, start = self.arrays[number], self.starts[number]
            assert self.memory is not None
            view = self.memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            self.views[number] = view
        return view

    def address(self, number: int) -> int:
        """Where the array of that number begins on the device, without making the array.

        The memory lives as long as this object or an array that `get` gave.
        """
        if self.memory is None:
            return self.device.address(self.get(number))
        return self.device.address(self.memory) + self.starts[number]
