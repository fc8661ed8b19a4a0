"""Index arrays on their way to the device: collected while a batch is bound, sent in one copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.engine.device.device import Device


class Upload:
    """Collects integer arrays and sends them together.

    On the CPU nothing is copied: `get` gives the array that was added.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: list[np.ndarray] = []
        self._sent: Any = None
        self._starts: list[int] = []

    def add(self, array: np.ndarray) -> int:
        """Takes an integer array; returns its number."""
        self._arrays.append(array)
        return len(self._arrays) - 1

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if self.device.name == "cpu":
            self._arrays = [array.astype(self.device.index_dtype, copy=False) for array in self._arrays]
            return
        sizes = [len(array) for array in self._arrays]
        self._starts = [0, *np.cumsum(sizes).tolist()]
        joined = np.empty(self._starts[-1], self.device.index_dtype)
        for start, array in zip(self._starts, self._arrays, strict=False):
            joined[start : start + len(array)] = array
        self._sent = self.device.to_device(joined)

    def get(self, number: int) -> Any:
        """The array of that number, on the device."""
        if self.device.name == "cpu":
            return self._arrays[number]
        return self._sent[self._starts[number] : self._starts[number + 1]]
