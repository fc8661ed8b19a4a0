"""What depends on early operands alone runs before the steps."""

from __future__ import annotations

from arrows.engine.program.passes.split import split
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_product_of_a_word_and_a_state() -> None:
    """The product with the word and the bias run early."""
    before = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[4] row of slab 1
result 0: float32[4] row
once
  %0: float32[7, 4] = parameter RNN_1/weight
  %1: float32[4] = parameter RNN_1/bias
step
  %2: float32[3] row = gather 0
  %3: float32[4] row = gather 1
  %4: float32[7] row = concat(%2, %3, axis=-1)
  %5: float32[4] row = matmul(%4, %0)
  %6: float32[4] row = add(%5, %1)
  %7: float32[4] row = tanh(%6)
  result 0 = %7"""
    after = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[4] row of slab 1
result 0: float32[4] row
once
  %0: float32[7, 4] = parameter RNN_1/weight
  %1: float32[4] = parameter RNN_1/bias
  %2: float32[3, 4] = index(%0, key=((0, 3, 1),))
  %3: float32[4, 4] = index(%0, key=((3, 7, 1),))
early
  %4: float32[3] row = gather 0
  %5: float32[4] row = matmul(%4, %2)
  %6: float32[4] row = add(%5, %1)
step
  %7: float32[4] row = gather 1
  %8: float32[4] row = matmul(%7, %3)
  %9: float32[4] row = add(%6, %8)
  %10: float32[4] row = tanh(%9)
  result 0 = %10"""
    assert renumbered(split(parse_program(before))) == after


def test_cheap_work_on_early_operands_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[3] row of slab 1
result 0: float32[3] row
step
  %2: float32[3] row = gather 0
  %3: float32[3] row = gather 1
  %4: float32[3] row = tanh(%2)
  %5: float32[3] row = add(%4, %3)
  result 0 = %5"""
    assert renumbered(split(parse_program(before))) == renumbered(parse_program(before))


def test_operands_that_are_all_early_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0, early
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %5: float32[4] row = matmul(%2, %0)
  result 0 = %5"""
    assert renumbered(split(parse_program(before))) == renumbered(parse_program(before))


def test_a_view_of_what_runs_early() -> None:
    """A view is made where it is read, in the step."""
    before = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[2] row of slab 1
result 0: float32[2] row
once
  %0: float32[3, 4] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %3: float32[2] row = gather 1
  %4: float32[4] row = matmul(%2, %0)
  %5: float32[2] row = index(%4, key=((0, 2, 1),))
  %6: float32[2] row = add(%5, %3)
  result 0 = %6"""
    after = """\
program example
operand 0: float32[3] row of slab 0, early
operand 1: float32[2] row of slab 1
result 0: float32[2] row
once
  %0: float32[3, 4] = parameter FC_1/weight
early
  %1: float32[3] row = gather 0
  %2: float32[4] row = matmul(%1, %0)
step
  %3: float32[2] row = gather 1
  %4: float32[2] row = index(%2, key=((0, 2, 1),))
  %5: float32[2] row = add(%4, %3)
  result 0 = %5"""
    assert renumbered(split(parse_program(before))) == after
