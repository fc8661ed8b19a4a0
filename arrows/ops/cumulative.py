"""Running sums along an axis of one tensor."""

from __future__ import annotations

from typing import Any

from arrows.ops.bind import bind
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import put
from arrows.ops.primitive import Primitive
from arrows.ops.registry import register
from arrows.ops.shape_rules import arithmetic, negative_axis
from arrows.ops.shaping import shape_of
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def cumsum(x: Operand, axis: int = -1, reverse: bool = False) -> TensorLike:
    """Sums of the elements up to each along an axis, itself included.

    Args:
        x: numbers; the element type stays.
        axis: the axis.
        reverse: from the end.

    >>> import numpy as np
    >>> cumsum(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    >>> cumsum(np.array([1.0, 2.0, 3.0]), reverse=True).tolist()
    [6.0, 5.0, 3.0]
    """
    ndim = len(shape_of(x))
    if not ndim:
        raise ShapeError("cumsum: a scalar has no axis to sum along")
    return bind(_cumsum, x, axis=negative_axis("cumsum", axis, ndim), reverse=bool(reverse))


def _kernel(xp: Any, axis: int, reverse: bool) -> Any:
    turned = (..., slice(None, None, -1), *(slice(None),) * (-1 - axis))

    def total(x: Any) -> Any:
        # Numbers are added one after the other: float64 keeps the digits of float32.
        wide = "float64" if x.dtype.kind == "f" else x.dtype
        return x.cumsum(axis=axis, dtype=wide).astype(x.dtype)

    def run(x: Any, out: Any = None) -> Any:
        if reverse:
            return put(total(x[turned])[turned], out)
        return put(total(x), out)

    return run


def _rule(x: Tensor, axis: int, reverse: bool) -> Tensor:
    return arithmetic("cumsum", x)


def _vjp(g: Any, result: Any, x: Any, axis: int, reverse: bool) -> Any:
    return (bind(_cumsum, g, axis=axis, reverse=not reverse),)


_cumsum: Primitive = register(Primitive("cumsum", _rule, _kernel, _vjp, additive=True))
