"""The strict fake devices, which run on the host and refuse every implicit crossing between host and device.

Continuous integration has no GPU, so their arrays are NumPy underneath.  Code that runs on them never mixes
host and device arrays, never reads a device value from Python without saying so, and keeps to the functions
that CuPy has.  Where CuPy would quietly wait for the device (`float(a)`, `if a:`, boolean masks, `nonzero`),
these devices refuse.  They count what they launch, send, bring down and wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray
from arrows.engine.cuda import KernelDevice
from arrows.engine.device import Device, KernelSource, Launch, ProductLayout
from arrows.testing.host_kernels import HostKernel, host_kernels, host_products

# ------------------------------------------------------------------------------------------------- counting


@dataclass(slots=True, kw_only=True)
class Counts:
    """What the fake devices have done so far; the difference of two counts is what they did in between.

    Attributes:
        launches: kernels, matrix products, and calls of the array module, of its operators and methods that
            give a new array or write to one.  Views, empty arrays and memory without content cost none.
            CuPy may launch more than one kernel for a call, such as a sort.
        uploads: copies from the host to the device.
        downloads: copies from the device to the host; the host waits for each.
        synchronizations: other calls that wait until the device has finished.

    >>> Counts(launches=3, uploads=1) - Counts(launches=1)
    Counts(launches=2, uploads=1, downloads=0, synchronizations=0)
    """

    launches: int = 0
    uploads: int = 0
    downloads: int = 0
    synchronizations: int = 0

    def __sub__(self, earlier: Counts) -> Counts:
        names = ("launches", "uploads", "downloads", "synchronizations")
        values = (now - before for now, before in zip(astuple(self), astuple(earlier), strict=True))
        return Counts(**dict(zip(names, values, strict=True)))


COUNTS = Counts()
"""What all fake devices have done: their arrays are of one class."""


def wrote(array: Any) -> HostArray:
    """Counts the launch that writes an array, which is returned; an empty one needs none."""
    written = np.asarray(array)
    COUNTS.launches += bool(written.size)
    return written


def computed(result: object, operands: Sequence[object]) -> None:
    """Counts a launch for each array of a result of NumPy, unless it is a view of an operand."""
    if isinstance(result, (tuple, list)):
        for item in result:
            computed(item, operands)
    elif isinstance(result, (np.ndarray, np.generic)):
        arrays = (operand for operand in operands if isinstance(operand, np.ndarray))
        if isinstance(result, np.generic) or not any(np.may_share_memory(result, each) for each in arrays):
            wrote(result)


# ------------------------------------------------------------------------------------------------- checking

SCALARS = (int, float, bool, np.generic)

Operand: TypeAlias = HostArray | int | float | np.generic
"""An operand as NumPy computes with it: a device array's data, or a scalar."""


