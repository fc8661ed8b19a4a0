"""Binds kernels and matrix products to the arrays of a batch: a table of words, with a line for each step."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from arrows.engine.device import Launch, ProductLayout
from arrows.engine.program.emitters.arguments import (
    Argument,
    DeliveredRows,
    DeliveryOffsets,
    DeliveryPlaces,
    DropoutKeys,
    GradientRows,
    OnceValue,
    PullOffsets,
    PullPlaces,
    PullValues,
    ResultRowsOf,
    RowCount,
    RowsOf,
    ScatterRowsOf,
    SegmentOffsets,
    SegmentRows,
    SlabIndex,
    SlabRows,
)
from arrows.engine.program.emitters.arrays import PlacesOfRows, RegionArrays
from arrows.engine.program.emitters.c import CKernel, sum_by_row_kernel
from arrows.engine.program.emitters.products import StepProduct
from arrows.engine.program.emitters.row_matrix import RowMatrix
from arrows.engine.program.program import (
    GatheredRows,
    Held,
    Program,
    PulledRows,
    ResultRows,
    ScatterRows,
    Scratch,
)
from arrows.ops import INVARIANT, ROW, RowSparse, Var
from arrows.ops.arrays import Array, HostArray


class RegionLaunches:
    """The launches of one region of one operation in one batch.

    Args:
        program: with memory.
        region: any but ``once``.
        precision: of matrix products; see `ProductLayout`.
        arrays: what the region is bound to.
    """

    def __init__(self, program: Program, region: str, precision: str, arrays: RegionArrays) -> None:
        self._precision = precision
        self._program, self._arrays, self._device = program, arrays, arrays.device
        self._once, self._gathers = program.once_numbers, program.gather_numbers
        self._bounds = {ROW: np.asarray(arrays.bounds, np.int64)}
        for level, steps in arrays.segments.items():
            self._bounds[level] = np.array([0, *(stop for _, stop, _ in steps)], np.int64)
        self._columns: dict[Argument, HostArray | int] = {}
        self.count = len(arrays.bounds) - 1

    def kernel(self, kernel: CKernel) -> Launch:
        """The launches of a kernel, one for each step."""
        return self._bind(kernel, self._words(kernel))

    def _words(self, kernel: CKernel) -> HostArray:
        words = np.empty((self.count, len(kernel.arguments)), np.int64)
        for number, argument in enumerate(kernel.arguments):
            words[:, number] = self.column(argument)
        return words

    def _bind(self, kernel: CKernel, words: HostArray) -> Launch:
        return self._device.compile([kernel.source])[kernel.source.name].bind(words)

    def gather(self, number: int, kernel: CKernel) -> Launch:
        """The launches that copy gathered rows together, which are none if the rows lie so already."""
        gather, var = self._arrays.gathers[number], self._program.gathers[number][1].result
        if gather.first is None and var not in self._program.stored:
            return _nothing
        words = self._words(kernel)
        if gather.copied is not None:
            words[:, 0] = gather.copied
        return self._bind(kernel, words)

    def pull(self, number: int, kernel: CKernel) -> Launch:
        """The launches that add to gradients what readers have left, which are none if nobody has."""
        return self.kernel(kernel) if number in self._arrays.pulled else _nothing

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
            stored=rows.stored,
            c_stored=result.stored,
        )
        words = np.empty((self.count, 6), np.int64)
        words[:, 0] = self._lengths(rows.level) * rows.height
        words[:, 1], words[:, 2] = matrix.shape[1], matrix.shape[0]
        words[:, 3], words[:, 4] = self._first(rows), self._device.address(matrix)
        words[:, 5] = self._first(result)
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
            stored=a.stored,
        )
        self._one_product(layout, *shape, self._first(a), self._first(b), a.level, array)
        return None if adds else array

    def sum_rows(
        self, rows: RowMatrix, shape: tuple[int, ...], out: Array | None, total: Array | None
    ) -> Array | None:
        """The sum of a value over all rows; ``out`` and ``total`` as in `sum_outer`."""
        adds = total is not None and total.flags.c_contiguous
        array = total if adds else out
        if array is None or not array.flags.c_contiguous:
            array = self._device.empty(shape, rows.dtype)
        count = int(self._lengths(rows.level)[0])
        assert self._arrays.ones is not None
        ones = self._arrays.ones(count, rows.dtype, rows.stored)
        layout = ProductLayout(
            dtype=rows.dtype,
            a_stride=max(count, 1),
            b_stride=rows.stride,
            c_stride=rows.width,
            stored=rows.stored,
            accumulate=adds,
        )
        self._one_product(
            layout, 1, rows.width, self._device.address(ones), self._first(rows), rows.level, array
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
        count, address = indices.rows.shape[0], self._device.address
        sums = self._device.empty((count, *shape[1:]), rows.dtype)
        kernel = sum_by_row_kernel(rows.width, rows.dtype)
        words = np.empty((1, 6), np.int64)
        words[:, 0], words[:, 1] = count, address(sums)
        words[:, 2], words[:, 3] = self._first(rows), rows.stride
        words[:, 4], words[:, 5] = address(indices.order), address(indices.starts)
        self._device.compile([kernel])[kernel.name].bind(words)(0)
        return RowSparse(indices.rows, sums, shape, distinct=True)

    def _one_product(
        self,
        layout: ProductLayout,
        height: int,
        width: int,
        a: HostArray | int,
        b: HostArray | int,
        level: int,
        out: Array,
    ) -> None:
        words = np.empty((1, 6), np.int64)
        words[:, 0], words[:, 1], words[:, 2] = height, width, self._lengths(level)
        words[:, 3], words[:, 4], words[:, 5] = a, b, self._device.address(out)
        self._device.products(layout, words)(0)

    # ------------------------------------------------------------------------------------------- columns

    def column(self, argument: Argument) -> HostArray | int:
        """What a word is at each step, or at all steps."""
        if argument not in self._columns:
            self._columns[argument] = self._column(argument)
        return self._columns[argument]

    def _column(self, argument: Argument) -> HostArray | int:
        address, arrays, program = self._device.address, self._arrays, self._program
        match argument:
            case RowCount(level):
                return self._lengths(level)
            case OnceValue(var):
                value = arrays.once[self._once[var]]
                assert value.flags.c_contiguous, "the executor makes them so"
                return address(value)
            case RowsOf(var):
                return self._rows(var)
            case SlabRows(number):
                gather, var = arrays.gathers[number], program.gathers[number][1].result
                if gather.first is None:
                    assert gather.rows is not None
                    return self._at(gather.rows, var)
                return address(gather.slab)
            case SlabIndex(number):
                gather, instruction = arrays.gathers[number], program.gathers[number][1]
                if gather.first is None:
                    return 0
                assert gather.index is not None
                width = len(instruction.operands)
                return address(gather.index) + 4 * width * self._starts(instruction.result.rows)
            case GradientRows(number):
                type, level = program.results[number]
                gradients = arrays.gradients[number]
                assert gradients is not None
                return self._at(gradients, Var(0, type, max(level, ROW)))
            case PullOffsets(number) | PullPlaces(number) | PullValues(number):
                return self._places(argument, number, arrays.pulled.get(number))
            case DeliveryOffsets(number) | DeliveryPlaces(number) | DeliveredRows(number):
                return self._places(argument, number, arrays.delivered.get(number))
            case SegmentOffsets(level):
                # A step has one offset more than rows.
                steps = np.arange(self.count, dtype=np.int64)
                return self._segments(level, 0) + 4 * (self._starts(ROW) + steps)
            case SegmentRows(level):
                return self._segments(level, 1) + 4 * self._starts(level)
            case DropoutKeys():
                assert arrays.keys is not None
                return address(arrays.keys) + 8 * self._starts(ROW)
            case ScatterRowsOf(number):
                var = program.scatters[number][1].operand
                return self._at(arrays.scatters[number], var)
            case ResultRowsOf(number):
                type, level = program.results[number]
                return self._at(arrays.results[number], Var(0, type, max(level, ROW)))

    def _places(self, argument: Argument, result: int, places: PlacesOfRows | None) -> HostArray | int:
        """The address of offsets, of places or of what they number; 0 where no row of a result has any."""
        address = self._device.address
        if places is None:
            return 0
        match argument:
            case PullOffsets() | DeliveryOffsets():
                return address(places.offsets) + 4 * self._starts(max(self._program.results[result][1], ROW))
            case PullPlaces() | DeliveryPlaces():
                return address(places.places)
            case _:
                return address(places.values)

    def _rows(self, var: Var) -> HostArray | int:
        """The address of the rows of a value that has memory of its own."""
        arrays, memory = self._arrays, self._program.memory[var]
        number = self._gathers.get(var)
        if number is not None:
            gather = arrays.gathers[number]
            rows = gather.stored if var in self._program.stored else gather.rows
            if rows is not None:  # all rows of a range, or of memory
                return self._at(rows, var)
        match memory:
            case Scratch(slot):
                return self._device.address(arrays.scratch[slot])
            case ResultRows(number):
                return self._at(arrays.results[number], var)
            case Held(number, backward):
                held = (arrays.saved if backward else arrays.kept)[number]
            case ScatterRows(number):
                held = arrays.scatters[number]
            case PulledRows(number):
                held = arrays.gradients[number]
            case GatheredRows() | _:
                raise AssertionError(memory)
        assert held is not None
        return self._at(held, var)

    def _at(self, array: Array, var: Var) -> HostArray:
        """The address of each step's rows in an array of all rows."""
        row = prod(var.type.shape) * array.itemsize
        return self._device.address(array) + row * self._starts(var.rows)

    def _first(self, rows: RowMatrix) -> HostArray | int:
        return self.column(rows.argument) + rows.offset * np.dtype(rows.array_dtype).itemsize

    def _segments(self, level: int, part: int) -> int:
        """The address of the offsets, or of the rows, of all steps, which lie one after another."""
        if not self.count:
            return 0
        segments = self._arrays.segments[level][0][2]
        return self._device.address(segments.ids if part else segments.offsets)

    def _starts(self, level: int) -> HostArray:
        assert level != INVARIANT
        return self._bounds[level][:-1]

    def _lengths(self, level: int) -> HostArray:
        bounds = self._bounds[level]
        return bounds[1:] - bounds[:-1]


def _row_stride(matrix: Array) -> int | None:
    """How many numbers there are from one row to the next, if a matrix lies row by row."""
    height, width = matrix.shape
    down, right = matrix.strides
    if (right == matrix.itemsize or width <= 1) and (down >= width * matrix.itemsize or height <= 1):
        return max(down // matrix.itemsize, width, 1)
    return None


def _launch(launch: Launch, kept: tuple[Array, ...], number: int) -> None:
    """Starts a launch; keeps the arrays alive that it reads."""
    launch(number)


def _nothing(number: int) -> None:
    """No launch."""
