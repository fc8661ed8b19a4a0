"""Pushes sums over rows down to what can be summed without making the rows.

The gradient of a matrix is the sum over rows of outer products, which is one product of matrices::

    step_back                                            step_back
      %7: float32[3, 4] row = outer(%1, %4)
    deferred                                      ->     deferred
      %8: float32[3, 4] = sum %7                           %8: float32[3, 4] = sum outer(%1, %4)

A view is summed as what it shows.

Rows of an element-wise product that something else reads as well, as the product that makes a matrix's
gradient beside a bias's, are there to be summed: a training step takes 0.97 of the time (a Tree-LSTM with a
layer for each gate, state 150, batch 100).  For a device with kernels they are made in any case, by
the kernel that makes their operands: to sum the rows is one launch then, a matrix product.

A gradient that is made of nothing but rows of a table stays row-sparse.

Without it a training step of an LSTM along one chain, state 100, takes 20 to 26 times as long (`python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from arrows.engine.program.emitters.numpy import sum_run
from arrows.engine.program.instructions import (
    Accumulate,
    Instruction,
    SumRows,
    is_elementwise,
    is_view,
    whole,
)
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
    views = [each for each in deferred if is_view(each) and each.result.rows != INVARIANT]
    back = [*program.region("step_back"), *views]
    made_by = {each.result: each for each in back if isinstance(each, Equation)}
    readers = Counter(var for each in (*program.region("step_back"), *deferred) for var in {*each.reads})
    number = program.next_number
    sums: list[Instruction] = []
    shown: list[Instruction] = []
    rest: list[Instruction] = []
    for each in deferred:
        if not isinstance(each, SumRows):
            rest += [] if each in views else [each]
            continue
        (rows,), result, through = each.reads, each.result, list[Instruction]()
        while (equation := made_by.get(rows)) is not None and is_view(equation):
            (rows,) = equation.operands
            through.append(replace(equation, operands=(Var(number, rows.type, INVARIANT),), result=result))
            result, number = Var(number, rows.type, INVARIANT), number + 1
        made = equation is not None and is_elementwise(equation)
        made = made and (program.kernels is not None or readers[rows] > 1)
        if equation is None or made or sum_run(np, equation) is None:
            sums.append(each)
        else:
            sums.append(SumRows(result, equation))
            shown += reversed(through)
    return _with_sparse(with_views(program.with_regions(deferred=(*views, *sums, *shown, *rest))))


def _with_sparse(program: Program) -> Program:
    """The program with row-sparse gradients where a parameter gets nothing but rows that are looked up."""
    deferred = program.region("deferred")
    rows = {each.result for each in deferred if isinstance(each, SumRows) and each.is_of("scatter_row")}
    pieces = [each for each in deferred if isinstance(each, Accumulate)]
    for each in deferred:
        if not isinstance(each, Accumulate):
            rows.difference_update(each.reads)  # an equation, which takes arrays alone
    dense = {
        (id(piece.owner), piece.spec.name)
        for piece in pieces
        if piece.operand not in rows or piece.region != whole(piece.spec.shape)
    }
    sparse = {piece.operand for piece in pieces if (id(piece.owner), piece.spec.name) not in dense}
    marked = [
        replace(each, sparse=True)
        if isinstance(each, SumRows) and each.result in sparse
        else replace(each, region=None)
        if isinstance(each, Accumulate) and each.operand in sparse
        else each
        for each in deferred
    ]
    return program.with_regions(deferred=tuple(marked))
