"""The functions that a generated function calls, and how a call of one is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule
from arrows.engine.device import compiled
from arrows.engine.program.emitters.loops import python_source
from arrows.engine.program.in_range import in_range
from arrows.engine.program.instructions import RowMap, SumRows
from arrows.ops import INVARIANT, Equation, RowSparse, Var
from arrows.ops.primitive import Run, SumRun
from arrows.ops.sums import sum_rows


class Calls:
    """What a generated function calls, by name.

    Args:
        xp: the array module.

    Attributes:
        namespace: the functions; a name is a primitive's, and a number.
    """

    def __init__(self, xp: ArrayModule) -> None:
        self.xp = xp
        self.namespace: dict[str, object] = {}
        self._names: dict[int, str] = {}  # by identity of the function

    def add(self, function: Callable[..., Any], name: str) -> str:
        """The name of a function; one function has one name."""
        if id(function) not in self._names:
            self._names[id(function)] = unique = f"{name}_{len(self.namespace)}"
            self.namespace[unique] = function
        return self._names[id(function)]

    def kernel(self, equation: Equation) -> Run:
        """The kernel of an equation, for operands with rows where they have some."""
        primitive, attributes = equation.primitive, dict(equation.attributes)
        has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
        if any(has_rows):
            types = tuple(operand.type for operand in equation.operands)
            attributes = primitive.lift(attributes, has_rows, types)
        return primitive.kernel(self.xp, **attributes)

    def call(self, equation: Equation, operands: Sequence[str], out: str | None = None) -> str:
        """A call of an equation's kernel.

        Args:
            equation: what is computed.
            operands: code for its operands.
            out: code for the array to write to; None: a new one.
        """
        kernel = self.kernel(equation)
        arguments = list(operands)
        if equation.primitive.segmented:
            level = max(var.rows for var in (*equation.operands, equation.result))
            arguments.append(f"segments=g{level}")
        if equation.primitive is in_range:
            arguments.append("to_numpy=to_numpy")
        if out is not None:
            # NumPy's own functions take it faster without a keyword; of these two that is deprecated.
            by_place = isinstance(kernel, np.ufunc) and kernel not in (np.maximum, np.minimum)
            arguments.append(out if by_place else f"out={out}")
        return f"{self.add(kernel, equation.primitive.name)}({', '.join(arguments)})"

    def sum_rows(self, instruction: SumRows, operands: Sequence[str], out: str | None) -> str:
        """A call that sums over rows; arguments as of `call`."""
        arguments = [*operands] if out is None else [*operands, f"out={out}"]
        equation = instruction.summed
        if isinstance(equation, Var):
            return f"{self.add(sum_rows, 'sum_rows')}({', '.join(arguments)})"
        run = sum_run(self.xp, equation)
        assert run is not None
        if not instruction.sparse and equation.primitive.name == "scatter_row":
            run = _to_dense(self.xp, run)
        return f"{self.add(run, 'sum_' + equation.primitive.name)}({', '.join(arguments)})"

    def loops(self, loops: RowMap, arguments: Sequence[str]) -> str:
        """A call of a `RowMap` compiled into one loop, with code for what it reads and writes."""
        function = compiled(python_source(loops), loops.results[0].type.dtype)
        return f"{self.add(function, 'loops')}({', '.join(arguments)})"


def sum_run(xp: ArrayModule, equation: Equation) -> SumRun | None:
    """What sums the rows of an equation without making them, if its primitive knows how."""
    primitive = equation.primitive
    if primitive.sum_rows is None:
        return None
    has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
    types = tuple(operand.type for operand in equation.operands)
    attributes = primitive.lift(dict(equation.attributes), has_rows, types)
    return primitive.sum_rows(xp, has_rows, types, **attributes)


def _to_dense(xp: ArrayModule, run: SumRun) -> Run:
    """A sum over rows that never gives a row-sparse array: what reads it takes arrays alone."""

    def dense(*operands: Array, out: Array | None = None) -> Array:
        value = run(*operands, out=out)
        return value.to_dense(xp) if isinstance(value, RowSparse) else value

    return dense
