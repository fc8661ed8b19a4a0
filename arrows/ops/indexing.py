"""Slices, concatenation and stacking, at places that are known when the function is traced."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put
from arrows.ops.bind import bind, with_primitive
from arrows.ops.errors import ShapeError
from arrows.ops.function_context import constant_array, type_beside
from arrows.ops.lookup import lookup
from arrows.ops.primitive import Gradients, Primitive, Run, declare, get, lift_each, lift_rows
from arrows.ops.shape_rules import arithmetic, negative_axis, same_dtype
from arrows.ops.shaping import reshape, shape_of
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor

Span: TypeAlias = tuple[int, int | None, int]
Key: TypeAlias = tuple[int | Span, ...]
"""A static index: for each leading axis an integer >= 0, or (start, stop, step), the arguments of `slice`."""


def _item(item: object) -> Any:
    """What stands in a key of NumPy's: an integer, a slice, None or `...`; else a ShapeError."""
    if item.__class__ is int or item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (bool, np.ndarray)) or not isinstance(item, SupportsIndex):
        raise ShapeError(
            f"index: expected integers and slices, got {type(item).__name__}",
            hint="rows at several places: arrows.ops.gather(x, numpy.array([1, 0]))",
        )
    return as_int(item)


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
    items = [_item(item) for item in (key if isinstance(key, tuple) else (key,))]
    try:
        shape = _without_numbers(x.shape)[tuple(items)].shape
    except IndexError as error:
        raise ShapeError(str(error)) from None
    used = [item for item in items if item is not None]
    if Ellipsis in used:
        place = used.index(Ellipsis)
        used[place : place + 1] = [slice(None)] * (x.ndim - len(used) + 1)
    entries = [_entry(item, size) for item, size in zip(used, x.shape, strict=False)]
    while entries and entries[-1] == (0, x.shape[len(entries) - 1], 1):
        entries.pop()
    part = bind(get("index"), x, key=tuple(entries)) if entries or not isinstance(x, TensorLike) else x
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
    if isinstance(xs, (TensorLike, np.ndarray)) or not xs:
        raise ShapeError("concat takes a list of tensors, and at least one")
    first, primitive = xs[0], get("concat")
    if isinstance(first, TensorLike):
        place = negative_axis("concat", axis, len(first.type.shape))
        result = first if len(xs) == 1 else first.context.as_before((primitive, place), xs)
        if result is not None:
            return result
    return bind(primitive, *xs, axis=negative_axis("concat", axis, len(shape_of(first))))


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
