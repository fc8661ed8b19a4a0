"""CUDA through CuPy, an optional package that is imported when such a device is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.arrays import Array, HostArray
from arrows.engine.cuda.kernel_device import KernelDevice
from arrows.engine.device import PRELUDE, KernelSource, Launch, ProductLayout

NO_CUPY = (
    'device="cuda" needs CuPy, which is not installed: pip install cupy-cuda12x (or cupy-cuda13x for CUDA 13)'
)

_OLDEST = (13, 4)  # before, CuPy gave pinned memory away from which it was still copying

_THREADS = 128  # of a block; small launches, as those of a step are, then spread over many multiprocessors
# cuBLAS's `cublasComputeType_t`: products of float32 may have factors that are rounded for tensor cores.
_COMPUTE = {"float32": 68, "float64": 70, "float16": 74, "bfloat16": 75, "tf32": 77}
_ANY_ALGORITHM = -1  # `CUBLAS_GEMM_DEFAULT`
# What cuBLAS multiplies a product with, 1, and what is there before, 0 or 1; it takes their addresses.
_FACTORS = {dtype: np.array([0, 1], dtype) for dtype in ("float32", "float64")}
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


class CudaDevice(KernelDevice):
    """One GPU, by its number.

    CuPy computes on the GPU that is current in the thread.  Each method makes its own GPU the current one, so
    that the functions of `xp` which follow run there too.  Work goes to CuPy's current stream.

    Raises:
        ImportError, RuntimeError: as `count_gpus`.
        RuntimeError: there is no GPU of that number.
    """

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.name = f"cuda:{number}" if number else "cuda"
        count = count_gpus()
        if number >= count:
            raise RuntimeError(f'device="{self.name}": CuPy finds {count} GPU(s), numbered from 0')
        import cupy

        self.xp = cupy
        self._cupy: Any = cupy
        self._gpu = cupy.cuda.Device(number)

    def compile_unit(self, sources: Sequence[KernelSource]) -> Mapping[str, CudaKernel]:
        self._gpu.use()
        text = PRELUDE + "".join(source.text for source in sources)
        # CuPy keeps what NVRTC makes of a text in the user's folder for caches.
        module = self._cupy.RawModule(code=text, options=("--std=c++17",))
        functions = {source.name: module.get_function(source.name).kernel for source in sources}
        return {source.name: CudaKernel(source, self, functions[source.name]) for source in sources}

    def address(self, array: Any) -> int:
        if not self.is_array(array):
            raise TypeError(f"expected a CuPy array on {self.name!r}, got {type(array).__name__}")
        address: int = array.data.ptr
        return address

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        # cuBLAS takes matrices that lie column by column.  One that lies row by row is, for cuBLAS, its own
        # transpose: so it computes c.T = b.T @ a.T.
        self._gpu.use()
        cuda, dtype, lines = self._cupy.cuda, np.dtype(layout.dtype), words.tolist()
        gemm, real = cuda.cublas.gemmEx, getattr(cuda.runtime, f"CUDA_R_{8 * dtype.itemsize}F")
        transposed = (layout.b_transposed, layout.a_transposed)
        operations = (cuda.cublas.CUBLAS_OP_T if each else cuda.cublas.CUBLAS_OP_N for each in transposed)
        head = (cuda.device.get_cublas_handle(), *operations)  # the handle is of this thread and GPU
        a_lies, b_lies, c_lies = (
            (real, each) for each in (layout.a_stride, layout.b_stride, layout.c_stride)
        )
        zero = _FACTORS[layout.dtype].ctypes.data
        one, kept = zero + dtype.itemsize, zero + dtype.itemsize * layout.accumulate
        tail = (_COMPUTE[layout.dtype if layout.precision == "float32" else layout.precision], _ANY_ALGORITHM)

        def launch(number: int) -> None:
            m, n, k, a, b, c = lines[number]
            if m and n and k:
                gemm(*head, n, m, k, one, b, *b_lies, a, *a_lies, kept, c, *c_lies, *tail)
            elif m and n and not layout.accumulate:  # the product of matrices without numbers
                self._at(c, (m, n), dtype, layout.c_stride).fill(0)

        return launch

    def _at(self, address: int, shape: tuple[int, int], dtype: np.dtype[Any], stride: int) -> Any:
        """The matrix at an address."""
        cuda, size = self._cupy.cuda, ((shape[0] - 1) * stride + shape[1]) * dtype.itemsize
        pointer = cuda.MemoryPointer(cuda.UnownedMemory(address, size, None), 0)
        return self._cupy.ndarray(shape, dtype, pointer, strides=(stride * dtype.itemsize, dtype.itemsize))

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
        brought: HostArray = self._cupy.asnumpy(array)
        return brought

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
        cuda = self.device._cupy.cuda
        start, stream = cuda.driver.launchKernel, cuda.get_current_stream().ptr
        function, pointer = self.function, self.function.ptr
        # A kernel has one parameter, the struct of its words, and the driver copies it from the line of the
        # table.  It wants the address of a list of such addresses: one number of `lines` is such a list.
        lines = words.ctypes.data + words.strides[0] * np.arange(len(words), dtype=np.int64)
        parameters = (lines.ctypes.data + 8 * np.arange(len(words))).tolist()
        needed = -(-words[:, 0] * self.source.columns // _THREADS)
        blocks = np.minimum(needed, _MOST_BLOCKS).tolist()

        def launch(number: int, kept: object = (words, lines, function)) -> None:
            if blocks[number]:
                start(pointer, blocks[number], 1, 1, _THREADS, 1, 1, 0, stream, parameters[number], 0)

        return launch
