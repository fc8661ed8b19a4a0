"""Padded slices that are added up are joined."""

from __future__ import annotations

from arrows.engine.program.passes.join_slices import join_slices
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_slices_with_gaps() -> None:
    """Slices are written side by side, with zeros between."""
    before = """\
program example
operand 0: float32[6] row of slab 0, differentiated
result 0: float32[2] row
result 1: float32[2] row
step
  %0: float32[6] row = gather 0
  %1: float32[2] row = index(%0, key=((0, 2, 1),))
  %2: float32[2] row = index(%0, key=((3, 5, 1),))
  result 0 = %1
  result 1 = %2
step_back
  %3: float32[2] row = gradient 0
  %4: float32[2] row = gradient 1
  %5: float32[6] row = pad_slice(%4, key=((3, 5, 1),), shape=(6,))
  %6: float32[6] row = pad_slice(%3, key=((0, 2, 1),), shape=(6,))
  %7: float32[6] row = add(%5, %6)
  scatter 0 += %7"""
    after = """\
program example
operand 0: float32[6] row of slab 0, differentiated
result 0: float32[2] row
result 1: float32[2] row
once
  %0: float32[1] = constant [0.0]
  %1: float32[1] = constant [0.0]
step
  %2: float32[6] row = gather 0
  %3: float32[2] row = index(%2, key=((0, 2, 1),))
  %4: float32[2] row = index(%2, key=((3, 5, 1),))
  result 0 = %3
  result 1 = %4
step_back
  %5: float32[2] row = gradient 0
  %6: float32[2] row = gradient 1
  %7: float32[6] row = concat(%5, %0, %6, %1, axis=-1)
  scatter 0 += %7"""
    assert renumbered(join_slices(parse_program(before))) == after


def test_slices_that_overlap_stay() -> None:
    before = """\
program example
operand 0: float32[4] row of slab 0, differentiated
result 0: float32[3] row
result 1: float32[3] row
step
  %0: float32[4] row = gather 0
  %1: float32[3] row = index(%0, key=((0, 3, 1),))
  %2: float32[3] row = index(%0, key=((1, 4, 1),))
  result 0 = %1
  result 1 = %2
step_back
  %3: float32[3] row = gradient 0
  %4: float32[3] row = gradient 1
  %5: float32[4] row = pad_slice(%4, key=((1, 4, 1),), shape=(4,))
  %6: float32[4] row = pad_slice(%3, key=((0, 3, 1),), shape=(4,))
  %7: float32[4] row = add(%5, %6)
  scatter 0 += %7"""
    assert renumbered(join_slices(parse_program(before))) == renumbered(parse_program(before))
