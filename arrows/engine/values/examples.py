"""Converts Python objects of an example to the arrays of `Tensor` leaves, and words what does not fit.

Integer tensors take `int`, `bool` and NumPy integers in range; float tensors take any real number or `bool`.
Both take nested lists, tuples and arrays of exactly the right shape; arrays of other libraries by DLPack,
from the host's memory.  None, text, dates, masked elements and casts that lose more than the rounding of a
float are errors, since a NaN that began as None is found only a week later.

Errors describe values: where they stand, what they are, what a user's code raised, and as a hint which block
takes them, or what was meant.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from numbers import Real
from operator import index
from traceback import walk_tb
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import attributes, has_attributes
from arrows.engine.values.results import ForeignArrayError, lends_memory, to_host
from arrows.typesys import QUOTED, label, masked_elements, shortened, types as T


class LeafError(ValueError):
    """A value does not fit a leaf's type.

    Attributes:
        hint: which block takes the value, or what was meant; empty where nothing is obvious.

    >>> convert(None, T.Tensor((), "int32"))
    Traceback (most recent call last):
    ...
    arrows.engine.values.examples.LeafError: expected int, got None
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
    arrows.engine.values.examples.LeafError: expected int at [1][0], got 2.5
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


# Words for errors

# Of a path of more steps, only the two ends are printed: a recursion can make a path very long.
_LONGEST = 16


@dataclass(eq=False, repr=False, slots=True)
class ExamplePath:
    """A place inside an example, as a chain of steps from the root; errors print `tree > right > word`.

    It follows the *data*: `GetItem` and `Map` step into a part.  A block that changes an object without
    taking a part of it (`InputTransform`) stays at its place.  A tuple remembers the places of its items.

    Attributes:
        parent: the place one step up; None at the root.
        step: the last step: a key, or the name of a block; None at the root.
        items: the places of a tuple's items, if the tuple was put together from several places.
        columns: the places of sequences whose elements stand side by side in the elements of this one, and
            for each whether its elements differ.

    >>> str(ExamplePath().named("tree").child("right").child(3))
    'tree > right > [3]'
    """

    parent: ExamplePath | None = None
    step: object = None
    items: tuple[ExamplePath, ...] | None = None
    columns: tuple[tuple[ExamplePath, bool], ...] = ()

    def named(self, name: str) -> ExamplePath:
        """The same place, with the name of a block as the last step."""
        return ExamplePath(self, _Name(name))

    def child(self, key: object) -> ExamplePath:
        """The place of an item; of a value that was put together, the place that the item came from."""
        if self.items is not None and isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        if self.columns:
            row = tuple(column.child(key) if differ else column for column, differ in self.columns)
            return ExamplePath(self.parent, self.step, row)
        return ExamplePath(self, key)

    def joined(self, items: tuple[ExamplePath, ...]) -> ExamplePath:
        """This place, for a tuple put together from values that stand at `items`, all of them below it."""
        return ExamplePath(self.parent, self.step, items)

    @property
    def keys(self) -> list[str]:
        """The steps from the root that go into the data, without the names of blocks."""
        return [_text(step) for step in self._steps() if not isinstance(step, _Name)][::-1]

    def __str__(self) -> str:
        steps = [_text(step) for step in self._steps()][::-1]
        if len(steps) > _LONGEST:
            half = _LONGEST // 2
            steps = [*steps[:half], f"... {len(steps) - 2 * half} more ...", *steps[-half:]]
        return " > ".join(steps)

    def _steps(self) -> Iterator[object]:
        """The steps from here up to the root."""
        place = self
        while place.parent is not None:
            yield place.step
            place = place.parent


class _Name(str):
    """The name of a block among the keys of data."""

    __slots__ = ()


def _text(step: object) -> str:
    if isinstance(step, _Name):
        return str(step)
    if isinstance(step, str):
        return label(step)
    if isinstance(step, slice):
        return f"[{':'.join('' if bound is None else str(bound) for bound in (step.start, step.stop))}]"
    return f"[{step!r}]"


_RAISED = 300  # characters that are printed of the text of a user's exception


