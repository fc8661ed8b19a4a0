"""Takes arrays of other libraries, by the DLPack protocol.

An array with ``__dlpack__`` and ``__dlpack_device__`` lends its memory (https://dmlc.github.io/dlpack).  What
the package hands out has both, as arrays of NumPy and of CuPy do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Device

_CUDA_MEMORY = (2, 13)  # what `__dlpack_device__` says of a GPU's memory


class ForeignArrayError(ValueError):
    """An array of another library cannot be read, or lies on another device."""


def lends_memory(value: object) -> bool:
    """Whether a value is an array that lends its memory by DLPack."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def to_host(value: object) -> HostArray:
    """An array that lends its memory by DLPack as a NumPy array, which reads that memory.

    Raises:
        ForeignArrayError: it lies on a device, or NumPy lacks its element type.
    """
    array: HostArray = _borrow(np.from_dlpack, value)
    return array


def import_array(device: Device, value: Any) -> Array:
    """An array as one of a device: itself, a copy of what lies on the host, or the memory that another
    library's array lends on the same device.

    Args:
        device: where the array is to be.
        value: an array of the device, of NumPy, or any with ``__dlpack__``.

    Raises:
        ForeignArrayError: it is no array, lies on another device, or has an element type that NumPy lacks.

    >>> from arrows.engine.device import get_device
    >>> import_array(get_device("fake"), np.ones(2, "float32"))
    FakeArray(float32[2])
    """
    if device.is_array(value):
        array: Array = value
        return array
    if isinstance(value, (np.ndarray, np.generic)):
        return device.to_device(np.asarray(value))
    if not lends_memory(value):
        raise ForeignArrayError(f"it is no array of the device {device.name!r}, nor has it __dlpack__")
    if value.__dlpack_device__()[0] in _CUDA_MEMORY and device.name.startswith("cuda"):
        from_dlpack: Callable[[Any], Any] = vars(device.xp)["from_dlpack"]
        borrowed: Array = _borrow(from_dlpack, value)
        return borrowed
    return device.to_device(to_host(value))


def _borrow(from_dlpack: Callable[[Any], Any], value: object) -> Any:
    try:
        return from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ForeignArrayError(f"its memory cannot be read: {error}") from error
