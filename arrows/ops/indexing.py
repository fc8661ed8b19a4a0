"""Parts of tensors, at places that are tensors or known when the function is traced; and what joins parts.

`lookup` reads the rows of an embedding, `pick` the probabilities of cross-entropy; `index` takes slices, and
`concat` and `stack` join them.

A tensor that is an index has to be in range, and not negative.  The kernels check that on NumPy and raise
`IndexOutOfRange`.  On a device they do not check, since the host would have to wait for the answer: there,
what depends on examples alone is checked when these are read, and what the model computes by `in_range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import index as as_int
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put, take
from arrows.ops.comparison import where
from arrows.ops.context import constant_array, type_beside
from arrows.ops.elementwise import multiply
from arrows.ops.errors import IndexOutOfRange, ShapeError
from arrows.ops.primitive import (
    INVARIANT,
    Gradients,
    HasRows,
    Primitive,
    Run,
    SumRun,
    Types,
    bind,
    declare,
    get,
    lift_each,
    lift_rows,
    with_primitive,
)
from arrows.ops.rowsparse import RowSparse, add_rows
from arrows.ops.shaping import (
    arithmetic,
    element_type,
    integral,
    negative_axis,
    reshape,
    same_dtype,
    shape_of,
    sum as sum_along,
)
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def as_index(index: Operand) -> Operand:
    """An index, of which a plain integer does not take the element type of what it is an index of."""
    return index if isinstance(index, TensorLike) else constant_array(index)


def _lookup_rule(table: Tensor, index: Tensor) -> Tensor:
    integral("gather(x, i) or x[i]", index)
    if not table.ndim:
        raise ShapeError(f"gather(x, i) or x[i]: x has at least one axis, got {table}")
    return Tensor((*index.shape, *table.shape[1:]), table.dtype)


def _lookup_kernel(xp: ArrayModule, rows: tuple[bool, bool] = (False, False)) -> Run:
    def run(table: Array, index: Array, out: Array | None = None) -> Array:
        check_index(xp, "lookup", index, table.shape[0], rows[1])
        return take(xp, table, index, 0, out)

    def run_rows(table: Array, index: Array, out: Array | None = None) -> Array:
        # Each row has its own table: they form one long table, in which each row's indices are shifted.
        n, size = table.shape[:2]
        check_index(xp, "lookup", index, size, rows[1])
        shape = (n, *(1,) * (index.ndim - rows[1]))
        moved = xp.arange(n).reshape(shape) * size + index
        return take(xp, table.reshape((n * size, *table.shape[2:])), moved, 0, out)

    return run_rows if rows[0] else run


def _lookup_vjp(g: TensorLike, result: TensorLike, table: TensorLike, index: TensorLike) -> Gradients:
    size = table.shape[0]
    if table.rows == INVARIANT or index.shape:
        return bind(_scatter_row, g, index, size=size), None
    here = one_hot(index, size, g.dtype)  # of a table that is dense anyway, with one row for each index
    return multiply(reshape(here, (size, *(1,) * g.ndim)), g), None


@with_primitive(_lookup_rule, _lookup_kernel, _lookup_vjp, lift=lift_each)
def lookup(table: Operand, index: Operand) -> TensorLike:
    """Rows of a table at integer indices: an embedding.

    Args:
        table: [size, ...].
        index: integers of any shape, each with 0 <= index < size.

    Returns:
        The row at each index: the axes of the index, then those of a row.

    >>> lookup(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return bind(get("lookup"), table, as_index(index))


def gather(x: Operand, index: Operand) -> TensorLike:
    """Slices of x at integer indices along its first axis, as rows of an embedding; also written `x[index]`.

    Args:
        x: [size, ...].
        index: integers of any shape, each with 0 <= index < size.

    Returns:
        The slice at each index: the axes of the index, then those of a slice.

    Raises:
        IndexError: when computed, an index is out of range.

    >>> import numpy as np
    >>> gather(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return lookup(x, index)


def pick(x: Operand, index: Operand) -> TensorLike:
    """The element at an integer index along the last axis, as cross-entropy needs it.

    Args:
        x: [..., size].
        index: integers [...], each with 0 <= index < size.

    >>> pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])).tolist()
    [2.0, 3.0]
    """
    index = as_index(index)
    shape, places = shape_of(x), shape_of(index)
    if not shape or shape[:-1] != places:
        raise ShapeError(f"pick: {list(places)} does not hold one index for each vector of {list(shape)}")
    return sum_along(where(one_hot(index, shape[-1], "bool"), x, 0), -1) if places else lookup(x, index)


def _scatter_rule(x: Tensor, index: Tensor, size: int) -> Tensor:
    integral("scatter_row", index)
    if x.shape[: index.ndim] != index.shape:
        raise ShapeError(f"scatter_row: {x} does not hold a row for each index of {index}")
    return Tensor((size, *x.shape[index.ndim :]), arithmetic("scatter_row", x).dtype)


def _flat(xp: ArrayModule, x: Array, index: Array, rows: tuple[bool, bool]) -> tuple[int, Array, Array]:
    """How many rows there are, and the values and indices of all, one after another.

    An operand without rows is repeated for each.
    """
    n = (x if rows[0] else index).shape[0] if any(rows) else 1
    shape = index.shape[1:] if rows[1] else index.shape
    rest = x.shape[rows[0] + len(shape) :]
    count = n * prod(shape)
    x = xp.broadcast_to(x, (n, *shape, *rest)).reshape((count, *rest))
    return n, x, xp.broadcast_to(index, (n, *shape)).reshape((count,))


def _scatter_kernel(xp: ArrayModule, size: int, rows: tuple[bool, bool] = (False, False)) -> Run:
    def run(x: Array, index: Array, out: Array | None = None) -> Array:
        check_index(xp, "scatter_row", index, size, rows[1])
        n, x, moved = _flat(xp, x, index, rows)
        if n != 1:
            moved = xp.repeat(xp.arange(n), moved.size // n if n else 0) * size + moved
        result = add_rows(xp, moved, x, n * size).reshape((n, size, *x.shape[1:]))
        return put(result if any(rows) else result[0], out)

    return run


def _scatter_sum_rows(
    xp: ArrayModule, has_rows: HasRows, types: Types, size: int, rows: tuple[bool, bool] = (False, False)
) -> SumRun:
    def run(x: Array, index: Array, out: Array | None = None) -> Array | RowSparse:
        _, x, index = _flat(xp, x, index, rows)
        result = RowSparse(index, x, (size, *x.shape[1:]))
        return result if out is None else put(result.to_dense(xp), out)

    return run


# Zeros [size, ...], plus x at the rows that the indices name: the transpose of `lookup`.
_scatter_row: Primitive = declare(
    "scatter_row",
    _scatter_rule,
    _scatter_kernel,
    lambda g, result, x, index, size: (lookup(g, index), None),
    lift=lift_each,
    sum_rows=_scatter_sum_rows,
)


def _one_hot_rule(index: Tensor, size: int, dtype: str) -> Tensor:
    return Tensor((*integral("one_hot", index).shape, size), dtype)


def _one_hot_kernel(xp: ArrayModule, size: int, dtype: str, rows: bool = False) -> Run:
    def run(index: Array, out: Array | None = None) -> Array:
        check_index(xp, "one_hot", index, size, rows)
        here = xp.equal(index[..., None], xp.arange(size))
        return put(here.astype(dtype) if out is None else here, out)

    return run


@with_primitive(_one_hot_rule, _one_hot_kernel, lift=lift_rows)
def one_hot(index: Operand, num_classes: int, dtype: str = "float32") -> TensorLike:
    """Unit vectors: 1 at the index along a new last axis, 0 elsewhere.  No gradient passes.

    Args:
        index: integers of any shape, each with 0 <= index < num_classes.
        num_classes: length of the vectors.
        dtype: element type of the result; `compile(float_type=...)` replaces a floating one.

    Raises:
        IndexError: when computed, an index is out of range.

    >>> import numpy as np
    >>> one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < 0:
        raise ShapeError(f"one_hot: num_classes is a whole number >= 0, got {num_classes!r}")
    dtype = element_type("one_hot", dtype, getattr(index, "context", None))
    return bind(get("one_hot"), index, size=num_classes, dtype=dtype)