def short_repr(value: Any) -> str:
    """At most 40 characters of an object's `repr`."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 40 else text[:37] + "..."


def describe(value: object) -> str:
    """A Python object in a few words for an error: small things as they are, large ones by kind and size.

    >>> describe(None), describe("film"), describe([1, 2]), describe(np.zeros((2, 3)))
    ('None', "'film'", 'a list of 2', 'an array float64[2, 3]')
    """
    if isinstance(value, Enum) and value.name is not None:
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, str):
        return short_repr(value[:60])
    if value is None or isinstance(value, (bytes, complex, Real, np.generic, type)):
        return short_repr(value)
    return f"a value of type {type(value).__name__}"


def describe_key(key: object) -> str:
    """Describes a key of a choice for an error; prints short tuples in full, so that keys stay distinct.

    >>> describe_key(int), describe_key(("NP", 2)), describe_key(tuple(range(100)))
    ("<class 'int'>", "('NP', 2)", 'a tuple of 100')
    """
    if isinstance(key, tuple) and len(key) <= 4:
        return f"({', '.join(map(describe, key))}{',' * (len(key) == 1)})"
    return repr(key) if isinstance(key, type) else describe(key)


def describe_error(error: BaseException) -> str:
    """An exception that a user's code raised: its type, and the start of its text.

    >>> describe_error(KeyError("word")), describe_error(ValueError())
    ("KeyError: 'word'", 'ValueError')
    """
    text = shortened(str(error), _RAISED)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_of_users(error: BaseException | None) -> bool:
    """Whether an error passed through code that is not the package's: a function or an object of the user."""
    frames = () if error is None else walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "arrows").split(".")[0] != "arrows" for frame, _ in frames)


def explain_no_element(container: object, place: Any, error: Exception) -> str:
    """Explains an error that `nth` raised.

    >>> explain_no_element([1, 2], 2, IndexError())
    'there is no element 2 in a list of 2'
    """
    try:
        index(place)
    except TypeError:
        return f"expected an integer as the place of an element, got {describe(place)}"
    if isinstance(error, IndexError):
        return f"there is no element {describe(place)} in {describe(container)}"
    if isinstance(error, TypeError):
        return f"expected a list or another sequence, got {describe(container)}"
    return f"the element {describe(place)}: {describe_error(error)}"


def explain_no_item(value: object, key: object, error: Exception) -> str:
    """Explains an error that a value raised when `GetItem` asked it for an item.

    >>> explain_no_item({"left": 1}, "right", KeyError("right"))
    "there is no 'right' among the keys 'left'"
    """
    if isinstance(key, slice):
        return f"expected a list or another sequence that has slices, got {describe(value)}"
    if isinstance(value, dict) and value and isinstance(error, KeyError):
        keys = (shortened(repr(other), QUOTED) for other in list(value))
        return f"there is no {key!r} among the keys {_listed(keys)}"
    names = attributes(value)
    no_items = f"expected something with the item {key!r}, got {describe(value)}"
    if isinstance(error, AttributeError) and has_attributes(value) and key not in names:
        listed = f"there is no {key!r} among the attributes {_listed(names)} of {describe(value)}"
        return listed if names else no_items
    if isinstance(error, LookupError):
        return f"there is no item {key!r} in {describe(value)}"
    if isinstance(error, TypeError):
        return no_items
    return f"the item {key!r}: {describe_error(error)}"


def _listed(names: Iterable[str]) -> str:
    """At most eight names."""
    first = list(islice(names, 9))
    return ", ".join(first[:8]) + (", ..." if len(first) > 8 else "")


OPTIONAL = "where it may be None, put ar.Optional(f) around what reads it: None gives zeros, or what you say"


def hint_for_leaf(value: object, tensor: T.Tensor, depth: int) -> str:
    """Says what takes a value that does not fit a leaf; empty where nothing is obvious.

    Args:
        value: the value, or the part of it that does not fit.
        tensor: the type of the leaf.
        depth: how many axes lie outside of the part.

    >>> hint_for_leaf(1.5, T.Tensor((), "int32"), 0)
    "ar.Scalar('float32') takes it; to round it: ar.InputTransform(round) >> ar.Scalar('int32')"
    >>> hint_for_leaf([1, 2], T.Tensor((3,)), 0)
    'ar.Vector(2) takes it; ar.Map(ar.Scalar()) takes lists of any length'
    """
    try:
        return _hint_for_leaf(value, tensor, depth)
    except Exception:  # noqa: BLE001 (a user's object may raise anything when it is looked at)
        return ""


