"""Moves work out of the backward steps: what no step waits for runs once for all rows.

What only gradients of parameters need runs once a batch, over all rows of the operation; what only gradients
of early operands need runs once a component, after its steps::

    step_back                                        step_back
      %4: float32[4] row = gradient 0                  %4: float32[4] row = gradient 0
      %5: float32[4] row = multiply(%4, %2)          deferred
    deferred                                   ->      %5: float32[4] row = multiply(%4, %2)
      %6: float32[4] = sum %5                          %6: float32[4] = sum %5

Without it a training step takes 1.15 times as long (two bidirectional LSTMs of 256, batch 16: `python -m
benchmarks.passes`).
"""

from __future__ import annotations

from dataclasses import replace

from arrows.engine.program.instructions import Gather, Instruction, Pull, Scatter, closure, with_operands
from arrows.engine.program.passes.tidy import with_views
from arrows.engine.program.program import Program
from arrows.ops import ROW, Var


def defer(program: Program) -> Program:
    """Moves instructions from ``step_back`` to ``late`` and ``deferred``; see the head of this file.

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