def check_index(xp: ArrayModule, name: str, index: Array, size: int, rows: bool) -> None:
    """Raises `IndexOutOfRange` if an index is not in 0..size-1; checks nothing on a device."""
    if xp is not np or not index.size:
        return
    # Read as unsigned, negative numbers are large, so one maximum checks both bounds.
    unsigned = index if index.dtype.kind == "u" else index.view(f"u{index.dtype.itemsize}")
    if int(unsigned.max()) < size:
        return
    wrong = np.argwhere(np.asarray((index < 0) | (index >= size)))[0]
    row = int(wrong[0]) if rows else None
    raise IndexOutOfRange(name, int(index[tuple(wrong)]), size, row)


Span: TypeAlias = tuple[int, int | None, int]
Key: TypeAlias = tuple[int | Span, ...]
"""A static index: for each leading axis an integer >= 0, or (start, stop, step), the arguments of `slice`."""


def _item(item: object) -> Any:
    """What stands in a key: an integer, the arguments of a slice, None or `...`; else a ShapeError."""
    if item.__class__ is int or item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return tuple(n if n is None else _item(n) for n in (item.start, item.stop, item.step))
    if isinstance(item, (bool, np.ndarray)) or not isinstance(item, SupportsIndex):
        raise ShapeError(
            f"index: expected integers and slices, got {type(item).__name__}",
            hint="rows at several places: arrows.ops.gather(x, numpy.array([1, 0]))",
        )
    return as_int(item)


