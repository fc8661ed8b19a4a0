"""A strict fake device: its arrays refuse every implicit crossing between host and device.

Continuous integration has no GPU, so these arrays are NumPy underneath.  Code that runs on this device never
mixes host and device arrays, never reads a device value from Python without saying so, and keeps to the
functions that CuPy has.  Where CuPy would quietly wait for the device (`float(a)`, `if a:`, boolean masks,
`nonzero`), this device refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from arrows.engine.device.counts import Counter
from arrows.ops.arrays import HostArray

COUNTER = Counter()
"""What both fake devices have done: their arrays are of one class."""

SCALARS = (int, float, bool, np.generic)

_WITHOUT_CONTENT = {"empty", "empty_like"}

Operand: TypeAlias = HostArray | int | float | np.generic
"""An operand as NumPy computes with it: a device array's data, or a scalar."""


class FakeDeviceError(TypeError):
    """Host and device were mixed, or a value of the device was read without asking for it.

    >>> from arrows.engine.device import get_device
    >>> fake = get_device("fake")
    >>> fake.xp.add(fake.to_device(np.ones(2)), np.ones(2))
    Traceback (most recent call last):
    ...
    arrows.engine.device.fake.FakeDeviceError: add: a host array (float64, shape (2,)) ...
    """


def refuse(reason: str) -> NoReturn:
    raise FakeDeviceError(reason)


def checked_operand(value: object, function: str) -> Operand:
    """Returns a device array's data, or a Python or NumPy scalar as it is; refuses everything else."""
    if isinstance(value, FakeArray):
        return value._data
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, np.ndarray):
        refuse(f"{function}: a host array ({value.dtype}, shape {value.shape}) was handed to the device")
    refuse(f"{function}: expected a device array or a scalar, got {type(value).__name__}")


def checked_array(value: object, function: str) -> HostArray:
    """Like `checked_operand`, for places where CuPy takes arrays only."""
    if isinstance(value, SCALARS):
        refuse(f"{function}: expected a device array, got the scalar {value!r}")
    data = checked_operand(value, function)
    assert isinstance(data, np.ndarray)
    return data


