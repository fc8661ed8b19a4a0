"""Collects the index arrays of a batch and sends them to the device in one copy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from arrows.engine.device.device import Device
from arrows.ops.arrays import Array, HostArray


class Upload:
    """Collects integer arrays and sends them together.

    On the CPU an array is copied only if its element type is not the device's.

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
        """Adds an integer array and returns the number by which `get` gives it back."""
        self._arrays.append(array)
        return len(self._arrays) - 1

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if self.device.name == "cpu":
            self._sent = [array.astype(self.device.index_dtype, copy=False) for array in self._arrays]
            return
        ends = np.cumsum([0, *map(len, self._arrays)]).tolist()
        joined = np.empty(ends[-1], self.device.index_dtype)
        bounds = list(pairwise(ends))
        for (start, stop), array in zip(bounds, self._arrays, strict=True):
            joined[start:stop] = array
        on_device = self.device.to_device(joined)
        self._sent = [on_device[start:stop] for start, stop in bounds]

    def get(self, number: int) -> Array:
        """The array of that number, on the device; after `send`."""
        return self._sent[number]
