"""Collects what the host knows of a batch, and sends it to the device in one copy."""

from __future__ import annotations

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
    >>> upload.send()
    >>> upload.get(rows), upload.get(weights)
    (FakeArray(int32[2]), FakeArray(float64[1, 1]))
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: list[HostArray] = []
        self._starts: list[int] = []  # where each array begins in what is sent, in bytes
        self._sent: Array | None = None
        self._views: dict[int, Array] = {}

    def add(self, array: HostArray) -> int:
        """Adds an array of indices and returns the number by which `get` gives it back."""
        return self.add_values(array.astype(self.device.index_dtype, copy=False))

    def add_values(self, array: HostArray) -> int:
        """Adds an array that keeps its element type, as `add`; the caller must not change it until `send`."""
        self._arrays.append(array)
        return len(self._arrays) - 1

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if self.device.name == "cpu":
            self._views = dict(enumerate(self._arrays))
            return
        size = 0
        for array in self._arrays:
            self._starts.append(size)
            size += -(-array.nbytes // _ALIGNED) * _ALIGNED
        staged = self.device.staging(size)
        for start, array in zip(self._starts, self._arrays, strict=True):
            part = staged[start : start + array.nbytes].view(array.dtype)
            part.reshape(array.shape)[...] = array
        self._sent = self.device.to_device(staged) if size else self.device.empty((0,), np.uint8)

    @property
    def bytes(self) -> int:
        """The device's memory for what has been sent; 0 on the CPU, which reads the arrays where they are."""
        return 0 if self._sent is None else self._sent.nbytes

    def get(self, number: int) -> Array:
        """The array of that number, on the device; after `send`."""
        view = self._views.get(number)
        if view is None:
            array, start = self._arrays[number], self._starts[number]
            assert self._sent is not None
            view = self._sent[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            self._views[number] = view
        return view

    def address(self, number: int) -> int:
        """Where the array of that number begins on the device; after `send`, without making the array.

        The memory lives as long as the upload or an array that `get` gave.
        """
        if self._sent is None:
            return self.device.address(self.get(number))
        return self.device.address(self._sent) + self._starts[number]
