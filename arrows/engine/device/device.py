"""What the engine asks of a device: its arrays, its memory and the locks on parameters; and the CPU.

Arrays cross between host and device in `Device.to_device` and `Device.to_numpy` alone.

An `Arena` keeps arrays between batches, so that a size seen before is not allocated again. An `Upload`
collects what the host knows of a batch, and sends it to the device in one copy. By a `ParameterLock` threads
take turns with parameters; a forked process knows which of them another thread was using.

`get_device` finds a device by its name: CUDA through CuPy, and the fakes of the tests, are imported then.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from arrows.arrays import Array, ArrayModule, HostArray, take
from arrows.engine.device.kernel import Kernel, Kernels, KernelSource, Launch, ProductLayout
from arrows.ops import Segments, reduce_segments
from arrows.typesys import ArrowValueError, message


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
        return take(self.xp, values, index, 0, out)

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
        self, target: Array, rows: Array, values: Array, order: Array, ends: Array, longest: int
    ) -> None:
        """`target[rows[s]] += values[order[ends[s]]] + ... + values[order[ends[s + 1] - 1]]` for all `s`.

        This is the transpose of a gather that reads rows more than once: `order` sorts the readers by the row
        that they read. The same arguments give the same bits on the same device.

        Args:
            target: `[n, ...]`, changed in place.
            rows: distinct integers `[segments]`, the rows of `target`.
            values: `[m, ...]`.
            order: integers `[k]` into `values`, sorted by segment; a value may be used once, often or never.
            ends: integers `[segments + 1]`, where each segment begins in `order`, from 0 on, and where the
                last ends; none is empty.
            longest: the length of the longest segment.
        """
        total, ids = order.shape[0], order  # NumPy does not look at the segment of each value
        if self.xp is not np:
            ids = self.xp.searchsorted(ends[1:], self.xp.arange(total), side="right")
        segments = Segments(ends, ids, rows.shape[0], total, longest)
        sums = reduce_segments(self.xp, "add", values, segments, 0, order=order)
        self.scatter_add_unique(target, rows, sums)

    def __repr__(self) -> str:
        return f"get_device({self.name!r})"


class NumpyDevice(Device):
    """The CPU, whose arrays are those of the host."""

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


# A new array gets this much room to spare: the next batch is a little larger as often as not.
_SPARE = 1.25


class Buffer(NamedTuple):
    """An array of an arena: what `Arena.array` takes."""

    name: Hashable
    shape: tuple[int, ...]
    dtype: str


class BufferRows(NamedTuple):
    """Some rows of an array of an arena.

    Attributes:
        buffer: the array.
        first, stop: the first of the rows, and the one after the last.
        shape: what they are seen as; None: as they are.
    """

    buffer: Buffer
    first: int
    stop: int
    shape: tuple[int, ...] | None = None


class Arena:
    """Named arrays on one device that grow and never shrink.

    An array asked for by the same name is the same memory: what was there is overwritten by its next user.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: dict[tuple[Hashable, Any], Any] = {}
        self._views: dict[tuple[Hashable, Any], Any] = {}  # as each was asked for last

    def array(self, name: Hashable, shape: tuple[int, ...], dtype: Any) -> Any:
        """Returns an array of unspecified content.

        Args:
            name: who wants it; element types are kept apart.
            shape: its shape.
            dtype: its element type, a name or a type object; one name, one of the two.
        """
        key = name, dtype
        view = self._views.get(key)
        if view is None or view.shape != shape:
            size, kept = math.prod(shape), self._arrays.get(key)
            if kept is None or kept.shape[0] < size:
                kept = self._grow(key, size)
            view = self._views[key] = kept[:size].reshape(shape)
        return view

    def rows(self, rows: BufferRows) -> Any:
        """Returns some rows of an array; those of one array are together, once it has been reserved."""
        array = self.array(*rows.buffer)[rows.first : rows.stop]
        return array if rows.shape is None else array.reshape(rows.shape)

    def reserve(self, buffers: Iterable[Buffer]) -> None:
        """Takes memory for arrays: until others of their names are larger, each call gives the same."""
        for key, size in self._missing(buffers).items():
            self._grow(key, size)

    def _missing(self, buffers: Iterable[Buffer]) -> dict[tuple[Hashable, Any], int]:
        """The sizes of what is not large enough."""
        sizes: dict[tuple[Hashable, Any], int] = {}
        for name, shape, dtype in buffers:
            key, size = (name, dtype), math.prod(shape)
            kept = self._arrays.get(key)
            if (kept is None or kept.shape[0] < size) and sizes.get(key, 0) <= size:
                sizes[key] = size
        return sizes

    def _grow(self, key: tuple[Hashable, Any], size: int) -> Any:
        kept = self._arrays.get(key)
        spare = _with_spare(size, 0 if kept is None else kept.shape[0])
        self._views.pop(key, None)
        self._arrays[key] = self.device.empty((spare,), key[1])
        return self._arrays[key]

    def ones(self, count: int, dtype: str) -> Any:
        """Returns so many ones of an element type, which nobody may change."""
        key = ("ones", dtype)
        kept = self._arrays.get(key)
        if kept is None or kept.shape[0] < count:
            kept = self._arrays[key] = self.device.empty((_with_spare(count, count),), dtype)
            kept[...] = 1
        return kept[:count]

    @property
    def bytes(self) -> int:
        """How much memory the arena holds."""
        return int(
            sum(array.shape[0] * np.dtype(dtype).itemsize for (_, dtype), array in self._arrays.items())
        )

    def bytes_with(self, buffers: Iterable[Buffer]) -> int:
        """How much memory the arena would hold with these arrays."""
        total = self.bytes
        for key, size in self._missing(buffers).items():
            kept = self._arrays.get(key)
            held = 0 if kept is None else kept.shape[0]
            total += (_with_spare(size, held) - held) * np.dtype(key[1]).itemsize
        return total

    def clear(self) -> None:
        """Lets go of everything."""
        self._arrays.clear()
        self._views.clear()


