"""Reductions along axes of one tensor: running sums, means, extremes, softmax, norms and variances.

Axes are counted from the end, so that a kernel reduces the same axes whether or not rows stand in front.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.comparison import equal, greater, maximum, where
from arrows.ops.elementwise import add, divide, exp, log, multiply, square, stop_gradient, subtract
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Gradients, Operation, Run, bind, get, with_primitive
from arrows.ops.shaping import (
    Axis,
    arithmetic,
    cast,
    floating,
    kept,
    negative_axes,
    negative_axis,
    reduce,
    reduced,
    reshape,
    shape_of,
    sum as sum_along,
)
from arrows.ops.sums import sum_axes
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def _not_empty(name: str, x: Tensor, *axes: int) -> Tensor:
    """The type, if there are elements along the axes; else a ShapeError."""
    if any(x.shape[a] == 0 for a in axes):
        raise ShapeError(f"{name}: {x} has no elements along the axis")
    return x


def mean(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Mean along axes (all by default) of floating numbers.

    >>> import numpy as np
    >>> mean(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [2.0, 3.0]
    """
    shape = shape_of(x)
    count = prod(shape[a] for a in negative_axes("mean", axis, len(shape)))
    if not count:
        raise ShapeError(f"mean: {list(shape)} has no elements along the axis")
    floating("mean", x.type if isinstance(x, TensorLike) else Tensor(shape, np.asarray(x).dtype.name))
    total = sum_along(x, axis, keepdims)
    return total if count == 1 else multiply(total, 1 / count)


def _extreme_vjp(
    g: TensorLike, result: TensorLike, x: TensorLike, axes: tuple[int, ...], keepdims: bool
) -> Gradients:
    ties = cast(equal(x, kept(result, x, axes)), x.dtype)
    return (ties * (kept(g, x, axes) / sum_along(ties, axes, keepdims=True)),)


def _by_columns(x: Array) -> Array:
    """The rows in memory by columns, where they are many and narrow.

    NumPy goes through rows one by one: the greatest numbers of 3,880 rows of 5 take 214 us, by columns 10.
    """
    narrow = isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] <= 64 <= len(x)
    return np.asfortranarray(x) if narrow else x


EXTREMES = {
    "max": ("-INFINITY", "({1} > {0} || {1} != {1} ? {1} : {0})"),
    "min": ("INFINITY", "({1} < {0} || {1} != {1} ? {1} : {0})"),
}
"""How the extremes of numbers are found in C; not-a-number where there is one."""


