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
        result = equation.result
        if _slices(equation) and (result in columns or equation.operands[0] in columns):
            wanted = _columns_of_slice(equation, columns.get(result))
            return _slice(operands[0], wanted, columns.get(equation.operands[0]))
        if result not in columns:
            return None
        for place, var in enumerate(equation.operands):
            if _passes_to(equation, place):
                operands[place] = _slice(operands[place], columns[result], columns.get(var))
        return recorder.again(equation, operands)

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
    read: dict[Var, Columns] = {var: (0, var.type.shape[-1]) for var in results if var.type.shape}

    def add(var: Var, columns: Columns) -> None:
        start, stop = read.get(var, columns)
        read[var] = min(start, columns[0]), max(stop, columns[1])

    narrowed: dict[Var, Columns] = {}
    for equation in reversed(equations):
        result = equation.result
        whole = (0, result.type.shape[-1]) if result.type.shape else (0, 0)
        columns = read.get(result, whole)
        passes = columns != whole and _passes_columns(equation)
        if passes:
            narrowed[result] = columns
        if _slices(equation):
            add(equation.operands[0], _columns_of_slice(equation, columns if passes else None))
            continue
        for place, var in enumerate(equation.operands):
            if var.type.shape:
                add(var, columns if passes and _passes_to(equation, place) else (0, var.type.shape[-1]))
    # Parameters and constants are sliced where they are read; only what is computed for each row is narrowed.
    return {var: columns for var, columns in narrowed.items() if var.rows != INVARIANT}


def _passes_columns(equation: Equation) -> bool:
    """Whether some columns of the result need only these columns of the operands."""
    result = equation.result
    if result.rows == INVARIANT or len(result.type.shape) != 1:
        return False
    if equation.primitive.name == "matmul":
        left, right = equation.operands
        return right.rows == INVARIANT and len(left.type.shape) == 1 and len(right.type.shape) == 2
    return equation.primitive.elementwise or _slices(equation)


def _passes_to(equation: Equation, place: int) -> bool:
    """Whether an operand is read in the columns alone that the result is."""
    if equation.primitive.name == "matmul":
        return place == 1
    shape, width = equation.operands[place].type.shape, equation.result.type.shape[-1]
    return bool(shape) and shape[-1] == width != 1


def _slices(equation: Equation) -> bool:
    """Whether the result is some columns of a vector, all of a range."""
    return len(equation.operands[0].type.shape) == 1 and box_of_slice(equation) is not None


def _columns_of_slice(equation: Equation, wanted: Columns | None) -> Columns:
    """The columns that a slice reads, if only some of its own are wanted."""
    ((start, stop),) = box_of_slice(equation) or ()
    return (start, stop) if wanted is None else (start + wanted[0], start + wanted[1])
