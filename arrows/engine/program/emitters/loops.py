"""The loop nest of a `RowMap`, as Python source for numba.

NumPy passes over memory once for each equation; in one loop a row's values stay in registers from the first
operand to the last result.  The loop nest is two loops, over rows and over places of a row.  Slices and joins
cost nothing there: they only move the place at which an operand is read.  To make that possible a vector is
cut wherever anything is sliced or joined, and pieces of one length share a loop.

The same equations are computed in the same order; only the rounding of `tanh` and `sigmoid`
(`arrows.engine.device.jit`) differs from NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from arrows.engine.program.emitters.functions import IN_LOOPS, in_python
from arrows.engine.program.emitters.numbers import CodeBlock, NumberWriter, RowPlace
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


def pieces(equations: Sequence[Equation], results: Sequence[Var]) -> list[tuple[int, list[tuple[Var, int]]]]:
    """The lengths of the pieces of results, and of each length the pieces: the value, where the piece starts.

    Pieces of one length share a loop, in which each number is computed once: of a cell's gates, which lie
    side by side, and of its state.
    """
    cuts = _cuts(equations)
    found: dict[int, list[tuple[Var, int]]] = {}
    for var in results:
        for start, stop in pairwise(sorted(cuts[var])):
            found.setdefault(stop - start, []).append((var, start))
    return sorted(found.items())


def _cuts(equations: Sequence[Equation]) -> dict[Var, set[int]]:
    """The places where each row is cut, so that whatever is read together is cut alike."""
    cuts: dict[Var, set[int]] = {}
    readers: dict[Var, list[Equation]] = {}
    for equation in equations:
        for var in {equation.result, *equation.operands}:
            cuts.setdefault(var, {0, var.type.size})
            readers.setdefault(var, []).append(equation)
    pending = list(equations)
    while pending:
        equation = pending.pop()
        for operand, first, start, length in _parts(equation):
            last = first + length
            down = {c - first + start for c in (*cuts[equation.result], first, last) if first <= c <= last}
            up = {c - start + first for c in (*cuts[operand], *down) if start <= c <= start + length}
            for var, more in ((operand, down), (equation.result, up)):
                if not more <= cuts[var]:
                    cuts[var] |= more
                    pending.extend(readers[var])
    return cuts


def _parts(equation: Equation) -> list[tuple[Var, int, int, int]]:
    """Which ranges of a result's row are ranges of operands: the operand, where the range starts in the
    result, where in the operand, and how long it is."""
    result, name = equation.result, equation.primitive.name
    attributes: dict[str, Any] = dict(equation.attributes)
    if name == "index":
        (x,), key = equation.operands, attributes["key"]
        if x.type.ndim == 1 and key and isinstance(key[0], tuple) and key[0][2] == 1:
            return [(x, 0, key[0][0], result.type.size)]
        return []
    if name == "concat":
        if result.type.ndim != 1:
            return []
        parts, start = [], 0
        for operand in equation.operands:
            parts.append((operand, start, 0, operand.type.size))
            start += operand.type.size
        return parts
    if name in ("reshape", "stop_gradient") or equation.primitive.elementwise:
        return [
            (operand, 0, 0, result.type.size)
            for operand in equation.operands
            if operand.type.size == result.type.size
        ]
    return []
