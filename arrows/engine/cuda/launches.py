"""Binds kernels and matrix products to the arrays of a batch: a table of words, with a line for each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arrows.arrays import Array
from arrows.engine.cuda.columns import RegionColumns, WordColumn
from arrows.engine.cuda.products import RowMatrix, StepProduct
from arrows.engine.cuda.segments import segment_sum_kernel
from arrows.engine.device import Launch, ProductLayout
from arrows.engine.program import CKernel, Frame, Program
from arrows.ops import RowSparse


class RegionLaunches:
    """The launches of one region of one operation in one batch.

    Args:
        program: with memory.
        region: which.
        precision: of matrix products; see `ProductLayout`.
        arrays: what the region is bound to.
    """

    def __init__(self, program: Program, region: str, precision: str, arrays: Frame) -> None:
        self._precision = precision
        self._arrays, self._device = arrays, arrays.device
        self._columns = RegionColumns(program, region, arrays)

    def kernel(self, kernel: CKernel, needed: bool = True) -> Launch:
        """The launches of a kernel, one for each step; none if it is not needed in this batch."""
        if not needed:
            return lambda number: None
        words = self._columns.words([self._columns.column(argument) for argument in kernel.arguments])
        return self._device.compile([kernel.source])[kernel.source.name].bind(words)

    def product(self, product: StepProduct) -> Launch:
        """The launches of a matrix product, one for each step."""
        matrix = self._arrays.once[product.matrix]
        if matrix.ndim == 1:
            matrix = matrix.reshape((-1, 1))
        if product.transposed:
            matrix = matrix.T
        rows, result = product.rows, product.result
        stride, transposed = _row_stride(matrix), False
        if stride is None:
            stride, transposed = _row_stride(matrix.T), True
        if stride is None:
            matrix, stride, transposed = matrix.copy(), matrix.shape[1], False
        layout = ProductLayout(
            dtype=rows.dtype,
            a_stride=rows.stride,
            b_stride=stride,
            c_stride=result.stride,
            b_transposed=transposed,
            precision=self._precision,
        )
        columns, (height, width) = self._columns, matrix.shape
        size = [columns.lengths(rows.level, rows.height), WordColumn(width), WordColumn(height)]
        addresses = [columns.first(rows), WordColumn(self._device.address(matrix)), columns.first(result)]
        launch = self._device.products(layout, columns.words([*size, *addresses]))
        return partial(_launch, launch, matrix)

    def sum(
        self,
        a: RowMatrix | None,
        b: RowMatrix,
        shape: tuple[int, ...],
        out: Array | None,
        total: Array | None,
    ) -> Array | None:
        """The sum over all rows of the outer product of two vectors, or of a vector.

        Args:
            a, b: the vectors; None stands for ones.
            shape: of the sum.
            out: where it is written; None: to a new array.
            total: where it may be added instead, without a launch for that; None is returned then.
        """
        columns, address = self._columns, self._device.address
        array, adds = self._target(shape, b.dtype, out, total, _row_stride if a else _contiguous)
        if a is None:
            count = int(columns.words([columns.lengths(b.level)])[0, 0])
            height, a_stride, precision = 1, 1, "float32"
            first = WordColumn(address(self._arrays.ones(count, b.dtype)))
        else:
            height, a_stride, precision, first = a.width, a.stride, self._precision, columns.first(a)
        layout = ProductLayout(
            dtype=b.dtype,
            a_stride=a_stride,
            b_stride=b.stride,
            c_stride=b.width if a is None else _row_stride(array) or 1,
            a_transposed=True,
            accumulate=adds,
            precision=precision,
        )
        size = [WordColumn(height), WordColumn(b.width), columns.lengths(b.level)]
        words = columns.words([*size, first, columns.first(b), WordColumn(address(array))])
        self._device.products(layout, words)(0)
        return None if adds else array

    def sum_by_row(
        self,
        gather: int,
        rows: RowMatrix,
        shape: tuple[int, ...],
        sparse: bool,
        out: Array | None,
        total: Array | None,
        otherwise: Callable[[], Array | RowSparse],
    ) -> Array | RowSparse | None:
        """The sum over all rows of vectors that go to rows of a table.

        Args:
            gather: the number of the gather that reads the rows of the table.
            rows: the vectors.
            shape: of the table.
            sparse: whether it is row-sparse; else a whole array.
            out, total: as in `sum`.
            otherwise: sums if the host does not know where the vectors go.
        """
        indices = self._arrays.gathers[gather].indices
        if indices is None:
            return otherwise()
        count, address = len(indices.rows.host), self._device.address
        if sparse:
            array, adds = self._device.empty((count, *shape[1:]), rows.dtype), False
        else:
            array, adds = self._target(shape, rows.dtype, out, total, _contiguous)
            if not adds:
                array[...] = 0
        words = self._columns.words(
            [
                WordColumn(count),
                WordColumn(address(array)),
                WordColumn(indices.rows.address),
                self._columns.first(rows),
                WordColumn(rows.stride),
                WordColumn(indices.order.address),
                WordColumn(indices.starts.address),
                WordColumn(array.shape[0]),
            ]
        )
        kernel = segment_sum_kernel(rows.width, rows.dtype, adds=not sparse)
        self._device.compile([kernel])[kernel.name].bind(words)(0)
        if sparse:
            return RowSparse(indices.rows.array, array, shape, distinct=True)
        return None if adds else array

    def gathered(self, number: int, width: int, shape: tuple[int, ...]) -> Array:
        """All rows of a gather that has no memory; in each, so many rows of the slab lie side by side."""
        index, memory = self._arrays.gathers[number].index, self._arrays.memory
        if index is None:
            return memory["gathered", number]
        rows = self._device.take(memory["slab", number], index)
        return rows.reshape((rows.shape[0] // width, *shape))

    def _target(
        self,
        shape: tuple[int, ...],
        dtype: str,
        out: Array | None,
        total: Array | None,
        fits: Callable[[Array], object],
    ) -> tuple[Array, bool]:
        """Where a sum is written, and whether it is added to what is there."""
        if total is not None and fits(total):
            return total, True
        array = out if out is not None and fits(out) else self._device.empty(shape, dtype)
        return array, False


def _contiguous(array: Array) -> bool:
    return array.flags.c_contiguous


def _row_stride(matrix: Array) -> int | None:
    """How many numbers there are from one row to the next, if a matrix lies row by row."""
    height, width = matrix.shape
    down, right = matrix.strides
    if (right == matrix.itemsize or width <= 1) and (down >= width * matrix.itemsize or height <= 1):
        return int(max(down // matrix.itemsize, width, 1))
    return None


def _launch(launch: Launch, kept: Array, number: int) -> None:
    """Starts a launch; keeps the array alive that it reads."""
    launch(number)
