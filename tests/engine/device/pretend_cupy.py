"""A module that pretends to be CuPy: arrays of the strict fake device, kernels by the host's compiler.

It takes addresses as CUDA's driver and cuBLAS do, so that what `arrows.engine.cuda.device` hands over is
executed where there is no GPU.  Every call is checked against the signatures of CuPy 13 and 14.
"""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arrows.engine.device.device import shared_device
from arrows.testing.fake import FakeArray, xp
from arrows.testing.host_kernels import HostLibrary, rounded
from tests.engine.device.cupy_signatures import check_call, checked

GPUS = 2


class CUDARuntimeError(RuntimeError):
    """CuPy's error of the driver."""


class Device:
    """A GPU; `Device.current` is the one that `use` has made current."""

    current = 0

    def __init__(self, device: int | None = None) -> None:
        self.id = Device.current if device is None else device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    __hash__ = None  # type: ignore[assignment]

    def use(self) -> None:
        Device.current = self.id


class RawModule:
    """A unit of kernels."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        self._library = HostLibrary(code)

    def get_function(self, name: str) -> Any:
        check_call("RawModule.get_function", (self, name), {})
        function = self._library.function(name)
        return SimpleNamespace(
            kernel=SimpleNamespace(ptr=ctypes.cast(function, ctypes.c_void_p).value, keep=function)
        )


LAUNCHES: list[tuple[int, int]] = []
"""The blocks and threads of each launch."""


CUDA_R_32F, CUDA_R_64F = 0, 1

RELEASED: list[int] = []
"""The GPU whose memory pools gave memory back, each time."""


def launch_kernel(
    f: int,
    grid_dim_x: int,
    grid_dim_y: int,
    grid_dim_z: int,
    block_dim_x: int,
    block_dim_y: int,
    block_dim_z: int,
    shared_mem_bytes: int,
    stream: int,
    kernel_params: int,
    extra: int,
) -> None:
    """The driver's launch of a kernel whose one parameter is a struct: `kernel_params` lists its address."""
    assert (grid_dim_y, grid_dim_z, block_dim_y, block_dim_z, shared_mem_bytes, extra) == (1, 1, 1, 1, 0, 0)
    assert stream == 7
    assert 0 < grid_dim_x < 2**31
    assert 0 < block_dim_x <= 1024
    LAUNCHES.append((grid_dim_x, block_dim_x))
    words = ctypes.c_void_p.from_address(kernel_params)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(f)(words)


def _column_major(dtype: str, address: int, height: int, width: int, leading: int) -> Any:
    item = np.dtype(dtype).itemsize
    assert leading >= max(1, height)
    memory = (ctypes.c_char * (((width - 1) * leading + height) * item)).from_address(address)
    return np.ndarray((height, width), dtype, memoryview(memory), 0, (item, leading * item))


def _gemm_ex(
    handle: int,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    A: int,
    Atype: int,
    lda: int,
    B: int,
    Btype: int,
    ldb: int,
    beta: int,
    C: int,
    Ctype: int,
    ldc: int,
    computeType: int,
    algo: int,
) -> None:
    """The product whose factors are rounded as the type of computation says."""
    assert Atype == Btype == Ctype and algo == -1
    dtype = {CUDA_R_32F: "float32", CUDA_R_64F: "float64"}[Ctype]
    precision = {68: "float32", 70: "float64", 74: "float16", 75: "bfloat16", 77: "tf32"}[computeType]
    assert (precision == "float64") == (dtype == "float64")
    assert handle == 100 + Device.current
    one, kept = (_column_major(dtype, address, 1, 1, 1)[0, 0] for address in (alpha, beta))
    a = _column_major(dtype, A, k, m, lda).T if transa else _column_major(dtype, A, m, k, lda)
    b = _column_major(dtype, B, n, k, ldb).T if transb else _column_major(dtype, B, k, n, ldb)
    c = _column_major(dtype, C, m, n, ldc)
    c[...] = one * (rounded(a, precision) @ rounded(b, precision)) + (kept * c if kept else 0)


class PretendCupy:
    """Stands in for the module; what it lacks comes from the strict fake's module."""

    __name__ = "cupy"
    __version__ = "13.6.0"

    def __init__(self) -> None:
        stream = SimpleNamespace(ptr=7, synchronize=lambda: None)
        pool = SimpleNamespace(free_all_blocks=lambda: RELEASED.append(Device.current))
        functions: dict[str, Any] = {
            "RawModule": RawModule,
            "asarray": lambda a: FakeArray(a.copy()) if isinstance(a, np.ndarray) else xp.asarray(a),
            "asnumpy": lambda a: a._data.copy(),
            "cuda.Device": Device,
            "cuda.MemoryPointer": lambda mem, offset: mem,
            "cuda.UnownedMemory": lambda ptr, size, owner: (ptr, size),
            "cuda.alloc_pinned_memory": lambda size: bytearray(2 * size),  # CuPy's pool rounds up, too
            "cuda.cublas.gemmEx": _gemm_ex,
            "cuda.device.get_cublas_handle": lambda: 100 + Device.current,
            "cuda.driver.launchKernel": launch_kernel,
            "cuda.get_current_stream": lambda: stream,
            "cuda.runtime.getDeviceCount": lambda: GPUS,
            "empty": xp.empty,
            "get_default_memory_pool": lambda: pool,
            "get_default_pinned_memory_pool": lambda: pool,
            "zeros": xp.zeros,
        }
        self.cuda = SimpleNamespace(
            cublas=SimpleNamespace(CUBLAS_OP_N=0, CUBLAS_OP_T=1),
            device=SimpleNamespace(),
            driver=SimpleNamespace(),
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError, CUDA_R_32F=CUDA_R_32F, CUDA_R_64F=CUDA_R_64F
            ),
        )
        for path, function in functions.items():
            owner: Any = self
            *folders, name = path.split(".")
            for folder in folders:
                owner = getattr(owner, folder)
            setattr(owner, name, checked(path, function))

    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)


def _array(shape: Any, dtype: Any, memptr: tuple[int, int], strides: Any) -> FakeArray:
    address, size = memptr
    return FakeArray(
        np.ndarray(shape, dtype, memoryview((ctypes.c_char * size).from_address(address)), 0, strides)
    )


def pretend(patch: pytest.MonkeyPatch) -> None:
    """Makes `import cupy` give a module that pretends, on a machine with two GPUs."""

    class ArrayMeta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, FakeArray)

        def __call__(cls, *arguments: Any, **keywords: Any) -> FakeArray:
            array: FakeArray = checked("ndarray", _array)(*arguments, **keywords)
            return array

    cupy: Any = PretendCupy()
    cupy.ndarray = ArrayMeta("ndarray", (), {})
    patch.setattr(
        FakeArray, "data", property(lambda a: SimpleNamespace(ptr=a._data.ctypes.data)), raising=False
    )
    patch.setattr(FakeArray, "device", property(lambda a: Device()), raising=False)
    patch.setattr(Device, "current", 0)
    patch.setitem(sys.modules, "cupy", cupy)
    LAUNCHES.clear()
    RELEASED.clear()
    shared_device.cache_clear()
