"""What a `concat` puts side by side is gathered as one."""

from __future__ import annotations

from arrows.engine.program.passes.join import join
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_two_operands_side_by_side() -> None:
    """One gather makes the joined value."""
    before = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[6] row = concat(%0, %1, axis=-1)
  %3: float32[6] row = tanh(%2)
  result 0 = %3"""
    after = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[6] row
step
  %0: float32[6] row = gather 0, 1
  %1: float32[6] row = tanh(%0)
  result 0 = %1"""
    assert renumbered(join(parse_program(before))) == after


def test_an_operand_that_is_read_alone_too() -> None:
    """The operand is gathered alone as well."""
    before = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[6] row = concat(%0, %1, axis=-1)
  %3: float32[6] row = tanh(%2)
  %4: float32[3] row = tanh(%0)
  result 0 = %4
  result 1 = %3"""
    after = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[6] row = gather 0, 1
  %2: float32[6] row = tanh(%1)
  %3: float32[3] row = tanh(%0)
  result 0 = %3
  result 1 = %2"""
    assert renumbered(join(parse_program(before))) == after


def test_operands_of_two_slabs_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 1
result 0: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[6] row = concat(%0, %1, axis=-1)
  %3: float32[6] row = tanh(%2)
  result 0 = %3"""
    assert renumbered(join(parse_program(before))) == renumbered(parse_program(before))


def test_a_join_that_is_a_result_stay() -> None:
    before = """\
program example
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[6] row = concat(%0, %1, axis=-1)
  result 0 = %2"""
    assert renumbered(join(parse_program(before))) == renumbered(parse_program(before))
