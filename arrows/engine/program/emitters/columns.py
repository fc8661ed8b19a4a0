"""What the words of launches are: for each argument of a kernel, a column of numbers or addresses by step."""

from __future__ import annotations

from math import prod

import numpy as np

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
from arrows.ops import INVARIANT, ROW, Var
from arrows.ops.arrays import Array, HostArray


class RegionColumns:
    """The columns of one region of one operation in one batch.

    Args:
        program: with memory.
        arrays: what the region is bound to.

    Attributes:
        count: how many steps there are.
    """

    def __init__(self, program: Program, arrays: RegionArrays) -> None:
        self._program, self._arrays, self._device = program, arrays, arrays.device
        self._once, self._gathers = program.once_numbers, program.gather_numbers
        self._bounds = {ROW: np.asarray(arrays.bounds, np.int64)}
        for level, steps in arrays.segments.items():
            self._bounds[level] = np.array([0, *(stop for _, stop, _ in steps)], np.int64)
        self._columns: dict[Argument, HostArray | int] = {}
        self.count = len(arrays.bounds) - 1

    def column(self, argument: Argument) -> HostArray | int:
        """What a word is at each step, or at all steps."""
        if argument not in self._columns:
            self._columns[argument] = self._column(argument)
        return self._columns[argument]

    def _column(self, argument: Argument) -> HostArray | int:
        address, arrays, program = self._device.address, self._arrays, self._program
        match argument:
            case RowCount(level):
                return self.lengths(level)
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

    def first(self, rows: RowMatrix) -> HostArray | int:
        """The address of the first row of each step."""
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

    def lengths(self, level: int) -> HostArray:
        """How many rows each step has."""
        bounds = self._bounds[level]
        return bounds[1:] - bounds[:-1]
