"""Collects what the host knows of a batch, and sends it to the device in one copy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device.device import Device

_ALIGNED = 16  # bytes; no element type is wider


@dataclass(eq=False, slots=True)
class Sent:
    """An array of the host that is on the device as soon as its `Upload` has been sent.

    Attributes:
        host: the array on the host.
    """

    host: HostArray
    _device: Device
    _view: Array | None
    _memory: Array | None = None  # that of the upload, and where in it the array begins, in bytes
    _start: int = 0

    @property
    def array(self) -> Array:
        """The array on the device."""
        if self._view is None:
            assert self._memory is not None, "the upload has not been sent"
            part = self._memory[self._start : self._start + self.host.nbytes]
            self._view = part.view(self.host.dtype).reshape(self.host.shape)
        return self._view

    @property
    def address(self) -> int:
        """Where the array begins on the device; the memory lives as long as this object."""
        if self._memory is None:
            return self._device.address(self.array)
        return self._device.address(self._memory) + self._start


class Upload:
    """Collects arrays of any element type and sends them together.

    On a GPU they go through one range of pinned memory, so that the host does not wait for the copy.
    On the CPU an array of indices is copied only if its element type is not the device's, and no other is.

    >>> from arrows.engine.device import get_device
    >>> upload = Upload(get_device("fake"))
    >>> rows, weights = upload.add(np.array([1, 2])), upload.add_values(np.array([[0.5]]))
    >>> upload.send()
    >>> rows.array, weights.array
    (FakeArray(int32[2]), FakeArray(float64[1, 1]))
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._to_send: list[Sent] = []

    def add(self, array: HostArray) -> Sent:
        """Adds an array of indices."""
        return self.add_values(array.astype(self.device.index_dtype, copy=False))

    def add_values(self, array: HostArray) -> Sent:
        """Adds an array that keeps its element type; the caller must not change it until `send`."""
        if self.device.name == "cpu":  # which reads it where it is
            return Sent(array, self.device, array)
        self._to_send.append(Sent(array, self.device, None))
        return self._to_send[-1]

    @property
    def bytes(self) -> int:
        """The device's memory for what is sent; 0 on the CPU, which reads the arrays where they are."""
        return sum(map(_aligned, self._to_send))

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if not self._to_send:
            return
        *starts, size = accumulate(map(_aligned, self._to_send), initial=0)
        staged = self.device.staging(size)
        for start, sent in zip(starts, self._to_send, strict=True):
            part = staged[start : start + sent.host.nbytes].view(sent.host.dtype)
            part.reshape(sent.host.shape)[...] = sent.host
        memory = self.device.to_device(staged) if size else self.device.empty((0,), np.uint8)
        for start, sent in zip(starts, self._to_send, strict=True):
            sent._memory, sent._start, sent._view = memory, start, None


def _aligned(sent: Sent) -> int:
    """The bytes that an array takes among others."""
    return -(-sent.host.nbytes // _ALIGNED) * _ALIGNED
