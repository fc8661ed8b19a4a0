"""What the engine asks of a device, and the CPU: an array module and its transfers.

Arrays cross between host and device in `Device.to_device` and `Device.to_numpy` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arrows.arrays import Array, ArrayModule, HostArray
from arrows.engine.device.kernel import Kernel, Kernels, KernelSource, Launch, ProductLayout
from arrows.ops.segments import Segments, reduce_segments
from arrows.ops.sums import sum_rows

if TYPE_CHECKING:
    from arrows.engine.device.upload import Sent


# `NumpyDevice.scatter_add` adds the segments of up to this length together, in at most 15 passes over all of
# them; each longer segment has enough rows for a sum of its own.
_SHORT = 16


@dataclass(frozen=True, slots=True)
class ArrayWrite:
    """``target[...] = source``.

    Attributes:
        target: an array, or a range of one.
        source: an array of the same device; None: zeros.
    """

    target: Array
    source: Array | None = None


class Device:
    """The interface of a device.  Get one with `get_device(name)`.

    Attributes:
        name: as `get_device` takes it: `"cpu"`, `"cuda"` for the first GPU, `"cuda:1"` for the second.
        xp: the array module (NumPy, CuPy, or the fake device's).
        index_dtype: the integer type of row indices and offsets on the device.
        kernels: how its programs become launches of kernels in C; None if it has none.
        lacks: the element types that it has no arithmetic in.

    >>> from arrows.engine.device import get_device
    >>> cpu = get_device("cpu")
    >>> cpu.take(np.array([[1.0], [2.0]]), np.array([1, 1, 0])).tolist()
    [[2.0], [2.0], [1.0]]
    """

    name: str
    xp: ArrayModule
    index_dtype: np.dtype[Any] = np.dtype(np.int32)
    kernels: Kernels | None = None
    lacks: frozenset[str] = frozenset()

    def compile(self, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        """Kernels by name, compiled in one unit but for those that have been compiled before."""
        raise NotImplementedError

    def address(self, array: Array) -> int:
        """The address of the first number of an array of the device."""
        raise NotImplementedError

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        """Plans matrix products.

        Args:
            layout: how the matrices lie.
            words: int64 [launches, 6]: m, n, k, and the addresses of a, b and c.  The caller keeps the arrays
                alive.  A line with an m or n of 0 launches nothing.
        """
        raise NotImplementedError

    def staging(self, size: int) -> HostArray:
        """Host memory of so many bytes, uint8 [size], from which `to_device` copies quickest."""
        return np.zeros(size, np.uint8)

    def to_device(self, array: HostArray) -> Array:
        """A host array as an array of the device (on the CPU: the same object)."""
        raise NotImplementedError

    def to_numpy(self, array: object) -> HostArray:
        """An array of the device as a host array (on the CPU: the same object)."""
        raise NotImplementedError

    def is_array(self, value: object) -> bool:
        """Whether `value` is an array of this device."""
        return isinstance(value, self.xp.ndarray)

    def synchronize(self) -> None:
        """Waits until the device has finished its work; does nothing on devices that compute at once."""

    def release_memory(self) -> None:
        """Gives memory that no array uses back to the system, where the device keeps such for later."""

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """A new array of unspecified content."""
        return self.xp.empty(shape, dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """A new array of zeros."""
        return self.xp.zeros(shape, dtype)

    def take(self, values: Array, index: Array, out: Array | None = None) -> Array:
        """Rows of `values` by number, in the order of `index`: `values[index]`.

        Indices must be in range: nothing checks them here, merge does.

        Args:
            values: `[rows, ...]`.
            index: integers `[n]`, of the same device.
            out: `[n, ...]` of the same element type, written in place; may be a range of columns of a wider
                array.

        Returns:
            `out`, or a new array.
        """
        if out is None:
            return self.xp.take(values, index, axis=0)
        if out.flags.c_contiguous:
            self.xp.take(values, index, axis=0, out=out)
        else:
            out[...] = self.xp.take(values, index, axis=0)
        return out

    def write(self, writes: Iterable[ArrayWrite]) -> None:
        """Writes to ranges of arrays that have no number in common.

        >>> from arrows.engine.device import get_device
        >>> numbers = np.arange(4)
        >>> get_device("cpu").write([ArrayWrite(numbers[:1]), ArrayWrite(numbers[2:], numbers[:2] + 7)])
        >>> numbers.tolist()
        [0, 1, 7, 8]
        """
        for write in writes:
            if write.target.size:
                write.target[...] = 0 if write.source is None else write.source

    def weighted_sum(self, values: Array, weights: Array) -> Array:
        """The sum of all `values` `[rows, ...]`, each row times its weight, `[rows, 1, ...]`: a scalar."""
        total: Array = (values * weights).sum()
        return total

    def sums_by_row(
        self, target: Array, values: Array, rows: Sent, order: Sent, starts: Sent, bounds: Sequence[int]
    ) -> Launch | None:
        """Plans `target[rows[s]] += values[order[starts[s]]] + ... + values[order[starts[s + 1] - 1]]`.

        It is the transpose of a gather that reads rows more than once: `order` sorts the readers by the row
        that they read.  The same arguments give the same bits on the same device.

        Args:
            target: `[n, ...]`, changed in place.
            values: `[m, ...]`.
            rows: integers, the rows of `target`, which are distinct within a part.
            order: integers, into `values`.
            starts: integers, for each of `rows`, and at last where the last segment ends.
            bounds: where the segments of each part start, and where the last end.

        Returns:
            One launch for each part; None on a device without kernels.
        """
        return None

    def scatter_add_unique(self, target: Array, index: Array, values: Array) -> None:
        """`target[index[i]] += values[i]` for an index without repeats; a repeated row would lose updates.

        Args:
            target: `[rows, ...]`, changed in place.
            index: distinct integers `[n]`.
            values: `[n, ...]`.
        """
        rows = self.take(target, index)
        rows += values
        target[index] = rows

    def scatter_add(
        self,
        target: Array,
        rows: Array,
        values: Array,
        order: Array,
        starts: Array,
        longest: int | None = None,
    ) -> None:
        """`target[rows[s]] += values[order[starts[s]]] + ... + values[order[starts[s + 1] - 1]]` for all `s`.

        This is the transpose of a gather that reads rows more than once: `order` sorts the readers by the row
        that they read. The same arguments give the same bits on the same device.

        Args:
            target: `[n, ...]`, changed in place.
            rows: distinct integers `[segments]`, the rows of `target`.
            values: `[m, ...]`.
            order: integers `[k]` into `values`, sorted by segment; a value may be used once, often or never.
            starts: integers `[segments]`, where each segment begins in `order`; the first is 0 and none is
                empty.
            longest: the length of the longest segment if the caller knows it, which saves passes on a GPU.
        """
        offsets = self.xp.concatenate([starts, self.xp.full((1,), order.shape[0], starts.dtype)])
        segments = Segments.of(self.xp, offsets, order.shape[0])
        sums = reduce_segments(self.xp, "add", values, segments, 0, order=order)
        self.scatter_add_unique(target, rows, sums)

    def __repr__(self) -> str:
        return f"get_device({self.name!r})"


class NumpyDevice(Device):
    """The CPU: does the same as the base class, in the ways that were measured to be fastest for NumPy."""

    name = "cpu"
    xp = np
    index_dtype = np.dtype(np.intp)  # NumPy would convert any other type at each `take`

    def to_device(self, array: HostArray) -> HostArray:
        return self.to_numpy(array)

    def to_numpy(self, array: object) -> HostArray:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"expected a NumPy array, got {type(array).__name__}")
        return array

    def address(self, array: object) -> int:
        return int(self.to_numpy(array).ctypes.data)

    def take(self, values: Array, index: Array, out: Array | None = None) -> Array:
        # "clip" skips the check of the indices, and with it a buffered copy (3 times faster).
        if out is None:
            return values.take(index, 0, None, "clip")
        if out.flags.c_contiguous:
            return values.take(index, 0, out, "clip")
        out[...] = values.take(index, 0, None, "clip")
        return out

    def scatter_add(
        self,
        target: Array,
        rows: Array,
        values: Array,
        order: Array,
        starts: Array,
        longest: int | None = None,
    ) -> None:
        # np.add.reduceat over rows costs 1.7 us a row of 300 (measured), ten times a plain pass. So the
        # segments are sorted by falling length, and for each r the r-th members of all short segments are
        # added at once. A long segment has enough rows for a sum of its own.
        length = len(order)
        if length == 0:
            return
        lengths = np.diff(starts, append=length)
        by_length = np.argsort(-lengths, kind="stable")
        lengths, rows, starts = lengths[by_length], rows[by_length], starts[by_length]
        long = int(np.searchsorted(-lengths, -_SHORT))  # the first `long` segments are longer than _SHORT
        sums = values.take(order[starts], 0)
        for s in range(long):
            sums[s] = sum_rows(values.take(order[starts[s] : starts[s] + lengths[s]], 0, None, "clip"))
        for r in range(1, int(lengths[long]) if long < len(lengths) else 0):
            end = int(np.searchsorted(-lengths, -r))  # segments of more than r members
            sums[long:end] += values.take(order[starts[long:end] + r], 0, None, "clip")
        self.scatter_add_unique(target, rows, sums)
