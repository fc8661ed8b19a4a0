"""Shapes and element types: operations that arrange or store the same numbers in another way, and sums.

A sum along an axis and a repetition along it are each other's derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from arrows.arrays import put
from arrows.ops.bind import bind, with_primitive
from arrows.ops.errors import ShapeError
from arrows.ops.function_context import refuse_wire
from arrows.ops.primitive import get, lift_rows
from arrows.ops.shape_rules import Axis, arithmetic, element_type, negative_axes, negative_axis, sizes
from arrows.ops.sums import sum_axes
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


@with_primitive(
    lambda x, shape: Tensor(shape, x.dtype),
    lambda xp, shape, rows=False: (
        lambda x, out=None: put(x.reshape((x.shape[0], *shape) if rows else shape), out)
    ),
    lambda g, result, x, shape: (g.reshape(x.shape),),
    lift=lift_rows,
    additive=True,
    view=True,
)
def reshape(x: Operand, shape: int | Sequence[int]) -> TensorLike:
    """The same numbers in another shape.

    Args:
        x: any tensor.
        shape: sizes of the axes, one of which may be -1, for the size that is left.

    >>> import numpy as np
    >>> reshape(np.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    old = shape_of(x)
    new = sizes(shape)
    if new.count(-1) == 1:
        rest = prod(n for n in new if n != -1)
        if rest:
            new = tuple(prod(old) // rest if n == -1 else n for n in new)
    if min(new, default=0) < 0 or prod(new) != prod(old):
        raise ShapeError(f"reshape: {list(old)} has {prod(old)} elements and does not fit into {list(new)}")
    return x if new == old and isinstance(x, TensorLike) else bind(get("reshape"), x, shape=new)


@with_primitive(
    lambda x, axes: Tensor(tuple(x.shape[axis] for axis in axes), x.dtype),
    lambda xp, axes, rows=False: lambda x, out=None: put(x.transpose((0, *axes) if rows else axes), out),
    lambda g, result, x, axes: (g.transpose(sorted(range(len(axes)), key=axes.__getitem__)),),
    lift=lift_rows,
    additive=True,
    view=True,
)
def transpose(x: Operand, axes: Sequence[int] | None = None) -> TensorLike:
    """Axes in another order; in reverse by default.

    >>> import numpy as np
    >>> transpose(np.array([[1, 2, 3]])).tolist()
    [[1], [2], [3]]
    """
    ndim = len(shape_of(x))
    order = range(ndim)[::-1] if axes is None else axes
    counted = tuple(negative_axis("transpose", axis, ndim) for axis in order)
    if sorted(counted) != list(range(-ndim, 0)):
        raise ShapeError(f"transpose: {tuple(order)} does not name each of the {ndim} axes once")
    if counted == tuple(range(-ndim, 0)) and isinstance(x, TensorLike):
        return x
    return bind(get("transpose"), x, axes=counted)


@with_primitive(
    lambda x, shape: Tensor(shape, x.dtype),
    lambda xp, shape, rows=False: (
        lambda x, out=None: put(xp.broadcast_to(x, (x.shape[0], *shape) if rows else shape), out)
    ),
    lambda g, result, x, shape: (sum_to(g, x.shape),),
    lift=lift_rows,
    additive=True,
    view=True,
)
def broadcast_to(x: Operand, shape: int | Sequence[int]) -> TensorLike:
    """Repeats axes of size 1, and adds axes in front, until the shape is the given one.

    >>> import numpy as np
    >>> broadcast_to(np.array([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    old = shape_of(x)
    new = sizes(shape)
    if len(old) > len(new) or any(n not in (1, m) for n, m in zip(old[::-1], new[::-1], strict=False)):
        raise ShapeError(f"broadcast_to: {list(old)} does not broadcast to {list(new)}")
    if isinstance(x, TensorLike) and old == new:
        return x
    return bind(get("broadcast_to"), reshape(x, (1,) * (len(new) - len(old)) + old), shape=new)


def reduced(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """A shape without some axes (counted from the end), or, with `keepdims`, of size 1 there.

    >>> reduced((2, 3), (-1,), True)
    (2, 1)
    """
    dropped = [a + len(shape) for a in axes]
    if keepdims:
        return tuple(1 if i in dropped else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dropped)


def kept(y: TensorLike, x: TensorLike, axes: tuple[int, ...]) -> TensorLike:
    """What a reduction of x along axes gives, or its gradient, with axes of size 1 in their places."""
    return reshape(y, reduced(x.shape, axes, True))


@with_primitive(
    lambda x, axes, keepdims: Tensor(reduced(arithmetic("sum", x).shape, axes, keepdims), x.dtype),
    lambda xp, axes, keepdims: lambda x, out=None: sum_axes(x, axes, keepdims, out),
    lambda g, result, x, axes, keepdims: (broadcast_to(kept(g, x, axes), x.shape),),
    additive=True,
    reduces=("0", "{0} + {1}"),
)
def sum(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Sum along axes (all by default).  The element type stays.

    >>> import numpy as np
    >>> sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
    [3.0, 7.0]
    """
    return reduce("sum", x, axis, keepdims)


def reduce(name: str, x: Operand, axis: Axis, keepdims: bool) -> TensorLike:
    """Applies the reduction of a name along axes."""
    axes = negative_axes(name, axis, len(shape_of(x)))
    if not axes and isinstance(x, TensorLike):
        return x  # a scalar is its own sum, maximum and logarithm of summed exponentials
    return bind(get(name), x, axes=axes, keepdims=bool(keepdims))


def sum_to(x: TensorLike, shape: tuple[int, ...]) -> TensorLike:
    """Sums over the axes along which operations repeat a tensor of this shape.

    >>> from arrows.ops import EagerEvaluation
    >>> sum_to(EagerEvaluation().value(np.array([[1, 2], [3, 4]])), (1, 2)).array.tolist()
    [[4, 6]]
    """
    full = (1,) * (x.ndim - len(shape)) + shape
    axes = tuple(i - x.ndim for i, n in enumerate(x.shape) if full[i] != n)
    return reshape(sum(x, axes, keepdims=True) if axes else x, shape)


@with_primitive(
    lambda x, dtype: Tensor(x.shape, dtype),
    lambda xp, dtype: lambda x, out=None: x.astype(dtype) if out is None else put(x, out),
    lambda g, result, x, dtype: (g.cast(x.dtype) if x.type.floating and result.type.floating else None,),
    elementwise=True,
)
def cast(x: Operand, dtype: object) -> TensorLike:
    """The same numbers in another element type; integers are rounded towards zero.

    `compile(float_type=...)` replaces a floating `dtype`.

    >>> import numpy as np
    >>> cast(np.array([1.7]), "int32").tolist()
    [1]
    """
    name = element_type("cast", dtype, getattr(x, "context", None))
    return x if isinstance(x, TensorLike) and x.dtype == name else bind(get("cast"), x, dtype=name)


def shape_of(x: Operand) -> tuple[int, ...]:
    """The shape of a tensor or an array; () for a number.

    >>> shape_of(2.0)
    ()
    """
    if isinstance(x, (TensorLike, np.ndarray)):
        return x.shape
    refuse_wire(x)
    return ()