def _hint_for_leaf(value: object, tensor: T.Tensor, depth: int) -> str:
    number = leaf_of(T.Tensor((), tensor.dtype))
    if depth == tensor.ndim and isinstance(value, str):
        return _for_text(value, tensor)
    if depth == tensor.ndim and isinstance(value, (Real, np.number)):
        return _for_number(value, tensor)
    if depth:
        return ""
    if value is None:
        return OPTIONAL
    if isinstance(value, Mapping):
        return f"take a field out of it: ar.GetItem({next(iter(value), 'key')!r}) >> {leaf_of(tensor)}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"{leaf_of(T.Tensor(value.shape, tensor.dtype))} takes it"
    if isinstance(value, (list, tuple, np.ndarray)) and not any(isinstance(x, (list, tuple)) for x in value):
        vector = f"{leaf_of(T.Tensor((len(value),), tensor.dtype))} takes it; " if len(value) else ""
        return f"{vector}ar.Map({number}) takes lists of any length" if tensor.ndim < 2 else ""
    return f"a number alone is read by {number}" if isinstance(value, (Real, np.number)) else ""


def _for_number(value: object, tensor: T.Tensor) -> str:
    leaf, kind = leaf_of(tensor), np.dtype(tensor.dtype).kind
    if kind in "bf" or not isinstance(value, (float, np.floating)):
        return ""
    takes = f"{leaf_of(T.Tensor(tensor.shape, 'float32'), always=True)} takes it"
    rounds = math.isfinite(value) and not tensor.ndim
    return takes + (f"; to round it: ar.InputTransform(round) >> {leaf}" if rounds else "")


def _for_text(text: str, tensor: T.Tensor) -> str:
    leaf, convert = leaf_of(tensor), float if tensor.floating else int
    try:
        convert(text)
    except ValueError:
        return "words become numbers by a vocabulary in its place: ar.Vocabulary.of(words).block()"
    return f"text of a number: ar.InputTransform({convert.__name__}) >> {leaf}" if not tensor.ndim else ""


def leaf_of(tensor: T.Tensor, always: bool = False) -> str:
    """Writes the block that reads a type; `always` writes the element type even if it is the usual one.

    >>> leaf_of(T.Tensor(())), leaf_of(T.Tensor((3,), "int32")), leaf_of(T.Tensor((2, 3)))
    ('ar.Scalar()', "ar.Vector(3, 'int32')", 'ar.Tensor([2, 3])')
    """
    dtype = "" if tensor.dtype == "float32" and not always else repr(tensor.dtype)
    shape = "" if not tensor.ndim else str(tensor.shape[0]) if tensor.ndim == 1 else str(list(tensor.shape))
    name = ("Scalar", "Vector")[tensor.ndim] if tensor.ndim < 2 else "Tensor"
    return f"ar.{name}({', '.join(word for word in (shape, dtype) if word)})"


def hint_for_item(value: object, key: object) -> str:
    """Says what may have been meant by a `GetItem` that finds nothing.

    >>> hint_for_item({"word": 1}, "wrod")
    "did you mean 'word'? Where it may be missing: ar.GetItem('wrod', default=...)"
    """
    if value is None:
        return OPTIONAL
    names = list(value) if isinstance(value, Mapping) else attributes(value)
    listed = isinstance(value, (list, tuple)) and not isinstance(key, str)
    if isinstance(key, slice) or not (names or listed):
        return ""
    texts = [name for name in names if isinstance(name, str)]
    close = difflib.get_close_matches(key, texts, n=1) if isinstance(key, str) else []
    start = f"did you mean {close[0]!r}? W" if close else "w"
    return f"{start}here it may be missing: ar.GetItem({key!r}, default=...)"