class FakeDeviceError(TypeError):
    """Host and device were mixed, or a value of the device was read without asking for it.

    >>> from arrows.engine.device import get_device
    >>> fake = get_device("fake")
    >>> fake.xp.add(fake.to_device(np.ones(2)), np.ones(2))
    Traceback (most recent call last):
    ...
    arrows.testing.fake.FakeDeviceError: add: a host array (float64, shape (2,)) ...
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
    return type(value)(map(wrap, value)) if isinstance(value, (tuple, list)) else value


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
        wrote(out._data)
        return out
    if name not in ("empty", "empty_like"):  # memory without content
        computed(result, (*operands, *owner))
    return wrap(result)


def _keywords_and_out(
    keywords: Mapping[str, object], function: str
) -> tuple[dict[str, Any], FakeArray | None]:
    """Returns the keywords for NumPy, with the data of `out`, and the device array given as `out`."""
    ready: dict[str, Any] = {}
    found = keywords.get("out")
    out = found[0] if isinstance(found, tuple) and len(found) == 1 else found
    if out is not None and not isinstance(out, FakeArray):
        refuse(f"{function}: out= must be a device array, got {type(out).__name__}")
    for key, value in keywords.items():
        if key != "out":
            ready[key] = plain(value, f"{function}: {key}=")
    if out is not None:
        ready["out"] = out._data
    return ready, out


def _index(key: object) -> Any:
    """Checks that an index needs no crossing: integers, slices, None, Ellipsis, device arrays of integers."""
    if isinstance(key, tuple):
        return tuple(_index(item) for item in key)
    if isinstance(key, FakeArray):
        if key._data.dtype.kind not in "iu":
            refuse("index: the host does not know how many a mask selects; use where() or indices")
        return key._data
    if isinstance(key, slice):
        if any(isinstance(bound, FakeArray) for bound in (key.start, key.stop, key.step)):
            refuse("index: the bounds of a slice are read on the host")
        return key
    if key is None or key is Ellipsis or (isinstance(key, (int, np.integer)) and not isinstance(key, bool)):
        return key
    refuse(f"index: {type(key).__name__} would be copied to the device; send it up with to_device")


# --------------------------------------------------------------------------------------------------- arrays


class FakeArray:
    """An array on the fake device.  Only `to_device` makes one from host data, only `to_numpy` reads
    one.

    It has what CuPy's arrays have of shape, element type, operators, indexing and methods; whatever would
    move data between host and device, or make the host wait, raises `FakeDeviceError`.

    >>> from arrows.engine.device import get_device
    >>> fake = get_device("fake")
    >>> a: Any = fake.to_device(np.arange(3.0))
    >>> (a + 1).sum()
    FakeArray(float64[])
    >>> float(a.sum())
    Traceback (most recent call last):
    ...
    arrows.testing.fake.FakeDeviceError: float() reads the device; bring the value down with to_numpy
    """

    __slots__ = ("_data",)
    __array_ufunc__ = None  # NumPy's ufuncs then refuse it, and leave operators to this class
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: HostArray) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"FakeArray({self._data.dtype}{list(self._data.shape)})"

    def __len__(self) -> int:
        return len(self._data)

    @property
    def T(self) -> FakeArray:
        return FakeArray(self._data.T)

    def __getitem__(self, key: object) -> FakeArray:
        part = self._data[_index(key)]
        if isinstance(part, np.ndarray):  # a single number is a view in CuPy
            computed(part, (self._data,))
        return FakeArray(np.asarray(part))

    def __setitem__(self, key: object, value: object) -> None:
        self._data[_index(key)] = checked_operand(value, "assignment")
        wrote(self._data)

    def __array__(self, *arguments: object, **keywords: object) -> NoReturn:
        refuse("NumPy was given a device array; bring it down with to_numpy")

    def __array_function__(self, function: Callable[..., object], *rest: object) -> NoReturn:
        refuse(f"numpy.{function.__name__} was given a device array; use xp.{function.__name__} or to_numpy")

    def __iter__(self) -> Iterator[NoReturn]:
        refuse("iterating a device array reads it element by element; bring it down with to_numpy")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse("a device array does not pickle; bring it down with to_numpy")

    def sum(self, axis: object = None, **keywords: object) -> FakeArray:
        """Sums floats in float64: a GPU adds in a tree, which is about as exact."""
        ready, out = _keywords_and_out({"axis": axis, **keywords}, "sum")
        dtype = ready.pop("dtype", None) or self._data.dtype
        ready.pop("out", None)
        wide = "float64" if self._data.dtype.kind == "f" else dtype
        with np.errstate(all="ignore"):
            result = wrote(np.sum(self._data, dtype=wide, **ready))
            if out is None:
                return FakeArray(result.astype(dtype))
            out._data[...] = result
        return out

    def fill(self, value: object) -> None:
        self._data.fill(plain(value, "fill"))
        wrote(self._data)

    def take(self, indices: object, axis: int | None = None, out: FakeArray | None = None) -> FakeArray:
        return take(self, indices, axis=axis, out=out)

    def dot(self, other: object) -> FakeArray:
        return FakeArray(wrote(self._data.dot(checked_array(other, "dot"))))


def _names(text: str) -> list[str]:
    return text.split()


def _operator(name: str) -> Callable[..., Any]:
    """Makes an operator that calls NumPy's."""
    function = getattr(np.ndarray, f"__{name}__")

    def operator(self: FakeArray, *others: object) -> FakeArray:
        operands = [checked_operand(other, name) for other in others]
        with np.errstate(all="ignore"):
            result = function(self._data, *operands)
        wrote(result)
        return self if result is self._data else FakeArray(np.asarray(result))

    return operator


def _reads(name: str) -> Callable[..., NoReturn]:
    """Makes a method that refuses, since it would read a value of the device."""

    def method(self: FakeArray, *arguments: object) -> NoReturn:
        refuse(f"{name.strip('_')}() reads the device; bring the value down with to_numpy")

    return method


def _method(name: str) -> Callable[..., Any]:
    """Makes a method that calls NumPy's; its arguments must not be arrays."""

    def method(self: FakeArray, *arguments: object, **keywords: object) -> Any:
        return call_numpy(getattr(self._data, name), name, (), arguments, keywords, (self._data,))

    method.__name__ = name
    return method


