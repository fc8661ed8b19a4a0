"""Results to and from Arrow, without a copy where the layouts agree."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from arrows.engine import Ragged, to_numpy
from arrows.engine.values import Labelled
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError
from arrows.typesys.errors import MissingExtraError

_NUMBERS = "biuf"  # kinds of element types of NumPy


def to_arrow(result: object) -> Any:
    """A result as an array of Arrow; on the CPU the numbers are shared, not copied.

    Args:
        result: what a model gives: an array, a `Ragged`, a tuple of such, with keys or without.

    Returns:
        A `pyarrow.Array`: a `Ragged` is a `LargeListArray`, axes beyond the first are `FixedSizeListArray`s,
        and a tuple is a `StructArray` whose fields are its keys or `"0"`, `"1"`, ...

    Raises:
        ArrowTypeError: something else, such as None.
        MissingExtraError: pip install 'arrows[arrow]'.

    >>> to_arrow((None,))
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: a result of the type NoneType has no numbers to hand on
    """
    return _to_arrow(to_numpy(result))


def from_arrow(array: object) -> Any:
    """The inverse of `to_arrow`: lists of any kind, structs and numbers without missing values.

    Raises:
        ArrowTypeError: texts, missing values, or another type.

    Example, where PyArrow is installed::

        from_arrow(pa.array([[1, 2], []])).tolist()  # [[1, 2], []]

    >>> from_arrow([[1], []])
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: expected an array of Arrow, got list
    """
    if hasattr(array, "combine_chunks") and hasattr(array, "num_chunks"):  # of a table's column
        array = array.combine_chunks()
    if not hasattr(array, "null_count"):
        raise ArrowTypeError(f"expected an array of Arrow, got {type(array).__name__}")
    return _from_arrow(_pyarrow().types, array)


def _to_arrow(part: Any) -> Any:
    if isinstance(part, Ragged):
        values = _to_arrow(part.values)
        offsets = _pyarrow().array(np.ascontiguousarray(part.offsets, np.int64))
        return _pyarrow().LargeListArray.from_arrays(offsets, values)
    if isinstance(part, tuple) and part:
        names = part.labels if isinstance(part, Labelled) else range(len(part))
        items = [_to_arrow(item) for item in part]
        return _pyarrow().StructArray.from_arrays(items, list(map(str, names)))
    if not isinstance(part, np.ndarray) or part.dtype.kind not in _NUMBERS or 0 in part.shape[1:]:
        kind = f"{part.dtype}{list(part.shape)}" if isinstance(part, np.ndarray) else type(part).__name__
        raise ArrowTypeError(f"a result of the type {kind} has no numbers to hand on")
    array = _pyarrow().array(np.ascontiguousarray(part).reshape(-1))
    for size in reversed(part.shape[1:]):
        array = _pyarrow().FixedSizeListArray.from_arrays(array, size)
    return array


def _from_arrow(types: Any, array: Any) -> Any:
    kind = array.type
    if array.null_count:
        reason = f"{array.null_count} values of the type {kind} are missing"
        raise ArrowTypeError(f"{reason}; array.fill_null and array.drop_null deal with them")
    if types.is_struct(kind):
        items = [_from_arrow(types, array.field(place)) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        plain = names == [str(place) for place in range(len(names))]
        return tuple(items) if plain else Labelled(items, names)
    if types.is_null(kind):  # of lists that are all empty
        return np.zeros(0)
    if hasattr(array, "to_numpy_ndarray"):  # a FixedShapeTensorArray
        return array.to_numpy_ndarray()
    if types.is_list(kind) or types.is_large_list(kind):
        offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        values = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        return Ragged(_from_arrow(types, values), offsets - offsets[0] if offsets[0] else offsets)
    if types.is_fixed_size_list(kind):
        rows: HostArray = _from_arrow(types, array.flatten())
        if not isinstance(rows, np.ndarray):
            raise ArrowTypeError("lists of a fixed size hold numbers alone, no records and no other lists")
        return rows.reshape(len(array), kind.list_size, *rows.shape[1:])
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return array.to_numpy(zero_copy_only=False)
    raise ArrowTypeError(f"an array of the type {kind} has no numbers to read")


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingExtraError("this needs pyarrow", "arrow", error.name) from None
