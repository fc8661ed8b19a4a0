"""Lengths of vectors, variances, and what divides by them."""

from __future__ import annotations

from typing import Any

from arrows.ops.bind import bind
from arrows.ops.comparing import greater, maximum, where
from arrows.ops.elementwise import add, divide, sqrt, square, subtract
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Primitive
from arrows.ops.reductions import Axis, mean, reduced
from arrows.ops.registry import register
from arrows.ops.rules import floating, negative_axes
from arrows.ops.shaping import reshape, shape_of
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def norm(x: Operand, axis: Axis = None, keepdims: bool = False) -> TensorLike:
    """Euclidean length along axes (all by default); its derivative at 0 is taken as 0.

    >>> import numpy as np
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    return bind(_norm, x, axes=negative_axes("norm", axis, len(shape_of(x))), keepdims=bool(keepdims))


def normalize(x: Operand, axis: Axis = -1, epsilon: float = 1e-12) -> TensorLike:
    """x divided by its Euclidean length along an axis, or by `epsilon` where that is less.

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
    centred = subtract(x, mean(x, axis, keepdims=True))
    return divide(centred, sqrt(add(mean(square(centred), axis, keepdims=True), epsilon)))


def _norm_rule(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return Tensor(reduced(floating("norm", x).shape, axes, keepdims), x.dtype)


def _norm_kernel(xp: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        total = xp.square(x).sum(axis=axes, dtype=x.dtype, keepdims=keepdims)
        return xp.sqrt(total, out=out)

    return run


def _norm_vjp(g: Any, result: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    # Where the length is 0 every part of x is 0, and so is the gradient, whatever g is divided by.
    share = reshape(divide(g, where(greater(result, 0), result, 1)), reduced(x.shape, axes, True))
    return (x * share,)


_norm = register(Primitive("norm", _norm_rule, _norm_kernel, _norm_vjp))
