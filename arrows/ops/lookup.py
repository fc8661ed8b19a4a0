"""Look-ups: elements at indices that are tensors, and their transposes.

`lookup` reads the rows of an embedding, `pick` the probabilities of cross-entropy.

An index has to be in range, and not negative.  The kernels check that on NumPy and raise `IndexOutOfRange`.
On a device they do not check, since the host would have to wait for the answer: there, what depends on
examples alone is checked when these are read, and what the model computes by `in_range`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from arrows.arrays import Array, ArrayModule, put, take
from arrows.ops.bind import bind, with_primitive
from arrows.ops.comparison import where
from arrows.ops.elementwise import multiply
from arrows.ops.errors import IndexOutOfRange, ShapeError
from arrows.ops.function_context import constant_array
from arrows.ops.primitive import (
    INVARIANT,
    Gradients,
    HasRows,
    Primitive,
    Run,
    SumRun,
    Types,
    declare,
    get,
    lift_each,
    lift_rows,
)
from arrows.ops.rowsparse import RowSparse, add_rows
from arrows.ops.shape_rules import arithmetic, element_type, integral
from arrows.ops.shaping import reshape, shape_of, sum as sum_along
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def as_index(index: Operand) -> Operand:
    """An index, of which a plain integer does not take the element type of what it is an index of."""
    return index if isinstance(index, TensorLike) else constant_array(index)


def _lookup_rule(table: Tensor, index: Tensor) -> Tensor:
    integral("gather(x, i) or x[i]", index)
    if not table.ndim:
        raise ShapeError(f"gather(x, i) or x[i]: x has at least one axis, got {table}")
    return Tensor((*index.shape, *table.shape[1:]), table.dtype)


def _lookup_kernel(xp: ArrayModule, rows: tuple[bool, bool] = (False, False)) -> Run:
    def run(table: Array, index: Array, out: Array | None = None) -> Array:
        check_index(xp, "lookup", index, table.shape[0], rows[1])
        return take(xp, table, index, 0, out)

    def run_rows(table: Array, index: Array, out: Array | None = None) -> Array:
        # Each row has its own table: they form one long table, in which each row's indices are shifted.
        n, size = table.shape[:2]
        check_index(xp, "lookup", index, size, rows[1])
        shape = (n, *(1,) * (index.ndim - rows[1]))
        moved = xp.arange(n).reshape(shape) * size + index
        return take(xp, table.reshape((n * size, *table.shape[2:])), moved, 0, out)

    return run_rows if rows[0] else run


def _lookup_vjp(g: TensorLike, result: TensorLike, table: TensorLike, index: TensorLike) -> Gradients:
    size = table.shape[0]
    if table.rows == INVARIANT or index.shape:
        return bind(_scatter_row, g, index, size=size), None
    here = one_hot(index, size, g.dtype)  # of a table that is dense anyway, with one row for each index
    return multiply(reshape(here, (size, *(1,) * g.ndim)), g), None


@with_primitive(_lookup_rule, _lookup_kernel, _lookup_vjp, lift=lift_each)
def lookup(table: Operand, index: Operand) -> TensorLike:
    """Rows of a table at integer indices: an embedding.

    Args:
        table: [size, ...].
        index: integers of any shape, each with 0 <= index < size.

    Returns:
        The row at each index: the axes of the index, then those of a row.

    >>> lookup(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return bind(get("lookup"), table, as_index(index))


def gather(x: Operand, index: Operand) -> TensorLike:
    """Slices of x at integer indices along its first axis, as rows of an embedding; also written `x[index]`.

    Args:
        x: [size, ...].
        index: integers of any shape, each with 0 <= index < size.

    Returns:
        The slice at each index: the axes of the index, then those of a slice.

    Raises:
        IndexError: when computed, an index is out of range.

    >>> import numpy as np
    >>> gather(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return lookup(x, index)


def pick(x: Operand, index: Operand) -> TensorLike:
    """The element at an integer index along the last axis, as cross-entropy needs it.

    Args:
        x: [..., size].
        index: integers [...], each with 0 <= index < size.

    >>> pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])).tolist()
    [2.0, 3.0]
    """
    index = as_index(index)
    shape, places = shape_of(x), shape_of(index)
    if not shape or shape[:-1] != places:
        raise ShapeError(f"pick: {list(places)} does not hold one index for each vector of {list(shape)}")
    return sum_along(where(one_hot(index, shape[-1], "bool"), x, 0), -1) if places else lookup(x, index)


def _scatter_rule(x: Tensor, index: Tensor, size: int) -> Tensor:
    integral("scatter_row", index)
    if x.shape[: index.ndim] != index.shape:
        raise ShapeError(f"scatter_row: {x} does not hold a row for each index of {index}")
    return Tensor((size, *x.shape[index.ndim :]), arithmetic("scatter_row", x).dtype)


def _flat(xp: ArrayModule, x: Array, index: Array, rows: tuple[bool, bool]) -> tuple[int, Array, Array]:
    """How many rows there are, and the values and indices of all, one after another.

    An operand without rows is repeated for each.
    """
    n = (x if rows[0] else index).shape[0] if any(rows) else 1
    shape = index.shape[1:] if rows[1] else index.shape
    rest = x.shape[rows[0] + len(shape) :]
    count = n * prod(shape)
    x = xp.broadcast_to(x, (n, *shape, *rest)).reshape((count, *rest))
    return n, x, xp.broadcast_to(index, (n, *shape)).reshape((count,))


def _scatter_kernel(xp: ArrayModule, size: int, rows: tuple[bool, bool] = (False, False)) -> Run:
    def run(x: Array, index: Array, out: Array | None = None) -> Array:
        check_index(xp, "scatter_row", index, size, rows[1])
        n, x, moved = _flat(xp, x, index, rows)
        if n != 1:
            moved = xp.repeat(xp.arange(n), moved.size // n if n else 0) * size + moved
        result = add_rows(xp, moved, x, n * size).reshape((n, size, *x.shape[1:]))
        return put(result if any(rows) else result[0], out)

    return run


def _scatter_sum_rows(
    xp: ArrayModule, has_rows: HasRows, types: Types, size: int, rows: tuple[bool, bool] = (False, False)
) -> SumRun:
    def run(x: Array, index: Array, out: Array | None = None) -> Array | RowSparse:
        _, x, index = _flat(xp, x, index, rows)
        result = RowSparse(index, x, (size, *x.shape[1:]))
        return result if out is None else put(result.to_dense(xp), out)

    return run


# Zeros [size, ...], plus x at the rows that the indices name: the transpose of `lookup`.
_scatter_row: Primitive = declare(
    "scatter_row",
    _scatter_rule,
    _scatter_kernel,
    lambda g, result, x, index, size: (lookup(g, index), None),
    lift=lift_each,
    sum_rows=_scatter_sum_rows,
)


def _one_hot_rule(index: Tensor, size: int, dtype: str) -> Tensor:
    return Tensor((*integral("one_hot", index).shape, size), dtype)


def _one_hot_kernel(xp: ArrayModule, size: int, dtype: str, rows: bool = False) -> Run:
    def run(index: Array, out: Array | None = None) -> Array:
        check_index(xp, "one_hot", index, size, rows)
        here = xp.equal(index[..., None], xp.arange(size))
        return put(here.astype(dtype) if out is None else here, out)

    return run


@with_primitive(_one_hot_rule, _one_hot_kernel, lift=lift_rows)
def one_hot(index: Operand, num_classes: int, dtype: str = "float32") -> TensorLike:
    """Unit vectors: 1 at the index along a new last axis, 0 elsewhere.  No gradient passes.

    Args:
        index: integers of any shape, each with 0 <= index < num_classes.
        num_classes: length of the vectors.
        dtype: element type of the result; `compile(float_type=...)` replaces a floating one.

    Raises:
        IndexError: when computed, an index is out of range.

    >>> import numpy as np
    >>> one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < 0:
        raise ShapeError(f"one_hot: num_classes is a whole number >= 0, got {num_classes!r}")
    dtype = element_type("one_hot", dtype, getattr(index, "context", None))
    return bind(get("one_hot"), index, size=num_classes, dtype=dtype)


def check_index(xp: ArrayModule, name: str, index: Array, size: int, rows: bool) -> None:
    """Raises `IndexOutOfRange` if an index is not in 0..size-1; checks nothing on a device."""
    if xp is not np or not index.size:
        return
    # Read as unsigned, negative numbers are large, so one maximum checks both bounds.
    unsigned = index if index.dtype.kind == "u" else index.view(f"u{index.dtype.itemsize}")
    if int(unsigned.max()) < size:
        return
    wrong = np.argwhere(np.asarray((index < 0) | (index >= size)))[0]
    row = int(wrong[0]) if rows else None
    raise IndexOutOfRange(name, int(index[tuple(wrong)]), size, row)
