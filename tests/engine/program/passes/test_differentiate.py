"""A program gets its backward regions."""

from __future__ import annotations

from arrows.engine.program.passes.differentiate import differentiate
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_a_product() -> None:
    """The operand's gradient comes step by step, the matrix's as a sum over rows."""
    before = """\
program example
operand 0: float32[3] row of slab 0, differentiated
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[4] row = matmul(%1, %0)
  result 0 = %2"""
    after = """\
program example
operand 0: float32[3] row of slab 0, differentiated
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
  %1: float32[4, 3] = transpose(%0, axes=(-1, -2))
step
  %2: float32[3] row = gather 0
  %3: float32[4] row = matmul(%2, %0)
  result 0 = %3
step_back
  %4: float32[4] row = gradient 0
  %5: float32[3] row = matmul(%4, %1)
  %6: float32[3, 4] row = outer(%2, %4)
  scatter 0 += %5
deferred
  %7: float32[3, 4] = sum %6
  gradient of FC_1/weight[0:3, 0:4] += %7"""
    assert renumbered(differentiate(parse_program(before), [True])) == after


def test_what_is_computed_of_parameters() -> None:
    """The sum over rows is pulled back once through what has no rows."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3] = parameter Scale_1/weight
  %1: float32[3] = square(%0)
step
  %2: float32[3] row = gather 0
  %3: float32[3] row = multiply(%2, %1)
  result 0 = %3"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3] = parameter Scale_1/weight
  %1: float32[3] = square(%0)
  %2: float32[1] = constant [2.0]
  %3: float32[3] = multiply(%0, %2)
step
  %4: float32[3] row = gather 0
  %5: float32[3] row = multiply(%4, %1)
  result 0 = %5
step_back
  %6: float32[3] row = gradient 0
  %7: float32[3] row = multiply(%6, %4)
deferred
  %8: float32[3] = sum %7
  %9: float32[3] = multiply(%8, %3)
  gradient of Scale_1/weight[0:3] += %9"""
    assert renumbered(differentiate(parse_program(before), [True])) == after


def test_one_of_two_operands_side_by_side() -> None:
    """Of operands that are gathered together, those get gradients that want one."""
    before = """\
program example
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 0
result 0: float32[6] row
step
  %0: float32[6] row = gather 0, 1
  %1: float32[6] row = square(%0)
  result 0 = %1"""
    after = """\
program example
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 0
result 0: float32[6] row
once
  %0: float32[1] = constant [2.0]
step
  %1: float32[6] row = gather 0, 1
  %2: float32[6] row = square(%1)
  result 0 = %2
step_back
  %3: float32[6] row = gradient 0
  %4: float32[6] row = multiply(%1, %0)
  %5: float32[6] row = multiply(%3, %4)
  %6: float32[3] row = index(%5, key=((0, 3, 1),))
  scatter 0 += %6"""
    assert renumbered(differentiate(parse_program(before), [True])) == after


def test_a_program_without_wanted_gradients() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[3] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = square(%0)
  result 0 = %1"""
    assert renumbered(differentiate(parse_program(before), [True])) == renumbered(parse_program(before))
