"""Values of float32 lie in 16 bits where kernels and products alone read and write them."""

from __future__ import annotations

import pytest

from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.passes.halve import halve
from arrows.engine.program.program import Program
from arrows.engine.program.text import parse_program
from arrows.engine.program.verify import verify_program

HEAD = """\
program example
for kernels
operand 0: float32[4] row of slab 0, differentiated
operand 1: float32[4] row of slab 1, differentiated
result 0: float32[3] row
"""
LAYER = """\
once
  %0: float32[4, 3] = parameter FC/weight
  %1: float32[3, 4] = transpose(%0, axes=(-1, -2))
step
  %2: float32[4] row = gather 0
  %3: float32[3] row = matmul(%2, %0)
  %4: float32[3] row = tanh(%3)
  result 0 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row = multiply(%5, %5)
  %7: float32[4] row = matmul(%6, %1)
  scatter 0 += %7
deferred
  %8: float32[4, 3] = sum outer(%2, %6)
  %9: float32[3] = sum %6
  gradient of FC/weight[0:4, 0:3] += %8"""


def halved(text: str, storage: str = "bfloat16") -> Program:
    program = allocate(parse_program(text))
    verify_program(program)
    program = halve(program, storage)
    verify_program(program, "halve")
    assert str(parse_program(str(program))) == str(program)
    return program


@pytest.mark.parametrize("storage", ["bfloat16", "float16"])
def test_what_is_kept_and_what_products_multiply(storage: str) -> None:
    """The matrix is rounded once a batch, and its transpose shows what lies there."""
    program = halved(HEAD + LAYER, storage)
    head = HEAD.replace("for kernels\n", f"for kernels\nrows delivered as {storage}\n")
    assert (
        str(program).removeprefix(head)
        == f"""\
once
  %0: float32[4, 3] = parameter FC/weight
  %1: float32[3, 4] = transpose(%0, axes=(-1, -2))
  %11: float32[4, 3] as {storage} = downcast %0
  %12: float32[3, 4] as {storage} = transpose(%11, axes=(-1, -2))
step
  scratch 0: float32[3] row
  %2: float32[4] row in gathered 0 as {storage} = gather 0
  %3: float32[3] row in scratch 0 = matmul(%2, %11)
  %4: float32[3] row in result 0 = tanh(%3)
  result 0 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row in saved 0 as {storage} = multiply(%5, %5)
  %7: float32[4] row in scatter 0 = matmul(%6, %12)
  scatter 0 += %7
deferred
  %8: float32[4, 3] = sum outer(%2, %6)
  %9: float32[3] = sum %6
  gradient of FC/weight[0:4, 0:3] += %8"""
    )


def test_logarithms_of_sums_stay() -> None:
    """Rounding 80 to 8 bits would change its exponential by a sixth."""
    text = """\
step
  %2: float32[4] row = gather 0
  %3: float32[4] row = tanh(%2)
  %4: float32 row = logsumexp(%3, axes=(-1,), keepdims=False)
  %5: float32[3] row = index(%3, key=((0, 3, 1),))
  result 0 = %5
step_back
  %6: float32[3] row = gradient 0
  %7: float32[1] row = reshape(%4, shape=(1,))
  %8: float32[4] row = subtract(%3, %7)
  scatter 0 += %8"""
    program = halved(HEAD + text)
    assert "%3: float32[4] row in kept 0 as bfloat16 = tanh(%2)" in str(program)
    assert "%4: float32 row in kept 1 = logsumexp" in str(program)
