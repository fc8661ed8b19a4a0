"""Splits an operation (loop fission): what it computes of early operands alone runs once for all its rows.

The cell of a recurrent network reads a word, which is there before the first step, and the state of the step
before.  Of its product ``concat(x, h) @ W`` the part ``x @ Wx`` depends on the word alone: one large product
for all words instead of one small one in each step::

    step                                              early
      %1: float32[3] row = gather 0  (early)            %1: float32[3] row = gather 0
      %2: float32[4] row = gather 1                     %6: float32[4] row = matmul(%1, %5)
      %3: float32[7] row = concat(%1, %2)        ->   step
      %4: float32[4] row = matmul(%3, %0)               %2: float32[4] row = gather 1
                                                        %8: float32[4] row = matmul(%2, %7)
                                                        %9: float32[4] row = add(%6, %8)

A bias that is added to the whole product is added to its early part.

An operation is split at its products: what depends on early operands and on no product of them is left in the
steps, where it costs nothing to speak of and needs no memory.

Without it a training step takes 1.6 times as long (two bidirectional LSTMs of 256, batch 16: `python -m
benchmarks.passes`).
"""

from __future__ import annotations

from arrows.engine.program.instructions import Gather, Instruction, LoadKeys, Store, closure, is_view
from arrows.engine.program.passes.rewrite import Rewriter, Rule, rewrite
from arrows.engine.program.passes.tidy import prune, with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, TensorLike, Tracer, Var


def split(program: Program) -> Program:
    """Splits an operation; see the head of this file.

    Args:
        program: a forward program.
    """
    # Where all operands are early there is one step anyway.
    one_kind = len({operand.early for operand in program.operands}) < 2
    if one_kind or any(operand.level != ROW for operand in program.operands):
        return program
    return _move(rewrite(program, _splitting(program)))


def _splitting(program: Program) -> Rule:
    """The rule that splits products of joined vectors where some of the parts are early."""
    loads = [each for each in program.region("step") if not isinstance(each, Equation)]
    early = {var: _is_early(program, load) for load in loads for var in load.writes}

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        def is_early(value: Tracer) -> bool:
            if value.rows == INVARIANT:
                return True
            if value.var not in early:
                made = recorder.made_by[value.var]
                early[value.var] = all(is_early(recorder.tracer(operand)) for operand in made.operands)
            return early[value.var]

        for operand in operands:
            is_early(operand)  # of a long chain of equations one by one, as they come
        if equation.primitive.name == "add":
            # (early + late) + bias becomes (early + bias) + late: 5 % less for a chain (`benchmarks growth`).
            total, bias = sorted(operands, key=is_early)
            made = recorder.made_by.get(total.var)
            if made is not None and made.primitive.name == "add" and is_early(bias):
                late, first = sorted(map(recorder.tracer, made.operands), key=is_early)
                if is_early(first) and first.rows == ROW and late.type == first.type == equation.result.type:
                    return (first + bias) + late
        if equation.primitive.name != "matmul":
            return None
        left, right = operands
        parts = recorder.parts(left)
        fits = (left.ndim, right.ndim, left.rows, right.rows) == (1, 2, ROW, INVARIANT)
        if not fits or len(set(map(is_early, parts))) < 2:
            return None
        early_part = recorder.product(parts, right, is_early)
        return early_part + recorder.product(parts, right, lambda part: not is_early(part))

    return rule


def _is_early(program: Program, instruction: Instruction) -> bool:
    """Whether an instruction loads what is there before the first step."""
    if isinstance(instruction, Gather):
        return all(program.operands[number].early for number in instruction.operands)
    return isinstance(instruction, LoadKeys)


def _move(program: Program) -> Program:
    """Moves products of early operands, and what they need, to the region ``early``."""
    step = program.region("step")
    early: set[Var] = set()
    heavy: set[Var] = set()  # early, and made of a product
    for instruction in step:
        if _is_early(program, instruction):
            early.update(instruction.writes)
            continue
        if isinstance(instruction, Store) or any(var.rows != ROW for var in instruction.writes):
            continue
        with_rows = [var for var in instruction.reads if var.rows != INVARIANT]
        if with_rows and early.issuperset(with_rows):
            early.update(instruction.writes)
            is_product = isinstance(instruction, Equation) and instruction.primitive.name == "matmul"
            if is_product or not heavy.isdisjoint(with_rows):
                heavy.update(instruction.writes)
    views = {each.result for each in step if is_view(each)}
    needed = closure(heavy - views, step)
    if not needed:
        return program
    moved = tuple(instruction for instruction in step if not needed.isdisjoint(instruction.writes))
    rest = tuple(instruction for instruction in step if instruction not in moved)
    return prune(with_views(program.with_regions(early=moved, step=rest)))
