"""The machine that the engine computes on: its arrays, its memory and the locks on parameters.

A `Device` holds an array module (NumPy, CuPy, or the strict fake's) and moves arrays between host and device.
An `Arena` keeps arrays from batch to batch, an `Upload` sends a batch's index arrays in one copy, and a
`ParameterLock` lets threads take turns with parameters.  `jit` compiles fused loops for the CPU.
"""

from arrows.engine.device import jit
from arrows.engine.device.arena import Arena, ArenaFull, Buffer, BufferRows
from arrows.engine.device.device import Device
from arrows.engine.device.devices import get_device, host_array, is_device_array
from arrows.engine.device.kernel import (
    PRECISIONS,
    PRELUDE,
    Kernel,
    KernelSource,
    Launch,
    ProductLayout,
    kernel_source,
)
from arrows.engine.device.parameter_lock import ParameterLock, locks_parameters
from arrows.engine.device.upload import Sent, Upload, UploadFull
from arrows.engine.device.writes import WRITE_RANGES, ArrayWrite, write_arrays

__all__ = [
    "PRECISIONS",
    "PRELUDE",
    "WRITE_RANGES",
    "Arena",
    "ArenaFull",
    "ArrayWrite",
    "Buffer",
    "BufferRows",
    "Device",
    "Kernel",
    "KernelSource",
    "Launch",
    "ParameterLock",
    "ProductLayout",
    "Sent",
    "Upload",
    "UploadFull",
    "get_device",
    "host_array",
    "is_device_array",
    "jit",
    "kernel_source",
    "locks_parameters",
    "write_arrays",
]
