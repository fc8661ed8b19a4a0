"""What the words of launches are: for each argument of a kernel, a column of numbers or addresses by step.

Nearly every word grows with a number of rows: an address by the bytes of a row, for each row of the steps
before.  So a table of words is one product of two small matrices of integers, whatever a kernel reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.cuda.products import RowMatrix
from arrows.engine.program import Argument, Frame, Place, Program
from arrows.ops import ROW, Var


@dataclass(frozen=True, slots=True)
class WordColumn:
    """What a word is at each step: ``first + stride * numbers[step, by]``.

    Attributes:
        first: the word at the first step, or at all steps.
        stride: by how much it grows.
        by: the column of `RegionColumns.numbers` that it grows by.
    """

    first: int
    stride: int = 0
    by: int = 0


class RegionColumns:
    """The columns of one region of one operation in one batch.

    Args:
        program: with memory.
        region: which.
        arrays: what it is bound to.

    Attributes:
        numbers: int64 [steps, numbers], what columns grow by: for each level how many rows the steps before
            have, and how many the step has; at last, how many offsets the steps before have.
    """

    def __init__(self, program: Program, region: str, arrays: Frame) -> None:
        self._program, self._region, self._arrays, self._device = program, region, arrays, arrays.device
        self._segments = arrays.segments.get(region, {})
        bounds = [arrays.bounds[region]]
        for steps in self._segments.values():
            bounds.append([0, *(stop for _, stop, _ in steps)])
        self._levels = {level: 2 * place for place, level in enumerate((ROW, *self._segments))}
        self.numbers = np.empty((len(bounds[0]) - 1, 2 * len(bounds) + 1), np.int64)
        for place, each in enumerate(bounds):
            cuts = np.asarray(each, np.int64)
            self.numbers[:, 2 * place] = cuts[:-1]
            self.numbers[:, 2 * place + 1] = cuts[1:] - cuts[:-1]
        # A step has one offset more than rows.
        self.numbers[:, -1] = self.numbers[:, 0] + np.arange(len(self.numbers))
        self._columns: dict[Argument, WordColumn] = {}

    def words(self, columns: Sequence[WordColumn]) -> HostArray:
        """The table: int64 [steps, columns]."""
        strides = np.zeros((self.numbers.shape[1], len(columns)), np.int64)
        strides[[column.by for column in columns], range(len(columns))] = [
            column.stride for column in columns
        ]
        words: HostArray = self.numbers @ strides
        words += np.array([column.first for column in columns], np.int64)
        return words

    def column(self, argument: Argument) -> WordColumn:
        """What a word is."""
        if argument not in self._columns:
            self._columns[argument] = self._column(argument)
        return self._columns[argument]

    def _column(self, argument: Argument) -> WordColumn:
        address, arrays, program = self._device.address, self._arrays, self._program
        match argument:
            case Argument("count", int(level)):
                return self.lengths(level)
            case Argument("once", Var() as var):
                value = arrays.once[program.once_numbers[var]]
                assert value.flags.c_contiguous, "the executor makes them so"
                return WordColumn(address(value))
            case Argument("rows", Var() as var):
                return self._rows(var)
            case Argument("slab" | "index" as kind, int(number)):
                gather, instruction = arrays.gathers[number], program.gathers[number][1]
                if gather.index is None:  # all rows lie together
                    rows = self._at("gathered", number, instruction.result)
                    return rows if kind == "slab" else WordColumn(0)
                if kind == "slab":
                    return WordColumn(address(arrays.memory["slab", number]))
                width = len(instruction.operands)
                return self._starts(address(gather.index), 4 * width, instruction.result.rows)
            case Argument("result" | "gradient" as kind, int(number)):
                type, level = program.results[number]
                return self._at(kind, number, Var(0, type, max(level, ROW)))
            case Argument("scatter", int(number)):
                return self._at("scatter", number, program.scatters[number][1].operand)
            case Argument("pull offsets" | "pull places" | "pull values" as kind, int(number)):
                places = arrays.places.get(number)
                if places is None:
                    return WordColumn(0)
                if kind == "pull offsets":
                    return self._starts(places.offsets.address, 4, max(program.results[number][1], ROW))
                return WordColumn(places.places.address if kind == "pull places" else address(places.values))
            case Argument("segment offsets", int(level)):
                return WordColumn(self._of_segments(level, 0), 4, self.numbers.shape[1] - 1)
            case Argument("segment rows", int(level)):
                return self._starts(self._of_segments(level, 1), 4, level)
            case Argument("keys"):
                assert arrays.keys is not None
                return self._starts(address(arrays.keys), 8, ROW)
        raise AssertionError(argument)

    def _rows(self, var: Var) -> WordColumn:
        """The address of the rows of a value that has memory of its own."""
        number = self._program.gather_numbers.get(var)
        if number is not None and ("gathered", number) in self._arrays.memory:
            return self._at("gathered", number, var)  # all rows of a range, or of memory
        place = self._program.memory[var]
        assert isinstance(place, Place)
        if place.kind == "scratch":
            return replace(self._at(self._region, place.number, var), stride=0)
        return self._at(place.kind, place.number, var)

    def _at(self, kind: str, number: int, var: Var) -> WordColumn:
        """The address of each step's rows in an array of all rows."""
        array = self._arrays.memory[kind, number]
        return self._starts(self._device.address(array), prod(var.type.shape) * array.itemsize, var.rows)

    def first(self, rows: RowMatrix) -> WordColumn:
        """The address of the first row of each step."""
        column = self.column(rows.argument)
        before = rows.offset * np.dtype(rows.dtype).itemsize
        return replace(column, first=column.first + before) if before else column

    def lengths(self, level: int, times: int = 1) -> WordColumn:
        """How many rows each step has, times a number."""
        return WordColumn(0, times, self._levels[level] + 1)

    def _starts(self, first: int, stride: int, level: int) -> WordColumn:
        """What grows with each row of the steps before."""
        return WordColumn(first, stride, self._levels[level])

    def _of_segments(self, level: int, part: int) -> int:
        """The address of the offsets, or of the rows, of all steps, which lie one after another."""
        if not len(self.numbers):
            return 0
        segments = self._segments[level][0][2]
        return self._device.address(segments.ids if part else segments.offsets)
