"""What depends on one early operand is computed once for each distinct row."""

from __future__ import annotations

from arrows.engine.program.passes.deduplicate import deduplicate
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_a_word_that_is_multiplied() -> None:
    """What is made early is spread; what is left for the word is summed by its distinct rows."""
    before = """\
program example
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
  %9: float32[3, 3] = transpose(%0, axes=(-1, -2))
early
  %1: float32[3] row = gather 0
  %2: float32[3] row = matmul(%1, %0)
step
  %3: float32[3] row = gather 1
  %4: float32[3] row = multiply(%2, %3)
  result 0 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row = multiply(%5, %2)
  %7: float32[3] row = multiply(%5, %3)
  scatter 1 += %6
late
  %8: float32[3] row = matmul(%7, %9)
  scatter 0 += %8
deferred
  %10: float32[3, 3] = sum outer(%1, %7)
  gradient of FC_1/weight[0:3, 0:3] += %10"""
    after = """\
program example
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
distinct rows of operand 0: spread %0; summed %1; products %2
once
  %3: float32[3, 3] = parameter FC_1/weight
  %4: float32[3, 3] = transpose(%3, axes=(-1, -2))
early
  %5: float32[3] row = gather 0
  %0: float32[3] row = matmul(%5, %3)
step
  %6: float32[3] row = gather 1
  %7: float32[3] row = multiply(%0, %6)
  result 0 = %7
step_back
  %8: float32[3] row = gradient 0
  %9: float32[3] row = multiply(%8, %0)
  %1: float32[3] row = multiply(%8, %6)
  scatter 1 += %9
late
  %10: float32[3] row = matmul(%1, %4)
  scatter 0 += %10
deferred
  %2: float32[3, 3] = sum outer(%5, %1)
  gradient of FC_1/weight[0:3, 0:3] += %2"""
    assert renumbered(deduplicate(parse_program(before))) == after


def test_a_word_that_the_steps_read_too_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[3] row of slab 1
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
early
  %1: float32[3] row = gather 0
  %2: float32[3] row = matmul(%1, %0)
step
  %3: float32[3] row = gather 1
  %4: float32[3] row = multiply(%2, %3)
  %5: float32[3] row = multiply(%4, %1)
  result 0 = %5"""
    assert renumbered(deduplicate(parse_program(before))) == renumbered(parse_program(before))
