"""CUDA through CuPy, an optional package that is imported when such a device is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.engine.device.device import Device
from arrows.engine.device.kernel import PRELUDE, Kernel, KernelSource, Launch, ProductLayout
from arrows.ops.arrays import Array, HostArray

NO_CUPY = (
    'device="cuda" needs CuPy, which is not installed: pip install cupy-cuda12x (or cupy-cuda13x for CUDA 13)'
)

_OLDEST = (13, 4)  # before, CuPy gave pinned memory away from which it was still copying

_THREADS = 128  # of a block; small launches, as those of a step are, then spread over many multiprocessors
# cuBLAS's `cublasComputeType_t` for products of float32 whose factors are rounded for tensor cores, and its
# `CUBLAS_GEMM_DEFAULT`.
_ROUNDING = {"float16": 74, "bfloat16": 75, "tf32": 77}
_ANY_ALGORITHM = -1
# A thread takes several items above this, far more blocks than any GPU runs at a time.
_MOST_BLOCKS = 1 << 16


def count_gpus() -> int:
    """How many GPUs CuPy can use, one at least.

    Raises:
        ImportError: CuPy is not installed, or too old.
        RuntimeError: it finds no usable GPU.
    """
    try:
        import cupy
    except ImportError as error:
        raise ImportError(NO_CUPY) from error
    if tuple(map(int, cupy.__version__.split(".")[:2])) < _OLDEST:
        raise ImportError(f'device="cuda" needs CuPy 13.4 or newer; {cupy.__version__} is installed')
    try:
        count: int = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(f'device="cuda": CuPy is installed but finds no usable GPU ({error})') from error
    if not count:
        raise RuntimeError('device="cuda": CuPy is installed but finds no GPU')
    return count


class CudaDevice(Device):
    """One GPU, by its number.

    CuPy computes on the GPU that is current in the thread.  Each method makes its own GPU the current one, so
    that the functions of `xp` which follow run there too.  Work goes to CuPy's current stream.

    Raises:
        ImportError, RuntimeError: as `count_gpus`.
        RuntimeError: there is no GPU of that number.
    """

    has_kernels = True

    def __init__(self, number: int = 0) -> None:
        self.name = f"cuda:{number}" if number else "cuda"
        count = count_gpus()
        if number >= count:
            raise RuntimeError(f'device="{self.name}": CuPy finds {count} GPU(s), numbered from 0')
        import cupy

        self.xp = cupy
        self._cupy: Any = cupy
        self._gpu = cupy.cuda.Device(number)
        self._kernels: dict[str, CudaKernel] = {}

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        new = {source.name: source for source in sources if source.name not in self._kernels}
        if new:
            self._gpu.use()
            text = PRELUDE + "".join(source.text for source in new.values())
            # CuPy keeps what NVRTC makes of a text in the user's folder for caches.
            module = self._cupy.RawModule(code=text, options=("--std=c++17",))
            for name, source in new.items():
                self._kernels[name] = CudaKernel(source, self, module.get_function(name).kernel)
        return self._kernels

    def address(self, array: Any) -> int:
        if not self.is_array(array):
            raise TypeError(f"expected a CuPy array on {self.name!r}, got {type(array).__name__}")
        address: int = array.data.ptr
        return address

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        self._gpu.use()
        return _Products(self, layout, words)

    def staging(self, size: int) -> HostArray:
        if not size:
            return np.zeros(0, np.uint8)
        self._gpu.use()
        # Pinned memory comes from CuPy's pool, which rounds sizes up to powers of two.
        return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(size), np.uint8, size)

    def to_device(self, array: HostArray) -> Array:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"to_device takes a NumPy array, got {type(array).__name__}")
        self._gpu.use()
        # CuPy copies the array to pinned memory, unless it lies in such already; from there the copy to the
        # GPU goes on while the host does.  CuPy keeps the pinned memory until the copy has ended.
        return self.xp.asarray(array)

    def to_numpy(self, array: object) -> HostArray:
        if not self.is_array(array):
            raise TypeError(f"expected a CuPy array, got {type(array).__name__}")
        self._gpu.use()
        return cupy_to_numpy(array)

    def is_array(self, value: object) -> bool:
        return isinstance(value, self.xp.ndarray) and bool(value.device == self._gpu)

    def synchronize(self) -> None:
        self._gpu.use()
        self._cupy.cuda.get_current_stream().synchronize()

    def release_memory(self) -> None:
        self._gpu.use()
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        self._gpu.use()
        return self.xp.empty(shape, dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        self._gpu.use()
        return self.xp.zeros(shape, dtype)


def cupy_to_numpy(array: object) -> HostArray:
    """An array of any GPU as a NumPy array; the host waits for it."""
    import cupy

    result: HostArray = cupy.asnumpy(array)
    return result


@dataclass(frozen=True, eq=False)
class CudaKernel:
    """A kernel that NVRTC has compiled, loaded on one GPU.

    Attributes:
        function: CuPy's `Function`, which keeps the kernel loaded.
    """

    source: KernelSource
    device: CudaDevice
    function: Any

    def bind(self, words: HostArray) -> Launch:
        """Plans launches; see `Kernel`."""
        assert words.dtype == np.int64 and words.flags.c_contiguous and words.shape[1] == self.source.words
        self.device._gpu.use()
        return _Launches(self, words)


class _Launches:
    """Starts the launches of a table of words."""

    def __init__(self, kernel: CudaKernel, words: HostArray) -> None:
        cuda = kernel.device._cupy.cuda
        self._launch = cuda.driver.launchKernel
        self._function, self._pointer = kernel.function, kernel.function.ptr
        self._stream = cuda.get_current_stream().ptr
        self._words = words
        # A kernel has one parameter, the struct of its words, and the driver copies it from the line of the
        # table.  It wants the address of a list of such addresses: one number of `_lines` is such a list.
        self._lines = words.ctypes.data + words.strides[0] * np.arange(len(words), dtype=np.int64)
        first = self._lines.ctypes.data
        self._parameters = [first + 8 * number for number in range(len(words))]
        blocks = -(-words[:, 0] * kernel.source.columns // _THREADS)
        self._blocks = np.minimum(blocks, _MOST_BLOCKS).tolist()

    def __call__(self, number: int) -> None:
        blocks = self._blocks[number]
        if blocks:
            self._launch(
                self._pointer, blocks, 1, 1, _THREADS, 1, 1, 0, self._stream, self._parameters[number], 0
            )


class _Products:
    """Starts the matrix products of a table, by cuBLAS, which takes matrices that lie column by column.

    A matrix that lies row by row is, for cuBLAS, its own transpose: so it computes ``c.T = b.T @ a.T``.
    """

    def __init__(self, device: CudaDevice, layout: ProductLayout, words: HostArray) -> None:
        cuda = device._cupy.cuda
        self._device, self._layout, self._words = device, layout, words
        self._gemm = {"float32": cuda.cublas.sgemm, "float64": cuda.cublas.dgemm}[layout.dtype]
        if layout.dtype == "float32" and layout.precision != "float32":
            self._gemm = self._extended(_ROUNDING[layout.precision])
        self._handle = cuda.device.get_cublas_handle()  # of this thread and GPU
        self._factors = np.array([1, layout.accumulate], layout.dtype)  # of a @ b, and of what c holds
        self._b_operation, self._a_operation = (
            cuda.cublas.CUBLAS_OP_T if transposed else cuda.cublas.CUBLAS_OP_N
            for transposed in (layout.b_transposed, layout.a_transposed)
        )
        self._one = self._factors.ctypes.data
        self._kept = self._one + self._factors.itemsize
        self._lines = words.tolist()

    def __call__(self, number: int) -> None:
        layout = self._layout
        m, n, k, a, b, c = self._lines[number]
        if m and n and k:
            self._gemm(
                self._handle,
                self._b_operation,
                self._a_operation,
                n,
                m,
                k,
                self._one,
                b,
                layout.b_stride,
                a,
                layout.a_stride,
                self._kept,
                c,
                layout.c_stride,
            )
        elif m and n and not layout.accumulate:
            self._clear(c, m, n)

    def _extended(self, compute: int) -> Callable[..., None]:
        """What ``sgemm`` is, on tensor cores, which round what they multiply."""
        cublas, real = self._device._cupy.cuda.cublas, self._device._cupy.cuda.runtime.CUDA_R_32F

        def gemm(
            handle: int,
            b_operation: int,
            a_operation: int,
            n: int,
            m: int,
            k: int,
            one: int,
            b: int,
            b_stride: int,
            a: int,
            a_stride: int,
            kept: int,
            c: int,
            c_stride: int,
        ) -> None:
            cublas.gemmEx(
                handle,
                b_operation,
                a_operation,
                n,
                m,
                k,
                one,
                b,
                real,
                b_stride,
                a,
                real,
                a_stride,
                kept,
                c,
                real,
                c_stride,
                compute,
                _ANY_ALGORITHM,
            )

        return gemm

    def _clear(self, address: int, m: int, n: int) -> None:
        """Fills c with zeros: the product of matrices without numbers."""
        dtype, stride = np.dtype(self._layout.dtype), self._layout.c_stride
        cupy, item = self._device._cupy, dtype.itemsize
        memory = cupy.cuda.UnownedMemory(address, ((m - 1) * stride + n) * item, None)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        cupy.ndarray((m, n), dtype, pointer, strides=(stride * item, item)).fill(0)
