"""Parts of tensors by numbers that are known when the function is built."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from arrows.ops.bind import bind
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import put
from arrows.ops.lookup import lookup
from arrows.ops.primitive import Attributes, Primitive
from arrows.ops.registry import register
from arrows.ops.shape_rules import arithmetic
from arrows.ops.shaping import reshape
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor

Key = tuple[Any, ...]
"""A static index: for each leading axis an integer >= 0, or (start, stop, step) as `slice` takes them."""


def index(x: TensorLike | np.ndarray[Any, Any], key: Any) -> TensorLike:
    """`x[key]` for integers, slices, None and `...` that are known when the function is built.

    An integer tensor as the key is `lookup(x, key)`.

    >>> index(np.array([[1, 2, 3], [4, 5, 6]]), (0, slice(1, None))).tolist()
    [2, 3]
    """
    if isinstance(key, TensorLike):
        return lookup(x, key)
    items = list(key) if isinstance(key, tuple) else [key]
    if items.count(Ellipsis) > 1:
        raise ShapeError("index: `...` stands twice")
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > x.ndim:
        raise ShapeError(
            f"index: {used} indices for a tensor with {x.ndim} {'axis' if x.ndim == 1 else 'axes'}"
        )
    if Ellipsis in items:
        place = items.index(Ellipsis)
        items[place : place + 1] = [slice(None)] * (x.ndim - used)
    found: list[Any] = []
    new: list[int] = []
    for item in items:
        if item is None:
            new.append(1)
            continue
        size = x.shape[len(found)]
        found.append(_one(item, size, len(found)))
        if isinstance(found[-1], tuple):
            new.append(
                len(range(*found[-1][:3]))
                if found[-1][1] is not None
                else len(range(size)[slice(*found[-1])])
            )
    new += x.shape[len(found) :]
    while found and found[-1] == (0, x.shape[len(found) - 1], 1):
        found.pop()
    part = bind(_index, x, key=tuple(found)) if found or not isinstance(x, TensorLike) else x
    return reshape(part, tuple(new)) if None in items else part


def pad_slice(x: Operand, key: Key, shape: tuple[int, ...]) -> TensorLike:
    """Zeros of a shape in which x stands at `key`: the transpose of `index`.

    Args:
        x: what `index(zeros, key)` would give.
        key: integers and (start, stop, step) triples for the leading axes.
        shape: of the result.

    >>> pad_slice(np.array([5.0]), ((1, 2, 1),), (3,)).tolist()
    [0.0, 5.0, 0.0]
    """
    return bind(_pad_slice, x, key=key, shape=shape)


def _one(item: Any, size: int, axis: int) -> Any:
    if isinstance(item, slice):
        try:
            start, stop, step = item.indices(size)
        except (TypeError, ValueError) as error:
            raise ShapeError(f"index: {item} on axis {axis}: {error}") from None
        return start, (None if stop < 0 else stop), step
    try:
        if isinstance(item, bool):
            raise TypeError
        number = as_int(item)
    except TypeError:
        raise ShapeError(
            f"index: expected integers and slices, got {type(item).__name__} on axis {axis}",
            hint="lookup takes rows at integers that are a tensor",
        ) from None
    if not -size <= number < size:
        raise ShapeError(f"index: {number} is out of range for axis {axis} of size {size}")
    return number % size


def _slices(key: Key, rows: bool) -> Key:
    found = tuple(slice(*item) if isinstance(item, tuple) else item for item in key)
    return (slice(None), *found) if rows else found


def _index_rule(x: Tensor, key: Key) -> Tensor:
    shape = [
        len(range(size)[slice(*item)])
        for item, size in zip(key, x.shape, strict=False)
        if isinstance(item, tuple)
    ]
    return Tensor((*shape, *x.shape[len(key) :]), x.dtype)


def _index_kernel(xp: Any, key: Key, rows: bool = False) -> Any:
    where = _slices(key, rows)

    def run(x: Any, out: Any = None) -> Any:
        return put(x[where], out)

    return run


def _pad_slice_kernel(xp: Any, key: Key, shape: tuple[int, ...], rows: bool = False) -> Any:
    where = _slices(key, rows)

    def run(x: Any, out: Any = None) -> Any:
        if out is None:
            out = xp.zeros((x.shape[0], *shape) if rows else shape, x.dtype)
        else:
            out[...] = 0
        out[where] = x
        return out

    return run


def _with_rows(attributes: Attributes, has_rows: tuple[bool, ...], types: tuple[Tensor, ...]) -> Attributes:
    return {**attributes, "rows": True} if any(has_rows) else attributes


_index = register(
    Primitive(
        "index",
        _index_rule,
        _index_kernel,
        lambda g, result, x, key: (pad_slice(g, key, x.shape),),
        _with_rows,
        additive=True,
        view=True,
    )
)
_pad_slice = register(
    Primitive(
        "pad_slice",
        lambda x, key, shape: Tensor(shape, arithmetic("pad_slice", x).dtype),
        _pad_slice_kernel,
        lambda g, result, x, key, shape: (bind(_index, g, key=key),),
        _with_rows,
        additive=True,
    )
)
