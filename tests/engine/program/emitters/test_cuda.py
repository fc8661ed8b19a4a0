"""Regions for a device with kernels: which lines are launches, and what products read."""

from __future__ import annotations

import pytest

from arrows.engine.device import get_device
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.program.emitters.arguments import RowsOf
from arrows.engine.program.emitters.cuda import emit_kernels
from arrows.engine.program.emitters.row_matrix import RowMatrix, flat, row_matrix
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.program import Program
from arrows.engine.program.text import parse_program

PROGRAM = """\
program example
for kernels
operand 0: float32[4] row of slab 0, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
result 1: float32[2] row
once
  %0: float32[2, 3] = parameter FC_1/weight
step
  %1: float32[4] row = gather 0
  %2: float32[2] row = index(%1, key=((1, 3, 1),))
  %3: float32[3] row = matmul(%2, %0)
  %4: float32[3] row = gather 1
  map
    %5: float32[3] row = add(%3, %4)
    %6: float32[3] row = tanh(%5)
  -> %6
  result 0 = %6
  result 1 = %2
"""


MATRICES = """\
program example
for kernels
operand 0: float32[2, 3] row of slab 0
result 0: float32[2, 3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
step
  %1: float32[2, 3] row = gather 0
  %2: float32[2, 3] row = matmul(%1, %0)
  %3: float32[6] row = reshape(%2, shape=(6,))
  result 0 = %2
"""


def lines(program: Program, region: str) -> list[str]:
    """The lines of a step that compute something."""
    code = emit_kernels(program, region, get_device("fake-kernels"))
    assert code is not None
    return [line.strip() for line in code.source.splitlines() if line.strip().endswith("(j)")]


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
def test_nearly_every_line_is_a_launch() -> None:
    program = allocate(parse_program(PROGRAM))
    written = lines(program, "step")
    assert [line.rstrip("0123456789(j)") for line in written] == ["launch", "product", "launch", "launch"]
    code = emit_kernels(program, "step", get_device("fake-kernels"))
    assert code is not None
    # Rows that a product reads are copied, the others loaded; a result that is a slice is copied.
    assert len(code.kernels) == 3


def matrix(var: int, program: Program) -> RowMatrix | None:
    (found,) = {each for _, made in program for each in made.writes if each.id == var}
    return row_matrix(program, found)


def test_rows_as_a_matrix() -> None:
    program = allocate(parse_program(PROGRAM))
    values = {each.id: each for _, made in program for each in made.writes}
    assert matrix(1, program) == RowMatrix(
        argument=RowsOf(values[1]), offset=0, stride=4, height=1, width=4, level=-1, dtype="float32"
    )
    part = matrix(2, program)  # a slice of the gathered rows
    assert part is not None and (part.offset, part.stride, part.width) == (1, 4, 2)
    assert part.argument == RowsOf(values[1])
    assert matrix(4, program) is None  # loaded by kernels: the rows lie apart


def test_a_matrix_in_each_row() -> None:
    program = allocate(parse_program(MATRICES))
    rows = matrix(2, program)
    assert rows is not None and (rows.height, rows.width, rows.stride) == (2, 3, 3)
    vectors = matrix(3, program)
    assert vectors is not None and (vectors.height, vectors.width) == (1, 6)
    together = flat(rows, 6)
    assert together is not None and (together.height, together.width, together.stride) == (1, 6, 6)
