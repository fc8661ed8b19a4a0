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

An operation is split at its products: what depends on early operands and on no product of them is left in the
steps, where it costs nothing to speak of and needs no memory.

Without it a training step takes 1.5 times as long (two bidirectional LSTMs of 256, batch 16: `python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections.abc import Sequence

from arrows import ops
from arrows.engine.program.instructions import Gather, Instruction, LoadKeys, Store, is_view
from arrows.engine.program.passes.rewriter import Rewriter
from arrows.engine.program.passes.tidy import prune, with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, Tracer, Var


def split(program: Program) -> Program:
    """Splits an operation; see the head of this file.

    Args:
        program: a forward program.
    """
    early = {number for number, operand in enumerate(program.operands) if operand.early}
    # Where all operands are early there is one step anyway.
    if not early or len(early) == len(program.operands):
        return program
    if any(operand.level != ROW for operand in program.operands):
        return program
    return _move(_ProductSplitter(program).split())


class _ProductSplitter:
    """Splits products of joined vectors where some of the parts are early."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rewriter = Rewriter(program)
        self.made_by = {equation.result: equation for equation in self.rewriter.equations}
        self.early: set[Var] = set()
        # Sums of an early and a late value, which more early values can be added to.
        self.sums: dict[Var, tuple[Tracer, Tracer]] = {}
        for instruction in program.region("step"):
            if _is_early(program, instruction):
                (var,) = instruction.writes
                self.early.add(self.rewriter.new[var].var)

    def split(self) -> Program:
        """The program, recorded anew if there is a product to split."""
        changed = False
        new = self.rewriter.new
        for equation in self.rewriter.equations:
            operands = [new[var] for var in equation.operands]
            value: Tracer | None = None
            with self.rewriter.recorder:
                if equation.primitive.name == "add":
                    value = self._sum(equation, operands)
                elif equation.primitive.name == "matmul":
                    value = self._product(equation)
            changed |= value is not None
            if value is None:
                value = self._noted(self.rewriter.bind(equation, operands), operands)
                if equation.primitive.name == "add":
                    self._note_sum(value, operands)
            new[equation.result] = value
        return self.rewriter.finish() if changed else self.program

    def _noted(self, value: Tracer, operands: Sequence[Tracer]) -> Tracer:
        """The value, noted as early if all its operands are."""
        if value.rows == ROW and all(self._is_early(operand) for operand in operands):
            self.early.add(value.var)
        return value

    def _is_early(self, value: Tracer) -> bool:
        return value.rows == INVARIANT or value.var in self.early

    def _parts(self, var: Var) -> list[Tracer]:
        """What is joined to a vector, joins of joins undone."""
        parts: list[Tracer] = []
        pending = [var]
        while pending:
            part = pending.pop()
            equation = self.made_by.get(part)
            if equation is not None and equation.primitive.name == "concat" and len(part.type.shape) == 1:
                pending.extend(reversed(equation.operands))
            else:
                parts.append(self.rewriter.new[part])
        return parts

    def _product(self, equation: Equation) -> Tracer | None:
        """``concat(parts) @ W``, as the product of the early parts and that of the others."""
        left, right = equation.operands
        if len(left.type.shape) != 1 or left.rows != ROW or right.rows != INVARIANT:
            return None
        if len(right.type.shape) != 2:
            return None
        parts = self._parts(left)
        if len({self._is_early(part) for part in parts}) != 2:
            return None
        matrix = self.rewriter.new[right]
        return self._add(*(self._product_of(parts, matrix, early) for early in (True, False)))

    def _product_of(self, parts: Sequence[Tracer], matrix: Tracer, early: bool) -> Tracer:
        """The product of the early (or of the other) parts with the rows of the matrix that they meet."""
        ranges: list[list[int]] = []
        factors: list[Tracer] = []
        stop = 0
        for part in parts:
            start, stop = stop, stop + part.shape[-1]
            if self._is_early(part) != early:
                continue
            factors.append(part)
            # Neighbouring ranges of rows are one slice of the matrix.
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = stop
            else:
                ranges.append([start, stop])
        rows = ops.concat([matrix[a:z] for a, z in ranges]) if len(ranges) > 1 else matrix[slice(*ranges[0])]
        joined = ops.concat(factors, axis=-1) if len(factors) > 1 else factors[0]
        assert isinstance(joined, Tracer)
        product = ops.matmul(self._noted(joined, factors), rows)
        assert isinstance(product, Tracer)
        return self._noted(product, factors)

    def _add(self, early: Tracer, late: Tracer) -> Tracer:
        total = ops.add(early, late)
        assert isinstance(total, Tracer)
        self.sums[total.var] = early, late
        return total

    def _note_sum(self, total: Tracer, operands: Sequence[Tracer]) -> None:
        """Remembers a sum of an early and a late value."""
        for left, right in (operands, operands[::-1]):
            alike = left.type == right.type == total.type and left.rows == right.rows == ROW
            if alike and left.var in self.early and right.var not in self.early:
                self.sums[total.var] = left, right

    def _sum(self, equation: Equation, operands: Sequence[Tracer]) -> Tracer | None:
        """``(early + late) + b``, as ``(early + b) + late`` where ``b`` is early: a bias is added early."""
        for left, right in (operands, operands[::-1]):
            addends = self.sums.get(left.var)
            if addends is not None and self._is_early(right) and left.type == equation.result.type:
                early = ops.add(addends[0], right)
                assert isinstance(early, Tracer)
                return self._add(self._noted(early, [addends[0], right]), addends[1])
        return None


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
    needed = {
        var for instruction in step for var in instruction.writes if var in heavy and not is_view(instruction)
    }
    if not needed:
        return program
    for instruction in reversed(step):
        if not needed.isdisjoint(instruction.writes):
            needed.update(instruction.reads)
    moved = tuple(instruction for instruction in step if not needed.isdisjoint(instruction.writes))
    rest = tuple(instruction for instruction in step if instruction not in moved)
    return prune(with_views(program.with_regions(early=moved, step=rest)))
