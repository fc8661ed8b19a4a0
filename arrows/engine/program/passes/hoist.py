"""Moves work out of steps, to where it runs once for many rows: a component's, a batch's, equal ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    Scatter,
    Store,
    SumRows,
    closure,
    is_elementwise,
    is_view,
    whole,
    with_operands,
)
from arrows.engine.program.passes.simplify import Rewriter, Rule, is_layer, prune, rewrite, with_views
from arrows.engine.program.program import Distinct, Program
from arrows.engine.program.region import sum_run
from arrows.ops import INVARIANT, ROW, Equation, TensorLike, Tracer, Var


def split(program: Program) -> Program:
    """Splits an operation (loop fission): what it computes of early operands alone runs once for all rows.

    The cell of a recurrent network reads a word, which is there before the first step, and the state of the
    step before.  Of its product ``concat(x, h) @ W`` the part ``x @ Wx`` depends on the word alone: one large
    product for all words instead of one small one in each step::

        step                                              early
          %1: float32[3] row = gather 0  (early)            %1: float32[3] row = gather 0
          %2: float32[4] row = gather 1                     %6: float32[4] row = matmul(%1, %5)
          %3: float32[7] row = concat(%1, %2)        ->   step
          %4: float32[4] row = matmul(%3, %0)               %2: float32[4] row = gather 1
                                                            %8: float32[4] row = matmul(%2, %7)
                                                            %9: float32[4] row = add(%6, %8)

    A bias that is added to the whole product is added to its early part.

    An operation is split at its products: what depends on early operands and on no product of them is left in
    the steps, where it costs nothing to speak of and needs no memory.

    Without it a training step takes 1.6 times as long (two bidirectional LSTMs of 256, batch 16: `python -m
    benchmarks.passes`).

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
        parts = recorder.parts(operands[0]) if is_layer(equation) else []
        if len(set(map(is_early, parts))) < 2:
            return None
        early_part = recorder.product(parts, operands[1], is_early)
        return early_part + recorder.product(parts, operands[1], lambda part: not is_early(part))

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


def push_sums(program: Program) -> Program:
    """Pushes sums over rows down to what can be summed without making the rows.

    The gradient of a matrix is the sum over rows of outer products, which is one product of matrices::

        step_back                                            step_back
          %7: float32[3, 4] row = outer(%1, %4)
        deferred                                      ->     deferred
          %8: float32[3, 4] = sum %7                           %8: float32[3, 4] = sum outer(%1, %4)

    A view is summed as what it shows.

    Rows of an element-wise product that something else reads as well, as the product that makes a matrix's
    gradient beside a bias's, are there to be summed: a training step takes 0.97 of the time (a Tree-LSTM with
    a layer for each gate, state 150, batch 100).  For a device with kernels they are made in any case, by the
    kernel that makes their operands: to sum the rows is one launch then, a matrix product.

    A gradient that is made of nothing but rows of a table stays row-sparse.

    Without it a training step of an LSTM along one chain, state 100, takes 20 to 26 times as long (`python -m
    benchmarks.passes`).

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


def defer(program: Program) -> Program:
    """Moves work out of the backward steps: what no step waits for runs once for all rows.

    What only gradients of parameters need runs once a batch, over all rows of the operation; what only
    gradients of early operands need runs once a component, after its steps::

        step_back                                        step_back
          %4: float32[4] row = gradient 0                  %4: float32[4] row = gradient 0
          %5: float32[4] row = multiply(%4, %2)          deferred
        deferred                                   ->      %5: float32[4] row = multiply(%4, %2)
          %6: float32[4] = sum %5                          %6: float32[4] = sum %5

    Without it a training step takes 1.15 times as long (two bidirectional LSTMs of 256, batch 16: `python -m
    benchmarks.passes`).

    Args:
        program: with backward regions.
    """
    back, deferred = program.region("step_back"), program.region("deferred")
    gathers = [each for each in program.region("early") if isinstance(each, Gather)]
    early = {number for gather in gathers for number in gather.operands}
    pulls = [each for each in back if isinstance(each, Pull)]
    scatters = [each for each in back if isinstance(each, Scatter)]
    # A joint gather is of early operands alone, or of none.
    waiting = [each for each in scatters if each.operands[0] in early]
    now = [each for each in scatters if each not in waiting]
    in_step = closure([each.operand for each in now], back)
    in_late = closure([each.operand for each in waiting], back) - in_step
    in_deferred = closure([var for each in deferred for var in each.reads], back) - in_step - in_late

    def of(values: set[Var]) -> list[Instruction]:
        return [each for each in back if each not in pulls and not values.isdisjoint(each.writes)]

    # Steps of a cycle read sequences, as attention does, anew from a slab that fits in the cache: copies for
    # all steps would not, and took a quarter of the memory of an encoder-decoder's batch.
    loads = [each for each in program.region("step") if isinstance(each, Gather) and each.result.rows > ROW]
    if program.kernels or all(operand.early for operand in program.operands):
        loads = []
    new = {each.result: replace(each.result, id=program.next_number + n) for n, each in enumerate(loads)}
    again = [replace(each, result=new[each.result]) for each in loads]
    return with_views(
        program.with_regions(
            step_back=(*pulls, *again, *(with_operands(each, new) for each in of(in_step)), *now),
            late=(*of(in_late), *waiting),
            deferred=(*of(in_deferred), *deferred),
        )
    )


def deduplicate(program: Program) -> Program:
    """Computes what depends on one early operand once for each distinct row of it.

    A word that stands at many places of a batch is one row of the words' values.  What an operation computes
    of the word alone, ahead of its steps, is the same at all these places; backwards, what the steps leave
    for them can be summed first, for the gradients of the words, and of the matrix that they are multiplied
    by, are linear in it.  So ``early`` and ``late`` run over the distinct rows of that operand::

        distinct rows of operand 0: spread %6; summed %12; products %15

    This pass decides whether a program is of that kind; `arrows.engine.running` finds the distinct rows of a
    batch, and whether they are few enough.

    Without it a training step of a tagger that spells its words takes 1.06 times as long (a bidirectional
    LSTM of 128, batch 64: `python -m benchmarks.passes`).

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
