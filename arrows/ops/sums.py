"""Sums of many numbers that keep float32's digits, and products of few rows.

Added one after the other, 100,000 equal numbers of float32 lose four of their seven digits: as the sum grows,
each new number is rounded to the sum's last digit.  NumPy adds pairwise only along an axis that is contiguous
in memory; along rows it adds one after the other, as BLAS does in products with few columns.  Here sixteen
rows at a time become one, until few are left, which are added in float64.  For narrow rows this is faster as
well: 100,000 rows of 5 take 0.08 ms instead of 1.28 ms; rows of 150 take as long as before.

A device adds in a tree, so its sums need no help; its products do.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from arrows.arrays import HOST, Array, ArrayModule, HostArray, put
from arrows.machine import one_thread
from arrows.ops.primitive import Run

_FEW = 32  # up to so many numbers are added one after the other
_BLOCK = 16  # of more numbers, so many at a time become one
_LAST = 64  # the last ones, up to so many, are added in float64
_LOOP = 4096  # elements that NumPy's inner loop adds at a time, where the rows are narrow

# A product sums over its inner axis.  With a narrow result it is cut into blocks of 64, whose results are
# small.  In other products BLAS itself adds a few hundred at a time, and only those sums one after the other.
_INNER = 64
_NARROW, _THIN = 1024, 8  # a result is narrow with up to so many elements, or so few rows or columns
_HELD = 1 << 18  # elements of the blocks' results that are in memory at a time
_LONG = 1 << 14  # an inner axis is cut into parts of this length where the result is not narrow
_MANY = 4096  # shorter inner axes are not cut on a device, nor in a product of one example

# A product with ones sums 50 rows of 128 in 1.4 us. NumPy takes 4.5, and 9 with the last in float64. The
# numbers of each of 3,880 rows of 5 take 3 us, where NumPy takes 68.
_ONES = {kind: np.ones(_INNER, kind) for kind in "fd"}


def sum_rows(values: Array, out: Array | None = None) -> Array:
    """The sum over the first axis of [n, ...], of the same element type.

    >>> int(sum_rows(np.full((10**6, 2), 0.1, np.float32))[0])
    100000
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values.sum(axis=0, dtype=values.dtype, out=out)
    if len(values) <= _INNER and values.ndim == 2 and values.dtype.char in _ONES:
        return HOST.matmul(_ONES[values.dtype.char][: len(values)], values, out=out)
    if len(values) <= _FEW:
        return values.sum(axis=0, dtype=values.dtype, out=out)
    return put(_along(values, 0), out)


def sum_axes(values: Array, axes: tuple[int, ...], keepdims: bool = False, out: Array | None = None) -> Array:
    """The sum over axes (counted from the end, ascending), of the same element type."""
    count = prod(values.shape[axis] for axis in axes)
    if axes == (-1,) and values.ndim == 2 and count <= _INNER <= len(values):
        total = sum_rows(values.T, None if keepdims else out)
        return put(total[:, None], out) if keepdims else total
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or count <= _FEW:
        return values.sum(axis=axes, dtype=values.dtype, out=out, keepdims=keepdims)
    places = [axis + values.ndim for axis in axes]
    shape = [1 if i in places else n for i, n in enumerate(values.shape) if keepdims or i not in places]
    if axes == tuple(range(-len(axes), 0)) and values.flags.c_contiguous:
        values, axes = values.reshape((*values.shape[: -len(axes)], prod(values.shape[-len(axes) :]))), (-1,)
    for axis in axes:
        place = axis + values.ndim
        values = np.expand_dims(_along(values, place), place)
    return put(values.reshape(shape), out)


