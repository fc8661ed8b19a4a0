"""Sums over rows are pushed down to what can be summed without making its rows."""

from __future__ import annotations

from arrows.engine.program.passes.push_sums import push_sums
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_a_sum_of_outer_products() -> None:
    """The rows of the outer product are not made."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[4] row = matmul(%1, %0)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
  %4: float32[3, 4] row = outer(%1, %3)
deferred
  %5: float32[3, 4] = sum %4
  gradient of FC_1/weight[0:3, 0:4] += %5"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[4] row = matmul(%1, %0)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
deferred
  %4: float32[3, 4] = sum outer(%1, %3)
  gradient of FC_1/weight[0:3, 0:4] += %4"""
    assert renumbered(push_sums(parse_program(before))) == after


def test_a_sum_of_sums() -> None:
    """The sum of two values is the sum of their sums."""
    before = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[3] row
once
  %0: float32[3] = parameter Bias_1/bias
step
  %1: float32[3] row = gather 0
  %8: float32[3] row = gather 1
  %2: float32[3] row = add(%1, %0)
  %9: float32[3] row = add(%8, %0)
  result 0 = %2
  result 1 = %9
step_back
  %3: float32[3] row = gradient 0
  %4: float32[3] row = gradient 1
  %5: float32[3] row = add(%3, %4)
deferred
  %6: float32[3] = sum %5
  gradient of Bias_1/bias[0:3] += %6"""
    after = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[3] row
once
  %0: float32[3] = parameter Bias_1/bias
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = gather 1
  %3: float32[3] row = add(%1, %0)
  %4: float32[3] row = add(%2, %0)
  result 0 = %3
  result 1 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row = gradient 1
deferred
  %7: float32[3] = sum %6
  %8: float32[3] = sum %5
  %9: float32[3] = add(%8, %7)
  gradient of Bias_1/bias[0:3] += %9"""
    assert renumbered(push_sums(parse_program(before))) == after
