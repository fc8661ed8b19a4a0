"""Rewrites equations wherever they stand: a rule says what to put in the place of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from arrows import ops
from arrows.engine.program.instructions import Instruction, LoadConstant, attribute, is_join, with_operands
from arrows.engine.program.passes.tidy import with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, TensorLike, Tracer, TraceRecorder, Var


class Rewriter(TraceRecorder):
    """Records what rules put in the place of equations.

    Attributes:
        made_by: for each value so far, the equation that makes it.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._count = program.next_number
        self.made_by: dict[Var, Equation] = {}

    def again(self, equation: Equation, operands: Sequence[TensorLike]) -> TensorLike:
        """An equation, of other operands."""
        return self.apply(equation.primitive, tuple(operands), dict(equation.attributes))

    def parts(self, value: Tracer) -> list[Tracer]:
        """What is joined to a value along its last axis, joins of joins undone."""
        parts: list[Tracer] = []
        pending = [value.var]
        while pending:
            part = pending.pop()
            equation = self.made_by.get(part)
            if equation is not None and is_join(equation) and attribute(equation, "axis") == -1:
                pending.extend(reversed(equation.operands))
            else:
                parts.append(self.tracer(part))
        return parts

    def product(
        self, parts: Sequence[Tracer], matrix: Tracer, chosen: Callable[[Tracer], bool]
    ) -> TensorLike:
        """``concat(parts) @ matrix`` of chosen parts alone: by the rows of the matrix that these meet."""
        factors: list[Tracer] = []
        rows: list[tuple[int, int]] = []
        stop = 0
        for part in parts:
            start, stop = stop, stop + part.shape[-1]
            if chosen(part):
                factors.append(part)
                if rows and rows[-1][1] == start:  # neighbouring ranges are one slice of the matrix
                    start, _ = rows.pop()
                rows.append((start, stop))
        met = ops.concat([matrix[start:stop] for start, stop in rows])
        return ops.matmul(ops.concat(factors, axis=-1), met)


Rule: TypeAlias = Callable[[Rewriter, Equation, list[Tracer]], TensorLike | None]
"""Called inside the rewriter with an equation, and what stands for its operands now.  It records nothing and
returns None, or returns the value that takes the place of the result, of the same type."""


def rewrite(program: Program, rule: Rule) -> Program:
    """Applies a rule to each equation of a program, in every region.

    This is the one place that a simplification needs: programs of all devices go through it, and stand before
    memory is allocated and equations are fused.

    Args:
        program: before `fuse`.
        rule: what it records without rows is computed once a batch.  In place of what has rows it may give
            what has none in a forward program alone.
    """
    recorder = Rewriter(program)
    regions: dict[str, list[Instruction]] = {"once": []}
    deferred: set[Var] = set()
    new: dict[Var, Var] = {}
    for region, instruction in program:
        made: list[Instruction] = [with_operands(instruction, new)]
        if isinstance(instruction, Equation):
            first = len(recorder.equations)
            reads = [new.get(var, var) for var in instruction.operands]
            with recorder:
                value = rule(recorder, instruction, list(map(recorder.tracer, reads)))
            if value is None and [var.rows for var in reads] != [var.rows for var in instruction.operands]:
                value = recorder.again(instruction, list(map(recorder.tracer, reads)))
            if value is not None:
                assert isinstance(value, Tracer)
                new[instruction.result] = value.var
                made = [*recorder.equations[first:]]
        for each in made:
            once = isinstance(each, Equation) and each.result.rows == INVARIANT
            once = once and deferred.isdisjoint(each.reads)
            regions.setdefault("once" if once else region, []).append(each)
            if isinstance(each, Equation):
                recorder.made_by[each.result] = each
            if region == "deferred" and not once:
                deferred.update(each.writes)
    constants = [LoadConstant(var, array) for array, var in recorder.constants]
    regions["once"][:0] = constants
    return with_views(program.with_regions(**{name: tuple(region) for name, region in regions.items()}))