def _with_spare(size: int, held: int) -> int:
    """How much is asked for: the first batch may be the only one, or the largest; more will follow a second
    that is larger."""
    return int(size * _SPARE) + 1 if held else max(size, 1)


_ALIGNED = 16  # bytes; no element type is wider


@dataclass(eq=False, slots=True)
class Sent:
    """An array of the host that is on the device as soon as its `Upload` has been sent.

    Attributes:
        host: the array on the host.
    """

    host: HostArray
    _device: Device
    _view: Array | None
    _memory: Array | None = None  # that of the upload, and where in it the array begins, in bytes
    _start: int = 0

    @property
    def array(self) -> Array:
        """The array on the device."""
        if self._view is None:
            assert self._memory is not None, "the upload has not been sent"
            part = self._memory[self._start : self._start + self.host.nbytes]
            self._view = part.view(self.host.dtype).reshape(self.host.shape)
        return self._view

    @property
    def address(self) -> int:
        """Where the array begins on the device; the memory lives as long as this object."""
        if self._memory is None:
            return self._device.address(self.array)
        return self._device.address(self._memory) + self._start


class Upload:
    """Collects arrays of any element type and sends them together.

    On a GPU they go through one range of pinned memory, so that the host does not wait for the copy.
    On the CPU an array of indices is copied only if its element type is not the device's, and no other is.

    >>> from arrows.engine.device import get_device
    >>> upload = Upload(get_device("fake"))
    >>> rows, weights = upload.add(np.array([1, 2])), upload.add_values(np.array([[0.5]]))
    >>> upload.send()
    >>> rows.array, weights.array
    (FakeArray(int32[2]), FakeArray(float64[1, 1]))
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._to_send: list[Sent] = []

    def add(self, array: HostArray) -> Sent:
        """Adds an array of indices."""
        return self.add_values(array.astype(self.device.index_dtype, copy=False))

    def add_values(self, array: HostArray) -> Sent:
        """Adds an array that keeps its element type; the caller must not change it until `send`."""
        if self.device.name == "cpu":  # which reads it where it is
            return Sent(array, self.device, array)
        self._to_send.append(Sent(array, self.device, None))
        return self._to_send[-1]

    @property
    def bytes(self) -> int:
        """The device's memory for what is sent; 0 on the CPU, which reads the arrays where they are."""
        return sum(map(_aligned, self._to_send))

    def send(self) -> None:
        """Sends all arrays to the device in one copy."""
        if not self._to_send:
            return
        *starts, size = accumulate(map(_aligned, self._to_send), initial=0)
        staged = self.device.staging(size)
        for start, sent in zip(starts, self._to_send, strict=True):
            part = staged[start : start + sent.host.nbytes].view(sent.host.dtype)
            part.reshape(sent.host.shape)[...] = sent.host
        memory = self.device.to_device(staged) if size else self.device.empty((0,), np.uint8)
        for start, sent in zip(starts, self._to_send, strict=True):
            sent._memory, sent._start, sent._view = memory, start, None


def _aligned(sent: Sent) -> int:
    """The bytes that an array takes among others."""
    return -(-sent.host.nbytes // _ALIGNED) * _ALIGNED


P = ParamSpec("P")
R = TypeVar("R")


class ParameterLock:
    """The lock of all models that share parameters; a thread that holds it may take it again.

    A child that was forked while another thread held it lacks that thread, which may have left parameters and
    memory half written: it cannot take the lock.

    Attributes:
        updates: grows whenever parameters are changed under the lock.

    >>> lock = ParameterLock()
    >>> with lock.mutex, lock.updating():
    ...     lock.updates
    1
    """

    def __init__(self) -> None:
        self.updates = 0
        self._mutex = threading.RLock()
        self._lost = False
        _locks.add(self)

    @property
    def mutex(self) -> threading.RLock:
        """The lock itself, for a `with`: unlike with a generator, Ctrl-C cannot leave it taken.

        Raises:
            RuntimeError: the process was forked while another thread held it.
        """
        if self._lost:
            raise RuntimeError(
                message(
                    "cannot use a model in this process",
                    reason="it was forked while another thread was using the model, whose parameters may be "
                    "half old, half new here",
                    hint="fork between two calls, or compile the block anew and load parameters",
                )
            )
        return self._mutex

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Marks the time in which the holder changes parameters."""
        self.updates += 1
        try:
            yield
        finally:
            self.updates += 1  # after an error too: a part of the parameters may have changed


def locks_parameters(method: Callable[P, R]) -> Callable[P, R]:
    """Decorates a method whose first argument is a model and that changes its parameters: takes their lock.

    If the model's parameters have no lock, such as a plain dict, the method runs without one.
    """

    @wraps(method)
    def locked(*arguments: P.args, **keywords: P.kwargs) -> R:
        model = arguments[1] if len(arguments) > 1 else keywords.get("model")
        lock = getattr(getattr(model, "params", None), "lock", None)
        if not isinstance(lock, ParameterLock):
            return method(*arguments, **keywords)
        with lock.mutex, lock.updating():
            return method(*arguments, **keywords)

    return locked


_locks: WeakSet[ParameterLock] = WeakSet()


def _after_fork_in_child() -> None:
    for lock in _locks:
        lock._lost = not lock._mutex.acquire(blocking=False)
        if not lock._lost:
            lock._mutex.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


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