def _extreme(function: Operation) -> Operation:
    name = function.__name__

    def rule(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
        return Tensor(reduced(_not_empty(name, arithmetic(name, x), *axes).shape, axes, keepdims), x.dtype)

    def kernel(xp: ArrayModule, axes: tuple[int, ...], keepdims: bool) -> Run:
        return lambda x, out=None: getattr(_by_columns(x), name)(axis=axes, out=out, keepdims=keepdims)

    return with_primitive(rule, kernel, _extreme_vjp, reduces=EXTREMES[name])(function)


@_extreme
def max(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """The greatest element along axes (all by default); equal ones share the gradient.

    >>> import numpy as np
    >>> float(max(np.array([1.0, 3.0, 2.0])))
    3.0
    """
    return reduce("max", x, axis, keepdims)


@_extreme
def min(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """The least element along axes (all by default); equal ones share the gradient.

    >>> import numpy as np
    >>> float(min(np.array([1.0, 3.0, 2.0])))
    1.0
    """
    return reduce("min", x, axis, keepdims)


@with_primitive(
    lambda x, axis: Tensor(
        reduced(_not_empty("argmax", arithmetic("argmax", x), axis).shape, (axis,), False), "int64"
    ),
    lambda xp, axis: lambda x, out=None: put(x.argmax(axis=axis).astype("int64"), out),
)
def argmax(x: Operand, axis: int = -1) -> TensorLike:
    """The place of the greatest element along an axis, int64; the first of equal ones; no gradient passes.

    >>> import numpy as np
    >>> int(argmax(np.array([1.0, 3.0, 2.0])))
    1
    """
    return bind(get("argmax"), x, axis=negative_axis("argmax", axis, len(shape_of(x))))


def _softmax_kernel(xp: ArrayModule, axis: int) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        out = xp.subtract(x, _by_columns(x).max(axis=axis, keepdims=True), out=out)
        xp.exp(out, out=out)
        return xp.divide(out, sum_axes(out, (axis,), True), out=out)

    return run


@with_primitive(
    lambda x, axis: _not_empty("softmax", floating("softmax", x), axis),
    _softmax_kernel,
    lambda g, result, x, axis: (result * (g - sum_along(g * result, axis, keepdims=True)),),
)
def softmax(x: Operand, axis: int = -1, where: Operand | None = None) -> TensorLike:
    """exp(x) / sum(exp(x)) along an axis, without overflow.

    Args:
        x: floating numbers.
        axis: along which the results sum to 1.
        where: truth values that broadcast to x; the result is 0, without a gradient, where they are false,
            so all of it where none is true.

    >>> import numpy as np
    >>> softmax(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    >>> softmax(np.array([3.0, 3.0, 9.0]), where=np.array([True, True, False])).tolist()
    [0.5, 0.5, 0.0]
    """
    return _allowed("softmax", x, axis, where, 0.0)


def _allowed(name: str, x: Operand, axis: int, allowed: Operand | None, other: float) -> TensorLike:
    """Softmax or its logarithm over the allowed numbers; `other` is the result for the others."""
    if allowed is not None:
        x = where(allowed, x, -np.inf)
    result = bind(get(name), x, axis=negative_axis(name, axis, len(shape_of(x))))
    # No gradient enters by the others, nor by the not-a-number of a row without allowed ones.
    return result if allowed is None else where(allowed, result, other)


def _log_softmax_kernel(xp: ArrayModule, axis: int) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        out = xp.subtract(x, _by_columns(x).max(axis=axis, keepdims=True), out=out)
        total = sum_axes(xp.exp(out), (axis,), True)
        return xp.subtract(out, xp.log(total, out=total), out=out)

    return run


@with_primitive(
    lambda x, axis: _not_empty("log_softmax", floating("log_softmax", x), axis),
    _log_softmax_kernel,
    lambda g, result, x, axis: (g - exp(result) * sum_along(g, axis, keepdims=True),),
)
def log_softmax(x: Operand, axis: int = -1, where: Operand | None = None) -> TensorLike:
    """log(softmax(x)) along an axis, without overflow.

    Args:
        x, axis: as of `softmax`.
        where: truth values that broadcast to x; the result is -inf, without a gradient, where they are false,
            so all of it where none is true. 0 times -inf is not a number: sum only what is allowed.

    >>> import numpy as np
    >>> log_softmax(np.array([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    >>> log_softmax(np.array([0.0, 9.0]), where=np.array([True, False])).tolist()
    [0.0, -inf]
    """
    return _allowed("log_softmax", x, axis, where, -np.inf)


def logsumexp(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """log(sum(exp(x))) along axes (all by default), without overflow.

    >>> import numpy as np
    >>> round(float(logsumexp(np.array([1000.0, 1000.0]))), 6)
    1000.693147
    """
    top = stop_gradient(max(x, axis, keepdims=True))
    total = log(sum_along(exp(subtract(x, top)), axis, keepdims))
    return add(total, top if keepdims else reshape(top, shape_of(total)))


def _norm_kernel(
    xp: ArrayModule, axes: tuple[int, ...], keepdims: bool, count: int = 1, epsilon: float = 0
) -> Run:
    """sqrt(sum(x * x) / count + epsilon), also where a square is too large or too small for its type."""

    def run(x: Array, out: Array | None = None) -> Array:
        total = sum_axes(xp.square(x), axes, True)
        length = xp.sqrt(total / count + epsilon)
        limits = np.finfo(x.dtype)
        # Squares may underflow; in a sum above this bound, what they lose is less than a rounding.
        sure = (total > float(limits.tiny) / float(limits.eps) ** 2) & (total < np.inf)
        if axes and x.size and not (xp is np and bool(sure.all())):
            top = xp.abs(x).max(axis=axes, keepdims=True)
            top = xp.where((top > 0) & (top < np.inf), top, xp.ones((), x.dtype))
            scaled = top * xp.sqrt(sum_axes(xp.square(x / top), axes, True) / count)
            if epsilon:
                scaled = xp.hypot(scaled, xp.full((), epsilon**0.5, x.dtype))
            length = xp.where(sure, length, scaled)
        return put(length if keepdims else length.reshape(reduced(x.shape, axes, False)), out)

    return run


def _norm_vjp(
    g: TensorLike, result: TensorLike, x: TensorLike, axes: tuple[int, ...], count: int = 1, **others: Any
) -> Gradients:
    # Dividing by the length first cannot overflow, however large the elements are. Where the length is 0
    # every element is 0, and so is the gradient, whatever the divisor.
    share = divide(x, kept(where(greater(result, 0), result, 1), x, axes))
    g = kept(g, x, axes)
    return (share * (g if count == 1 else g * (1 / count)),)


@with_primitive(
    lambda x, axes, keepdims, **others: Tensor(reduced(floating("norm", x).shape, axes, keepdims), x.dtype),
    _norm_kernel,
    _norm_vjp,
)
def norm(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Euclidean length along axes (all by default); its derivative at 0 is taken as 0.

    The result is right wherever the element type can hold it, even where it cannot hold the squares.

    >>> import numpy as np
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    return bind(get("norm"), x, axes=negative_axes("norm", axis, len(shape_of(x))), keepdims=bool(keepdims))


def normalize(x: Operand, axis: Axis = -1, epsilon: float = 1e-12) -> TensorLike:
    """x divided by its Euclidean length along an axis, or by `epsilon` where the length is less.

    >>> import numpy as np
    >>> normalize(np.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    return divide(x, maximum(norm(x, axis, keepdims=True), epsilon))


def variance(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Mean square distance from the mean, along axes (all by default).

    >>> import numpy as np
    >>> float(variance(np.array([1.0, 3.0])))
    1.0
    """
    return mean(square(subtract(x, mean(x, axis, keepdims=True))), axis, keepdims)


def standardize(x: Operand, axis: Axis = -1, epsilon: float = 1e-5) -> TensorLike:
    """Mean 0 and variance 1 along an axis: `(x - mean) / sqrt(variance + epsilon)`.

    Ba, Kiros, Hinton, "Layer Normalization", 2016, (4), without gain and bias.

    >>> import numpy as np
    >>> standardize(np.array([1.0, 3.0])).round(4).tolist()
    [-1.0, 1.0]
    """
    shape = shape_of(x)
    axes = negative_axes("standardize", axis, len(shape))
    centred = subtract(x, mean(x, axis, keepdims=True))
    count = prod(shape[a] for a in axes)
    spread = bind(get("norm"), centred, axes=axes, keepdims=True, count=count, epsilon=float(epsilon))
    return divide(centred, spread)
