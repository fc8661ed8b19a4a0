"""The text of a program says all that a program holds."""

from __future__ import annotations

import numpy as np
import pytest

from arrows.engine.program.instructions import LoadConstant
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Var
from arrows.typesys import types as T
from tests.engine.program.written import written

ALLOCATED = """\
program cell
operand 0: float32[2] row of slab 2, early, differentiated
operand 1: float32[2] row of slab 2, early
operand 2: int64 elements 0 of slab 3
result 0: float32[4] row
result 1: float32 elements 0
distinct rows of operand 0: spread %7; summed %13; products %15
once
  %0: float32[2, 2] = parameter cell/weight
  %1: float32[2, 2] = transpose(%0, axes=(-1, -2))
  %2: float32[2] = constant [0.1, -inf]
  %3: uint64 row = dropout keys
early
  scratch 0: float32[2] row
  %6: float32[2] row in gathered 0 = gather 0
  %7: float32[2] row in kept 0 = matmul(%6, %0)
step
  scratch 0: float32[2] row
  scratch 1: float32[2] elements 0
  %5: float32[4] row in gathered 1 = gather 0, 1
  map
    %8: float32[2] row in scratch 0 = index(%5, key=((0, 2, 1),))
    %9: float32[2] row in %16[..., 0:2] = dropout(%8, %3, rate=0.5)
    %10: float32[2] row in %16[..., 2:4] = add(%9, %2)
  -> %9, %10
  %16: float32[4] row in result 0 = concat(%9, %10, axis=-1)
  %17: float32[2] row in scratch 0 = add(%9, %10)
  %18: float32[2, 2] row in %19[..., 0:2, :] = outer(%9, %10)
  result 0 = %16
step_back
  %11: float32[4] row = gradient 0
  %12: float32[2] row = index(%11, key=((0, 2, 1),))
  %13: float32[2] row in kept 1 = negative(%12)
  %14: float32[4] row in scatter 0 = pad_slice(%13, key=((0, 2, 1),), shape=(4,))
  scatter 0, 1 += %14
deferred
  %15: float32[2, 2] = sum sparse scatter_row(%7, %4, size=2)
  gradient of cell/weight[sparse] += %15"""

MADE_ELSEWHERE = "%4: int64 row = gather 2\n  %19: float32[3, 2] row in scratch 3 = negative(%18)\n  "
ALLOCATED = ALLOCATED.replace("%5: float32[4] row in", MADE_ELSEWHERE + "%5: float32[4] row in")


def test_the_text_of_a_program():
    assert str(written(ALLOCATED)) == ALLOCATED


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(0.5, "float32"), "0.5"),
        (np.array([0.1, 1e-30, -0.0], "float32"), "[0.1, 1e-30, -0.0]"),
        (np.array([[1, 2], [3, 4]], "int8"), "[[1, 2], [3, 4]]"),
        (np.array([True, False]), "[True, False]"),
        (np.array([np.inf, -np.inf, np.nan, 3], "float64"), "[inf, -inf, nan, 3.0]"),
        (np.array([0.1, 1 / 3], "float16"), "[0.1, 0.3333]"),
        (np.zeros((600, 2), "float64"), "0.0"),
        (np.full(3, -0.0, "float32"), "-0.0"),
        (np.array([0.0, -0.0], "float32"), "[0.0, -0.0]"),
        (np.zeros((0, 3), "float32"), "[]"),
        (np.array([2**64 - 1], "uint64"), "[18446744073709551615]"),
        (np.arange(65, dtype="float32"), "float32[65]"),
    ],
    ids=str,
)
def test_the_text_of_a_constant(array, text):
    value = Var(0, T.Tensor(array.shape, array.dtype.name), INVARIANT)
    program = Program(name="f", operands=(), results=(), regions={"once": (LoadConstant(value, array),)})
    assert str(program).endswith(f"%0: {value.type} = constant {text}")
