"""The results of a model: arrays, tuples with keys, and ragged values.

A result has the structure of the block's output type with a batch in front: a `Tensor` is one array
`[n, ...]`, a `Tuple` a tuple (`Labelled` where it has keys), a `Sequence` a `Ragged`, `Void` is None.

Arrays of other libraries come in by the DLPack protocol: an array with ``__dlpack__`` and
``__dlpack_device__`` lends its memory (https://dmlc.github.io/dlpack).  What the package hands out has both,
as arrays of NumPy and of CuPy do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any, NoReturn, Self, SupportsIndex

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Device, host_array
from arrows.engine.values.traversal import Recursion, each, recursive
from arrows.ops import RowSparse
from arrows.typesys import types as T


class Labelled(tuple[Any, ...]):  # noqa: SLOT001 (a tuple has no room for slots that hold anything)
    """A tuple whose items have keys: `result["left"]` and `result[0]` are the same item.

    It equals the plain tuple of its items.  A key that is an integer goes before a position.

    >>> pair = Labelled((1, 2), ("left", "right"))
    >>> pair["right"], pair[0], pair
    (2, 1, (left: 1, right: 2))
    """

    labels: tuple[Hashable, ...]

    def __new__(cls, items: Iterable[Any], labels: Iterable[Hashable]) -> Self:
        self = super().__new__(cls, items)
        self.labels = tuple(labels)
        return self

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Labelled(super().__getitem__(key), self.labels[key])
        if key in self.labels:
            return super().__getitem__(self.labels.index(key))
        if isinstance(key, SupportsIndex):
            return super().__getitem__(key)
        raise KeyError(f"no {key!r} among {', '.join(map(T.label, self.labels))}")

    def __reduce__(self) -> tuple[type[Labelled], tuple[Any, ...]]:
        return Labelled, (tuple(self), self.labels)

    def __repr__(self) -> str:
        return f"({', '.join(f'{T.label(k)}: {x!r}' for k, x in zip(self.labels, self, strict=True))})"

    def keys(self) -> tuple[Hashable, ...]:
        """The keys, in the order of the items."""
        return self.labels


class Ragged:
    """A batch of sequences of different lengths: all elements in one value, and where each sequence begins.

    Attributes:
        values: the elements of all sequences, one sequence after the other: an array `[total, ...]` of the
            model's device, a tuple of such, a `Ragged` (sequences of sequences), or None (of Void).
        offsets: integers `[n + 1]`, always on the host: sequence `i` is `values[offsets[i]:offsets[i + 1]]`.

    >>> r = Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    >>> r, r.tolist(), len(r), r[0]
    (Ragged(int64[3] in 3 sequences), [[1, 2], [], [3]], 3, array([1, 2]))
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: Any, offsets: HostArray) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> HostArray:
        """The number of elements of each sequence, `[n]`."""
        return np.diff(self.offsets)

    def __getitem__(self, i: int | slice) -> Any:
        """The elements of sequence `i`: views of the arrays, as tuples where the elements are tuples.

        A slice of step 1 gives a `Ragged` of several sequences, whose values are views too.

        Raises:
            IndexError: there is no such sequence, or the step of a slice is another.
            TypeError: it is neither a number nor a slice.
        """
        if isinstance(i, slice):
            first, last, step = i.indices(len(self))
            if step != 1:
                raise IndexError(f"sequences are sliced one after the other, not by steps of {step}")
            offsets = self.offsets[first : max(first, last) + 1]
            return Ragged(_slice(self.values, offsets), offsets - offsets[0])
        n = range(len(self))[i]
        return _slice(self.values, self.offsets[n : n + 2])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> list[Any]:
        """For each sequence the list of its elements, nested, of Python numbers, and dicts for records."""
        numbers: list[Any] = mapped(
            lambda part: part.tolist() if isinstance(part, np.ndarray) else part, rows_of(self, len(self))
        )
        return numbers

    def __repr__(self) -> str:
        values = self.values
        text = f"{values.dtype}{list(values.shape)}" if hasattr(values, "dtype") else type(values).__name__
        return f"Ragged({text} in {len(self)} sequences)"


