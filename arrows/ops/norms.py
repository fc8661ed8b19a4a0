"""Norms: lengths of vectors and variances, and the operations that divide by them."""

from __future__ import annotations

from math import prod

import numpy as np

from arrows.ops.arrays import Array, ArrayModule, put
from arrows.ops.bind import bind
from arrows.ops.comparison import greater, maximum, where
from arrows.ops.elementwise import divide, square, subtract
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Gradients, Run, declare
from arrows.ops.reductions import mean, reduced
from arrows.ops.shape_rules import Axis, floating, negative_axes
from arrows.ops.shaping import reshape, shape_of
from arrows.ops.sums import sum_axes
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def _norm_rule(
    x: Tensor, axes: tuple[int, ...], keepdims: bool, count: int = 1, epsilon: float = 0
) -> Tensor:
    return Tensor(reduced(floating("norm", x).shape, axes, keepdims), x.dtype)


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
            length = xp.where(sure, length, scaled(x))
        return put(length if keepdims else length.reshape(reduced(x.shape, axes, False)), out)

    def scaled(x: Array) -> Array:
        top = xp.abs(x).max(axis=axes, keepdims=True)
        top = xp.where((top > 0) & (top < np.inf), top, xp.ones((), x.dtype))
        length = top * xp.sqrt(sum_axes(xp.square(x / top), axes, True) / count)
        return xp.hypot(length, xp.full((), epsilon**0.5, x.dtype)) if epsilon else length

    return run


def _norm_vjp(
    g: TensorLike,
    result: TensorLike,
    x: TensorLike,
    axes: tuple[int, ...],
    keepdims: bool,
    count: int = 1,
    epsilon: float = 0,
) -> Gradients:
    # Dividing by the length first cannot overflow, however large the elements are. Where the length is 0
    # every element is 0, and so is the gradient, whatever the divisor.
    kept = reduced(x.shape, axes, True)
    share = divide(x, reshape(where(greater(result, 0), result, 1), kept))
    g = reshape(g, kept)
    return (share * (g if count == 1 else g * (1 / count)),)


_norm = declare("norm", _norm_rule, _norm_kernel, _norm_vjp)


def norm(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Euclidean length along axes (all by default); its derivative at 0 is taken as 0.

    The result is right wherever the element type can hold it, even where it cannot hold the squares.

    >>> import numpy as np
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    return bind(_norm, x, axes=negative_axes("norm", axis, len(shape_of(x))), keepdims=bool(keepdims))


def normalize(x: Operand, axis: Axis = -1, epsilon: float = 1e-12) -> TensorLike:
    """x divided by its Euclidean length along an axis, or by `epsilon` where the length is less.

    >>> import numpy as np
    >>> normalize(np.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    if not epsilon > 0:
        raise ShapeError(f"normalize: epsilon is positive, got {epsilon!r}")
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
    if not epsilon >= 0:
        raise ShapeError(f"standardize: epsilon is 0 or more, got {epsilon!r}")
    shape = shape_of(x)
    axes = negative_axes("standardize", axis, len(shape))
    centred = subtract(x, mean(x, axis, keepdims=True))
    count = prod(shape[a] for a in axes)
    spread = bind(_norm, centred, axes=axes, keepdims=True, count=count, epsilon=float(epsilon))
    return divide(centred, spread)
