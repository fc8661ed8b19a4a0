"""Sums over rows are pushed down to what can be summed without making its rows."""

from __future__ import annotations

from arrows.engine.program.passes.push_sums import push_sums
from arrows.engine.program.text import parse_program
from arrows.testing import verify_program
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


def test_kernels_make_the_rows_of_an_elementwise_product() -> None:
    """Then to sum them is one launch."""
    program = """\
program example
for kernels
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3] = parameter LayerNorm_1/gain
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = multiply(%1, %0)
  result 0 = %2
step_back
  %3: float32[3] row = gradient 0
  %4: float32[3] row = multiply(%1, %3)
deferred
  %5: float32[3] = sum %4
  gradient of LayerNorm_1/gain[0:3] += %5"""
    assert renumbered(push_sums(parse_program(program))) == program
    pushed = renumbered(push_sums(parse_program(program.replace("for kernels\n", ""))))
    assert "sum multiply(%1, %3)" in pushed
    added = program.replace("multiply(%1, %3)", "add(%1, %3)")
    assert renumbered(push_sums(parse_program(added))) == added


def test_kernels_make_no_rows_of_outer_products() -> None:
    program = """\
program example
for kernels
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = matmul(%1, %0)
  result 0 = %2
step_back
  %3: float32[3] row = gradient 0
  %4: float32[3, 3] row = outer(%1, %3)
  %5: float32[3, 3] row = outer(%3, %3)
  %6: float32[3, 3] row = add(%4, %5)
deferred
  %7: float32[3, 3] = sum %6
  gradient of FC_1/weight[0:3, 0:3] += %7"""
    pushed = renumbered(push_sums(parse_program(program)))
    assert "sum outer(%1, %3)" in pushed and "sum outer(%3, %3)" in pushed


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


def test_a_sum_of_a_view() -> None:
    """A view is summed as what it shows, be it of the steps or made again for the sum."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32 row
once
  %0: float32[3, 1] = parameter FC_1/weight
  %1: float32[1] = parameter FC_1/bias
step
  %2: float32[3] row = gather 0
  %3: float32[1] row = matmul(%2, %0)
  %4: float32[1] row = add(%3, %1)
  %5: float32 row = reshape(%4, shape=())
  result 0 = %5
step_back
  %6: float32 row = gradient 0
  %7: float32[1] row = reshape(%6, shape=(1,))
  %8: float32[3, 1] row = outer(%2, %7)
deferred
  %9: float32[1] row = reshape(%6, shape=(1,))
  %10: float32[1] = sum %9
  %11: float32[3, 1] = sum %8
  gradient of FC_1/weight[0:3, 0:1] += %11
  gradient of FC_1/bias[0:1] += %10"""
    program = push_sums(parse_program(before))
    verify_program(program, after="push_sums")
    after = """\
deferred
  %7: float32[1] row = reshape(%6, shape=(1,))
  %8: float32 = sum %6
  %9: float32[3, 1] = sum outer(%2, %7)
  %10: float32[1] = reshape(%8, shape=(1,))
  gradient of FC_1/weight[0:3, 0:1] += %9
  gradient of FC_1/bias[0:1] += %10"""
    assert renumbered(program).endswith(after)
