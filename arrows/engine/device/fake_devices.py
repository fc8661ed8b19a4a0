"""The strict devices of the tests, which run on the host: see `arrows.engine.device.fake`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrows.engine.device.counts import Counts
from arrows.engine.device.device import Device
from arrows.engine.device.fake import COUNTER, FakeArray
from arrows.engine.device.fake_module import xp as fake_xp
from arrows.engine.device.host_kernels import HostKernels, host_products
from arrows.engine.device.kernel import Kernel, KernelSource, Launch, ProductLayout
from arrows.ops.arrays import HostArray


class FakeDevice(Device):
    """The strict device, without kernels."""

    name = "fake"
    xp = fake_xp

    def to_device(self, array: HostArray) -> Any:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"to_device takes a NumPy array, got {type(array).__name__}")
        COUNTER.uploads += 1
        return FakeArray(array.copy())  # a GPU does not see later changes on the host either

    def to_numpy(self, array: object) -> HostArray:
        if not isinstance(array, FakeArray):
            raise TypeError(f"expected an array of the fake device, got {type(array).__name__}")
        COUNTER.downloads += 1
        return array._data.copy()  # changes on the host must not reach the device

    def synchronize(self) -> None:
        COUNTER.synchronizations += 1

    @property
    def counts(self) -> Counts:
        return COUNTER.counts()

    def address(self, array: object) -> int:
        if not isinstance(array, FakeArray):
            raise TypeError(f"expected an array of the fake device, got {type(array).__name__}")
        return int(array._data.ctypes.data)


class FakeKernelsDevice(FakeDevice):
    """The strict device with kernels, which the host's C compiler compiles.

    Args:
        backwards: whether a launch runs its items from the last to the first.  A GPU runs them in any order,
            so whatever depends on the order shows in one of the two.
    """

    name = "fake-kernels"
    has_kernels = True

    def __init__(self, *, backwards: bool = False) -> None:
        self._host = HostKernels(COUNTER, backwards=backwards)

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        return self._host.compile(sources)

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        return host_products(layout, words, COUNTER)
