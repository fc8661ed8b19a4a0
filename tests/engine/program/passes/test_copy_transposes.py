"""Transposes that products of the steps read are copied; all else stays a view."""

from __future__ import annotations

from arrows.engine.program.passes.copy_transposes import copy_transposes
from arrows.engine.program.text import parse_program

EXAMPLE = """\
program example
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 1, early
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
  %1: float32[4, 3] = parameter FC_2/weight
  %2: float32[3, 4] = transpose(%1, axes=(-1, -2))
  %3: float32[4, 3] = transpose(%0, axes=(-1, -2))
  %4: float32[4, 3] = transpose(%0, axes=(-1, -2))
early
  %5: float32[3] row = gather 1
  %6: float32[4] row = matmul(%5, %2)
step
  %7: float32[3] row = gather 0
  %8: float32[4] row = matmul(%7, %0)
  %9: float32[4] row = add(%8, %6)
  result 0 = %9
step_back
  %10: float32[4] row = gradient 0
  %11: float32[3] row = matmul(%10, %3)
  scatter 0 += %11"""


def test_what_products_of_steps_read() -> None:
    after = EXAMPLE.replace("%3: float32[4, 3] = transpose", "%3: float32[4, 3] = copy transpose")
    assert str(copy_transposes(parse_program(EXAMPLE))) == after


def test_one_step_a_component() -> None:
    """Where all operands are early, a component has one step."""
    early = EXAMPLE.replace("slab 0, differentiated", "slab 0, early, differentiated")
    assert str(copy_transposes(parse_program(early))) == early
