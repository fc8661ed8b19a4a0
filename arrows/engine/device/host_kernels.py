"""Kernels and matrix products on addresses, on the host: what the fake device with kernels runs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arrows.engine.device.counts import Counter
from arrows.engine.device.host_compiler import HostLibrary
from arrows.engine.device.kernel import PRELUDE, Kernel, KernelSource, Launch, ProductLayout
from arrows.ops.arrays import HostArray


class HostKernels:
    """The kernels that the host's compiler has compiled in this process, by name.

    Args:
        counter: counts launches.
        backwards: whether each launch runs its loops, and the items of each, from the last to the first.
    """

    def __init__(self, counter: Counter, *, backwards: bool = False) -> None:
        self._counter, self._backwards = counter, backwards
        self._kernels: dict[str, HostKernel] = {}

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        """Kernels by name; all that are new are compiled in one unit."""
        new = {source.name: source for source in sources if source.name not in self._kernels}
        if new:
            text = PRELUDE + "".join(source.text for source in new.values())
            library = HostLibrary(text, ["BACKWARDS"] if self._backwards else [])
            for name, source in new.items():
                self._kernels[name] = HostKernel(source, library, self._counter, self._backwards)
        return self._kernels


@dataclass(frozen=True, eq=False)
class HostKernel:
    """A kernel that the host's compiler has compiled."""

    source: KernelSource
    library: HostLibrary
    counter: Counter
    backwards: bool

    def bind(self, words: HostArray) -> Launch:
        """Plans launches; see `Kernel`."""
        assert words.dtype == np.int64 and words.flags.c_contiguous and words.shape[1] == self.source.words
        function, counter = self.library.function(self.source.name), self.counter
        if self.backwards:
            function = self.library.backwards(function)

        def launch(number: int) -> None:
            if words[number, 0]:
                counter.launches += 1
                function(ctypes.c_void_p(words.ctypes.data + number * words.strides[0]))

        return launch


def host_products(layout: ProductLayout, words: HostArray, counter: Counter) -> Launch:
    """Plans matrix products of arrays on the host; see `Device.products`."""

    def launch(number: int) -> None:
        m, n, k, a, b, c = words[number].tolist()
        if not m or not n:
            return
        counter.launches += 1
        left = _operand(layout, a, m, k, layout.a_stride, layout.a_transposed)
        right = _operand(layout, b, k, n, layout.b_stride, layout.b_transposed)
        product = left @ right
        target = _matrix(layout.dtype, c, m, n, layout.c_stride)
        target[...] = target + product if layout.accumulate else product

    return launch


def rounded(matrix: HostArray, precision: str) -> HostArray:
    """A matrix as a tensor core multiplies it; to the nearest number, of two the even one."""
    if precision == "float32" or matrix.dtype != np.float32:
        return matrix
    if precision == "float16":
        with np.errstate(over="ignore"):
            return matrix.astype(np.float16).astype(np.float32)
    dropped = np.uint32({"tf32": 13, "bfloat16": 16}[precision])  # of the 24 bits
    bits = np.ascontiguousarray(matrix).view(np.uint32)
    bits = bits + ((bits >> dropped) & np.uint32(1)) + (np.uint32(1) << dropped - np.uint32(1)) - np.uint32(1)
    finite = (bits >> dropped << dropped).view(np.float32)
    return np.where(np.isfinite(matrix), finite, matrix)


def _operand(
    layout: ProductLayout, address: int, height: int, width: int, stride: int, transposed: bool
) -> HostArray:
    """A factor, as it is multiplied."""
    shape = (width, height) if transposed else (height, width)
    matrix = rounded(_matrix(layout.dtype, address, *shape, stride), layout.precision)
    return matrix.T if transposed else matrix


def _matrix(dtype: str, address: int, height: int, width: int, stride: int) -> HostArray:
    """The matrix at an address of the host."""
    item = np.dtype(dtype).itemsize
    if not height or not width:
        return np.zeros((height, width), dtype)
    memory = (ctypes.c_char * (((height - 1) * stride + width) * item)).from_address(address)
    return np.ndarray((height, width), dtype, memoryview(memory), 0, (stride * item, item))
