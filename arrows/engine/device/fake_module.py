"""The array module of the strict fake device: what NumPy and CuPy share, every argument checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.engine.device.fake import (
    COUNTER,
    FakeArray,
    call_numpy,
    checked_array,
    checked_operand,
    refuse,
    take,
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

    def __call__(self, *operands: object, **keywords: object) -> Any:
        if len(operands) == self.nin + 1:  # out may stand last, as in NumPy and CuPy
            *head, keywords["out"] = operands
            operands = tuple(head)
        checked = [checked_operand(operand, self.__name__) for operand in operands]
        return call_numpy(self._function, self.__name__, checked, (), keywords)

    def reduce(self, array: object, **keywords: object) -> Any:
        checked = checked_array(array, self.__name__)
        return call_numpy(self._function.reduce, self.__name__, [checked], (), keywords)

    def outer(self, a: object, b: object, **keywords: object) -> Any:
        checked = [checked_array(array, self.__name__) for array in (a, b)]
        return call_numpy(self._function.outer, self.__name__, checked, (), keywords)


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
    zeros_like ones_like full_like copy ascontiguousarray diff nan_to_num clip pad split
    array_split diagonal diag trace tril triu rollaxis
""")
_TWO_ARRAYS = _names("""
    dot vdot inner outer tensordot kron searchsorted take_along_axis compress shares_memory
""")
_LISTS = _names("concatenate stack hstack vstack column_stack")
_COPIED_ONE_BY_ONE = 8
_CONSTANTS = _names("""
    float16 float32 float64 bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp newaxis pi inf nan e
    dtype result_type promote_types can_cast issubdtype floating integer iinfo finfo
""")


def _one_array(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(array: object, *rest: object, **keywords: object) -> Any:
        return call_numpy(function, name, [checked_array(array, name)], rest, keywords)

    return call


def _two_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(a: object, b: object, *rest: object, **keywords: object) -> Any:
        return call_numpy(function, name, [checked_array(a, name), checked_array(b, name)], rest, keywords)

    return call


def _list_of_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(arrays: Iterable[object], *rest: object, **keywords: object) -> Any:
        if isinstance(arrays, FakeArray):
            refuse(f"{name}: expected a list of device arrays")
        checked = [checked_array(item, name) for item in arrays]
        # CuPy copies up to eight arrays one by one; for more it launches once and sends their addresses.
        if len(checked) > _COPIED_ONE_BY_ONE:
            COUNTER.uploads += 1
        else:
            COUNTER.launches += max(sum(array.size > 0 for array in checked) - 1, 0)
        return call_numpy(partial(function, checked), name, (), rest, keywords)

    return call


def _creation(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(*arguments: object, **keywords: object) -> Any:
        return call_numpy(function, name, (), arguments, keywords)

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
    add: Any  # declared for mypy; the constructor sets it and all others

    def __init__(self) -> None:
        for names, make in (
            (_CREATION, _creation),
            (_ONE_ARRAY, _one_array),
            (_TWO_ARRAYS, _two_arrays),
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

    def asarray(self, value: object, dtype: npt.DTypeLike | None = None) -> FakeArray:
        """Takes device arrays and scalars; host arrays must go through `to_device`."""
        operand = checked_operand(value, "asarray")
        result = np.asarray(operand, dtype)
        if isinstance(operand, np.ndarray):
            COUNTER.computed(result, (operand,))
        else:
            COUNTER.uploads += 1
        return FakeArray(result)

    def array(self, value: object, dtype: npt.DTypeLike | None = None, copy: bool = True) -> FakeArray:
        copied: FakeArray = self.asarray(value, dtype).copy()
        return copied

    def where(self, condition: object, x: object, y: object) -> Any:
        """Takes three operands: with one, the host would wait to learn the size of the result."""
        operands = [checked_operand(operand, "where") for operand in (condition, x, y)]
        return call_numpy(np.where, "where", operands, (), {})

    def einsum(self, subscripts: str, *operands: object, out: FakeArray | None = None) -> FakeArray:
        arrays = [checked_array(operand, "einsum") for operand in operands]
        # In float64, for the reason given at `FakeArray.sum`.
        result = np.einsum(subscripts, *arrays, dtype="float64").astype(arrays[0].dtype)
        COUNTER.wrote(result)
        if out is None:
            return FakeArray(result)
        out._data[...] = result
        return out

    def flatnonzero(self, array: object) -> FakeArray:
        """Waits, since the host must learn how many numbers are not zero."""
        COUNTER.synchronizations += 1
        return FakeArray(COUNTER.wrote(np.flatnonzero(checked_array(array, "flatnonzero"))))

    def copyto(self, target: object, source: object) -> None:
        array = checked_array(target, "copyto")
        np.copyto(array, checked_operand(source, "copyto"))
        COUNTER.wrote(array)

    def may_share_memory(self, a: object, b: object) -> bool:
        return np.may_share_memory(checked_array(a, "may_share_memory"), checked_array(b, "may_share_memory"))


xp = FakeModule()
