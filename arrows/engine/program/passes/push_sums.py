"""Pushes sums over rows down to what can be summed without making the rows.

The gradient of a matrix is the sum over rows of outer products, which is one product of matrices::

    step_back                                            step_back
      %7: float32[3, 4] row = outer(%1, %4)
    deferred                                      ->     deferred
      %8: float32[3, 4] = sum %7                           %8: float32[3, 4] = sum outer(%1, %4)

The sum of a sum is the sum of sums, and so on through every additive primitive.

For a device with kernels the rows of element-wise products and sums are made, by the kernel that makes their
operands: to sum the rows is one launch then, a matrix product.  Only sums of outer products are pushed down.

A gradient that is made of nothing but rows of a table stays row-sparse.

Without it a training step of an LSTM along one chain, state 100, takes 20 to 26 times as long (`python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import replace

import numpy as np

from arrows.engine.program.emitters.calls import sum_run
from arrows.engine.program.instructions import Accumulate, SumRows, is_view, whole
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
    sums = [each for each in deferred if isinstance(each, SumRows)]
    rest = [each for each in deferred if each not in sums and each not in views]
    pays = _that_pay(made_by, program.kernels is not None)
    # The plain sum of what products over all rows read needs nothing else to be held for it.
    held = {var for each in _pushed(sums, made_by, pays, 0)[0] for var in each.reads}
    pushed, computed = _pushed(sums, made_by, pays - held, program.next_number)
    return _with_sparse(with_views(program.with_regions(deferred=(*views, *pushed, *computed, *rest))))


def _pushed(
    sums: Sequence[SumRows], made_by: Mapping[Var, Equation], pays: AbstractSet[Var], number: int
) -> tuple[list[SumRows], list[Equation]]:
    """The sums pushed down, and what is computed of them, in order.

    Args:
        sums: of values.
        made_by: the equations that make rows.
        pays: the rows whose sum is pushed down.
        number: the first that no value has.
    """
    pushed: list[SumRows] = []
    computed: list[Equation] = []
    # Additions of hundreds of gradients nest as deep: a stack of its own.
    pending = [(var, each.result) for each in reversed(sums) for var in each.reads]
    while pending:
        rows, result = pending.pop()
        equation = made_by[rows] if rows in pays else None
        if equation is not None and sum_run(np, equation) is not None:
            pushed.append(SumRows(result, equation))
        elif (
            equation is not None
            and equation.primitive.additive
            and all(operand.rows == rows.rows for operand in equation.operands)
        ):
            parts = [Var(number + n, var.type, INVARIANT) for n, var in enumerate(equation.operands)]
            number += len(parts)
            pending.extend(zip(equation.operands, parts, strict=True))
            computed.append(replace(equation, operands=tuple(parts), result=result))
        else:
            pushed.append(SumRows(result, rows))
    return pushed, computed[::-1]


def _that_pay(made_by: Mapping[Var, Equation], kernels: bool) -> AbstractSet[Var]:
    """The rows whose sum is pushed down, as it pays."""
    pushed: set[Var] = set()
    for var, equation in made_by.items():
        if kernels and equation.primitive.elementwise:
            pays = equation.primitive.additive and not pushed.isdisjoint(equation.operands)
        else:
            pays = equation.primitive.additive or sum_run(np, equation) is not None
        if pays:
            pushed.add(var)
    return pushed


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