@recursive
def mapped(change: Callable[[Any], Any], result: Any) -> Recursion[Any]:
    """A result with other things in place of its arrays and `Ragged`s; None stays.

    Args:
        change: gives what stands there instead; a generator that returns it may yield calls of its own.
        result: arrays, `Ragged`s and None, and tuples, lists and dicts of such.

    >>> mapped(len, Labelled((np.ones(2), [None, np.ones(3)]), ("a", "b")))
    (a: 2, b: [None, 3])
    """
    if result is None:
        return None
    if isinstance(result, dict):
        values = yield each(mapped.call(change, part) for part in result.values())
        return dict(zip(result, values, strict=True))
    if isinstance(result, (tuple, list)):
        items = yield each(mapped.call(change, part) for part in result)
        return items if isinstance(result, list) else make_tuple(items, _labels(result))
    return (yield change(result))


def get_row(result: Any, i: int) -> Any:
    """Row `i` of every part of a result: an array, a tuple of such, the elements of a sequence, or None.

    >>> get_row((np.arange(4), Ragged(np.arange(3), np.array([0, 2, 3]))), 1)
    (np.int64(1), array([2]))
    """
    return mapped(lambda part: part[i], result)


def to_numpy(result: Any) -> Any:
    """The same structure with every array brought down to the host.

    Args:
        result: what a model gave: arrays, tuples, ragged values, None, and dicts and lists of them
            (gradients, parameters, metrics), row-sparse gradients included.

    Returns:
        NumPy arrays in the same structure.  On the CPU they are the arrays themselves, not copies.

    Raises:
        TypeError: something inside is not an array.

    >>> from arrows.engine.device import get_device
    >>> to_numpy({"loss": get_device("fake").to_device(np.ones(2))})
    {'loss': array([1., 1.])}
    """
    return mapped(_on_host, result)


def _on_host(part: Any) -> Recursion[Any]:
    if isinstance(part, Ragged):
        return Ragged((yield mapped.call(_on_host, part.values)), part.offsets)
    if isinstance(part, RowSparse):
        return RowSparse(host_array(part.rows), host_array(part.values), part.shape, part.distinct)
    return host_array(part)


@recursive
def build(
    type: T.Type,
    tensor: Callable[[T.Tensor], Any],
    sequence: Callable[[T.Type], Any],
    labelled: bool = False,
) -> Recursion[Any]:
    """A value of a type, made of its tensors and sequences, in the order of the notation.

    Args:
        type: the type.
        tensor: gives the value of each tensor.
        sequence: gives that of each sequence, from the type of its elements; as ``change`` of `mapped`.
        labelled: whether tuples get the keys of their types.

    >>> build(T.Tuple((T.Tensor(()), T.Sequence(T.Void()), T.Void())), str, lambda element: [])
    ('float32[]', [], None)
    """
    if isinstance(type, T.Tensor):
        return tensor(type)
    if isinstance(type, T.Tuple):
        items = yield each(build.call(item, tensor, sequence, labelled) for item in type.items)
        return make_tuple(items, type.labels if labelled else None)
    return (yield sequence(type.element)) if isinstance(type, T.Sequence) else None


def unflatten(output: T.Type, arrays: Iterable[Array | None], offsets: Iterable[HostArray]) -> Any:
    """A result of type `output` from flat parts: one array `[rows, ...]` for each tensor leaf and one offset
    array for each `Sequence`, both in the order of the notation.

    >>> pairs = T.Sequence(T.Tuple((T.Tensor(()), T.Void())))
    >>> unflatten(pairs, [np.array([1.0, 2.0])], [np.array([0, 2, 2])]).tolist()
    [[(1.0, None), (2.0, None)], []]
    """
    leaves, levels = iter(arrays), iter(offsets)

    def ragged(element: T.Type) -> Recursion[Ragged]:
        own = next(levels)
        return Ragged((yield build.call(element, lambda _: next(leaves), ragged, True)), own)

    return build(output, lambda _: next(leaves), ragged, True)


@recursive
def collate(output: T.Type, values: list[Any]) -> Recursion[Any]:
    """A batched result of type `output` from the results of its examples, as the reference gives them.

    >>> collate(T.Sequence(T.Tensor(())), [[np.float32(1)], []]).tolist()
    [[1.0], []]
    >>> collate(T.Tuple([T.Tensor(()), T.Tensor(())], (1, 0)), [Labelled((5.0, 6.0), (1, 0))])
    (1: array([5.]), 0: array([6.]))
    """
    if isinstance(output, T.Tensor):
        return np.stack(values) if values else np.empty((0, *output.shape), output.dtype)
    if isinstance(output, T.Tuple):
        # Tuples are read by position: a key may be a number too.
        columns = [list(column) for column in zip(*values, strict=True)] or [[] for _ in output.items]
        items = yield each(map(collate.call, output.items, columns))
        return make_tuple(items, output.labels)
    if isinstance(output, T.Sequence):
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        return Ragged((yield collate.call(output.element, list(chain.from_iterable(values)))), offsets)
    return None


