"""Collects what the host knows of a batch, and sends it to the device in one copy."""

from __future__ import annotations

import numpy as np

from arrows.engine.device.device import Device
from arrows.ops.arrays import Array, HostArray

_ALIGNED = 16  # bytes; no element type is wider


class Upload:
    """Collects arrays and sends them together.

    On the CPU an array of indices is copied only if its element type is not the device's, and no other is.

    >>> from arrows.engine.device import get_device
    >>> upload = Upload(get_device("fake"))
    >>> first, second = upload.add(np.array([1, 2])), upload.add(np.array([3]))
    >>> upload.send()
    >>> upload.get(second)
    FakeArray(int32[1])
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: list[HostArray] = []
        self._sent: list[Array] = []

    def add(self, array: HostArray) -> int:
        """Adds an array of indices and returns the number by which `get` gives it back."""
        return self.add_values(array.astype(self.device.index_dtype, copy=False))

    def add_values(self, array: HostArray) -> int:
        """Adds an array that keeps its element type, as `add`."""
        self._arrays.append(array)
        return len(self._arrays) - 1

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if self.device.name == "cpu":
            self._sent = list(self._arrays)
            return
        sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in self._arrays]
        starts = np.cumsum([0, *sizes]).tolist()
        joined = np.zeros(starts.pop(), np.uint8)
        for start, array in zip(starts, self._arrays, strict=True):
            part = joined[start : start + array.nbytes].view(array.dtype)
            part.reshape(array.shape)[...] = array
        on_device = self.device.to_device(joined)
        self._sent = [
            on_device[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            for start, array in zip(starts, self._arrays, strict=True)
        ]

    def get(self, number: int) -> Array:
        """The array of that number, on the device; after `send`."""
        return self._sent[number]
