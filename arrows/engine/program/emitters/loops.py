"""The loop nest of a `RowMap`, as Python source for numba.

NumPy passes over memory once for each equation; in one loop a row's values stay in registers from the first
operand to the last result.  The loop nest is two loops, over rows and over places of a row.  Slices and joins
cost nothing there: they only move the place at which an operand is read.  To make that possible a vector is
cut wherever anything is sliced or joined, and pieces of one length share a loop.

The same equations are computed in the same order; only the rounding of `tanh` and `sigmoid`
(`arrows.engine.device.jit`) differs from NumPy's.
"""

from __future__ import annotations

from typing import Any

from arrows.engine.program.emitters.cuts import pieces
from arrows.engine.program.emitters.functions import IN_LOOPS, in_python
from arrows.engine.program.emitters.numbers import CodeBlock, NumberWriter
from arrows.engine.program.emitters.places import RowPlace
from arrows.engine.program.instructions import RowMap
from arrows.ops import INVARIANT, ROW, Equation, Var


def can_write(equation: Equation, dtype: str) -> bool:
    """Whether an equation can be part of a loop nest over rows of one element type."""
    name, result = equation.primitive.name, equation.result
    types = [var.type for var in (result, *equation.operands)]
    if result.rows != ROW or any(t.dtype != dtype or len(t.shape) > 1 or t.size == 0 for t in types):
        return False
    if name == "index":
        key: Any = dict(equation.attributes)["key"]
        return len(key) == 1 and (isinstance(key[0], int) or key[0][2] == 1)
    if name in ("reshape", "stop_gradient", "concat"):
        return all(var.rows == ROW for var in equation.operands)
    return name in IN_LOOPS


def python_source(loops: RowMap) -> str:
    """The function ``chain(operands..., results...)``, in the order of ``reads`` and ``writes``.

    Args:
        loops: a `RowMap` of equations that `can_write` allows.
    """
    arrays = {var: f"x{n}" for n, var in enumerate(loops.reads)}
    results = {var: f"y{n}" for n, var in enumerate(loops.writes)}
    writer = _LoopWriter(loops, arrays)
    row = CodeBlock(writer.fresh)
    for length, starts in pieces(loops.equations, loops.results):
        loop = row if length == 1 else CodeBlock(writer.fresh, row)
        at = RowPlace("j", 0, length) if length > 1 else RowPlace("", 0, 1)
        places = [(var, at.moved(start)) for var, start in starts]
        values = [writer.value(loop, var, "r", place) for var, place in places]
        for (var, place), value in zip(places, values, strict=True):
            loop.lines.append(f"{results[var]}{_subscript(var, place)} = {value}")
        if length > 1:
            row.lines += [f"for j in range({length}):", *("    " + line for line in loop.lines)]
    head = f"def chain({', '.join([*arrays.values(), *results.values()])}):"
    rows = f"    for r in range({results[loops.writes[0]]}.shape[0]):"
    return "\n".join([head, rows, *("        " + line for line in row.lines)]) + "\n"


class _LoopWriter(NumberWriter):
    """Writes numbers in Python; what no loop over places changes is computed once a row."""

    def __init__(self, loops: RowMap, arrays: dict[Var, str]) -> None:
        super().__init__(loops.equations)
        self.arrays = arrays

    def home(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> CodeBlock:
        return scope if at.moving or scope.outer is None else scope.outer

    def load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        return self.arrays[var] + _subscript(var, at)

    def named(self, scope: CodeBlock, var: Var, value: str) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {value}")
        return name

    def element(self, equation: Equation, operands: list[str]) -> str:
        return in_python(equation.primitive, operands)


def _subscript(var: Var, at: RowPlace) -> str:
    index = [*([] if var.rows == INVARIANT else ["r"]), *([str(at)] if var.type.shape else [])]
    return f"[{', '.join(index) or '()'}]"
