"""Matrix products: matrix and vector in every combination, and the outer product of their gradients.

Over many rows, a product with a parameter is one matrix product; the gradient of the parameter, summed over
the rows, is one as well (`sum_rows`).  Two tensors with three axes are multiplied matrix by matrix, along
their first axis.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import (
    Attributes,
    Gradients,
    HasRows,
    Run,
    SumRun,
    Types,
    bind,
    declare,
    get,
    operation,
    with_primitive,
)
from arrows.ops.shaping import arithmetic, reshape, same_dtype, shape_of, transpose
from arrows.ops.sums import matmul as product, rows_by_matrix, sum_matmul
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def _with_three_axes(a: Operand, b: Operand) -> TensorLike:
    """[n, m, k] @ [k, p] or [k] as one product of matrices; matrix by matrix where both have three axes."""
    left, right = shape_of(a), shape_of(b)
    if len(left) == len(right):
        return bind(_matmul_each, a, b)
    if len(left) != 3 or left[2:] != right[:1]:
        raise ShapeError(f"matmul: {list(left)} @ {list(right)} do not fit")
    flat = bind(get("matmul"), reshape(a, (left[0] * left[1], left[2])), b)
    return reshape(flat, (*left[:2], *right[1:]))


def dot(a: Operand, b: Operand) -> TensorLike:
    """Inner product of two vectors, and `matmul` of others, as in NumPy.

    >>> import numpy as np
    >>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return matmul(a, b)


def _numbers(name: str, a: Tensor, b: Tensor) -> str:
    """The element type of two tensors of numbers."""
    return same_dtype(name, arithmetic(name, a), b)


def _fits(a: Tensor, b: Tensor, left: int, right: int) -> None:
    """Refuses a product where an axis of the left operand and one of the right differ."""
    if a.shape[left] != b.shape[right]:
        raise ShapeError(
            f"matmul: {a} @ {b} do not fit: axis {left} is {a.shape[left]} on the left "
            f"and axis {right} is {b.shape[right]} on the right"
        )


def _matmul_rule(a: Tensor, b: Tensor) -> Tensor:
    dtype = _numbers("matmul", a, b)
    for kind in (a, b):
        if kind.ndim not in (1, 2):
            raise ShapeError(f"matmul takes one, two or three axes, got {kind}")
    _fits(a, b, a.ndim - 1, 0)
    return Tensor((*a.shape[:-1], *b.shape[1:]), dtype)


def _matmul_lift(attributes: Attributes, has_rows: HasRows, types: Types) -> Attributes:
    if not any(has_rows):
        return attributes
    return {**attributes, "rows": has_rows, "ranks": (types[0].ndim, types[1].ndim)}


def _matmul_kernel(
    xp: ArrayModule, rows: tuple[bool, bool] = (False, False), ranks: tuple[int, int] = (0, 0)
) -> Run:
    if xp is np and (rows, ranks) == ((True, False), (1, 2)):
        return rows_by_matrix()
    multiply = product if xp is np else xp.matmul
    if rows == (True, True) and ranks != (2, 2):
        return _row_by_row(multiply, ranks)
    if rows == (True, False) and ranks[0] == 2:
        return _flattened(multiply)
    if rows == (False, True) and ranks[1] == 1:
        # [m, k] or [k] times rows of vectors [n, k]: b @ a.T has the rows in front.
        return lambda a, b, out=None: multiply(b, a.T, out=out)
    return multiply  # one call, thanks to its broadcasting


def _row_by_row(multiply: Run, ranks: tuple[int, int]) -> Run:
    """Multiplies the rows of two operands, of which vectors become matrices of one row or one column."""
    left: Any = (slice(None), None) if ranks[0] == 1 else ...
    right: Any = (..., None) if ranks[1] == 1 else ...
    result: Any = (slice(None), *(0 if rank == 1 else slice(None) for rank in ranks))
    return lambda a, b, out=None: put(multiply(a[left], b[right])[result], out)


def _flattened(multiply: Run) -> Run:
    """[n, m, k] @ [k, p] or [k]: axis m joins the rows, which makes one product."""

    def run(a: Array, b: Array, out: Array | None = None) -> Array:
        n, m, k = a.shape
        flat, shape = a.reshape((n * m, k)), (n, m, *b.shape[1:])
        if out is None or not out.flags.c_contiguous:  # a reshape of it would be a copy
            return put(multiply(flat, b).reshape(shape), out)
        multiply(flat, b, out=out.reshape((n * m, *b.shape[1:])))
        return out

    return run