def wrap(value: object) -> Any:
    """Turns a result of NumPy into device arrays: scalars too, as CuPy returns 0-d arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        return FakeArray(np.asarray(value))
    if isinstance(value, tuple):
        return tuple(wrap(item) for item in value)
    if isinstance(value, list):
        return [wrap(item) for item in value]
    return value


def plain(value: object, function: str) -> Any:
    """Returns an argument that must not be an array, nor hold one."""
    if isinstance(value, (FakeArray, np.ndarray)):
        refuse(f"{function}: an array was given where a shape, an axis or an element type belongs")
    if isinstance(value, (tuple, list)):
        for item in value:
            plain(item, function)
    return value


def call_numpy(
    function: Callable[..., object],
    name: str,
    operands: Sequence[Operand],
    rest: Iterable[object],
    keywords: Mapping[str, object],
    owner: Sequence[HostArray] = (),
) -> Any:
    """Calls a function of NumPy for the device, without floating-point warnings: a GPU gives none.

    Args:
        function: NumPy's function, or a method of the array.
        name: what it is called in errors.
        operands: what `checked_operand` returned.
        rest: further positional arguments, which must not be arrays.
        keywords: likewise, but for `out`.
        owner: the array whose method it is; else empty.
    """
    positional = [plain(value, name) for value in rest]
    ready, out = _keywords_and_out(keywords, name)
    with np.errstate(all="ignore"):
        result = function(*operands, *positional, **ready)
    if out is not None:
        COUNTER.wrote(out._data)
        return out
    if name not in _WITHOUT_CONTENT:
        COUNTER.computed(result, (*operands, *owner))
    return wrap(result)


def _keywords_and_out(
    keywords: Mapping[str, object], function: str
) -> tuple[dict[str, Any], FakeArray | None]:
    """Returns the keywords for NumPy, with the data of `out`, and the device array given as `out`."""
    ready: dict[str, Any] = {}
    out: FakeArray | None = None
    for key, value in keywords.items():
        if key == "out":
            if value is None:
                continue
            if isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            if not isinstance(value, FakeArray):
                refuse(f"{function}: out= must be a device array, got {type(value).__name__}")
            out = value
            ready[key] = value._data
        elif isinstance(value, FakeArray):
            refuse(f"{function}: {key}= does not take an array")
        else:
            ready[key] = plain(value, function)
    return ready, out


def _index(key: object) -> Any:
    """Checks that an index needs no crossing: integers, slices, None, Ellipsis, device arrays of integers."""
    items = key if isinstance(key, tuple) else (key,)
    ready: list[object] = []
    for item in items:
        if isinstance(item, FakeArray):
            if item._data.dtype.kind not in "iu":
                refuse("index: the host does not know how many a mask selects; use where() or indices")
            ready.append(item._data)
        elif item is None or item is Ellipsis:
            ready.append(item)
        elif isinstance(item, slice):
            for bound in (item.start, item.stop, item.step):
                if isinstance(bound, FakeArray):
                    refuse("index: the bounds of a slice are read on the host")
            ready.append(item)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            ready.append(item)
        elif isinstance(item, np.ndarray):
            refuse("index: a host array was used to index a device array; send it up with to_device")
        else:
            refuse(f"index: {type(item).__name__} would be copied to the device; send it up with to_device")
    return tuple(ready) if isinstance(key, tuple) else ready[0]


def _binary(name: str, reverse: bool = False) -> Callable[[FakeArray, object], Any]:
    function = getattr(np, name)

    def operator(self: FakeArray, other: object) -> FakeArray:
        value = checked_operand(other, name)
        with np.errstate(all="ignore"):
            result = function(value, self._data) if reverse else function(self._data, value)
        return FakeArray(COUNTER.wrote(np.asarray(result)))

    return operator


def _in_place(name: str) -> Callable[[FakeArray, object], FakeArray]:
    function = getattr(np, name)

    def operator(self: FakeArray, other: object) -> FakeArray:
        value = checked_operand(other, name)
        with np.errstate(all="ignore"):
            function(self._data, value, out=self._data)
        COUNTER.wrote(self._data)
        return self

    return operator


def _unary(name: str) -> Callable[[FakeArray], FakeArray]:
    function = getattr(np, name)

    def operator(self: FakeArray) -> FakeArray:
        return FakeArray(COUNTER.wrote(np.asarray(function(self._data))))

    return operator


def _reads(operation: str) -> Callable[..., Any]:
    """Makes a method that refuses, since it would read a value of the device."""

    def method(self: FakeArray, *arguments: object) -> NoReturn:
        refuse(f"{operation} reads the device; bring the value down with to_numpy")

    return method


def _method(name: str) -> Callable[..., Any]:
    """Makes a method that calls NumPy's; its arguments must not be arrays."""

    def method(self: FakeArray, *arguments: object, **keywords: object) -> Any:
        return call_numpy(getattr(self._data, name), name, (), arguments, keywords, (self._data,))

    method.__name__ = name
    return method


