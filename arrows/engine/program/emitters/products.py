"""Which instructions are launches, and which of these are matrix products, of which matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arrows.engine.program.emitters.row_matrix import RowMatrix, flat, row_matrix
from arrows.engine.program.instructions import SumRows
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, Var


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProduct:
    """Rows of a step times a matrix without rows: ``result = rows @ matrix``.

    Attributes:
        rows, result: vectors, row by row.
        matrix: the position of the matrix among the values of ``once``; a vector is a matrix of one column.
        transposed: whether the rows are multiplied by the transpose of the matrix.
    """

    rows: RowMatrix
    matrix: int
    transposed: bool
    result: RowMatrix


def step_product(program: Program, equation: Equation) -> StepProduct | None:
    """An equation as a product of rows and a matrix without rows; None if it is none."""
    if equation.primitive.name != "matmul":
        return None
    a, b = equation.operands
    transposed = a.rows == INVARIANT
    rows_var, matrix = (b, a) if transposed else (a, b)
    rows, result = row_matrix(program, rows_var), row_matrix(program, equation.result)
    number = program.once_numbers.get(matrix)
    if rows is None or result is None or number is None:
        return None
    if transposed and (len(rows_var.type.shape) != 1 or len(matrix.type.shape) not in (1, 2)):
        return None
    columns = 1 if len(matrix.type.shape) == 1 else matrix.type.shape[0 if transposed else 1]
    if (result.height, result.width) != (rows.height, columns):
        result = _as_matrix(result, rows.height, columns)
        if result is None:
            return None
    if len(matrix.type.shape) == 1:
        transposed = False  # a vector is a matrix of one column on either side
    return StepProduct(rows=rows, matrix=number, transposed=transposed, result=result)


def summed_outer(program: Program, instruction: SumRows) -> tuple[RowMatrix, RowMatrix] | None:
    """The two matrices of a sum of outer products over all rows; None if it is none."""
    if not instruction.is_of("outer"):
        return None
    a, b = (row_matrix(program, operand) for operand in instruction.reads)
    if a is None or b is None or a.level != b.level or (a.height, b.height) != (1, 1):
        return None
    return a, b


def summed_rows(program: Program, instruction: SumRows) -> RowMatrix | None:
    """The matrix of a sum of a value over all rows; None if it is none."""
    if not isinstance(instruction.summed, Var):
        return None
    rows = row_matrix(program, instruction.summed)
    return None if rows is None else flat(rows, instruction.summed.type.size)


def _as_matrix(rows: RowMatrix, height: int, width: int) -> RowMatrix | None:
    """Rows that lie together, as matrices of another height."""
    if rows.height * rows.width != height * width:
        return None
    if rows.height == 1 == width or rows.stride == rows.width:
        return replace(rows, height=height, width=width, stride=width)
    return None
