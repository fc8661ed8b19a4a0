"""Records a forward program anew, equation by equation, as the passes before differentiation do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Store,
)
from arrows.engine.program.passes.tidy import prune
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, Tracer, TraceRecorder, Var


class Rewriter:
    """A program that is being recorded anew: its loads and gathers stand already.

    Args:
        program: forward regions alone, none of them ``early``.

    Attributes:
        recorder: where to record.
        new: for each value of the program, the tensor that stands for it.
    """

    def __init__(self, program: Program) -> None:
        allowed = program.regions.keys() <= {"once", "step"}
        assert allowed, "a pass that records anew stands before split in FORWARD of pipeline.py"
        self.program, self.recorder = program, TraceRecorder()
        self.new: dict[Var, Tracer] = {}
        self.equations: list[Equation] = []
        self.loads: dict[Var, Instruction] = {}
        for _, instruction in program:
            match instruction:
                case LoadConstant(var, array):
                    self.new[var] = self.recorder.constant(array)
                case LoadParameter(var, owner, spec):
                    self.new[var] = self.recorder.parameter(owner, spec)
                case LoadKeys(var):
                    self.new[var] = self.recorder.dropout_key_input()
                    self.loads[self.new[var].var] = LoadKeys(self.new[var].var)
                case Gather(var, operands):
                    self.new[var] = self.recorder.input(var.type, var.rows)
                    self.loads[self.new[var].var] = Gather(self.new[var].var, operands)
                case Equation():
                    self.equations.append(instruction)

    def bind(self, equation: Equation, operands: Sequence[Tracer]) -> Tracer:
        """Records an equation on other operands."""
        attributes: dict[str, Any] = dict(equation.attributes)
        result = self.recorder.bind(equation.primitive, *operands, **attributes)
        assert isinstance(result, Tracer)
        return result

    def finish(self) -> Program:
        """The program as it was recorded, without what no result needs."""
        stores = tuple(
            Store(instruction.number, self.new[instruction.operand].var)
            for instruction in self.program.region("step")
            if isinstance(instruction, Store)
        )
        return assembled(self.program, self.recorder, self.loads.values(), stores)


def assembled(
    program: Program, recorder: TraceRecorder, loads: Iterable[Instruction], stores: Sequence[Store]
) -> Program:
    """A forward program of what was recorded, without what no result needs.

    Args:
        program: gives all but the regions.
        recorder: holds constants, parameters and equations.
        loads: the gathers and the load of dropout keys.
        stores: of the results.
    """
    once: list[Instruction] = [LoadConstant(var, array) for array, var in recorder.constants]
    once += [LoadParameter(var, owner, spec) for owner, spec, var in recorder.parameters]
    step: list[Instruction] = list(loads)
    for equation in recorder.equations:
        (once if equation.result.rows == INVARIANT else step).append(equation)
    return prune(replace(program, regions={"once": tuple(once), "step": (*step, *stores)}))
