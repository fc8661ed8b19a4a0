"""Ragged values to and from Awkward Array, Arrow and lists, without a copy where the layouts agree."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from arrows.engine import Ragged, to_numpy
from arrows.engine.values import Labelled, LeafError, convert_many
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError
from arrows.typesys.errors import MissingExtraError
from arrows.typesys.types import Tensor

_NUMBERS = "biuf"  # kinds of element types of NumPy


def to_awkward(result: object) -> Any:
    """A result as an array of Awkward Array; on the CPU the numbers are shared, not copied.

    Args:
        result: what a model gives: an array, a `Ragged`, a tuple of such, with keys or without.

    Returns:
        An `ak.Array`: a `Ragged` is a list of variable length, axes of an array beyond the first are lists of
        a fixed one, a tuple with keys is a record, and one without a tuple.

    Raises:
        ArrowTypeError: something else, such as None.
        MissingExtraError: pip install 'arrows[awkward]'.

    >>> to_awkward(None)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: a result of the type NoneType has no numbers to hand on
    """
    host = to_numpy(result)
    _require_numbers(host)
    awkward = _module("awkward")
    return awkward.Array(_awkward_layout(awkward.contents, awkward.index, host))


def from_awkward(array: object) -> Any:
    """The inverse of `to_awkward`, for arrays of numbers without missing values.

    Raises:
        ArrowTypeError: texts, dates, complex numbers, unions, or missing values.

    Example, where Awkward Array is installed::

        from_awkward(ak.Array([[1, 2], []])).tolist()  # [[1, 2], []]

    >>> from_awkward([[1], []])
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: expected an array of Awkward Array, got list
    """
    layout = getattr(array, "layout", None)
    if layout is None or not hasattr(layout, "is_numpy"):
        raise ArrowTypeError(f"expected an array of Awkward Array, got {type(array).__name__}")
    return _from_awkward(layout)


def to_arrow(result: object) -> Any:
    """A result as an array of Arrow; on the CPU the numbers are shared, not copied.

    Args:
        result: as for `to_awkward`.

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
    host = to_numpy(result)
    _require_numbers(host)
    return _arrow_array(_module("pyarrow"), host)


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
    return _from_arrow(_module("pyarrow").types, array)


def from_lists(lists: Sequence[Any], dtype: str = "float32") -> Ragged:
    """A `Ragged` from nested lists of numbers: one level of lists for each level of `Ragged`.

    Args:
        lists: at least two levels, which all end at the same depth in numbers, or in arrays of one shape.
        dtype: element type of the numbers.

    Raises:
        ArrowTypeError: no list of lists, numbers and lists side by side, or what is no number of that type,
            as for the leaves of a block: None, a text, 1.5 among integers.

    >>> ragged = from_lists([[[1, 2], []], []])
    >>> ragged, ragged.tolist()
    (Ragged(Ragged in 2 sequences), [[[1.0, 2.0], []], []])
    """
    if not _is_list(lists) or not all(map(_is_list, lists)):
        raise ArrowTypeError("expected a list of lists of numbers")
    levels: list[HostArray] = []
    elements = lists
    while True:
        levels.append(np.array([0, *accumulate(map(len, elements))], np.int64))
        elements = [element for item in elements for element in item]
        kinds = set(map(_is_list, elements))
        if kinds == {True, False}:
            raise ArrowTypeError("numbers and lists stand side by side; each level has one kind")
        if kinds != {True}:
            break
    leaf = Tensor(np.shape(elements[0]) if elements else (), dtype)
    try:
        ragged = Ragged(convert_many(elements, leaf), levels.pop())
    except LeafError as error:
        raise ArrowTypeError(f"element {error.index} of the innermost lists: {error}") from error.__cause__
    for offsets in reversed(levels):
        ragged = Ragged(ragged, offsets)
    return ragged


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _require_numbers(part: object) -> None:
    if isinstance(part, Ragged):
        _require_numbers(part.values)
    elif isinstance(part, tuple):
        if not part:
            raise ArrowTypeError("an empty tuple has no numbers to hand on")
        for item in part:
            _require_numbers(item)
    elif not isinstance(part, np.ndarray):
        raise ArrowTypeError(f"a result of the type {type(part).__name__} has no numbers to hand on")
    elif part.dtype.kind not in _NUMBERS:
        raise ArrowTypeError(f"an array of the type {part.dtype} has no numbers to hand on")


def _keys(part: tuple[Any, ...]) -> list[str] | None:
    return [str(label) for label in part.labels] if isinstance(part, Labelled) else None