class FakeArray:
    """An array on the fake device.  Only `to_device` makes one from host data, only `to_numpy` reads
    one.

    It has what CuPy's arrays have of shape, element type, operators, indexing and methods; whatever would
    move data between host and device, or make the host wait, raises `FakeDeviceError`.

    >>> from arrows.engine.device import get_device
    >>> fake = get_device("fake")
    >>> a = fake.to_device(np.arange(3.0))
    >>> (a + 1).sum()
    FakeArray(float64[])
    >>> float(a.sum())
    Traceback (most recent call last):
    ...
    arrows.engine.device.fake.FakeDeviceError: float() reads the device; bring the value down with to_numpy
    """

    __slots__ = ("_data",)
    __array_ufunc__ = None  # NumPy's ufuncs then refuse it, and leave operators to this class
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: HostArray) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"FakeArray({self._data.dtype}{list(self._data.shape)})"

    # Attributes that the host knows without asking the device.
    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self._data.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    @property
    def itemsize(self) -> int:
        return self._data.itemsize

    @property
    def flags(self) -> Any:
        return self._data.flags

    @property
    def T(self) -> FakeArray:
        return FakeArray(self._data.T)

    def __len__(self) -> int:
        return len(self._data)

    # Reading and writing parts.
    def __getitem__(self, key: object) -> FakeArray:
        part = self._data[_index(key)]
        if isinstance(part, np.ndarray):  # a single number is a view in CuPy
            COUNTER.computed(part, (self._data,))
        return FakeArray(np.asarray(part))

    def __setitem__(self, key: object, value: object) -> None:
        self._data[_index(key)] = checked_operand(value, "assignment")
        COUNTER.wrote(self._data)

    # Crossings.
    def __array__(self, *arguments: object, **keywords: object) -> NoReturn:
        refuse("NumPy was given a device array; bring it down with to_numpy")

    def __array_function__(self, function: Callable[..., object], *rest: object) -> NoReturn:
        refuse(f"numpy.{function.__name__} was given a device array; use xp.{function.__name__} or to_numpy")

    def __iter__(self) -> Iterator[NoReturn]:
        refuse("iterating a device array reads it element by element; bring it down with to_numpy")

    __contains__, __bool__, __index__ = _reads("`in`"), _reads("bool()"), _reads("an index")
    __float__, __int__, __complex__ = _reads("float()"), _reads("int()"), _reads("complex()")
    __round__, item, tolist = _reads("round()"), _reads("item()"), _reads("tolist()")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse("a device array does not pickle; bring it down with to_numpy")

    __add__, __radd__, __iadd__ = _binary("add"), _binary("add", True), _in_place("add")
    __sub__, __rsub__, __isub__ = _binary("subtract"), _binary("subtract", True), _in_place("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply"), _binary("multiply", True), _in_place("multiply")
    __truediv__, __rtruediv__ = _binary("true_divide"), _binary("true_divide", True)
    __itruediv__ = _in_place("true_divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", True)
    __pow__, __rpow__, __ipow__ = _binary("power"), _binary("power", True), _in_place("power")
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", True)
    __lshift__, __rshift__ = _binary("left_shift"), _binary("right_shift")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__ = _unary("abs"), _unary("invert")

    all, any, argmax, argmin = _method("all"), _method("any"), _method("argmax"), _method("argmin")
    astype, copy, cumsum = _method("astype"), _method("copy"), _method("cumsum")
    max, mean, min, prod = _method("max"), _method("mean"), _method("min"), _method("prod")
    ravel, reshape, squeeze = _method("ravel"), _method("reshape"), _method("squeeze")
    swapaxes, transpose, view = _method("swapaxes"), _method("transpose"), _method("view")
    argsort, sort = _method("argsort"), _method("sort")

    def sum(self, axis: object = None, **keywords: object) -> FakeArray:
        """Sums floats in float64: a GPU adds in a tree, which is about as exact."""
        ready, out = _keywords_and_out({"axis": axis, **keywords}, "sum")
        dtype = ready.pop("dtype", None) or self._data.dtype
        wide = "float64" if self._data.dtype.kind == "f" else dtype
        with np.errstate(all="ignore"):
            result = np.asarray(
                np.sum(self._data, dtype=wide, **{k: v for k, v in ready.items() if k != "out"})
            )
            COUNTER.wrote(result)
            if out is None:
                return FakeArray(result.astype(dtype))
            out._data[...] = result
        return out

    def fill(self, value: object) -> None:
        self._data.fill(plain(value, "fill"))
        COUNTER.wrote(self._data)

    def take(self, indices: object, axis: int | None = None, out: FakeArray | None = None) -> FakeArray:
        return take(self, indices, axis=axis, out=out)

    def dot(self, other: object) -> FakeArray:
        return FakeArray(COUNTER.wrote(np.asarray(self._data.dot(checked_array(other, "dot")))))


def take(array: object, indices: object, axis: int | None = None, out: object = None) -> FakeArray:
    """CuPy's `take`: no `mode`.  Stricter than CuPy, which wraps a wrong index round without a word."""
    rows: Any = checked_operand(indices, "take")
    data = checked_array(array, "take")
    if out is None:
        return FakeArray(COUNTER.wrote(np.asarray(np.take(data, rows, axis=axis))))
    if not isinstance(out, FakeArray):
        refuse(f"take: out= must be a device array, got {type(out).__name__}")
    np.take(data, rows, axis=axis, out=out._data)
    COUNTER.wrote(out._data)
    return out
