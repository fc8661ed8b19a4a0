"""Shapes and element types: operations that arrange or store the same numbers in another way, and sums.

A sum along an axis and a repetition along it are each other's derivatives.  Before them stand the shape rules
that several primitives share, and their error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from operator import attrgetter, index as as_int
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from arrows.arrays import put
from arrows.ops.context import Context, refuse_wire
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import (
    Kernel,
    Operation,
    ShapeRule,
    Vjp,
    bind,
    get,
    lift_rows,
    no_gradient,
    operation,
    with_primitive,
)
from arrows.ops.sums import sum_axes
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import ArrowTypeError, Tensor, dtype_name, wider_dtype

Check: TypeAlias = Callable[[str, Tensor], Tensor]
"""`check(name, type) -> type` returns the type, or raises a ShapeError that names the primitive."""

Axis: TypeAlias = int | tuple[int, ...] | None
"""One axis, several axes, or None for all."""


def same_dtype(name: str, *types: Tensor) -> str:
    """The element type that all types have; else a ShapeError."""
    for kind in types[1:]:
        if kind.dtype != types[0].dtype:
            wide = wider_dtype(types[0].dtype, kind.dtype)
            narrow = types[0] if wide == kind.dtype else kind
            hint = f'cast the {narrow.dtype} one: x.cast("{wide}")'
            if {types[0].dtype, kind.dtype} == {"float32", "float64"}:  # what comes from NumPy is float64
                hint = 'cast the float64 one: x.cast("float32"), or array.astype("float32") of an array'
            raise ShapeError(f"{name}: {types[0]} and {kind} have different element types", hint=hint)
    return types[0].dtype


def _check(words: str, accepts: Callable[[Tensor], bool], hint: str) -> Check:
    def check(name: str, kind: Tensor) -> Tensor:
        if not accepts(kind):
            raise ShapeError(f"{name} takes {words}, not {kind}", hint=hint)
        return kind

    return check


floating = _check("floating numbers", lambda kind: kind.floating, 'cast it: x.cast("float32")')
arithmetic = _check("numbers", lambda kind: kind.dtype != "bool", 'cast it: x.cast("float32")')
integral = _check(
    "integers as an index",
    lambda kind: not kind.floating and kind.dtype != "bool",
    'cast it: x.cast("int32")',
)
truth = _check("truth values", lambda kind: kind.dtype == "bool", "compare first, as in x > 0")


def broadcast(name: str, *types: Tensor) -> tuple[int, ...]:
    """The shape to which operands of equal rank broadcast: sizes agree, or are 1; else a ShapeError."""
    first = types[0].shape
    shape = list(first)
    for kind in types[1:]:
        if kind.shape == first and len(types) == 2:
            return first
        for axis, n in enumerate(kind.shape):
            if shape[axis] == 1:
                shape[axis] = n
            elif n not in (1, shape[axis]):
                left, right = (" on the left", " on the right") if len(types) == 2 else ("", "")
                raise ShapeError(
                    f"{name}: {' and '.join(map(str, types))} do not fit: "
                    f"axis {axis} is {shape[axis]}{left} and {n}{right}"
                )
    return tuple(shape)


def checked(name: str, check: Check, dtype: str | None = None) -> ShapeRule:
    """The rule of an element-wise function: operands that pass a check, of one element type.

    Its shapes broadcast; the result has the element type of the operands, or `dtype`.
    """

    def rule(*types: Tensor, **attributes: Hashable) -> Tensor:
        for kind in types:
            check(name, kind)
        first = types[0]
        if len(types) == 1:
            return first
        common, shape = same_dtype(name, *types), broadcast(name, *types)
        # Reuse the operand's type where the result has the same, so that a trace makes few types.
        return first if dtype is None and shape == first.shape else Tensor(shape, dtype or common)

    return rule


def elementwise(
    vjp: Vjp = no_gradient,
    check: Check = arithmetic,
    *,
    kernel: Kernel | None = None,
    dtype: str | None = None,
    **flags: Any,
) -> Callable[[Operation], Operation]:
    """Declares an element-wise operation: a decorator of a function with a name and a docstring, but no body.

    Its primitive has that name and the rule `checked`; its kernel is NumPy's function of the name itself, so
    that a call has no overhead, unless another one is given; `flags` are fields of `Primitive`.
    """

    def declared(function: Operation) -> Operation:
        name = function.__name__
        rule = checked(name, check, dtype)
        return operation(rule, kernel or attrgetter(name), vjp, elementwise=True, **flags)(function)

    return declared


def negative_axis(name: str, axis: SupportsIndex, ndim: int) -> int:
    """The axis counted from the end (-1 the last), so that it means the same with rows in front.

    A ShapeError if the tensor has no such axis.
    """
    place = as_int(axis)
    if not -ndim <= place < ndim:
        raise ShapeError(f"{name}: a tensor with {ndim} {'axis' if ndim == 1 else 'axes'} has no axis {axis}")
    return place if place < 0 else place - ndim


def negative_axes(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """One or several axes, or all for None, counted from the end and sorted; a ShapeError if one repeats."""
    if axis is None:
        return tuple(range(-ndim, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    counted = tuple(sorted(negative_axis(name, a, ndim) for a in axes))
    if len(set(counted)) != len(counted):
        raise ShapeError(f"{name}: an axis occurs twice in {tuple(axes)}")
    return counted


def element_type(name: str, dtype: object, context: Context | None) -> str:
    """The name of an element type, in place of a floating one that of the context; else a ShapeError."""
    try:
        kind = dtype_name(dtype)
    except ArrowTypeError as error:
        raise ShapeError(f"{name}: {error}") from None
    return kind if context is None else context.float_or(kind)


def sizes(shape: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """A shape, given as one integer or several."""
    return tuple(as_int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))


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
