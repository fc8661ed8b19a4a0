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

The gradient of a slice is that of a box of the sliced value.  Boxes that lie side by side are written side by
side, by one ``concat``; those of a parameter go straight into their range of its gradient.  The gates of an
LSTM would make four arrays of zeros and add them up else, and each part of a matrix would cost a pass over
all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from arrows import ops
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadParameter,
    Pull,
    Region,
    Scatter,
    Store,
    SumRows,
    box_of_slice,
    moved,
    whole,
)
from arrows.engine.program.passes.simplify import prune, with_views
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, Tracer, TraceRecorder, Var
from arrows.typesys import types as T


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
    recorder = _Derivation(program.next_number, moving)
    pulls: list[Instruction] = []
    for instruction in program.region("step"):
        if isinstance(instruction, Store) and seeded[instruction.number] and instruction.operand in moving:
            g = recorder.new(instruction.operand.type, max(instruction.operand.rows, ROW))
            pulls.append(Pull(g.var, instruction.number))
            recorder.add(instruction.operand, g)
    recorder.walk(main)
    scatters = [
        Scatter(each.operands, total.var)
        for each in forward
        if isinstance(each, Gather) and (total := recorder.total(each.result)) is not None
    ]
    recorder.walk(before)
    accumulated = [
        Accumulate(load.owner, load.spec, box, g.var)
        for load in forward
        if isinstance(load, LoadParameter)
        for box, g in recorder.pieces.get(load.result, ())
    ]
    if not scatters and not accumulated:
        return program

    once: list[Instruction] = [LoadConstant(var, array) for array, var in recorder.constants]
    step: list[Instruction] = []
    deferred: list[Instruction] = []
    of_sums = {each.result for each in recorder.sums}
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
                deferred=(*recorder.sums, *deferred, *accumulated),
            )
        )
    )


class _Derivation(TraceRecorder):
    """Records a backward program, whose numbers follow those of the forward program that it reads.

    Attributes:
        pieces: the gradients of boxes of each value, which add up where they meet.
        sums: over rows: the gradients of values that are the same for all rows.
    """

    def __init__(self, first_number: int, moving: Collection[Var]) -> None:
        super().__init__()
        self._count = first_number
        self.moving = moving
        self.pieces: dict[Var, list[tuple[Region, Tracer]]] = {}
        self.sums: list[SumRows] = []

    def new(self, type: T.Tensor, level: int) -> Tracer:
        """A value that an instruction makes."""
        return self._new(type, level)

    def add(self, var: Var, g: Tracer, box: Region | None = None) -> None:
        """Adds ``g`` to the gradient of a box of a value, or of all of it."""
        if var not in self.moving:
            return
        if var.rows == INVARIANT != g.var.rows:
            summed = self.new(g.type, INVARIANT)
            self.sums.append(SumRows(summed.var, g.var))
            g = summed
        self.pieces.setdefault(var, []).append((whole(var.type.shape) if box is None else box, g))

    def total(self, var: Var) -> Tracer | None:
        """The gradient of a value."""
        by_box: dict[Region, Tracer] = {}
        for box, g in self.pieces.get(var, ()):
            by_box[box] = self._sum(by_box.get(box), g)
        total = by_box.pop(whole(var.type.shape), None)
        if (joined := self._side_by_side(var.type, by_box)) is not None:
            return self._sum(total, joined)
        for box, g in by_box.items():
            key = tuple((start, stop, 1) for start, stop in box)
            padded = self.apply(ops.get("pad_slice"), (g,), {"key": key, "shape": var.type.shape})
            total = self._sum(total, padded)
        return total

    def _sum(self, left: Tracer | None, right: Tracer) -> Tracer:
        if left is None:
            return right
        return self.apply(ops.get("add"), (left, right), {})

    def _side_by_side(self, type: T.Tensor, by_box: Mapping[Region, Tracer]) -> Tracer | None:
        """Several boxes that lie side by side along one axis and fill it; None where they do not."""
        all_of_it, boxes = whole(type.shape), sorted(by_box)
        axes = {axis for box in boxes for axis, each in enumerate(box) if each != all_of_it[axis]}
        if len(boxes) < 2 or len(axes) != 1:
            return None
        (axis,) = axes
        ends = [0, *(box[axis][1] for box in boxes)]
        if [*(box[axis][0] for box in boxes), type.shape[axis]] != ends:
            return None
        parts = tuple(by_box[box] for box in boxes)
        return self.apply(ops.get("concat"), parts, {"axis": axis - len(type.shape)})

    def walk(self, equations: Sequence[Equation]) -> None:
        """Pulls the gradients back through ``equations``."""
        for equation in reversed(equations):
            if (sliced := box_of_slice(equation)) is not None:
                for box, g in self.pieces.get(equation.result, ()):
                    self.add(equation.operands[0], g, moved(box, sliced))
            elif (total := self.total(equation.result)) is not None:
                result, *operands = map(self.tracer, (equation.result, *equation.operands))
                attributes: dict[str, Any] = dict(equation.attributes)
                with self:
                    parts = equation.primitive.vjp(total, result, *operands, **attributes)
                for operand, part in zip(equation.operands, parts, strict=True):
                    if part is not None:
                        assert isinstance(part, Tracer)
                        self.add(operand, part)


def _moving(program: Program, equations: Iterable[Equation]) -> set[Var]:
    """The values that depend, through floats, on a parameter or on an operand whose gradient is wanted."""
    moving: set[Var] = set()
    for _, instruction in program:
        if isinstance(instruction, Gather):
            # Those of one slab are all differentiated, or none.
            if program.operands[instruction.operands[0]].differentiated:
                moving.update(var for var in instruction.writes if var.type.floating)
        elif isinstance(instruction, LoadParameter) and instruction.spec.has_gradient:
            moving.add(instruction.result)
    for equation in equations:
        if equation.result.type.floating and not moving.isdisjoint(equation.operands):
            moving.add(equation.result)
    return moving
