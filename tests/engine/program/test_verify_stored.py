"""What lies in another type is read and written as what it is."""

from __future__ import annotations

import pytest

from arrows.engine.program.text import parse_program
from arrows.engine.program.verify import ProgramError, verify_program

RIGHT = """\
program example
for kernels
rows delivered as bfloat16
operand 0: float32[4] row of slab 0, differentiated
result 0: float32[3] row
once
  %0: float32[4, 3] = parameter FC/weight
  %1: float32[3, 4] = transpose(%0, axes=(-1, -2))
  %12: float32[3] = parameter FC/bias
  %13: float32[3] as bfloat16 = downcast %12
  %2: float32[4, 3] as bfloat16 = downcast %0
  %3: float32[3, 4] as bfloat16 = transpose(%2, axes=(-1, -2))
step
  scratch 0: float32[3] row
  %4: float32[4] row in gathered 0 as bfloat16 = gather 0
  %5: float32[3] row in scratch 0 = matmul(%4, %2)
  %6: float32[3] row in result 0 = tanh(%5)
  result 0 = %6
step_back
  %7: float32[3] row = gradient 0
  %8: float32[3] row in saved 0 as bfloat16 = multiply(%7, %7)
  %9: float32[4] row in scatter 0 = matmul(%8, %3)
  scatter 0 += %9
deferred
  %10: float32[4, 3] = sum outer(%4, %8)
  %11: float32[3] = sum %8
  gradient of FC/weight[0:4, 0:3] += %10
"""


def test_kernels_alone_deliver_rows() -> None:
    text = """\
program f
rows delivered as bfloat16
operand 0: float32 row of slab 0
result 0: float32 row
step
  %0: float32 row = gather 0
  %1: float32 row in result 0 = tanh(%0)
  result 0 = %1"""
    with pytest.raises(ProgramError, match="kernels alone deliver rows"):
        verify_program(parse_program(text))
    verify_program(parse_program(text.replace("rows", "for kernels\nrows", 1)))


def test_a_right_program() -> None:
    verify_program(parse_program(RIGHT))


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("for kernels\nrows delivered as bfloat16\n", "", "%13 cannot be stored as bfloat16"),
        (" as bfloat16 = downcast", " = downcast", "%13 is rounded and not stored"),
        ("%3: float32[3, 4] as bfloat16", "%3: float32[3, 4]", "%3 is not stored as what it shows"),
        ("%0: float32[4, 3] =", "%0: float32[4, 3] as bfloat16 =", "%0 is stored and not rounded"),
        ("in scratch 0 =", "in scratch 0 as bfloat16 =", "%5 does not fit scratch 0"),
        ("in result 0 =", "in result 0 as bfloat16 =", "%6 must not be stored as bfloat16"),
        ("matmul(%4, %2)", "matmul(%4, %0)", "the factors are not stored alike"),
        ("saved 0 as bfloat16", "saved 0 as float16", "the factors are not stored alike"),
        ("= tanh(%5)", "= add(%5, %13)", "products alone read what is rounded"),
        ("step\n", "  %14: float32[3] = tanh(%13)\nstep\n", "%13 is stored, and no kernel runs this"),
        ("sum outer(%4, %8)", "sum sparse outer(%4, %8)", "may be row-sparse"),
    ],
)  # fmt: skip
def test_a_wrong_program(old: str, new: str, wrong: str) -> None:
    assert old in RIGHT
    with pytest.raises(ProgramError) as refused:
        verify_program(parse_program(RIGHT.replace(old, new, 1)), "halve")
    assert wrong in str(refused.value)
