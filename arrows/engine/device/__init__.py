"""The machine that the engine computes on: its arrays, its memory and the locks on parameters.

A `Device` holds an array module (NumPy, CuPy, or the strict fake's) and moves arrays between host and device.
An `Arena` keeps arrays from batch to batch, an `Upload` sends a batch's index arrays in one copy, and a
`ParameterLock` lets threads take turns with parameters.  `jit` compiles fused loops for the CPU.
"""

from arrows.engine.device import jit as jit
from arrows.engine.device.arena import Arena as Arena
from arrows.engine.device.arena import ArenaFull as ArenaFull
from arrows.engine.device.arena import Buffer as Buffer
from arrows.engine.device.arena import BufferRows as BufferRows
from arrows.engine.device.device import ArrayWrite as ArrayWrite
from arrows.engine.device.device import Device as Device
from arrows.engine.device.devices import get_device as get_device
from arrows.engine.device.devices import host_array as host_array
from arrows.engine.device.devices import is_device_array as is_device_array
from arrows.engine.device.jit import available as available
from arrows.engine.device.jit import compiled as compiled
from arrows.engine.device.kernel import PRECISIONS as PRECISIONS
from arrows.engine.device.kernel import PRELUDE as PRELUDE
from arrows.engine.device.kernel import Kernel as Kernel
from arrows.engine.device.kernel import Kernels as Kernels
from arrows.engine.device.kernel import KernelSource as KernelSource
from arrows.engine.device.kernel import Launch as Launch
from arrows.engine.device.kernel import ProductLayout as ProductLayout
from arrows.engine.device.kernel import kernel_source as kernel_source
from arrows.engine.device.parameter_lock import ParameterLock as ParameterLock
from arrows.engine.device.parameter_lock import locks_parameters as locks_parameters
from arrows.engine.device.upload import Sent as Sent
from arrows.engine.device.upload import Upload as Upload
from arrows.engine.device.upload import UploadFull as UploadFull
