"""Sorting along the last axis: `sort`, `argsort`, `top_k`.  Equal elements keep their order."""

from __future__ import annotations

from math import prod

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.bind import bind, with_primitive
from arrows.ops.errors import ShapeError
from arrows.ops.indexing import index
from arrows.ops.lookup import lookup
from arrows.ops.primitive import Run, get
from arrows.ops.shaping import reshape, shape_of
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def _kernel(xp: ArrayModule, descending: bool) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        if descending:  # sorted from the back and turned round, so that equal ones keep their order
            backwards = xp.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
            return put((x.shape[-1] - 1 - backwards).astype("int64"), out)
        return put(xp.argsort(x, axis=-1, kind="stable").astype("int64"), out)

    return run


def _order(name: str, x: Operand, argument: str, descending: object) -> TensorLike:
    if not isinstance(descending, (bool, np.bool_)):  # PyTorch and NumPy have an axis here
        raise ShapeError(
            f"{name}: {argument} is True or False, got {descending!r}",
            hint="it works along the last axis; ops.transpose brings another one there",
        )
    if not shape_of(x):
        raise ShapeError(f"{name}: a scalar has no axis to sort along")
    return bind(get("argsort"), x, descending=bool(descending))


def _taken(x: Operand, order: TensorLike) -> TensorLike:
    """The elements at indices along the last axis."""
    *outer, size = shape_of(x)
    if not outer:
        return lookup(x, order)
    starts = np.arange(prod(outer), dtype="int64").reshape((*outer, 1)) * size
    return lookup(reshape(x, (prod(outer) * size,)), order + starts)


def sort(x: Operand, descending: bool = False) -> tuple[TensorLike, TensorLike]:
    """The elements along the last axis in order, and their places: `torch.sort`.

    Of equal elements the one with the lowest index comes first, whichever the order.  NaN counts as greater
    than all numbers.  The gradient of a value goes to the element that it was.

    Args:
        x: [..., n], of any element type.
        descending: whether the greatest element comes first.

    Returns:
        The values [..., n], and their indices in x, int64 [..., n].

    Raises:
        ShapeError: x is a scalar, or `descending` is no truth value.

    >>> import numpy as np
    >>> values, indices = sort(np.array([3.0, 1.0, 2.0]))
    >>> values.tolist(), indices.tolist()
    ([1.0, 2.0, 3.0], [1, 2, 0])
    """
    order = _order("sort", x, "descending", descending)
    return _taken(x, order), order


@with_primitive(lambda x, descending: Tensor(x.shape, "int64"), _kernel)
def argsort(x: Operand, descending: bool = False) -> TensorLike:
    """The indices that put the elements along the last axis in order, int64; no gradient passes.

    Args:
        x: [..., n], of any element type.
        descending: whether the greatest element comes first.

    Raises:
        ShapeError: x is a scalar, or `descending` is no truth value.

    >>> import numpy as np
    >>> argsort(np.array([3.0, 1.0, 3.0]), descending=True).tolist()
    [0, 2, 1]
    """
    return _order("argsort", x, "descending", descending)


def top_k(x: Operand, k: int, largest: bool = True) -> tuple[TensorLike, TensorLike]:
    """The k greatest elements along the last axis, the greatest first, and their places: `torch.topk`.

    Of equal elements the one with the lowest index comes first.  NaN counts as greater than all numbers.
    The gradient of a value goes to the element that it was.

    Args:
        x: [..., n], of any element type.
        k: how many, 0 <= k <= n, a Python number.
        largest: if false, the k least elements, the least first.

    Returns:
        The values [..., k], and their indices in x, int64 [..., k].

    Raises:
        ShapeError: x is a scalar, or has fewer than k elements, or `largest` is no truth value.

    >>> import numpy as np
    >>> values, indices = top_k(np.array([3.0, 1.0, 2.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0], [0, 2])
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ShapeError(f"top_k: k is a whole number >= 0, got {k!r}")
    order = _order("top_k", x, "largest", largest)
    size = shape_of(x)[-1]
    if k > size:
        raise ShapeError(f"top_k: the last axis of {list(shape_of(x))} has {size} elements, fewer than {k}")
    first = order if k == size else index(order, (..., slice(0, k)))
    return _taken(x, first), first
