"""The machine that the engine computes on: its arrays, its memory and the locks on parameters.

A `Device` holds an array module (NumPy, CuPy, or the strict fake's) and moves arrays between host and device.
An `Arena` keeps arrays from batch to batch, an `Upload` sends a batch's index arrays in one copy, and a
`ParameterLock` lets threads take turns with parameters.  `compiled` compiles fused loops for the CPU.
"""

from arrows.engine.device.device import (
    Arena as Arena,
    ArrayWrite as ArrayWrite,
    Buffer as Buffer,
    BufferRows as BufferRows,
    Device as Device,
    ParameterLock as ParameterLock,
    Sent as Sent,
    Upload as Upload,
    get_device as get_device,
    host_array as host_array,
    is_device_array as is_device_array,
    locks_parameters as locks_parameters,
)
from arrows.engine.device.kernel import (
    PRECISIONS as PRECISIONS,
    PRELUDE as PRELUDE,
    Kernel as Kernel,
    Kernels as Kernels,
    KernelSource as KernelSource,
    Launch as Launch,
    ProductLayout as ProductLayout,
    available as available,
    compiled as compiled,
    kernel_source as kernel_source,
    load_code as load_code,
    save_code as save_code,
)
