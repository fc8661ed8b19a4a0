"""Row-sparse arrays: the gradient of a table of which few rows were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, module_of
from arrows.ops.segments import Segments, reduce_segments
from arrows.typesys import ArrowTypeError, ArrowValueError


@dataclass(frozen=True, eq=False)
class RowSparse:
    """An array that is zero except for some rows.  A row that occurs twice is the sum of both values.

    It may be multiplied and divided by a number, and added to another one, which gives a row-sparse array, or
    to a dense array, which gives a dense one; `sum` adds up several.  `np.asarray(x)` and `x.to_dense()` are
    the whole array.

    Args:
        rows: integers [m].
        values: [m, ...], what is added to each of these rows.
        shape: of the whole array, [size, ...].
        distinct: whether each row is known to stand once, in rising order.

    >>> a = RowSparse(np.array([1, 1]), np.array([[1.0], [2.0]]), (3, 1))
    >>> (sum([a, a, a / 2])).to_dense().tolist()
    [[0.0], [7.5], [0.0]]
    >>> (np.ones((3, 1)) + a).tolist(), np.asarray(a).shape
    ([[1.0], [4.0], [1.0]], (3, 1))
    """

    __array_ufunc__ = None  # NumPy's arrays then leave operators to this class

    rows: Array
    values: Array
    shape: tuple[int, ...]
    distinct: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the values."""
        return self.values.dtype

    def to_dense(self, xp: ArrayModule | None = None) -> Array:
        """The whole array, where the rows and values are.

        Args:
            xp: the array module of their device, if it is at hand.
        """
        xp = module_of(self.values) if xp is None else xp
        return add_rows(xp, self.rows, self.values, self.shape[0])

    def add_to(self, dense: Array, xp: ArrayModule) -> None:
        """Adds the rows to an array of the same shape, in place.

        >>> total = np.ones((3, 1))
        >>> RowSparse(np.array([1, 1]), np.array([[1.0], [2.0]]), (3, 1)).add_to(total, np)
        >>> total.tolist()
        [[1.0], [4.0], [1.0]]
        """
        if xp is np or self.distinct:
            rows = self.coalesce(xp)
            dense[rows.rows] += rows.values
        else:  # to coalesce would wait for the device
            dense += self.to_dense(xp)

    def coalesce(self, xp: ArrayModule) -> RowSparse:
        """The same array with each row once, in rising order.

        On NumPy an array that has this form is returned as it is.  On a device the host waits for the number
        of rows.

        >>> RowSparse(np.array([4, 1, 4]), np.array([1.0, 2.0, 3.0]), (9,)).coalesce(np).values.tolist()
        [2.0, 4.0]
        """
        total = self.rows.shape[0]
        if not total or self.distinct or _rises(xp, self.rows):
            return self
        order = xp.argsort(self.rows)
        rows = self.rows[order]
        if _rises(xp, rows):
            return RowSparse(rows, self.values[order], self.shape, distinct=True)
        starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), rows[1:] != rows[:-1]]))
        offsets = xp.concatenate([starts, xp.full(1, total, starts.dtype)])
        segments = Segments.of(xp, offsets, total)
        sums = reduce_segments(xp, "add", self.values, segments, 0, order=order)
        return RowSparse(rows[starts], sums, self.shape, distinct=True)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, RowSparse):
            return self.add(other, module_of(self.values))
        if not hasattr(other, "shape"):
            # `sum` begins with the number 0.
            return self if isinstance(other, int) and other == 0 else NotImplemented
        if tuple(other.shape) != self.shape:
            shapes = f"{list(self.shape)} and an array of shape {list(other.shape)}"
            raise ArrowValueError(f"cannot add a row-sparse array of shape {shapes}")
        return other + self.to_dense()

    __radd__ = __add__

    def add(self, other: RowSparse, xp: ArrayModule) -> RowSparse:
        """The sum with another one of the same shape, on the device of `xp`: it lists the rows of both."""
        if other.shape != self.shape:
            shapes = f"{list(self.shape)} and {list(other.shape)}"
            raise ArrowValueError(f"cannot add row-sparse arrays of shapes {shapes}")
        return RowSparse(
            xp.concatenate([self.rows, other.rows]), xp.concatenate([self.values, other.values]), self.shape
        )

    def __mul__(self, factor: Any) -> RowSparse:
        if np.ndim(factor):  # anything larger would be taken for one number of each listed row
            raise ArrowTypeError(
                f"a row-sparse array is multiplied by a number, not by {type(factor).__name__}; "
                "to_dense() gives the whole array"
            )
        return RowSparse(self.rows, self.values * factor, self.shape, self.distinct)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self * (1 / divisor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        if copy is False:
            raise ValueError("a row-sparse array has no dense array to lend: leave out copy=False")
        if not isinstance(self.values, np.ndarray):
            raise TypeError("this row-sparse array lies on a device: np.asarray(ar.to_numpy(gradient))")
        return np.asarray(self.to_dense(), dtype)

    def __repr__(self) -> str:
        return f"RowSparse({self.rows.shape[0]} rows of {self.values.dtype}{list(self.shape)})"


def _rises(xp: ArrayModule, rows: Array) -> bool:
    """Whether each row occurs once, in rising order; False on a device, which the host does not wait for."""
    return xp is np and bool((rows[1:] > rows[:-1]).all())


def add_rows(xp: ArrayModule, rows: Array, values: Array, size: int) -> Array:
    """Zeros [size, ...] with `values[i]` added to row `rows[i]`.

    Sorting brings equal rows together, and each row's values are one segment: no scattered `+=`, which loses
    updates where a row repeats, and no atomic additions, whose order changes from run to run.

    >>> add_rows(np, np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [2.0, 0.0, 4.0]
    """
    if rows.shape[0] == 1 and xp is np:
        dense: Array = xp.zeros((size, *values.shape[1:]), values.dtype)
        dense[rows] = values
        return dense
    order = xp.argsort(rows)
    offsets = xp.searchsorted(rows[order], xp.arange(size + 1))
    return reduce_segments(xp, "add", values, Segments.of(xp, offsets, rows.shape[0]), 0, order=order)
