"""How constants stand in the text of a program; the rest is read back in `test_verify`."""

from __future__ import annotations

import numpy as np
import pytest

from arrows.engine.program.instructions import LoadConstant
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Var
from arrows.typesys import types as T


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