@recursive
def rows_of(part: Any, count: int) -> Recursion[list[Any]]:
    """The rows of a batch's result, on the host, as tables and JSON have them.

    Args:
        part: a result as a model gives it, or a part of one.
        count: how many examples the batch has.

    Returns:
        For each example: a Python number for a scalar, a NumPy array for a tensor with axes, a dict for a
        tuple whose keys are texts and a plain tuple for any other, for a sequence an array of its elements if
        these are tensors, else the list of its elements' rows, and None for Void.

    >>> words = Labelled((np.array([0.5, 2.0]), Ragged(np.arange(3), np.array([0, 2, 3]))), ("mean", "words"))
    >>> rows_of(words, 2)
    [{'mean': 0.5, 'words': array([0, 1])}, {'mean': 2.0, 'words': array([2])}]
    """
    if part is None:
        return [None] * count
    if isinstance(part, tuple):
        columns = yield each(rows_of.call(item, count) for item in part)
        rows = list(zip(*columns, strict=True)) if part else [()] * count
        labels = _labels(part)
        if labels is None or not all(isinstance(label, str) for label in labels):
            return rows
        return [dict(zip(labels, row, strict=True)) for row in rows]
    if isinstance(part, Ragged):
        bounds, values = part.offsets.tolist(), part.values
        if values is None or isinstance(values, (tuple, Ragged)):
            values = yield rows_of.call(values, bounds[-1])
        else:
            values = host_array(values)
        return [values[a:b] for a, b in pairwise(bounds)]
    array = host_array(part)
    return array.tolist() if array.ndim == 1 else list(array)


def make_tuple(items: Iterable[object], labels: tuple[Hashable, ...] | None) -> tuple[Any, ...]:
    """A tuple of the items, with keys if there are any."""
    return tuple(items) if labels is None else Labelled(items, labels)


def _labels(part: tuple[Any, ...]) -> tuple[Hashable, ...] | None:
    return part.labels if isinstance(part, Labelled) else None


def _slice(values: Any, offsets: HostArray) -> Any:
    """The rows of a part of a result from the first offset to the last, as views."""
    rows = slice(int(offsets[0]), int(offsets[-1]))
    return mapped(lambda part: part[rows], values)


class NamedResults(dict[str, Any]):
    """What a model gave, by name; the error about an unknown name lists the names that there are.

    >>> NamedResults("metric", {"loss": 1.0})["los"]
    Traceback (most recent call last):
    ...
    KeyError: "no metric 'los'; there are loss"
    """

    def __init__(self, kind: str, values: Mapping[str, Any] = MappingProxyType({})) -> None:
        super().__init__(values)
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"no {self.kind} {name!r}; there are {', '.join(self) or 'none'}")


_CUDA_MEMORY = (2, 13)  # what `__dlpack_device__` says of a GPU's memory


class ForeignArrayError(ValueError):
    """An array of another library cannot be read, or lies on another device."""


def lends_memory(value: object) -> bool:
    """Whether a value is an array that lends its memory by DLPack."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def to_host(value: object) -> HostArray:
    """An array that lends its memory by DLPack as a NumPy array, which reads that memory.

    Raises:
        ForeignArrayError: it lies on a device, or NumPy lacks its element type.
    """
    array: HostArray = _borrow(np.from_dlpack, value)
    return array


def import_array(device: Device, value: Any) -> Array:
    """What lends its memory by DLPack as an array of a device: a copy of what lies on the host, or the memory
    itself if that is the device's.

    Raises:
        ForeignArrayError: it lies on another device, or has an element type that NumPy lacks.
    """
    if value.__dlpack_device__()[0] in _CUDA_MEMORY and device.name.startswith("cuda"):
        from_dlpack: Callable[[Any], Any] = vars(device.xp)["from_dlpack"]
        borrowed: Array = _borrow(from_dlpack, value)
        return borrowed
    return device.to_device(to_host(value))


def _borrow(from_dlpack: Callable[[Any], Any], value: object) -> Any:
    try:
        return from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ForeignArrayError(f"its memory cannot be read: {error}") from error
