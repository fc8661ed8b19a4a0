"""The array module of the strict fake device: what NumPy and CuPy share, every argument checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrows.engine.device.fake import (
    FakeArray,
    checked_array,
    checked_operand,
    keywords_and_out,
    plain,
    refuse,
    take,
    wrap,
)


class FakeUfunc:
    """An element-wise function of the device, with `reduce` and `outer`, without `at` and `reduceat`.

    >>> FakeUfunc(np.add)
    <ufunc 'add' of the fake device>
    """

    def __init__(self, function: np.ufunc) -> None:
        self._function = function
        self.__name__ = function.__name__
        self.nin, self.nout = function.nin, function.nout

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} of the fake device>"

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        if len(operands) == self.nin + 1:  # out may stand last, as in NumPy and CuPy
            *head, keywords["out"] = operands
            operands = tuple(head)
        given = [checked_operand(operand, self.__name__) for operand in operands]
        ready, out = keywords_and_out(keywords, self.__name__)
        with np.errstate(all="ignore"):  # a device sets no floating-point flags
            result = self._function(*given, **ready)
        return wrap(result) if out is None else out

    def reduce(self, array: Any, **keywords: Any) -> Any:
        ready, out = keywords_and_out(keywords, self.__name__)
        with np.errstate(all="ignore"):
            result = self._function.reduce(checked_array(array, self.__name__), **ready)
        return wrap(result) if out is None else out

    def outer(self, a: Any, b: Any, **keywords: Any) -> Any:
        ready, out = keywords_and_out(keywords, self.__name__)
        with np.errstate(all="ignore"):
            result = self._function.outer(
                checked_array(a, self.__name__), checked_array(b, self.__name__), **ready
            )
        return wrap(result) if out is None else out


def _names(text: str) -> list[str]:
    return text.split()


# What CuPy and NumPy share, by what their positional arguments may be.  Absent on purpose: `add.at`,
# `reduceat` (CuPy lacks them or has them in part), `nonzero`, `unique`, `array_equal`, `allclose` (they wait
# for the device).  `flatnonzero` waits too; it is there for row-sparse gradients, whose rows must be counted.
_UFUNCS = _names("""
    add subtract multiply divide true_divide floor_divide remainder power negative positive absolute abs sign
    square sqrt reciprocal exp expm1 exp2 log log1p log2 sin cos tan sinh cosh tanh arcsin arccos arctan
    arctan2 arcsinh arccosh arctanh maximum minimum fmax fmin logaddexp greater greater_equal less less_equal
    equal not_equal logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert
    left_shift right_shift isnan isinf isfinite floor ceil rint trunc copysign hypot matmul conjugate
""")
_CREATION = _names("empty zeros ones full arange eye identity linspace")
_ONE_ARRAY = _names("""
    sum prod mean max min amax amin argmax argmin all any cumsum cumprod var std reshape ravel transpose
    swapaxes moveaxis squeeze expand_dims broadcast_to flip roll repeat tile sort argsort empty_like
    zeros_like ones_like full_like copy ascontiguousarray flatnonzero diff nan_to_num clip pad split
    array_split diagonal diag trace tril triu rollaxis
""")
_ARRAYS_ONLY = _names("""
    dot vdot inner outer tensordot kron searchsorted take_along_axis compress shares_memory
""")
_LISTS = _names("concatenate stack hstack vstack column_stack")
_CONSTANTS = _names("""
    float16 float32 float64 bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp newaxis pi inf nan e
    dtype result_type promote_types can_cast issubdtype floating integer iinfo finfo
""")


def _one_array(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(array: Any, *rest: Any, **keywords: Any) -> Any:
        data = checked_array(array, name)
        given = [plain(value, name) for value in rest]
        ready, out = keywords_and_out(keywords, name)
        with np.errstate(all="ignore"):
            result = function(data, *given, **ready)
        return wrap(result) if out is None else out

    return call


def _arrays_only(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(a: Any, b: Any, *rest: Any, **keywords: Any) -> Any:
        given = [plain(value, name) for value in rest]
        ready, out = keywords_and_out(keywords, name)
        with np.errstate(all="ignore"):
            result = function(checked_array(a, name), checked_array(b, name), *given, **ready)
        return wrap(result) if out is None else out

    return call


def _list_of_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(arrays: Any, *rest: Any, **keywords: Any) -> Any:
        if isinstance(arrays, FakeArray):
            refuse(f"{name}: expected a list of device arrays")
        given = [checked_array(item, name) for item in arrays]
        plain = [plain(value, name) for value in rest]
        ready, out = keywords_and_out(keywords, name)
        result = function(given, *plain, **ready)
        return wrap(result) if out is None else out

    return call


def _creation(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = [plain(value, name) for value in arguments]
        return wrap(function(*given, **{key: plain(value, name) for key, value in keywords.items()}))

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
    add: Any
    take: Any

    def __init__(self) -> None:
        for names, make in (
            (_CREATION, _creation),
            (_ONE_ARRAY, _one_array),
            (_ARRAYS_ONLY, _arrays_only),
            (_LISTS, _list_of_arrays),
        ):
            for name in names:
                setattr(self, name, make(name))
        for name in _UFUNCS:
            setattr(self, name, FakeUfunc(getattr(np, name)))
        for name in _CONSTANTS:
            setattr(self, name, getattr(np, name))
        self.take = take

    def __repr__(self) -> str:
        return "<the fake device's array module>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the fake device has no {name!r}: CuPy lacks it or it makes the host wait")

    def asarray(self, value: Any, dtype: Any = None) -> FakeArray:
        """A device array as it is, or a scalar as a 0-d array;

        lists and host arrays must go through `to_device`.
        """
        return FakeArray(np.asarray(checked_operand(value, "asarray"), dtype))

    def array(self, value: Any, dtype: Any = None, copy: bool = True) -> FakeArray:
        return FakeArray(np.array(checked_operand(value, "array"), dtype))

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """Three operands only: with one, the size of the result is a secret of the device."""
        return wrap(
            np.where(
                checked_operand(condition, "where"), checked_operand(x, "where"), checked_operand(y, "where")
            )
        )

    def einsum(self, subscripts: str, *operands: Any, out: FakeArray | None = None) -> Any:
        given = [checked_array(operand, "einsum") for operand in operands]
        result = np.einsum(subscripts, *given, dtype="float64").astype(given[0].dtype)  # as `FakeArray.sum`
        if out is None:
            return wrap(result)
        out[...] = wrap(result)
        return out

    def copyto(self, target: Any, source: Any) -> None:
        np.copyto(checked_array(target, "copyto"), checked_operand(source, "copyto"))

    def may_share_memory(self, a: Any, b: Any) -> bool:
        return bool(
            np.may_share_memory(checked_array(a, "may_share_memory"), checked_array(b, "may_share_memory"))
        )


xp = FakeModule()
