"""Zeros of a site are folded away."""

from __future__ import annotations

from arrows.engine.program.passes.fold import fold
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_zeros_that_are_joined() -> None:
    """Of a product with zeros the rows of the matrix are left that meet something else."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[2] = constant [0.0, 0.0]
  %1: float32[5, 4] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %3: float32[5] row = concat(%2, %0, axis=-1)
  %4: float32[4] row = matmul(%3, %1)
  result 0 = %4"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[5, 4] = parameter FC_1/weight
  %1: float32[3, 4] = index(%0, key=((0, 3, 1),))
step
  %2: float32[3] row = gather 0
  %3: float32[4] row = matmul(%2, %1)
  result 0 = %3"""
    assert renumbered(fold(parse_program(before))) == after


def test_sums_and_products_with_zeros() -> None:
    """A sum with zeros is the other addend, a product with zeros is zero."""
    before = """\
program example
operand 0: float32[2] row of slab 0
result 0: float32[2] row
result 1: float32[2] row
once
  %0: float32[2] = constant [0.0, 0.0]
step
  %1: float32[2] row = gather 0
  %2: float32[2] row = add(%1, %0)
  %3: float32[2] row = multiply(%2, %0)
  result 0 = %2
  result 1 = %3"""
    after = """\
program example
operand 0: float32[2] row of slab 0
result 0: float32[2] row
result 1: float32[2] row
once
  %0: float32[2] = constant 0.0
step
  %1: float32[2] row = gather 0
  result 0 = %1
  result 1 = %0"""
    assert renumbered(fold(parse_program(before))) == after


def test_other_constants_stay() -> None:
    before = """\
program example
operand 0: float32[2] row of slab 0
result 0: float32[2] row
once
  %0: float32[2] = constant [0.0, 1.0]
step
  %1: float32[2] row = gather 0
  %2: float32[2] row = add(%1, %0)
  result 0 = %2"""
    assert renumbered(fold(parse_program(before))) == renumbered(parse_program(before))
