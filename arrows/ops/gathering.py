"""Slices along any axis at indices that are tensors, and integers as unit vectors."""

from __future__ import annotations

from typing import Any

from arrows.ops.bind import bind, is_float
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import put
from arrows.ops.lookup import check_index, lookup
from arrows.ops.primitive import Attributes, Primitive
from arrows.ops.registry import register
from arrows.ops.shape_rules import integral, negative_axis
from arrows.ops.shaping import shape_of, transpose
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.errors import ArrowTypeError
from arrows.typesys.types import Tensor


def gather(x: Operand, index: Operand, axis: int = 0) -> TensorLike:
    """Slices of x at integer indices along an axis; along axis 0 it is `lookup`, also written `x[index]`.

    Args:
        x: at least one axis.
        index: integers of any shape, each with 0 <= index < the size of the axis.
        axis: the axis; the axes of the index stand in its place.

    Raises:
        IndexOutOfRange: when computed, an index is out of range (on a device it is not looked at).

    >>> import numpy as np
    >>> gather(np.array([[1.0, 2.0, 3.0]]), np.array([2, 0]), axis=1).tolist()
    [[3.0, 1.0]]
    """
    ndim = len(shape_of(x))
    place = negative_axis("gather", axis, ndim) + ndim
    if not place:
        return lookup(x, index)
    found = lookup(transpose(x, (place, *range(place), *range(place + 1, ndim))), index)
    new = len(shape_of(found)) - ndim + 1  # axes of the index, in front
    return transpose(found, (*range(new, new + place), *range(new), *range(new + place, new + ndim - 1)))


def one_hot(index: Operand, size: int, dtype: str = "float32") -> TensorLike:
    """Unit vectors: 1 at the index along a new last axis, 0 elsewhere.  No gradient passes.

    Args:
        index: integers of any shape, each with 0 <= index < size.
        size: length of the vectors.
        dtype: element type of the result; under `compile(float_type=...)` a floating one means that type.

    Raises:
        IndexOutOfRange: when computed, an index is out of range (on a device it is not looked at).

    >>> import numpy as np
    >>> one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ShapeError(f"one_hot: the size is a whole number >= 0, got {size!r}")
    try:
        name = Tensor((), dtype).dtype
    except ArrowTypeError as error:
        raise ShapeError(f"one_hot: {error}") from None
    if isinstance(index, TensorLike) and index.context.float_type is not None and is_float(name):
        name = index.context.float_type
    return bind(_one_hot, index, size=size, dtype=name)


def _rule(index: Tensor, size: int, dtype: str) -> Tensor:
    return Tensor((*integral("one_hot", index).shape, size), dtype)


def _lift(attributes: Attributes, has_rows: tuple[bool, ...], types: tuple[Tensor, ...]) -> Attributes:
    return {**attributes, "rows": True} if any(has_rows) else attributes


def _kernel(xp: Any, size: int, dtype: str, rows: bool = False) -> Any:
    def run(index: Any, out: Any = None) -> Any:
        check_index(xp, "one_hot", index, size, rows)
        here = xp.equal(index[..., None], xp.arange(size))
        return put(here.astype(dtype) if out is None else here, out)

    return run


_one_hot = register(Primitive("one_hot", _rule, _kernel, lift=_lift))
