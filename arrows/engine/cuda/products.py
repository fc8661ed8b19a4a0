"""Matrix products on addresses: which instructions are products, of which matrices in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arrows.engine.program import Argument, Program, SumRows, attribute, is_view
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

    def shaped(self, height: int, width: int) -> RowMatrix:
        """The same numbers, which lie together, as matrices of another height."""
        return replace(self, height=height, width=width, stride=width)


def row_matrix(program: Program, var: Var) -> RowMatrix | None:
    """The rows of a value as a matrix; None where they do not lie as one.

    Args:
        program: with memory, for kernels.
        var: of numbers, vectors or matrices.
    """
    shape, size = var.type.shape, var.type.size
    if var.rows == INVARIANT or var.type.dtype not in ("float32", "float64") or size == 0:
        return None
    width = shape[-1] if shape else 1
    if var in program.memory:
        return RowMatrix(
            argument=Argument("rows", var),
            offset=0,
            stride=width,
            height=size // width,
            width=width,
            level=var.rows,
            dtype=var.type.dtype,
        )
    view = next((each for _, each in program if is_view(each) and each.result == var), None)
    rows = None if view is None else row_matrix(program, view.operands[0])
    if view is None or rows is None:
        return None
    if view.primitive.name == "reshape" and rows.stride == rows.width:
        return rows.shaped(size // width, width)
    if view.primitive.name == "reshape" and rows.width == size and len(shape) <= 1:
        return rows  # a vector that is part of a longer one
    if view.primitive.name == "index" and view.operands[0].type.ndim == 1:
        (key,) = attribute(view, "key")
        if isinstance(key, tuple) and key[2] == 1:
            return replace(rows, offset=rows.offset + key[0], width=size)
    return None


def vectors(program: Program, var: Var) -> RowMatrix | None:
    """The rows of a value of any shape as vectors of all their numbers, if these lie together."""
    rows = row_matrix(program, var)
    if rows is None or rows.height == 1:
        return rows
    return rows.shaped(1, var.type.size) if rows.stride == rows.width else None


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
    number, shape = program.once_numbers.get(matrix), matrix.type.shape
    if rows is None or result is None or number is None:
        return None
    if transposed and (rows_var.type.ndim != 1 or len(shape) > 2):
        return None
    columns = 1 if len(shape) == 1 else shape[0 if transposed else 1]
    return StepProduct(
        rows=rows,
        matrix=number,
        transposed=transposed and len(shape) > 1,  # a vector is a matrix of one column on either side
        result=result.shaped(rows.height, columns),
    )


def summed_product(program: Program, instruction: SumRows) -> tuple[RowMatrix | None, RowMatrix] | None:
    """The factors of a sum of outer products over all rows, of vectors; None if it is none.

    The first factor of the sum of a value is None, which stands for ones.
    """
    if isinstance(instruction.summed, Var):
        rows = vectors(program, instruction.summed)
        return None if rows is None else (None, rows)
    if not instruction.is_of("outer"):
        return None
    a, b = (row_matrix(program, operand) for operand in instruction.reads)
    if a is None or b is None or a.level != b.level or (a.height, b.height) != (1, 1):
        return None
    return a, b


def table_index(program: Program, instruction: SumRows) -> int | None:
    """The number of the gather that reads the rows of a table to which a sum goes, if one does."""
    if not instruction.is_of("scatter_row"):
        return None
    x, index = instruction.reads
    if x.rows != index.rows or index.type.shape != () or instruction.result.type.shape[1:] != x.type.shape:
        return None
    number = program.gather_numbers.get(index)
    return None if number is None or len(program.gathers[number][1].operands) > 1 else number
