"""The rows of a value as a matrix in memory, for matrix products on addresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from arrows.engine.program.emitters.arguments import Argument
from arrows.engine.program.instructions import SumRows, is_view
from arrows.engine.program.program import Program, RangeOf
from arrows.ops import INVARIANT, Equation, Var


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMatrix:
    """Rows of vectors, or of matrices one below another.

    Attributes:
        argument: where the step's rows lie.
        offset: how many numbers before the first.
        stride: how many numbers from one row of the matrix to the next.
        height: how many rows of the matrix each row of the value has.
        width: how many columns.
        level: what counts the rows.
        dtype: the element type, floating.
    """

    argument: Argument
    offset: int
    stride: int
    height: int
    width: int
    level: int
    dtype: str


def row_matrix(program: Program, var: Var) -> RowMatrix | None:
    """The rows of a value as a matrix; None where they do not lie as one.

    Args:
        program: with memory.
        var: of numbers, vectors or matrices.
    """
    views = {instruction.result: instruction for _, instruction in program if is_view(instruction)}
    return _row_matrix(program, views, var)


def flat(rows: RowMatrix, size: int) -> RowMatrix | None:
    """Rows of any shape as vectors of all their numbers, if these lie together."""
    if rows.height == 1:
        return rows
    if rows.stride != rows.width:
        return None
    return replace(rows, height=1, width=size, stride=size)


def _row_matrix(program: Program, views: dict[Var, Equation], var: Var) -> RowMatrix | None:
    shape, dtype = var.type.shape, var.type.dtype
    if var.rows == INVARIANT or dtype not in ("float32", "float64") or var.type.size == 0:
        return None
    memory = program.memory.get(var)
    if isinstance(memory, RangeOf):
        return _part(_row_matrix(program, views, memory.whole), memory.whole, memory.start, memory.stop)
    if memory is not None:
        width = shape[-1] if shape else 1
        return RowMatrix(
            argument=Argument("rows", var),
            offset=0,
            stride=width,
            height=var.type.size // width,
            width=width,
            level=var.rows,
            dtype=dtype,
        )
    view = views.get(var)
    if view is None:
        return None
    whole = view.operands[0]
    if view.primitive.name == "index":
        key: Any = dict(view.attributes)["key"]
        if len(key) == 1 and isinstance(key[0], tuple) and key[0][2] == 1:
            return _part(_row_matrix(program, views, whole), whole, *key[0][:2])
        return None
    if view.primitive.name == "reshape":
        rows = _row_matrix(program, views, whole)
        if rows is None or (rows.stride != rows.width and rows.width != whole.type.size):
            return None
        if rows.stride != rows.width:  # a vector that is part of a longer one
            return rows if len(shape) <= 1 else None
        width = shape[-1] if shape else 1
        return replace(rows, stride=width, height=var.type.size // width, width=width)
    return None


def _part(whole: RowMatrix | None, var: Var, start: int, stop: int) -> RowMatrix | None:
    """A range of vectors."""
    if whole is None or len(var.type.shape) != 1:
        return None
    return replace(whole, offset=whole.offset + start, width=stop - start)


def table_index(program: Program, instruction: SumRows) -> int | None:
    """The number of the gather that reads the rows of a table to which a sum goes, if one does."""
    if not instruction.is_of("scatter_row"):
        return None
    x, index = instruction.reads
    if x.rows != index.rows or index.type.shape != () or instruction.result.type.shape[1:] != x.type.shape:
        return None
    number = program.gather_numbers.get(index)
    return None if number is None or len(program.gathers[number][1].operands) > 1 else number
