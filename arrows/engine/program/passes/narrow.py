"""Narrows products: columns that nobody reads are not computed.

A leaf of a tree has no children to forget, and once their zeros are folded away nothing reads its forget
gates.  For each vector that is only ever read through slices, the range that covers these slices is pushed
back through element-wise equations to the product that made it, whose matrix is sliced, once a batch::

    %1: float32[3, 8] = parameter W               %1: float32[3, 8] = parameter W
    %2: float32[3] row = gather 0                 %5: float32[3, 4] = index(%1, key=((0, 3, 1), (2, 6, 1)))
    %3: float32[8] row = matmul(%2, %1)      ->   %2: float32[3] row = gather 0
    %4: float32[4] row = index(%3, key=((2, 6, 1),))    %4: float32[4] row = matmul(%2, %5)

Without it a training step takes 1.08 times as long (Tree-LSTM, state 300, batch 64: `python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arrows.engine.program.instructions import Store, box_of_slice
from arrows.engine.program.passes.rewrite import Rewriter, rewrite
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, TensorLike, Tracer, Var

Columns = tuple[int, int]


def narrow(program: Program) -> Program:
    """Narrows products; see the head of this file.

    Args:
        program: a forward program.
    """
    stored = [each.operand for each in program.region("step") if isinstance(each, Store)]
    columns = _columns_read(list(program.equations()), stored)

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        if equation.result not in columns and columns.keys().isdisjoint(equation.operands):
            return None
        wanted = columns.get(equation.result, _whole(equation.result))
        for place, var in enumerate(equation.operands):
            if (read := _read_for(equation, place, wanted)) is not None:
                operands[place] = _slice(operands[place], read, columns.get(var))
        return operands[0] if _slices(equation) else recorder.again(equation, operands)

    return rewrite(program, rule) if columns else program


def _slice(value: Tracer, wanted: Columns, there: Columns | None) -> Tracer:
    """The columns ``wanted`` of a value of which only the columns ``there`` may be left."""
    first = there[0] if there is not None else 0
    start, stop = wanted[0] - first, wanted[1] - first
    if (start, stop) == (0, value.shape[-1]):
        return value
    columns = value[..., start:stop]
    assert isinstance(columns, Tracer)
    return columns


def _columns_read(equations: Sequence[Equation], results: Sequence[Var]) -> Mapping[Var, Columns]:
    """For each vector that can be narrowed, the columns that are read; from the results back."""
    read = {var: _whole(var) for var in results}
    narrowed: dict[Var, Columns] = {}
    for equation in reversed(equations):
        whole = _whole(equation.result)
        columns = read.get(equation.result, whole)
        if columns != whole and _passes_columns(equation):
            narrowed[equation.result] = columns
        else:
            columns = whole
        for place, var in enumerate(equation.operands):
            start, stop = _read_for(equation, place, columns) or _whole(var)
            known = read.get(var, (start, stop))
            read[var] = min(start, known[0]), max(stop, known[1])
    return narrowed


def _whole(var: Var) -> Columns:
    return 0, var.type.shape[-1] if var.type.shape else 0


def _passes_columns(equation: Equation) -> bool:
    """Whether some columns of the result need only these columns of the operands."""
    result = equation.result
    # Parameters and constants are sliced where they are read; only what is computed for each row is narrowed.
    if result.rows == INVARIANT or len(result.type.shape) != 1:
        return False
    if equation.primitive.name == "matmul":
        left, right = equation.operands
        return right.rows == INVARIANT and len(left.type.shape) == 1 and len(right.type.shape) == 2
    return equation.primitive.elementwise or _slices(equation)


def _read_for(equation: Equation, place: int, columns: Columns) -> Columns | None:
    """The columns of an operand that are read for some of the result's; None where that is not known."""
    if _slices(equation):
        ((first, _),) = box_of_slice(equation) or ()
        return first + columns[0], first + columns[1]
    (_, size), (_, width) = _whole(equation.operands[place]), _whole(equation.result)
    alike = equation.primitive.elementwise or (equation.primitive.name == "matmul" and place == 1)
    return columns if alike and size == width > 1 else None


def _slices(equation: Equation) -> bool:
    """Whether the result is some columns of a vector, all of a range."""
    return len(equation.operands[0].type.shape) == 1 and box_of_slice(equation) is not None
