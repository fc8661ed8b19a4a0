"""All devices: the CPU, CUDA through CuPy, the fakes of the tests; and how they are found.

Nothing else in the engine imports CuPy or asks which device it runs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from arrows.engine.device.counts import Counts
from arrows.engine.device.device import Device, NumpyDevice
from arrows.engine.device.fake import COUNTER, FakeArray
from arrows.engine.device.fake_module import xp as fake_xp
from arrows.engine.device.host_kernels import HostKernels, host_products
from arrows.engine.device.kernel import Kernel, KernelSource, Launch, ProductLayout
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowValueError

NO_CUPY = (
    'device="cuda" needs CuPy, which is not installed: pip install cupy-cuda12x (or cupy-cuda13x for CUDA 13)'
)


class _Fake(Device):
    """The strict device of the tests, which runs on the host: see `arrows.engine.device.fake`."""

    name = "fake"
    xp = fake_xp

    def to_device(self, array: HostArray) -> FakeArray:
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


class _Cupy(Device):
    """CUDA through CuPy, which is imported when the device is first used: it is an optional package."""

    name = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise ImportError(NO_CUPY) from error
        try:
            devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise RuntimeError(
                f'device="cuda": CuPy is installed but finds no usable GPU ({error})'
            ) from error
        if not devices:
            raise RuntimeError('device="cuda": CuPy is installed but finds no GPU')
        self._cupy = cupy
        self.xp = cupy

    def to_device(self, array: HostArray) -> Array:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"to_device takes a NumPy array, got {type(array).__name__}")
        return self.xp.asarray(array)

    def to_numpy(self, array: object) -> HostArray:
        if not self.is_array(array):
            raise TypeError(f"expected a CuPy array, got {type(array).__name__}")
        result: HostArray = self._cupy.asnumpy(array)
        return result

    def synchronize(self) -> None:
        self._cupy.cuda.get_current_stream().synchronize()


class _FakeKernels(_Fake):
    """The strict device with kernels, which the host's C compiler compiles."""

    name = "fake-kernels"
    has_kernels = True

    def __init__(self) -> None:
        self._host = HostKernels(COUNTER)

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        return self._host.compile(sources)

    def address(self, array: object) -> int:
        if not isinstance(array, FakeArray):
            raise TypeError(f"expected an array of the fake device, got {type(array).__name__}")
        return int(array._data.ctypes.data)

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        return host_products(layout, words, COUNTER)


_CLASSES: dict[str, type[Device]] = {
    "cpu": NumpyDevice,
    "cuda": _Cupy,
    "fake": _Fake,
    "fake-kernels": _FakeKernels,
}


@cache
def shared_device(name: str) -> Device:
    return _CLASSES[name]()


def get_device(device: str | Device) -> Device:
    """Returns the device of a name: `"cpu"`, `"cuda"` (CuPy), or `"fake"` (the strict device of the tests).

    Args:
        device: its name, or a device, which is returned as it is.

    Raises:
        ArrowValueError: no such device.
        ImportError: `"cuda"` without CuPy; the message has the pip line.
        RuntimeError: `"cuda"` with CuPy and without a GPU.

    >>> get_device("cpu").xp is np
    True
    >>> get_device("tpu")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: device is 'tpu'; it must be 'cpu' or 'cuda'
    """
    if isinstance(device, Device):
        return device
    if not isinstance(device, str) or device not in _CLASSES:
        raise ArrowValueError(f"device is {device!r}; it must be 'cpu' or 'cuda'")
    return shared_device(device)


def host_array(array: object) -> HostArray:
    """The NumPy array of one array of any device: a view on the CPU, else a copy down.

    Args:
        array: an array of NumPy, CuPy or the fake device, or a Python or NumPy number.

    Raises:
        TypeError: it is none of these.

    >>> host_array(get_device("fake").to_device(np.arange(2)))
    array([0, 1])
    """
    if isinstance(array, FakeArray):
        return get_device("fake").to_numpy(array)
    if isinstance(array, (np.ndarray, np.generic, int, float)):
        return np.asarray(array)
    # By the name of the module, since CuPy need not be installed.
    if type(array).__module__.partition(".")[0] == "cupy":
        return get_device("cuda").to_numpy(array)
    raise TypeError(f"expected an array, got {type(array).__name__}")