def _matmul_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    if a.ndim == 2 or b.ndim == 2:
        of_a = outer(g, b) if b.ndim == 1 else matmul(g, transpose(b))
        return of_a, outer(a, g) if a.ndim == 1 else matmul(transpose(a), g)
    # Two vectors: g is a scalar, and g * b would be right.  Written as an outer product with a vector of one
    # element, its sum over rows is a matrix product (`_outer_sum_rows`), which never makes the rows.
    column = reshape(g, (1,))
    return reshape(outer(column, b), b.shape), reshape(outer(column, a), a.shape)


def _sum_rows(xp: ArrayModule, has_rows: HasRows, types: Types, **lifted: Hashable) -> SumRun | None:
    """The sum over rows of products is one product, in which the rows join the axis that it sums over.

    Of products of matrices at each first index, one for each.
    """
    if has_rows != (True, True):
        return None
    left, right = (kind.shape for kind in types)
    n, m = left[0] if len(left) == 3 else 1, left[-2] if len(left) > 1 else 1
    k, p = left[-1], right[-1] if len(right) > 1 else 1
    result = (*left[:-1], *(right[-1:] if len(right) > 1 else ()))
    # In the result, where axes of the three in `whole` are left out, sizes of 1.
    whole = tuple(slice(None) if has else None for has in (len(left) == 3, len(left) > 1, len(right) > 1))

    def run(a: Array, b: Array, out: Array | None = None) -> Array:
        rows = a.shape[0]
        joined = a.reshape((rows, n, m, k)).transpose((1, 2, 0, 3)).reshape((n, m, rows * k))
        columns = b.reshape((rows, n, k, p)).transpose((1, 0, 2, 3)).reshape((n, rows * k, p))
        out = xp.empty(result, a.dtype) if out is None else out
        for i in range(n):
            sum_matmul(xp, joined[i], columns[i], out[whole][i])
        return out

    return run


def _outer_rule(a: Tensor, b: Tensor) -> Tensor:
    dtype = _numbers("outer", a, b)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer takes two vectors, got {a} and {b}")
    return Tensor((*a.shape, *b.shape), dtype)


def _outer_sum_rows(xp: ArrayModule, has_rows: HasRows, types: Types) -> SumRun | None:
    return (lambda a, b, out=None: sum_matmul(xp, a.T, b, out)) if has_rows == (True, True) else None


def _each_rule(a: Tensor, b: Tensor) -> Tensor:
    dtype = _numbers("matmul", a, b)
    _fits(a, b, 0, 0)
    _fits(a, b, 2, 1)
    return Tensor((*a.shape[:2], b.shape[2]), dtype)


def _each_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    return matmul(g, transpose(b, (0, 2, 1))), matmul(transpose(a, (0, 2, 1)), g)


@with_primitive(_matmul_rule, _matmul_kernel, _matmul_vjp, lift=_matmul_lift, sum_rows=_sum_rows)
def matmul(a: Operand, b: Operand) -> TensorLike:
    """Matrix product: of vectors and matrices, and, with three axes, of the matrices at each first index.

    Args:
        a: [k], [m, k] or [n, m, k].
        b: [k], [k, p], or, beside [n, m, k], [n, k, p].

    >>> import numpy as np
    >>> matmul(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 3.0]])).tolist()
    [1.0, 6.0]
    >>> matmul(np.ones((4, 2, 3)), np.ones((4, 3, 5))).shape
    (4, 2, 5)
    """
    if len(shape_of(a)) == 3 or len(shape_of(b)) == 3:
        return _with_three_axes(a, b)
    return bind(get("matmul"), a, b)


@operation(
    _outer_rule,
    lambda xp: lambda a, b, out=None: xp.multiply(a[..., :, None], b[..., None, :], out=out),
    lambda g, result, a, b: (matmul(g, b), matmul(transpose(g), a)),
    sum_rows=_outer_sum_rows,
)
def outer(a: Operand, b: Operand) -> TensorLike:
    """Outer product of vectors [m] and [k]: all products, [m, k].

    >>> import numpy as np
    >>> outer(np.array([1, 2]), np.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """


_matmul_each = declare("matmul_each", _each_rule, lambda xp: xp.matmul, _each_vjp, sum_rows=_sum_rows)