@lru_cache(maxsize=1024)  # a loop on the fly takes the same parts of its tensors again and again
def _places(shape: tuple[int, ...], items: tuple[Any, ...]) -> tuple[Key, tuple[int, ...]]:
    """The key of a tensor of a shape, from what `_item` gives; and the shape of the part."""
    key: tuple[Any, ...] = _slices(items, False)
    try:
        part = _without_numbers(shape)[key].shape
    except (IndexError, TypeError, ValueError) as error:  # of slices too: a step of 0
        raise ShapeError(str(error)) from None
    used = [item for item in key if item is not None]
    if Ellipsis in used:
        place = used.index(Ellipsis)
        used[place : place + 1] = [slice(None)] * (len(shape) - len(used) + 1)
    entries = [_entry(item, size) for item, size in zip(used, shape, strict=False)]
    while entries and entries[-1] == (0, shape[len(entries) - 1], 1):
        entries.pop()
    return tuple(entries), part


def _entry(item: int | slice, size: int) -> int | Span:
    """The entry of a `Key` for one axis; a stop of None includes the first element where the step is < 0."""
    if isinstance(item, int):
        return item % size
    start, stop, step = item.indices(size)
    return start, (None if stop < 0 else stop), step


def _slices(key: Key, rows: bool) -> tuple[int | slice, ...]:
    items = tuple(slice(*item) if isinstance(item, tuple) else item for item in key)
    return (slice(None), *items) if rows else items


def _without_numbers(shape: tuple[int, ...]) -> HostArray:
    """An array of a shape that takes no memory, to ask NumPy what an index makes of it."""
    return np.empty(shape, np.dtype([]))


def _index_kernel(xp: ArrayModule, key: Key, rows: bool = False) -> Run:
    place = _slices(key, rows)

    return lambda x, out=None: put(x[place], out)


@with_primitive(
    lambda x, key: Tensor(_without_numbers(x.shape)[_slices(key, False)].shape, x.dtype),
    _index_kernel,
    lambda g, result, x, key: (bind(_pad_slice, g, key=key, shape=x.shape),),
    lift=lift_rows,
    additive=True,
    view=True,
)
def index(x: TensorLike | HostArray, key: object) -> TensorLike:
    """`x[key]` for integers, slices, None and `...` that are known when the function is built.

    An integer tensor as the key is `gather(x, key)`.

    >>> index(np.array([[1, 2, 3], [4, 5, 6]]), (0, slice(1, None))).tolist()
    [2, 3]
    """
    if isinstance(key, TensorLike):
        return lookup(x, key)
    items = tuple(map(_item, key)) if isinstance(key, tuple) else (_item(key),)
    entries, shape = _places(x.shape, items)
    part = bind(get("index"), x, key=entries) if entries or not isinstance(x, TensorLike) else x
    return reshape(part, shape) if None in items else part


