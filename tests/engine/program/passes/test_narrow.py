"""Columns that nobody reads are not computed."""

from __future__ import annotations

from arrows.engine.program.passes.narrow import narrow
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_columns_that_nobody_reads() -> None:
    """A slice is pushed through the bias to the product that makes it."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[2] row
once
  %0: float32[3, 8] = parameter FC_1/weight
  %1: float32[8] = parameter FC_1/bias
step
  %2: float32[3] row = gather 0
  %3: float32[8] row = matmul(%2, %0)
  %4: float32[8] row = add(%3, %1)
  %5: float32[2] row = index(%4, key=((2, 4, 1),))
  result 0 = %5"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[2] row
once
  %0: float32[3, 8] = parameter FC_1/weight
  %1: float32[8] = parameter FC_1/bias
  %2: float32[3, 2] = index(%0, key=((0, 3, 1), (2, 4, 1)))
  %3: float32[2] = index(%1, key=((2, 4, 1),))
step
  %4: float32[3] row = gather 0
  %5: float32[2] row = matmul(%4, %2)
  %6: float32[2] row = add(%5, %3)
  result 0 = %6"""
    assert renumbered(narrow(parse_program(before))) == after


def test_two_slices() -> None:
    """The range that covers all slices is computed."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[1] row
result 1: float32[1] row
once
  %0: float32[3, 8] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %3: float32[8] row = matmul(%2, %0)
  %4: float32[1] row = index(%3, key=((2, 3, 1),))
  %5: float32[1] row = index(%3, key=((4, 5, 1),))
  result 0 = %4
  result 1 = %5"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[1] row
result 1: float32[1] row
once
  %0: float32[3, 8] = parameter FC_1/weight
  %1: float32[3, 3] = index(%0, key=((0, 3, 1), (2, 5, 1)))
step
  %2: float32[3] row = gather 0
  %3: float32[3] row = matmul(%2, %1)
  %4: float32[1] row = index(%3, key=((0, 1, 1),))
  %5: float32[1] row = index(%3, key=((2, 3, 1),))
  result 0 = %4
  result 1 = %5"""
    assert renumbered(narrow(parse_program(before))) == after


def test_a_result_that_is_read_whole_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[8] row
result 1: float32[1] row
once
  %0: float32[3, 8] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %3: float32[8] row = matmul(%2, %0)
  %4: float32[1] row = index(%3, key=((2, 3, 1),))
  result 0 = %3
  result 1 = %4"""
    assert renumbered(narrow(parse_program(before))) == renumbered(parse_program(before))
