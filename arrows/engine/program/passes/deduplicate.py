"""Computes what depends on one early operand once for each distinct row of it.

A word that stands at many places of a batch is one row of the words' values.  What an operation computes of
the word alone, ahead of its steps, is the same at all these places; backwards, what the steps leave for them
can be summed first, for the gradients of the words, and of the matrix that they are multiplied by, are linear
in it.  So ``early`` and ``late`` run over the distinct rows of that operand::

    distinct rows of operand 0: spread %6; summed %12; products %15

This pass decides whether a program is of that kind; `arrows.engine.running` finds the distinct rows of a
batch, and whether they are few enough.

Without it a training step of a tagger that spells its words takes 1.06 times as long (a bidirectional LSTM of
128, batch 64: `python -m benchmarks.passes`).
"""

from __future__ import annotations

from dataclasses import replace

from arrows.engine.program.instructions import Gather, LoadKeys, Store, SumRows
from arrows.engine.program.program import Distinct, Program
from arrows.ops import INVARIANT, Equation, Var


def deduplicate(program: Program) -> Program:
    """Finds the operand by whose distinct rows ``early`` and ``late`` may run; see the head of this file.

    Args:
        program: after `split` and, if it is differentiated, `defer`.

    Returns:
        The program as it is, where rows that read the same may differ, or where the operand is read for each
        of the operation's rows besides.
    """
    early = program.region("early")
    match [each for each in early if isinstance(each, (Gather, LoadKeys))]:
        case [Gather(operands=(number,)) as gather]:
            pass
        case _:
            return program
    if any(number in other.operands for _, other in program.gathers if other is not gather):
        return program
    made_early = {var for instruction in early for var in instruction.writes} - {gather.result}
    later: set[Var] = set()
    for name, instruction in program:
        if name not in ("once", "early"):
            if gather.result in instruction.reads and not isinstance(instruction, SumRows):
                return program
            if isinstance(instruction, Store) and instruction.operand in made_early:
                return program
            later.update(instruction.reads)
    spread = tuple(var for instruction in early for var in instruction.writes if var in made_early & later)
    sums = _summed(program, gather, number)
    if sums is None:
        return program
    summed, products = sums
    return replace(program, distinct=Distinct(number, spread, summed, products))


def _summed(program: Program, gather: Gather, number: int) -> tuple[tuple[Var, ...], frozenset[Var]] | None:
    """What backward regions may read summed by distinct row, and the products of that with the operand."""
    late = program.region("late")
    in_late = {var for instruction in late for var in instruction.writes}
    summed: dict[Var, None] = {}
    for instruction in late:
        if isinstance(instruction, Equation) and not _is_linear(instruction):
            return None
        summed.update(dict.fromkeys(v for v in instruction.reads if v.rows != INVARIANT and v not in in_late))
    products = set()
    for instruction in program.region("deferred"):
        if not in_late.isdisjoint(instruction.reads):
            return None
        if isinstance(instruction, SumRows) and gather.result in instruction.reads:
            others = [var for var in instruction.reads if var is not gather.result]
            # A sum of outer products: those with one row of the operand are that of the sum.
            if not instruction.is_of("outer") or len(others) != 1:
                return None
            summed[others[0]] = None
            products.add(instruction.result)
    saved = {each.result for each in program.region("step_back") if isinstance(each, Equation)}
    if not saved.issuperset(summed):
        return None
    # What the operand's rows get comes from `late` alone, which computes nothing else.
    for region, scatter in program.scatters:
        concerned = region == "late" or number in scatter.operands
        if concerned and (scatter.operands != (number,) or scatter.operand not in in_late):
            return None
    return tuple(summed), frozenset(products)


def _is_linear(equation: Equation) -> bool:
    """Whether the sum of a result's rows is the result of the operands' sums."""
    rows = [var.rows != INVARIANT for var in equation.operands]
    if equation.primitive.additive:
        return all(rows)
    return equation.primitive.name == "matmul" and sum(rows) == 1
