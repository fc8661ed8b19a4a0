"""The text of a program is read back: what it says is all that a program holds."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.engine.program.instructions import (
    LoadConstant,
    LoadParameter,
)
from arrows.engine.program.program import (
    Program,
)
from arrows.engine.program.text import format_program, parse_program
from arrows.ops import INVARIANT, Parameter, Var
from arrows.typesys import ArrowValueError
from arrows.typesys import types as T

FC = """\
program FC_1
operand 0: float32[3] row of slab 2, differentiated
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter FC_1/weight
  %1: float32[4] = parameter FC_1/bias
  %2: float32[4, 3] = transpose(%0, axes=(-1, -2))
step
  %3: float32[3] row = gather 0
  %4: float32[4] row = matmul(%3, %0)
  %5: float32[4] row = add(%4, %1)
  %6: float32[4] row = tanh(%5)
  result 0 = %6
step_back
  %7: float32[4] row = gradient 0
  %8: float32[4] row = square(%6)
  %9: float32[4] row = multiply(%7, %8)
  %10: float32[4] row = subtract(%7, %9)
  %11: float32[3] row = matmul(%10, %2)
  scatter 0 += %11
deferred
  %12: float32[3, 4] = sum outer(%3, %10)
  %13: float32[4] = sum %10
  gradient of FC_1/weight[0:3, 0:4] += %12
  gradient of FC_1/bias[0:4] += %13"""

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
  %17: float32[2] row in scratch 0 = call add(%9, %10)
  %18: float32[2, 2] row in %19[..., 0:2, :] = outer(%9, %10)
  result 0 = %16
step_back
  %11: float32[4] row = gradient 0
  %12: float32[2] row = index(%11, key=((0, 2, 1),))
  %13: float32[2] row in saved 0 = negative(%12)
  %14: float32[4] row in scatter 0 = pad_slice(%13, key=((0, 2, 1),), shape=(4,))
  scatter 0, 1 += %14
deferred
  %15: float32[2, 2] = sum sparse scatter_row(%7, %4, size=2)
  gradient of cell/weight[sparse] += %15"""

MADE_ELSEWHERE = "%4: int64 row = gather 2\n  %19: float32[3, 2] row in scratch 3 = negative(%18)\n  "
ALLOCATED = ALLOCATED.replace("%5: float32[4] row in", MADE_ELSEWHERE + "%5: float32[4] row in")


@pytest.mark.parametrize("text", [FC, ALLOCATED])
def test_a_program_is_read_back(text):
    program = parse_program(text)
    assert format_program(program) == str(program) == text
    assert str(parse_program(str(program))) == text


@pytest.mark.parametrize(
    "array",
    [
        np.array(0.5, "float32"),
        np.array([0.1, 1e-30, -0.0], "float32"),
        np.array([[1, 2], [3, 4]], "int8"),
        np.array([True, False]),
        np.array([np.inf, -np.inf, np.nan, 3], "float64"),
        np.array([0.1, 1 / 3], "float16"),
        np.zeros((600, 2), "float64"),
        np.full(3, -0.0, "float32"),
        np.zeros((0, 3), "float32"),
        np.array([2**64 - 1], "uint64"),
        np.arange(64, dtype="float32"),
    ],
    ids=str,
)
def test_constants_keep_their_bytes(array):
    value = Var(0, T.Tensor(array.shape, array.dtype.name), INVARIANT)
    program = Program(name="f", operands=(), results=(), regions={"once": (LoadConstant(value, array),)})
    (load,) = parse_program(str(program)).region("once")
    assert isinstance(load, LoadConstant) and load.result == value
    assert load.array.dtype == array.dtype and load.array.shape == array.shape
    assert load.array.tobytes() == array.tobytes()


def test_a_long_constant_is_named_and_not_read():
    array = np.arange(65, dtype="float32")
    value = Var(0, T.Tensor((65,)), INVARIANT)
    program = Program(name="f", operands=(), results=(), regions={"once": (LoadConstant(value, array),)})
    assert str(program).endswith("%0: float32[65] = constant float32[65]")
    with pytest.raises(ArrowValueError, match="line 3 of the program: a constant of so many numbers"):
        parse_program(str(program))


def test_layers_are_those_of_the_caller():
    layer = ar.FC(4)
    spec = Parameter("weight", (3, 4), "float32", lambda generator, shape, dtype: np.zeros(shape, dtype))
    program = parse_program(FC, parameters={"FC_1/weight": (layer, spec)})
    weight, bias, _ = program.region("once")
    assert isinstance(weight, LoadParameter) and weight.owner is layer and weight.spec is spec
    assert isinstance(bias, LoadParameter) and bias.owner is not layer


STEP = "program f\nresult 0: float32 row\nstep\n%0: float32 row = gather 0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a program begins with a line `program NAME`"),
        ("step", "a program begins with a line `program NAME`"),
        ("operand 0: float32 of slab 1", "line 1 of the program: a program begins"),
        ("program f\nfloat32", "line 2 of the program: neither an operand, nor a result, nor a region"),
        ("program f\noperand 1: float32 row of slab 0", "line 2 of the program: expected number 0"),
        ("program f\nstep\nonce", "line 3 of the program: the region once stands before step"),
        ("program f\ndistinct rows of operand 0: some %1", "expected spread, summed or products, got 'some'"),
        (STEP + "%1: float32 row = add(%0, %2)", "line 5 of the program: nothing makes %2"),
        (
            STEP + "%1: float32 row = plus(%0, %0)",
            "line 5 .*: there is no primitive named 'plus'",
        ),
        (STEP + "%0: float32[3] row = tanh(%0)", r"line 5 of the program: %0 is %0: float32 row elsewhere"),
        (STEP + "%1: float33 row = tanh(%0)", "line 5 of the program: .*float33"),
        (STEP + "%1: float32 row = tanh %0", "line 5 of the program: no instruction"),
        (STEP + "%1: float32 row = tanh(%0, 3)", "line 5 of the program: expected attributes"),
        (STEP + "%1: float32 row = tanh(%0, x=y)", "'x=y' is no literal"),
        (STEP + "%1: float32 row = tanh(%0, x=[1])", "the attribute x is a list"),
        (STEP + "%1: float32 row = tanh(%0, x=)", "'x=' cannot be read"),
        (STEP + "%1: float32 row in attic 3 = tanh(%0)", "line 5 of the program: 'attic 3' is no memory"),
        (STEP + "result 0 = 3", "expected values such as %4, got '3'"),
        (STEP + "result 0 = %0, %0", "expected one value, got '%0, %0'"),
        (STEP + "scatter 0, += %0", "expected numbers, got '0,'"),
        (STEP + "gradient of f/w[0:3] += %0", "nothing reads the parameter f/w, whose shape is not known"),
        (STEP + "%1: float32 = parameter w", "'w' is no parameter such as FC_1/weight"),
        (STEP + "%1: float32 = constant [1, 2]", r"the numbers have the shape \[2\]"),
        (STEP + "%1: int8 = constant 300", "'300' are no numbers of int8"),
        (STEP + "map\n%1: float32 row = tanh(%0)", "the text ends inside of a `map`"),
        (STEP + "map\n%1: float32 row = tanh(%0)\nlate", "the `map` before it has no end"),
        (STEP + "nonsense", "line 5 of the program: no instruction: 'nonsense'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text, message):
    with pytest.raises(ArrowValueError, match=message):
        parse_program(text)
