"""Differentiates a program in reverse mode.

The gradients of the rows that an operation gathers are computed step by step.  Those of parameters, and of
anything else that is the same for all rows, are sums over all rows of the operation, pulled back once through
what was computed of parameters alone::

    once                                            step_back
      %0: float32[3, 4] = parameter FC_1/weight       %4: float32[4] row = gradient 0
    step                                              %5: float32[4, 3] = ... (once) transpose(%0)
      %1: float32[3] row = gather 0          ->       %6: float32[3] row = matmul(%4, %5)
      %2: float32[4] row = matmul(%1, %0)             %7: float32[3, 4] row = outer(%1, %4)
      result 0 = %2                                   scatter 0 += %6
                                                    deferred
                                                      %8: float32[3, 4] = sum %7
                                                      gradient of FC_1/weight[0:3, 0:4] += %8
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arrows import ops
from arrows.engine.program.boxes import whole
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadParameter,
    Pull,
    Scatter,
    Store,
    SumRows,
)
from arrows.engine.program.passes.tidy import prune, with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, Tracer, TraceRecorder, Var


def differentiate(program: Program, seeded: Sequence[bool]) -> Program:
    """Adds the backward regions; see the head of this file.

    Args:
        program: a forward program.
        seeded: for each result, whether a gradient comes in.

    Returns:
        The program as it is where nothing that is wanted depends on a result with a gradient.
    """
    forward = [instruction for _, instruction in program]
    before = [each for each in program.region("once") if isinstance(each, Equation)]
    main = [each for name in ("early", "step") for each in program.region(name) if isinstance(each, Equation)]
    moving = _moving(program, [*before, *main])
    recorder = _Derivation(program.next_number)
    pulls: list[Instruction] = []
    gradient: dict[Var, Tracer] = {}
    for instruction in program.region("step"):
        if isinstance(instruction, Store) and seeded[instruction.number] and instruction.operand in moving:
            g = recorder.new(instruction.operand, max(instruction.operand.rows, ROW))
            pulls.append(Pull(g.var, instruction.number))
            recorder.add(gradient, instruction.operand, g)
    recorder.walk(main, moving, gradient)
    scatters: list[Instruction] = []
    for instruction in forward:
        if isinstance(instruction, Gather) and instruction.result in gradient:
            scatters += _scatters(program, instruction, gradient[instruction.result], recorder)

    sums: list[Instruction] = []
    total: dict[Var, Tracer] = {}
    for (var, _), g in recorder.row_gradients.items():
        if var in moving:
            summed = recorder.new(var, INVARIANT)
            sums.append(SumRows(summed.var, g.var))
            recorder.add(total, var, summed)
    recorder.walk(before, moving, total)
    accumulated = [
        Accumulate(
            instruction.owner, instruction.spec, whole(instruction.spec.shape), total[instruction.result].var
        )
        for instruction in forward
        if isinstance(instruction, LoadParameter) and instruction.result in total
    ]
    if not scatters and not accumulated:
        return program

    once: list[Instruction] = [LoadConstant(var, array) for array, var in recorder.constants]
    step: list[Instruction] = []
    deferred: list[Instruction] = []
    of_sums = {var for instruction in sums for var in instruction.writes}
    for equation in recorder.equations:
        if equation.result.rows != INVARIANT:
            step.append(equation)
        elif of_sums.isdisjoint(equation.operands):
            once.append(equation)
        else:
            of_sums.add(equation.result)
            deferred.append(equation)
    return with_views(
        prune(
            program.with_regions(
                once=(*program.region("once"), *once),
                step_back=(*pulls, *step, *scatters),
                deferred=(*sums, *deferred, *accumulated),
            )
        )
    )


class _Derivation(TraceRecorder):
    """Records a backward program, whose numbers follow those of the forward program that it reads.

    Attributes:
        row_gradients: the gradients of values without rows, still with rows; by the level of these rows, for
            rows of the operation and elements of its sequences add up only once each is summed.
    """

    def __init__(self, first_number: int) -> None:
        super().__init__()
        self._count = first_number
        self.row_gradients: dict[tuple[Var, int], Tracer] = {}

    def new(self, like: Var, level: int) -> Tracer:
        """A value that an instruction makes."""
        return self._new(like.type, level)

    def add(self, gradient: dict[Var, Tracer], var: Var, g: Tracer) -> None:
        """Adds ``g`` to the gradient of ``var``."""
        if var.rows == INVARIANT and g.var.rows != INVARIANT:
            level = var, g.var.rows
            self.row_gradients[level] = self._total(self.row_gradients.get(level), g)
        else:
            gradient[var] = self._total(gradient.get(var), g)

    def _total(self, gradient: Tracer | None, addend: Tracer) -> Tracer:
        if gradient is None:
            return addend
        with self:
            total = ops.add(gradient, addend)
        assert isinstance(total, Tracer)
        return total

    def walk(self, equations: Sequence[Equation], moving: set[Var], gradient: dict[Var, Tracer]) -> None:
        """Pulls the gradients back through ``equations``."""
        with self:
            for equation in reversed(equations):
                g = gradient.get(equation.result)
                if g is None:
                    continue
                operands = [self.tracer(operand) for operand in equation.operands]
                attributes: dict[str, Any] = dict(equation.attributes)
                parts = equation.primitive.vjp(g, self.tracer(equation.result), *operands, **attributes)
                for operand, part in zip(equation.operands, parts, strict=True):
                    if part is not None and operand in moving:
                        assert isinstance(part, Tracer)
                        self.add(gradient, operand, part)


def _moving(program: Program, equations: Iterable[Equation]) -> set[Var]:
    """The values that depend, through floats, on a parameter or on an operand whose gradient is wanted."""
    moving: set[Var] = set()
    for _, instruction in program:
        if isinstance(instruction, Gather):
            if any(program.operands[number].differentiated for number in instruction.operands):
                moving.update(var for var in instruction.writes if _is_float(var))
        elif isinstance(instruction, LoadParameter) and instruction.spec.has_gradient:
            moving.add(instruction.result)
    for equation in equations:
        if _is_float(equation.result) and not moving.isdisjoint(equation.operands):
            moving.add(equation.result)
    return moving


def _scatters(program: Program, gather: Gather, g: Tracer, recorder: TraceRecorder) -> list[Scatter]:
    """The transpose of a gather: of all operands side by side, or of those whose gradient is wanted."""
    wanted = [program.operands[number].differentiated for number in gather.operands]
    if all(wanted):
        return [Scatter(gather.operands, g.var)]
    size = g.shape[0] // len(wanted)
    scatters = []
    with recorder:
        for place, number in enumerate(gather.operands):
            if wanted[place]:
                part = g[place * size : (place + 1) * size]
                assert isinstance(part, Tracer)
                scatters.append(Scatter((number,), part.var))
    return scatters


def _is_float(var: Var) -> bool:
    return var.type.dtype.startswith("float")