def _along(values: HostArray, axis: int) -> HostArray:
    """The sum along one axis, counted from the front."""
    kind = values.dtype
    if axis == values.ndim - 1 and values.strides[-1] == values.itemsize <= min(values.strides):
        result: HostArray = np.add.reduce(values, axis=axis, dtype=kind)  # NumPy adds pairwise
        return result
    while (n := values.shape[axis]) > _LAST:
        before, after = values.shape[:axis], values.shape[axis + 1 :]
        groups, beside = _blocks(n, prod(after))
        used = groups * _BLOCK * beside
        cut = (slice(None),) * axis
        blocks = values[(*cut, slice(used))].reshape((*before, groups, _BLOCK, beside, *after))
        step = np.promote_types(values.dtype, np.float32)
        sums = np.add.reduce(blocks, axis=axis + 1, dtype=step).reshape((*before, groups * beside, *after))
        rest = values[(*cut, slice(used, None))]
        values = sums if used == n else np.concatenate((sums, rest), axis=axis)
    return np.asarray(np.add.reduce(values, axis=axis, dtype=np.float64)).astype(kind)


def _blocks(n: int, width: int) -> tuple[int, int]:
    """Into how many groups n rows of so many numbers are cut, and how many rows of each stay in a sum.

    The inner loop runs over rows that lie side by side; the sixteen rows that become one lie far apart.
    """
    groups = min(max(1, n * width // (_BLOCK * _LOOP)), n // _BLOCK)
    return groups, n // (_BLOCK * groups)


def sum_products(xp: ArrayModule, a: Array, b: Array, out: Array | None = None) -> Array:
    """The sum over rows of a * b, both [n, m] of one element type, without making the product."""
    n, m = a.shape
    if xp is not np or n <= _FEW or a.dtype.kind != "f":
        return put(xp.einsum("ij,ij->j", a, b), out)
    groups, beside = _blocks(n, m)
    used = groups * _BLOCK * beside
    blocks = [x[:used].reshape((groups, _BLOCK, beside, m)) for x in (a, b)]
    sums = xp.einsum("gkbm,gkbm->gbm", *blocks).reshape((groups * beside, m))
    if used < n:
        sums = xp.concatenate((sums, a[used:] * b[used:]))
    return sum_rows(sums, out)


def sum_matmul(xp: ArrayModule, a: Array, b: Array, out: Array | None = None) -> Array:
    """[m, n] @ [n, p] with a long inner axis, such as the rows of a batch that are summed over.

    >>> int(sum_matmul(np, np.full((1, 10**6), 0.1, np.float32), np.ones((10**6, 1), np.float32))[0, 0])
    100000
    """
    (m, n), p = a.shape, b.shape[1]
    narrow = m * p <= _NARROW or min(m, p) <= _THIN
    least = _LONG if not narrow else _INNER if xp is np else _MANY  # a device would wait for the calls
    if n <= least or a.dtype != np.float32 or not m * p:
        return xp.matmul(a, b, out=out)
    total = xp.zeros((m, p), "float64")
    step = min(_LONG, _INNER * max(1, _HELD // (m * p))) if narrow else _LONG
    for start in range(0, n, step):
        left, right = a[:, start : start + step], b[start : start + step]
        blocks = left.shape[1] // _INNER if narrow else 0
        used = blocks * _INNER
        if blocks:
            total += xp.matmul(
                left[:, :used].reshape((m, blocks, _INNER)).transpose((1, 0, 2)),
                right[:used].reshape((blocks, _INNER, p)),
            ).sum(axis=0, dtype="float64")
        if used < left.shape[1]:
            total += xp.matmul(left[:, used:], right[used:])
    return total.astype(a.dtype) if out is None else put(total, out)


def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """NumPy's `matmul`, but vectors and matrices with a long inner axis keep their digits."""
    if a.shape[-1] <= _MANY or a.dtype != np.float32 or max(a.ndim, b.ndim) > 2:
        return HOST.matmul(a, b, out=out)
    result = sum_matmul(HOST, np.atleast_2d(a), b if b.ndim > 1 else b[:, None])
    return put(result.reshape((*a.shape[:-1], *b.shape[1:])), out)


# A few rows times a large matrix: BLAS first copies the matrix into a layout for many rows, which takes
# longer than the product itself, and twice as long if the matrix is transposed. OpenBLAS has kernels for
# AVX-512 that make no copy, for products up to a size. So the matrix is multiplied in blocks of that size,
# which lie together in memory: of columns if it is transposed, else of rows, whose products are added up.
# Two rows times 600 x 1500 numbers of 4 bytes take 118 us instead of 237 (transposed: 112 instead of 457),
# eight rows 218 instead of 293 (206 instead of 602), one thread. Where these kernels are not, the rows are
# multiplied one by one, at most four, or eight if the matrix is transposed. Numbers of 8 bytes gain with
# half as many rows. A matrix that does not fit in the cache is better read once.
# A recurrence multiplies by one matrix step after step, which may be larger than the cache next to the
# processor (2 MB). So each product takes the blocks in the reverse order of the one before, and finds the
# first of them still there: one row takes 103 us instead of 127 (109 of 124). On two threads, whose
# caches hold a half each, BLAS takes 40 us for one row and the whole matrix.
_KERNELS_WITHOUT_COPY = 1_000_000, 1_200  # most multiplications; most results if transposed
_MOST_OF_BLOCK = 400_000  # numbers of the matrix
_SMALLEST = 32  # rows or columns: smaller blocks are slower than one product
_ROW_BYTES, _ROW_BYTES_TRANSPOSED = 4 * 4, 8 * 4  # the numbers of one column of the rows
_LARGE = 1_000_000  # multiplications
_CACHED = 12 << 20  # bytes of the matrix


def _has_kernels_without_copy() -> bool:
    """Whether NumPy's BLAS is OpenBLAS and the processor has AVX-512."""
    config: Any = np.show_config(mode="dicts")
    extensions = config.get("SIMD Extensions", {}).get("found", ())
    blas = config.get("Build Dependencies", {}).get("blas", {}).get("name", "")
    return "openblas" in blas and not {"X86_V4", "AVX512_SKX"}.isdisjoint(extensions)


_BLOCKS = _has_kernels_without_copy()
FEW_TRANSPOSED = 16 if _BLOCKS else 8
"""So many rows, at most, are multiplied by a transposed matrix without a copy of it."""


def rows_by_matrix() -> Run:
    """A function for [n, k] @ [k, m] on NumPy, which multiplies a few rows by blocks of the matrix, there and
    back by turns, or one by one."""
    turn = -1

    def multiply(a: Array, b: Array, out: Array | None = None) -> Array:
        nonlocal turn
        n, (k, m) = len(a), b.shape
        if n > 1 and k == 1 and n * m > _HELD >> 2:  # BLAS takes five times as long
            return HOST.multiply(a, b, out=out)
        if not 0 < n <= FEW_TRANSPOSED or max(n, 2) * b.size <= _LARGE:
            return matmul(a, b, out)
        out = HOST.empty((n, m), b.dtype) if out is None else out
        most = _ROW_BYTES if b.flags.c_contiguous else _ROW_BYTES_TRANSPOSED
        if _BLOCKS and (n > 1 or one_thread()):
            turn, (by_rows, blocks) = -turn, _blocks_of(n, k, m, b.strides[1] != b.itemsize)
            if by_rows:
                parts = HOST.empty((len(blocks), n, m), b.dtype)
                for number, block in blocks[::turn]:
                    matmul(a[:, block], b[block], parts[number])
                return np.add.reduce(parts, axis=0, dtype=b.dtype, out=out)  # in one order: the same bits
            for _, block in blocks[::turn]:
                matmul(a, b[:, block], out[:, block])
        elif 1 < n <= most // b.itemsize and b.nbytes <= _CACHED:
            HOST.matmul(a[:, None], b, out=out[:, None])
        else:
            matmul(a, b, out)
        return out

    return multiply


@cache
def _blocks_of(n: int, k: int, m: int, transposed: bool) -> tuple[bool, list[tuple[int, slice]]]:
    """Whether a matrix is cut into blocks of rows, else of columns; and which of them OpenBLAS multiplies
    without a copy: all as one where they were too small."""
    products, results = _KERNELS_WITHOUT_COPY
    most = min(products // n, _MOST_OF_BLOCK)
    by_rows = not transposed and most // m >= _SMALLEST
    columns = min(most // k, results // n if transposed else m)
    whole, size = (k, most // m) if by_rows else (m, columns)
    size = -(-k // -(-k // size)) if by_rows else size - size % 16  # rows are as many in each block
    size = size if size >= _SMALLEST else whole
    return by_rows, [(number, slice(at, at + size)) for number, at in enumerate(range(0, whole, size))]
