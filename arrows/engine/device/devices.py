"""All devices: the CPU, CUDA through CuPy, the fakes of the tests; and how they are found by name."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.device.device import Device, NumpyDevice
from arrows.typesys import ArrowValueError

FAKES = "arrows.testing.fake"
"""The module of the tests' devices."""

# Modules that are imported when one of their devices is asked for.
_FAKE_CLASSES = {"fake": "FakeDevice", "fake-kernels": "FakeKernelsDevice"}
_CUDA = "arrows.engine.cuda.device"
_GPU = re.compile(r"cuda(?::(0|[1-9]\d*))?")


@cache
def shared_device(name: str) -> Device:
    device: Device
    if name == "cpu":
        device = NumpyDevice()
    elif name in _FAKE_CLASSES:
        device = getattr(import_module(FAKES), _FAKE_CLASSES[name])()
    else:
        device = import_module(_CUDA).CudaDevice(int(name.removeprefix("cuda").removeprefix(":") or 0))
    return device


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
        try:
            return shared_device("cuda")
        except (ImportError, RuntimeError):
            return shared_device("cpu")
    named = isinstance(device, str) and (device == "cpu" or device in _FAKE_CLASSES or _GPU.fullmatch(device))
    if not named:
        raise ArrowValueError(f"device is {device!r}; it must be 'cpu', 'cuda', 'cuda:1' or 'auto'")
    return shared_device("cuda" if device == "cuda:0" else device)


def host_array(array: object) -> HostArray:
    """The NumPy array of one array of any device: a view on the CPU, else a copy down.

    Args:
        array: an array of NumPy, CuPy or the fake device, or a Python or NumPy number.

    Raises:
        TypeError: it is none of these.

    >>> host_array(get_device("fake").to_device(np.arange(2)))
    array([0, 1])
    """
    if isinstance(array, (np.ndarray, np.generic, int, float)):
        return np.asarray(array)
    if not is_device_array(array):
        raise TypeError(f"expected an array, got {type(array).__name__}")
    if type(array).__module__ == FAKES:
        return shared_device("fake").to_numpy(array)
    brought: HostArray = import_module("cupy").asnumpy(array)
    return brought


def is_device_array(value: Any) -> bool:
    """Whether a value is an array of CuPy or of the fake device, by its module: neither need be imported."""
    module = type(value).__module__
    return module == FAKES or module.partition(".")[0] == "cupy"
