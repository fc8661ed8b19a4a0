"""By whose rows what runs ahead of an operation's steps is told apart: what is alike is computed once.

A word that stands at many places of a batch is one row of the words' values.  What an operation computes of
the word alone, ahead of its steps (`fission`), is the same at all these places, and backwards what the steps
leave for them can be summed first: the gradients of the words, and of the matrix that they are multiplied by,
are linear in it.  Here it is settled whether an operation is of that kind;
`arrows.engine.running.unlike` does it for the rows of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arrows.engine.program.derive import Backward, RowSum
from arrows.engine.program.fission import Division
from arrows.engine.program.joints import Joint
from arrows.engine.program.operands import Gradients
from arrows.ops import INVARIANT, Equation, Var


@dataclass(frozen=True, slots=True)
class Ahead:
    """The operand by whose rows all that runs ahead of an operation's steps is told apart.

    Attributes:
        port: its number in `Operation.ports`.
        width: how many numbers a row of it has.
        made: the numbers of the kept values that are made ahead.
        sums: the numbers of the saved values that are summed by row: what ``late`` reads, and what is
            multiplied by the operand for a parameter's gradient.
        products: the reductions of these values with the operand, by the result's variable.
    """

    port: int
    width: int
    made: tuple[int, ...]
    sums: tuple[int, ...]
    products: frozenset[Var]


def told_apart(
    inputs: Sequence[Var],
    joints: Sequence[Joint],
    operands: Sequence[int],
    held: Sequence[int],
    division: Division,
    ports: Mapping[Var, int],
    kept: Sequence[Var],
    backward: Backward | None,
    gradients: Sequence[Gradients],
) -> Ahead | None:
    """The one operand that what runs ahead depends on; None where rows that read the same may differ, or
    where the operand is read for each of its rows besides.

    Args:
        inputs: the operation's.
        joints: the operands that are gathered as one.
        operands: the numbers of the operands that are read ahead.
        held: those of them that the steps read too.
        division: what runs ahead, and what in the steps.
        ports: the numbers of the operands.
        kept: the forward values that are kept for all rows.
        backward: the backward program, if there is one.
        gradients: what it computes for the operands.
    """
    made = {equation.result for equation in division.early}
    read = {var for equation in division.early for var in equation.operands if var.rows != INVARIANT} - made
    if len(operands) != 1 or held or {ports.get(var) for var in read} != set(operands):
        return None
    (port,) = operands
    if any(port in joint.ports for joint in joints) or not read <= set(inputs):
        return None  # it is gathered together with others
    width = next(iter(read)).type.size
    here = tuple(number for number, var in enumerate(kept) if var in made)
    if not set(division.held) <= set(kept):
        return None  # a result of the operation is made ahead
    if backward is None:
        return Ahead(port, width, here, (), frozenset())
    saved = {var: number for number, var in enumerate(backward.saved)}
    mine = {var for var, of in backward.forward if ports.get(of) == port}
    late = {equation.result for equation in backward.late}
    for equation in (*backward.step, *backward.late, *backward.deferred):
        if not mine.isdisjoint(equation.operands):
            return None
    sums: set[Var] = set()
    for equation in backward.late:
        if not _linear(equation):
            return None
        sums.update(var for var in equation.operands if var.rows != INVARIANT and var not in late)
    products = set()
    for _, whole in backward.boundary:
        for reduction in _single(whole):
            read = set(reduction.rows())
            if mine.isdisjoint(read):
                continue
            # A sum of outer products: those with one row of the operand are that of the sum.
            if reduction.equation is None or reduction.equation.primitive.name != "outer" or read <= mine:
                return None
            sums |= read - mine
            products.add(reduction.var)
    for some in gradients:
        waits = [operand for operand in some.operands if operand.late or port in operand.ports]
        if waits and not (len(some.operands) == 1 and waits[0].ports == (port,) and waits[0].var in late):
            return None
    if not sums <= saved.keys() or not late.isdisjoint(saved):
        return None
    return Ahead(port, width, here, tuple(sorted(saved[var] for var in sums)), frozenset(products))


def _linear(equation: Equation) -> bool:
    """Whether the sum of a result's rows is the result of the operands' sums."""
    rows = [var.rows != INVARIANT for var in equation.operands]
    return (
        all(rows) if equation.primitive.additive else equation.primitive.name == "matmul" and sum(rows) == 1
    )


def _single(reduction: RowSum) -> list[RowSum]:
    """The reductions without parts that one consists of."""
    if not reduction.parts:
        return [reduction]
    return [one for part in reduction.parts for one in _single(part)]
