"""All devices: the CPU, CUDA through CuPy, the fakes of the tests; and how they are found by name."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from arrows.engine.device.cuda import CudaDevice, count_gpus, cupy_to_numpy
from arrows.engine.device.device import Device, NumpyDevice
from arrows.engine.device.fake import FakeArray
from arrows.engine.device.fake_devices import FakeDevice, FakeKernelsDevice
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError

_CLASSES: dict[str, type[Device]] = {
    "cpu": NumpyDevice,
    "fake": FakeDevice,
    "fake-kernels": FakeKernelsDevice,
}
_GPU = re.compile(r"cuda(?::(0|[1-9]\d*))?")


@cache
def shared_device(name: str) -> Device:
    if name in _CLASSES:
        return _CLASSES[name]()
    number = name.removeprefix("cuda").removeprefix(":")
    return CudaDevice(int(number or 0))


def get_device(device: str | Device) -> Device:
    """Returns the device of a name.

    Args:
        device: `"cpu"`; `"cuda"`, which is the first GPU; `"cuda:1"`, a GPU by number; `"auto"`, which is
            `"cuda"` where CuPy finds a usable GPU and else `"cpu"`; or a device, which is returned as it is.
            The tests have `"fake"`, a strict device on the host, and `"fake-kernels"`, which also runs the
            kernels for GPUs, compiled by the host's C compiler.

    Raises:
        ArrowValueError: no such device.
        ImportError: `"cuda"` without CuPy; the message has the pip line.
        RuntimeError: `"cuda"` with CuPy and without a GPU, or without one of that number.

    >>> get_device("cpu").xp is np
    True
    >>> get_device("tpu")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: device is 'tpu'; it must be 'cpu', 'cuda', 'cuda:1' or 'auto'
    """
    if isinstance(device, Device):
        return device
    if device == "auto":
        return shared_device("cuda" if _has_gpu() else "cpu")
    if not isinstance(device, str) or not (device in _CLASSES or _GPU.fullmatch(device)):
        raise ArrowValueError(f"device is {device!r}; it must be 'cpu', 'cuda', 'cuda:1' or 'auto'")
    return shared_device("cuda" if device == "cuda:0" else device)


def _has_gpu() -> bool:
    try:
        return count_gpus() > 0
    except (ImportError, RuntimeError):
        return False


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
        return cupy_to_numpy(array)
    raise TypeError(f"expected an array, got {type(array).__name__}")