for each in _names("shape strides dtype ndim size nbytes itemsize flags"):  # what the host knows
    setattr(FakeArray, each, property(attrgetter(f"_data.{each}")))
for each in _names("""
    add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod pow rpow
    ipow matmul rmatmul and rand or ror xor rxor lshift rshift lt le gt ge eq ne neg pos abs invert
"""):
    setattr(FakeArray, f"__{each}__", _operator(each))
for each in _names("""
    __contains__ __bool__ __index__ __float__ __int__ __complex__ __round__ item tolist
"""):
    setattr(FakeArray, each, _reads(each))
for each in _names("""
    all any argmax argmin astype copy cumsum max mean min prod ravel reshape squeeze swapaxes transpose view
    argsort sort
"""):
    setattr(FakeArray, each, _method(each))


def take(array: object, indices: object, axis: int | None = None, out: object = None) -> FakeArray:
    """CuPy's `take`: no `mode`.  Stricter than CuPy, which wraps a wrong index round without a word."""
    rows: Any = checked_operand(indices, "take")
    data = checked_array(array, "take")
    if out is None:
        return FakeArray(wrote(np.take(data, rows, axis=axis)))
    if not isinstance(out, FakeArray):
        refuse(f"take: out= must be a device array, got {type(out).__name__}")
    wrote(np.take(data, rows, axis=axis, out=out._data))
    return out


# ------------------------------------------------------------------------------------------ the array module


# What CuPy and NumPy share.  Absent on purpose: `add.at`, `reduceat` (CuPy lacks them or has them in part),
# `nonzero`, `unique`, `array_equal`, `allclose` (they wait for the device).  `flatnonzero` waits too; it is
# there for row-sparse gradients, whose rows must be counted.
_UFUNCS = _names("""
    add subtract multiply divide true_divide floor_divide remainder power negative positive absolute abs sign
    square sqrt reciprocal exp expm1 exp2 log log1p log2 sin cos tan sinh cosh tanh arcsin arccos arctan
    arctan2 arcsinh arccosh arctanh maximum minimum fmax fmin logaddexp greater greater_equal less less_equal
    equal not_equal logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert
    left_shift right_shift isnan isinf isfinite floor ceil rint trunc copysign hypot matmul conjugate
""")
# By how many of the positional arguments are arrays, which come first.
_FUNCTIONS = {
    0: _names("empty zeros ones full arange eye identity linspace"),
    1: _names("""
        sum prod mean max min amax amin argmax argmin all any cumsum cumprod var std reshape ravel transpose
        swapaxes moveaxis squeeze expand_dims broadcast_to flip roll repeat tile sort argsort empty_like
        zeros_like ones_like full_like copy ascontiguousarray diff nan_to_num clip pad split
        array_split diagonal diag trace tril triu rollaxis
    """),
    2: _names("""
        dot vdot inner tensordot kron searchsorted take_along_axis compress shares_memory outer
        may_share_memory
    """),
}
_LISTS = _names("concatenate stack hstack vstack column_stack")
_COPIED_ONE_BY_ONE = 8
_CONSTANTS = _names("""
    float16 float32 float64 bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp newaxis pi inf nan e
    dtype result_type promote_types can_cast issubdtype floating integer iinfo finfo
""")


def _ufunc(name: str) -> Callable[..., Any]:
    """Makes an element-wise function, without `at` and `reduceat`."""
    function = getattr(np, name)

    def call(*operands: object, **keywords: object) -> Any:
        if len(operands) == function.nin + 1:  # out may stand last, as in NumPy and CuPy
            operands, keywords["out"] = operands[:-1], operands[-1]
        return call_numpy(function, name, [checked_operand(each, name) for each in operands], (), keywords)

    return call


def _function(name: str, arrays: int) -> Callable[..., Any]:
    """Makes a function of so many arrays that calls NumPy's."""
    function = getattr(np, name)

    def call(*arguments: object, **keywords: object) -> Any:
        checked = [checked_array(array, name) for array in arguments[:arrays]]
        return call_numpy(function, name, checked, arguments[arrays:], keywords)

    return call


def _list_of_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(arrays: Iterable[object], *rest: object, **keywords: object) -> Any:
        if isinstance(arrays, FakeArray):
            refuse(f"{name}: expected a list of device arrays")
        checked = [checked_array(item, name) for item in arrays]
        # CuPy copies up to eight arrays one by one; for more it launches once and sends their addresses.
        if len(checked) > _COPIED_ONE_BY_ONE:
            COUNTS.uploads += 1
        else:
            COUNTS.launches += max(sum(array.size > 0 for array in checked) - 1, 0)
        return call_numpy(partial(function, checked), name, (), rest, keywords)

    return call


