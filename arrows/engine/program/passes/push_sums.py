"""Pushes sums over rows down to what can be summed without making the rows.

The gradient of a matrix is the sum over rows of outer products, which is one product of matrices::

    step_back                                            step_back
      %7: float32[3, 4] row = outer(%1, %4)
    deferred                                      ->     deferred
      %8: float32[3, 4] = sum %7                           %8: float32[3, 4] = sum outer(%1, %4)

The sum of a sum is the sum of sums, and so on through every additive primitive.

For a device with kernels the rows of element-wise products and sums are made, by the kernel that makes their
operands: to sum the rows is one launch then, a matrix product.  Only sums of outer products are pushed down.

Without it a training step of an LSTM along one chain, state 100, takes 20 to 26 times as long (`python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from arrows.engine.program.instructions import Instruction, SumRows, is_view
from arrows.engine.program.passes.tidy import with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, Var


def push_sums(program: Program) -> Program:
    """Pushes sums down; see the head of this file.

    Args:
        program: with backward regions.
    """
    deferred = program.region("deferred")
    # What `deferred` makes again of a view is rows, as what stands in `step_back`.
    views = tuple(
        instruction
        for instruction in deferred
        if is_view(instruction) and instruction.result.rows != INVARIANT
    )
    back = (*program.region("step_back"), *views)
    made_by = {each.result: each for each in back if isinstance(each, Equation)}
    sums = [instruction for instruction in deferred if isinstance(instruction, SumRows)]
    first = _Pusher(program, made_by, set())
    for instruction in sums:
        (rows,) = instruction.reads
        first.push(rows, instruction.result)
    # The plain sum of what products over all rows read needs nothing else to be held for it.
    held = {var for instruction in first.sums for var in instruction.reads}
    pusher = _Pusher(program, made_by, held)
    rest = tuple(
        instruction
        for instruction in deferred
        if not isinstance(instruction, SumRows) and instruction not in views
    )
    for instruction in sums:
        (rows,) = instruction.reads
        pusher.push(rows, instruction.result)
    return with_views(program.with_regions(deferred=(*views, *pusher.sums, *pusher.computed, *rest)))


class _Pusher:
    """Sums over rows as they are pushed down.

    Attributes:
        sums: of rows.
        computed: what is computed of these sums, in order.
    """

    def __init__(self, program: Program, made_by: Mapping[Var, Equation], held: set[Var]) -> None:
        self.made_by = made_by
        self.pushed = _pushed(made_by, program.kernels) - held
        self.number = program.next_number
        self.sums: list[SumRows] = []
        self.computed: list[Instruction] = []

    def push(self, rows: Var, result: Var) -> None:
        """Sums ``rows`` into ``result``."""
        # Additions of hundreds of gradients nest as deep: a stack of its own.
        pending = [(rows, result)]
        computed: list[Instruction] = []
        while pending:
            rows, result = pending.pop()
            equation = self.made_by[rows] if rows in self.pushed else None
            if equation is not None and _sums_without_rows(equation):
                self.sums.append(SumRows(result, equation))
            elif (
                equation is not None
                and equation.primitive.additive
                and all(operand.rows == rows.rows for operand in equation.operands)
            ):
                parts = []
                for operand in equation.operands:
                    parts.append(Var(self.number, operand.type, INVARIANT))
                    self.number += 1
                pending.extend(zip(equation.operands, parts, strict=True))
                computed.append(replace(equation, operands=tuple(parts), result=result))
            else:
                self.sums.append(SumRows(result, rows))
        self.computed += reversed(computed)


def _pushed(made_by: Mapping[Var, Equation], kernels: bool) -> set[Var]:
    """The rows whose sum is pushed down, as it pays."""
    pushed: set[Var] = set()
    for var, equation in made_by.items():
        if kernels and equation.primitive.elementwise:
            pays = equation.primitive.additive and not pushed.isdisjoint(equation.operands)
        else:
            pays = equation.primitive.additive or _sums_without_rows(equation)
        if pays:
            pushed.add(var)
    return pushed


def _sums_without_rows(equation: Equation) -> bool:
    """Whether the primitive knows how to sum its rows without making them."""
    primitive = equation.primitive
    if primitive.sum_rows is None:
        return False
    has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
    types = tuple(operand.type for operand in equation.operands)
    attributes = primitive.lift(dict(equation.attributes), has_rows, types)
    return primitive.sum_rows(np, has_rows, types, **attributes) is not None