def _pad_slice_kernel(xp: ArrayModule, key: Key, shape: tuple[int, ...], rows: bool = False) -> Run:
    place = _slices(key, rows)

    def run(x: Array, out: Array | None = None) -> Array:
        if out is None:
            out = xp.zeros((x.shape[0], *shape) if rows else shape, x.dtype)
        else:
            out[...] = 0
        out[place] = x
        return out

    return run


# Zeros of a shape, with x at `key`: the transpose of `index`.
_pad_slice: Primitive = declare(
    "pad_slice",
    lambda x, key, shape: Tensor(shape, arithmetic("pad_slice", x).dtype),
    _pad_slice_kernel,
    lambda g, result, x, key, shape: (bind(get("index"), g, key=key),),
    lift=lift_rows,
    additive=True,
)


def _concat_rule(*types: Tensor, axis: int) -> Tensor:
    first = types[0]
    dtype = same_dtype("concat", *types)
    if not first.ndim:
        raise ShapeError("concat: scalars have no axis to be joined along", hint="use stack")
    place = axis + first.ndim
    size = 0
    for kind in types:
        for i in range(max(first.ndim, kind.ndim)):
            if first.ndim != kind.ndim or (i != place and first.shape[i] != kind.shape[i]):
                raise ShapeError(f"concat: {first} and {kind} do not fit along axis {place}")
        size += kind.shape[place]
    return Tensor((*first.shape[:place], size, *first.shape[place + 1 :]), dtype)


def _concat_kernel(xp: ArrayModule, axis: int, rows: tuple[bool, ...] = ()) -> Run:
    def run(*arrays: Array, out: Array | None = None) -> Array:
        # Parts without rows (parameters, constants) are copied into each row.
        n = next(array.shape[0] for array, has in zip(arrays, rows, strict=True) if has)
        parts = [x if has else xp.broadcast_to(x, (n, *x.shape)) for x, has in zip(arrays, rows, strict=True)]
        return xp.concatenate(parts, axis=axis, out=out)

    return (lambda *arrays, out=None: xp.concatenate(arrays, axis=axis, out=out)) if all(rows) else run


def _concat_vjp(g: TensorLike, result: TensorLike, *xs: TensorLike, axis: int) -> Gradients:
    parts, start = [], 0
    for x in xs:
        stop = start + x.shape[axis]
        parts.append(index(g, (..., slice(start, stop), *(slice(None),) * (-1 - axis))))
        start = stop
    return tuple(parts)


@with_primitive(_concat_rule, _concat_kernel, _concat_vjp, lift=lift_each, additive=True)
def concat(xs: Sequence[Operand] | TensorLike | HostArray, axis: int = 0) -> TensorLike:
    """Tensors one after another along an axis; all other axes agree.

    >>> import numpy as np
    >>> concat([np.array([1, 2]), np.array([3])]).tolist()
    [1, 2, 3]
    """
    if isinstance(xs, (list, tuple)) and xs and isinstance(first := xs[0], TensorLike) and type(axis) is int:
        place = axis if axis < 0 else axis - len(first.type.shape)
        if (known := first.context.as_before((_concat, place), xs)) is not None:
            return known
    if isinstance(xs, (TensorLike, np.ndarray)) or not xs:
        raise ShapeError("concat takes a list of tensors, and at least one")
    place = negative_axis("concat", axis, len(shape_of(xs[0])))
    return xs[0] if isinstance(xs[0], TensorLike) and len(xs) == 1 else bind(_concat, *xs, axis=place)


_concat = get("concat")


def stack(xs: Sequence[Operand] | TensorLike | HostArray, axis: int = 0) -> TensorLike:
    """Tensors of one shape side by side along a new axis.

    >>> import numpy as np
    >>> stack([np.array([1, 2]), np.array([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    if isinstance(xs, (TensorLike, np.ndarray)) or not xs:
        raise ShapeError("stack takes a list of tensors, and at least one")
    shape, beside = shape_of(xs[0]), type_beside(*xs)
    place = negative_axis("stack", axis, len(shape) + 1)
    unit = (*shape[: len(shape) + 1 + place], 1, *shape[len(shape) + 1 + place :])
    for x in xs:
        if shape_of(x) != shape:
            raise ShapeError(f"stack: shapes differ, {list(shape)} and {list(shape_of(x))}")
    parts = [x if isinstance(x, TensorLike) else constant_array(x, beside) for x in xs]
    return concat([reshape(x, unit) for x in parts], place)