class FakeModule:
    """The device's counterpart of the module `cupy`: the functions that NumPy and CuPy share, checked.

    >>> xp.zeros((2, 3), "float32")
    FakeArray(float32[2, 3])
    >>> xp.unique
    Traceback (most recent call last):
    ...
    AttributeError: the fake device has no 'unique': CuPy lacks it or it makes the host wait
    """

    ndarray = FakeArray
    take = staticmethod(take)

    def __init__(self) -> None:
        made: dict[str, Any] = {name: getattr(np, name) for name in _CONSTANTS}
        made |= {name: _function(name, count) for count, names in _FUNCTIONS.items() for name in names}
        made |= {name: _list_of_arrays(name) for name in _LISTS}
        made |= {name: _ufunc(name) for name in _UFUNCS}
        vars(self).update(made)

    def __repr__(self) -> str:
        return "<the fake device's array module>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the fake device has no {name!r}: CuPy lacks it or it makes the host wait")

    def asarray(self, value: object, dtype: npt.DTypeLike | None = None) -> FakeArray:
        """Takes device arrays and scalars; host arrays must go through `to_device`."""
        operand = checked_operand(value, "asarray")
        result = np.asarray(operand, dtype)
        if isinstance(operand, np.ndarray):
            computed(result, (operand,))
        else:
            COUNTS.uploads += 1
        return FakeArray(result)

    def array(self, value: object, dtype: npt.DTypeLike | None = None, copy: bool = True) -> FakeArray:
        return FakeArray(wrote(self.asarray(value, dtype)._data.copy()))

    def where(self, condition: object, x: object, y: object) -> Any:
        """Takes three operands: with one, the host would wait to learn the size of the result."""
        operands = [checked_operand(operand, "where") for operand in (condition, x, y)]
        return call_numpy(np.where, "where", operands, (), {})

    def einsum(self, subscripts: str, *operands: object, out: FakeArray | None = None) -> FakeArray:
        arrays = [checked_array(operand, "einsum") for operand in operands]
        # In float64, for the reason given at `FakeArray.sum`.
        result = wrote(np.einsum(subscripts, *arrays, dtype="float64").astype(arrays[0].dtype))
        if out is None:
            return FakeArray(result)
        out._data[...] = result
        return out

    def flatnonzero(self, array: object) -> FakeArray:
        """Waits, since the host must learn how many numbers are not zero."""
        COUNTS.synchronizations += 1
        return FakeArray(wrote(np.flatnonzero(checked_array(array, "flatnonzero"))))

    def copyto(self, target: object, source: object) -> None:
        array = checked_array(target, "copyto")
        np.copyto(array, checked_operand(source, "copyto"))
        wrote(array)


xp = FakeModule()


# -------------------------------------------------------------------------------------------------- devices


class FakeDevice(Device):
    """The strict device, without kernels."""

    name = "fake"
    xp = xp

    @property
    def counts(self) -> Counts:
        """What the fake devices have done so far."""
        return replace(COUNTS)

    def to_device(self, array: HostArray) -> Any:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"to_device takes a NumPy array, got {type(array).__name__}")
        COUNTS.uploads += 1
        return FakeArray(array.copy())  # a GPU does not see later changes on the host either

    def to_numpy(self, array: object) -> HostArray:
        COUNTS.downloads += 1
        return self._data(array).copy()  # changes on the host must not reach the device

    def synchronize(self) -> None:
        COUNTS.synchronizations += 1

    def address(self, array: object) -> int:
        return int(self._data(array).ctypes.data)

    def _data(self, array: object) -> HostArray:
        if not isinstance(array, FakeArray):
            raise TypeError(f"expected an array of the fake device, got {type(array).__name__}")
        return array._data


class FakeKernelsDevice(KernelDevice, FakeDevice):
    """The strict device with kernels, which the host's C compiler compiles.

    Args:
        backwards: whether a launch runs its items from the last to the first.  A GPU runs them in any order,
            so whatever depends on the order shows in one of the two.
    """

    name = "fake-kernels"

    def __init__(self, *, backwards: bool = False) -> None:
        super().__init__()
        self._backwards = backwards

    def compile_unit(self, sources: Sequence[KernelSource]) -> Mapping[str, HostKernel]:
        return host_kernels(sources, _launched, backwards=self._backwards)

    def products(self, layout: ProductLayout, words: HostArray) -> Launch:
        return host_products(layout, words, _launched)


def _launched() -> None:
    COUNTS.launches += 1
