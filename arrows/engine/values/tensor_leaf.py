"""Converts Python objects of an example to the arrays of `Tensor` leaves, and refuses what does not fit.

Integer tensors take `int`, `bool` and NumPy integers in range; float tensors take any real number or `bool`.
Both take nested lists, tuples and arrays of exactly the right shape; arrays of other libraries by DLPack,
from the host's memory.  None, text, dates, masked elements and casts that lose more than the rounding of a
float are errors, since a NaN that began as None is found only a week later.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.values.descriptions import describe, hint_for_leaf, leaf_of, short_repr
from arrows.engine.values.results import ForeignArrayError, lends_memory, to_host
from arrows.typesys import masked_elements, types as T


class LeafError(ValueError):
    """A value does not fit a leaf's type.

    Attributes:
        hint: which block takes the value, or what was meant; empty where nothing is obvious.

    >>> convert(None, T.Tensor((), "int32"))
    Traceback (most recent call last):
    ...
    arrows.engine.values.tensor_leaf.LeafError: expected int, got None
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def convert(value: object, tensor: T.Tensor) -> HostArray:
    """One leaf of an example as a new array of `tensor.shape` and `tensor.dtype` (0-d for a scalar).

    Raises:
        LeafError: the value does not fit; the message says what is expected, what was found and where.

    >>> convert([1, 2.5], T.Tensor((2,), "float32"))
    array([1. , 2.5], dtype=float32)
    >>> convert([[1], [2.5]], T.Tensor((2, 1), "int32"))
    Traceback (most recent call last):
    ...
    arrows.engine.values.tensor_leaf.LeafError: expected int at [1][0], got 2.5
    """
    if masked_elements(value):  # NumPy would read the numbers under the mask
        masked = f"{describe(value)} with masked elements: fill them first, x.filled(0)"
        raise LeafError(f"expected {tensor}, got {masked}")
    value = _borrowed(value, tensor)
    array = _at_once(value, tensor.shape, tensor)
    return _one_by_one(value, tensor) if array is None else array


def _borrowed(value: object, tensor: T.Tensor) -> object:
    """An array of another library as NumPy's, which reads its memory; everything else as it is."""
    if isinstance(value, (np.ndarray, np.generic)) or not lends_memory(value):
        return value
    try:
        return to_host(value)
    except ForeignArrayError as error:
        raise LeafError(f"expected {tensor}, got an array of {type(value).__name__}: {error}") from error


def convert_many(values: Sequence[object], tensor: T.Tensor) -> HostArray:
    """Converts many leaves of one type to an array `[n, *tensor.shape]`.

    The result is that of `convert`, stacked.  One call of NumPy does it where that checks every element.

    Raises:
        LeafError: as `convert`, for the first value that does not fit.

    >>> convert_many([3, True], T.Tensor((), "int64"))
    array([3, 1])
    """
    if len(values) == 0:
        return np.empty((0, *tensor.shape), tensor.dtype)
    array = _at_once(values, (len(values), *tensor.shape), tensor)
    if array is not None:
        return array
    array = np.empty((len(values), *tensor.shape), tensor.dtype)
    for i, value in enumerate(values):
        array[i] = convert(value, tensor)
    return array


def _at_once(value: object, shape: tuple[int, ...], tensor: T.Tensor) -> HostArray | None:
    """Converts the whole value by one call of NumPy; None where that does not check every element."""
    try:
        if isinstance(value, (list, tuple, range)) and shape[:1] != (len(value),):  # it may be far too long
            return None
        array = np.array(value)
    except Exception:  # noqa: BLE001 (ragged lists, a user's __array__: `_one_by_one` says what is wrong)
        return None
    if array.shape != shape:
        return None
    return _cast(array, np.dtype(tensor.dtype))


def _cast(array: HostArray, dtype: np.dtype[Any]) -> HostArray | None:
    """`array` as `dtype` if the rule allows it for every element, else None."""
    kind = array.dtype.kind
    if array.dtype == dtype:
        return array
    if array.size == 0:
        return array.astype(dtype) if kind in "biuf" else None
    if dtype.kind == "f":
        if kind not in "biuf":
            return None
        # Always through float64: NumPy makes float64 of a list of integers and floats, and an integer alone
        # must round in the same way.
        with np.errstate(all="ignore"):
            result = array.astype(np.float64).astype(dtype)
        if not np.isfinite(result).all() and (np.isinf(result) & np.isfinite(array)).any():
            return None
        return result
    if dtype.kind == "b" or kind not in "biu":
        return None
    if not np.can_cast(array.dtype, dtype):
        range_ = np.iinfo(dtype)
        if int(array.min()) < range_.min or int(array.max()) > range_.max:
            return None
    return array.astype(dtype)


def _one_by_one(value: object, tensor: T.Tensor) -> HostArray:
    """Converts element by element: for types unknown to NumPy (fractions), and to name the wrong one."""
    result = np.empty(tensor.shape, tensor.dtype)

    def fill(part: object, index: tuple[int, ...]) -> None:
        depth = len(index)
        if depth == len(tensor.shape):
            result[index] = _scalar(part, tensor, index)
            return
        if isinstance(part, np.ndarray) and part.ndim:
            items: Sequence[Any] = list(part)
        elif isinstance(part, (list, tuple)):
            items = part
        else:
            raise _misfit(tensor, index, part)
        if len(items) != tensor.shape[depth]:
            raise _misfit(tensor, index, part)
        for i, item in enumerate(items):
            fill(item, (*index, i))  # the depth is that of the type, not of the data

    fill(value, ())
    return result


def _scalar(value: object, tensor: T.Tensor, index: tuple[int, ...]) -> Any:
    """Converts one element, or raises an error that names it."""
    dtype = np.dtype(tensor.dtype)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.timedelta64):  # a NumPy integer by class, whose unit would be lost
        raise _misfit(tensor, index, value)
    if dtype.kind == "b":
        if isinstance(value, (bool, np.bool_)):
            return value
    elif dtype.kind in "iu":
        if isinstance(value, (int, np.integer, np.bool_)):
            range_, number = np.iinfo(dtype), int(value)
            if range_.min <= number <= range_.max:
                return number
            text = (
                f"{short_repr(value)}{_place(index)} does not fit {dtype.name} ({range_.min} to {range_.max})"
            )
            wide = leaf_of(T.Tensor(tensor.shape, "int64"))
            raise LeafError(text, hint=f"{wide} takes it" if -(2**63) <= number < 2**63 else "")
    elif isinstance(value, (Real, np.bool_)):
        try:
            with np.errstate(all="ignore"):
                result = np.float64(float(value)).astype(dtype)
        except OverflowError:
            result = np.inf
        if np.isinf(result) and value not in (np.inf, -np.inf):  # such as a fraction beyond float64
            raise LeafError(f"{short_repr(value)}{_place(index)} is too large for {dtype.name}")
        return result
    raise _misfit(tensor, index, value)


def _place(index: tuple[int, ...]) -> str:
    return f" at {''.join(f'[{i}]' for i in index)}" if index else ""


def _misfit(tensor: T.Tensor, index: tuple[int, ...], value: object) -> LeafError:
    rest = tensor.shape[len(index) :]
    kind = np.dtype(tensor.dtype).kind
    word = str(T.Tensor(rest, tensor.dtype)) if rest else {"b": "bool", "f": "a number"}.get(kind, "int")
    text = f"expected {word}{_place(index)}, got {describe(value)}"
    return LeafError(text, hint=hint_for_leaf(value, tensor, len(index)))
