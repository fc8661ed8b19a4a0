"""What the words of a kernel stand for: the arrays of one step of one region.

A kernel in C (`emitters/c/`) names its words by these; where a batch is bound (`launches`) each becomes a
column of the table of launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from arrows.ops import Var


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many rows the step has at a level: the operation's rows, or the elements of a sequence."""

    level: int


@dataclass(frozen=True, slots=True)
class RowsOf:
    """The address of the step's rows of a value that has memory; rows lie together.

    Attributes:
        var: a value in `Program.memory`, but not `RangeOf` (that is a range of the rows of another value).
    """

    var: Var


@dataclass(frozen=True, slots=True)
class OnceValue:
    """The address of a value without rows, of the region ``once``; its numbers lie together."""

    var: Var


@dataclass(frozen=True, slots=True)
class SlabRows:
    """The address of the rows that a gather reads: row ``index[r]`` for row r of the step.

    Attributes:
        gather: the number of the gather in the program.
    """

    gather: int


@dataclass(frozen=True, slots=True)
class SlabIndex:
    """The address of the step's part of a gather's index, int32; for a gather of k operands side by side, k
    numbers for each row.  0 where the step reads a range: row r is then row r of `SlabRows`.
    """

    gather: int


@dataclass(frozen=True, slots=True)
class GradientRows:
    """The address of the gradients, of the step's rows of a result, that lie there already."""

    result: int


@dataclass(frozen=True, slots=True)
class PullOffsets:
    """The address of int32 offsets: row r of a result takes ``places[offsets[r]:offsets[r + 1]]`` of
    `PullValues` besides.  0 where no row takes any.
    """

    result: int


@dataclass(frozen=True, slots=True)
class PullPlaces:
    """The address of the places, int32, of all steps: what `PullOffsets` counts from 0."""

    result: int


@dataclass(frozen=True, slots=True)
class PullValues:
    """The address of the gradients that places number; rows lie together."""

    result: int


@dataclass(frozen=True, slots=True)
class SegmentOffsets:
    """The address of int32 offsets, rows + 1 of them: the elements of row r, counted from 0 in the step."""

    level: int


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """The address, int32, of each element's row, counted from 0 in the step."""

    level: int


@dataclass(frozen=True, slots=True)
class DropoutKeys:
    """The address of the step's dropout keys, uint64."""


@dataclass(frozen=True, slots=True)
class ScatterRowsOf:
    """The address of the step's rows of where a scatter's gradients wait.

    Attributes:
        scatter: the number of the scatter in the program.
    """

    scatter: int


@dataclass(frozen=True, slots=True)
class ResultRowsOf:
    """The address of the step's rows of a result, in its slab."""

    result: int


Argument: TypeAlias = (
    RowCount
    | RowsOf
    | OnceValue
    | SlabRows
    | SlabIndex
    | GradientRows
    | PullOffsets
    | PullPlaces
    | PullValues
    | SegmentOffsets
    | SegmentRows
    | DropoutKeys
    | ScatterRowsOf
    | ResultRowsOf
)
