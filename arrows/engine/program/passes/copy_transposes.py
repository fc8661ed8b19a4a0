"""Copies the transposes of parameters that steps multiply by, so that OpenBLAS need not pack them in each::

    once                                              once
      %0: float32[3, 4] = parameter FC_1/weight         %0: float32[3, 4] = parameter FC_1/weight
      %1: float32[4, 3] = transpose(%0)          ->     %1: float32[4, 3] = copy transpose(%0)
    step_back                                         step_back
      %3: float32[3] row = matmul(%2, %1)               %3: float32[3] row = matmul(%2, %1)

Whether a batch has enough steps to repay the copy is decided when it runs
(`arrows.engine.program.emitters.contiguous_transpose`, which has the figures).  Without it a training step
takes 1.03 times as long (two bidirectional LSTMs of 256, batch 16: `python -m benchmarks.passes`).
"""

from __future__ import annotations

from arrows.engine.program.instructions import Copy, Product, View
from arrows.engine.program.program import Program


def copy_transposes(program: Program) -> Program:
    """Copies transposes; see the head of this file.

    Args:
        program: any; where all its operands are early, a component has one step, and nothing is copied.
    """
    if all(operand.early for operand in program.operands):
        return program
    factors = {
        var
        for name in ("step", "step_back")
        for instruction in program.region(name)
        if isinstance(instruction, Product)
        for var in instruction.reads
    }
    once = tuple(
        Copy(instruction.equation)
        if isinstance(instruction, View)
        and instruction.equation.primitive.name == "transpose"
        and instruction.result in factors
        else instruction
        for instruction in program.region("once")
    )
    return program.with_regions(once=once)
