"""Binds kernels and matrix products to the arrays of a batch: a table of words, with a line for each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arrows.engine.device import Launch, ProductLayout
from arrows.engine.program.emitters.arrays import DistinctIndices, Frame
from arrows.engine.program.emitters.c import CKernel, segment_sum_kernel
from arrows.engine.program.emitters.columns import RegionColumns, WordColumn
from arrows.engine.program.emitters.products import StepProduct
from arrows.engine.program.emitters.row_matrix import RowMatrix
from arrows.engine.program.program import Program
from arrows.ops import RowSparse
from arrows.ops.arrays import Array


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
        self._program, self._arrays, self._device = program, arrays, arrays.device
        self._columns = RegionColumns(program, region, arrays)

    def kernel(self, kernel: CKernel) -> Launch:
        """The launches of a kernel, one for each step."""
        words = self._columns.words([self._columns.column(argument) for argument in kernel.arguments])
        return self._device.compile([kernel.source])[kernel.source.name].bind(words)

    def gather(self, number: int, kernel: CKernel) -> Launch:
        """The launches that copy gathered rows together, which are none if the rows lie so already."""
        if self._arrays.gathers[number].first is None:
            return _nothing
        return self.kernel(kernel)

    def pull(self, number: int, kernel: CKernel) -> Launch:
        """The launches that add to gradients what readers have left, which are none if nobody has."""
        return self.kernel(kernel) if number in self._arrays.places else _nothing

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
        words = self._columns.words(
            [
                self._columns.lengths(rows.level, rows.height),
                WordColumn(matrix.shape[1]),
                WordColumn(matrix.shape[0]),
                self._columns.first(rows),
                WordColumn(self._device.address(matrix)),
                self._columns.first(result),
            ]
        )
        return partial(_launch, self._device.products(layout, words), (matrix,))

    def sum_outer(self, a: RowMatrix, b: RowMatrix, out: Array | None, total: Array | None) -> Array | None:
        """The sum over all rows of the outer product of two vectors.

        Args:
            a, b: the vectors.
            out: where it is written; None: to a new array.
            total: where it may be added instead, without a launch for that; None is returned then.
        """
        shape = a.width, b.width
        adds = total is not None and _row_stride(total) is not None
        array = total if adds else out
        stride = None if array is None else _row_stride(array)
        if array is None or stride is None:
            array, stride = self._device.empty(shape, a.dtype), shape[1]
        layout = ProductLayout(
            dtype=a.dtype,
            a_stride=a.stride,
            b_stride=b.stride,
            c_stride=stride,
            a_transposed=True,
            accumulate=adds,
            precision=self._precision,
        )
        self._one_product(layout, *shape, self._columns.first(a), self._columns.first(b), a.level, array)
        return None if adds else array

    def sum_rows(
        self, rows: RowMatrix, shape: tuple[int, ...], out: Array | None, total: Array | None
    ) -> Array | None:
        """The sum of a value over all rows; ``out`` and ``total`` as in `sum_outer`."""
        adds = total is not None and total.flags.c_contiguous
        array = total if adds else out
        if array is None or not array.flags.c_contiguous:
            array = self._device.empty(shape, rows.dtype)
        count = int(self._columns.words([self._columns.lengths(rows.level)])[0, 0])
        ones = self._arrays.ones(count, rows.dtype)
        layout = ProductLayout(
            dtype=rows.dtype,
            a_stride=max(count, 1),
            b_stride=rows.stride,
            c_stride=rows.width,
            accumulate=adds,
        )
        self._one_product(
            layout,
            1,
            rows.width,
            WordColumn(self._device.address(ones)),
            self._columns.first(rows),
            rows.level,
            array,
        )
        return None if adds else array

    def sum_by_row(self, gather: int, rows: RowMatrix, shape: tuple[int, ...]) -> RowSparse | None:
        """The sum over all rows of vectors that go to rows of a table; None if the host does not know where.

        Args:
            gather: the number of the gather that reads the rows of the table.
            rows: the vectors.
            shape: of the table.
        """
        indices = self._arrays.gathers[gather].indices
        if indices is None:
            return None
        sums = self._device.empty((len(indices.rows.host), *shape[1:]), rows.dtype)
        self._sum_segments(indices, rows, sums, adds=False)
        return RowSparse(indices.rows.array, sums, shape, distinct=True)

    def add_by_row(
        self,
        gather: int,
        rows: RowMatrix,
        shape: tuple[int, ...],
        out: Array | None,
        total: Array | None,
        otherwise: Callable[[], Array],
    ) -> Array | None:
        """The same as a whole array, ``otherwise`` if the host does not know; ``out``: see `sum_outer`."""
        indices = self._arrays.gathers[gather].indices
        if indices is None:
            return otherwise()
        adds = total is not None and total.flags.c_contiguous
        array = total if adds else out
        if array is None or not array.flags.c_contiguous:
            array = self._device.empty(shape, rows.dtype)
        if not adds:
            array[...] = 0
        self._sum_segments(indices, rows, array, adds=True)
        return None if adds else array

    def _sum_segments(self, indices: DistinctIndices, rows: RowMatrix, target: Array, *, adds: bool) -> None:
        """Sums the vectors of each row of a table."""
        address = self._device.address
        kernel = segment_sum_kernel(rows.width, rows.dtype, adds=adds)
        words = self._columns.words(
            [
                WordColumn(len(indices.rows.host)),
                WordColumn(address(target)),
                WordColumn(indices.rows.address),
                self._columns.first(rows),
                WordColumn(rows.stride),
                WordColumn(indices.order.address),
                WordColumn(indices.starts.address),
                WordColumn(target.shape[0]),
            ]
        )
        self._device.compile([kernel])[kernel.name].bind(words)(0)

    def _one_product(
        self,
        layout: ProductLayout,
        height: int,
        width: int,
        a: WordColumn,
        b: WordColumn,
        level: int,
        out: Array,
    ) -> None:
        size = [WordColumn(height), WordColumn(width), self._columns.lengths(level)]
        words = self._columns.words([*size, a, b, WordColumn(self._device.address(out))])
        self._device.products(layout, words)(0)


def _row_stride(matrix: Array) -> int | None:
    """How many numbers there are from one row to the next, if a matrix lies row by row."""
    height, width = matrix.shape
    down, right = matrix.strides
    if (right == matrix.itemsize or width <= 1) and (down >= width * matrix.itemsize or height <= 1):
        return int(max(down // matrix.itemsize, width, 1))
    return None


def _launch(launch: Launch, kept: tuple[Array, ...], number: int) -> None:
    """Starts a launch; keeps the arrays alive that it reads."""
    launch(number)


def _nothing(number: int) -> None:
    """No launch."""