def _awkward_layout(contents: Any, index: Any, part: Any) -> Any:
    if isinstance(part, Ragged):
        offsets = index.Index64(np.ascontiguousarray(part.offsets, np.int64))
        return contents.ListOffsetArray(offsets, _awkward_layout(contents, index, part.values))
    if isinstance(part, tuple):
        return contents.RecordArray([_awkward_layout(contents, index, item) for item in part], _keys(part))
    return contents.NumpyArray(np.atleast_1d(part))


def _from_awkward(layout: Any) -> Any:
    # Values may be missing by their type, as all that come from Arrow, or lie in another order.
    if layout.is_option or layout.is_indexed:
        present = layout.project()
        if present.length == layout.length:
            return _from_awkward(present)
    if layout.is_numpy and layout.dtype.kind in _NUMBERS:
        return np.asarray(layout.data)
    if layout.is_unknown:  # of lists that are all empty
        return np.zeros(0)
    if layout.is_record:
        items = [
            _from_awkward(layout.content(place)[: layout.length]) for place in range(len(layout.contents))
        ]
        return tuple(items) if layout.is_tuple else Labelled(items, layout.fields)
    if layout.is_regular and not layout.parameter("__array__"):
        rows = _from_awkward(layout.content[: layout.length * layout.size])
        return _of_fixed_size(rows, layout.length, layout.size)
    if layout.is_list and not layout.parameter("__array__"):
        as_ours = hasattr(layout, "offsets") and layout.offsets.dtype == np.int64 and not layout.offsets[0]
        plain = layout if as_ours else layout.to_ListOffsetArray64(True)
        offsets = np.asarray(plain.offsets.data)
        return Ragged(_from_awkward(plain.content[: int(offsets[-1])]), offsets)
    reason = f"an array of the type {layout.form.type} has no numbers to read"
    raise ArrowTypeError(f"{reason}; ak.fill_none and ak.drop_none deal with missing values")


def _arrow_array(arrow: Any, part: Any) -> Any:
    if isinstance(part, Ragged):
        offsets = arrow.array(np.ascontiguousarray(part.offsets, np.int64))
        return arrow.LargeListArray.from_arrays(offsets, _arrow_array(arrow, part.values))
    if isinstance(part, tuple):
        names = _keys(part) or [str(place) for place in range(len(part))]
        return arrow.StructArray.from_arrays([_arrow_array(arrow, item) for item in part], names)
    array = arrow.array(np.ascontiguousarray(part).reshape(-1))
    for size in reversed(part.shape[1:]):
        if not size:
            raise ArrowTypeError(f"Arrow has no rows without numbers, as an array of {list(part.shape)} has")
        array = arrow.FixedSizeListArray.from_arrays(array, size)
    return array


def _from_arrow(types: Any, array: Any) -> Any:
    type_ = array.type
    if array.null_count:
        reason = f"{array.null_count} values of the type {type_} are missing"
        raise ArrowTypeError(f"{reason}; array.fill_null and array.drop_null deal with them")
    if types.is_struct(type_):
        items = [_from_arrow(types, array.field(place)) for place in range(type_.num_fields)]
        names = [type_.field(place).name for place in range(type_.num_fields)]
        plain = names == [str(place) for place in range(len(names))]
        return tuple(items) if plain else Labelled(items, names)
    if types.is_null(type_):  # of lists that are all empty
        return np.zeros(0)
    if hasattr(array, "to_numpy_ndarray"):  # a FixedShapeTensorArray
        return array.to_numpy_ndarray()
    if types.is_list_view(type_) or types.is_large_list_view(type_):  # whose rows lie in any order
        sizes = array.sizes.to_numpy(zero_copy_only=False)
        return Ragged(_from_arrow(types, array.flatten()), np.concatenate(([0], np.cumsum(sizes))))
    if types.is_list(type_) or types.is_large_list(type_):
        offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        values = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        return Ragged(_from_arrow(types, values), offsets - offsets[0] if offsets[0] else offsets)
    if types.is_fixed_size_list(type_):
        return _of_fixed_size(_from_arrow(types, array.flatten()), len(array), type_.list_size)
    if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
        return array.to_numpy(zero_copy_only=False)
    raise ArrowTypeError(f"an array of the type {type_} has no numbers to read")


def _of_fixed_size(rows: object, count: int, size: int) -> HostArray:
    if not isinstance(rows, np.ndarray):
        raise ArrowTypeError("lists of a fixed size hold numbers alone, no records and no other lists")
    return rows.reshape(count, size, *rows.shape[1:])


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        extra = "arrow" if name == "pyarrow" else name
        raise MissingExtraError(f"this needs {name}", extra, error.name) from None
