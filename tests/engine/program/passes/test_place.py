"""Pieces of gradients go straight to their range."""

from __future__ import annotations

from arrows.engine.program.passes.place import place
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_a_piece_of_a_matrix() -> None:
    """The gradient is written to the rows that it is of."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[5, 4] = parameter FC_1/weight
  %1: float32[3, 4] = index(%0, key=((0, 3, 1),))
step
  %2: float32[3] row = gather 0
  %3: float32[4] row = matmul(%2, %1)
  result 0 = %3
step_back
  %4: float32[4] row = gradient 0
deferred
  %5: float32[3, 4] = sum outer(%2, %4)
  %6: float32[5, 4] = pad_slice(%5, key=((0, 3, 1),), shape=(5, 4))
  gradient of FC_1/weight[0:5, 0:4] += %6"""
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
  result 0 = %3
step_back
  %4: float32[4] row = gradient 0
deferred
  %5: float32[3, 4] = sum outer(%2, %4)
  gradient of FC_1/weight[0:3, 0:4] += %5"""
    assert renumbered(place(parse_program(before))) == after


def test_rows_of_a_table() -> None:
    """The gradient of a table that is only looked up stays row-sparse."""
    before = """\
program example
operand 0: int32 row of slab 0
result 0: float32[4] row
once
  %0: float32[10, 4] = parameter Embedding_1/table
step
  %1: int32 row = gather 0
  %2: float32[4] row = lookup(%0, %1)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
deferred
  %4: float32[10, 4] = sum scatter_row(%3, %1, size=10)
  gradient of Embedding_1/table[0:10, 0:4] += %4"""
    after = """\
program example
operand 0: int32 row of slab 0
result 0: float32[4] row
once
  %0: float32[10, 4] = parameter Embedding_1/table
step
  %1: int32 row = gather 0
  %2: float32[4] row = lookup(%0, %1)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
deferred
  %4: float32[10, 4] = sum sparse scatter_row(%3, %1, size=10)
  gradient of Embedding_1/table[sparse] += %4"""
    assert renumbered(place(parse_program(before))) == after


def test_rows_of_a_table_that_is_read_otherwise() -> None:
    """Where anything else is added, all of it is dense."""
    before = """\
program example
operand 0: int32 row of slab 0
result 0: float32[4] row
once
  %0: float32[10, 4] = parameter Embedding_1/table
step
  %1: int32 row = gather 0
  %2: float32[4] row = lookup(%0, %1)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
deferred
  %4: float32[10, 4] = sum scatter_row(%3, %1, size=10)
  %5: float32[10, 4] = multiply(%0, %0)
  %6: float32[10, 4] = add(%4, %5)
  gradient of Embedding_1/table[0:10, 0:4] += %6"""
    after = """\
program example
operand 0: int32 row of slab 0
result 0: float32[4] row
once
  %0: float32[10, 4] = parameter Embedding_1/table
step
  %1: int32 row = gather 0
  %2: float32[4] row = lookup(%0, %1)
  result 0 = %2
step_back
  %3: float32[4] row = gradient 0
deferred
  %4: float32[10, 4] = sum scatter_row(%3, %1, size=10)
  %5: float32[10, 4] = multiply(%0, %0)
  gradient of Embedding_1/table[0:10, 0:4] += %4
  gradient of Embedding_1/table[0:10, 0:4] += %5"""
    assert renumbered(place(parse_program(before))) == after
