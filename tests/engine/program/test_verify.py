"""Programs that break a rule are refused with the place and the reason, one for each kind of rule."""

from __future__ import annotations

import re

import pytest

from tests.engine.program.verify import ProgramError, verify_program
from tests.engine.program.written import written

CELL = """\
program cell
operand 0: float32[3] row of slab 2, early, differentiated
operand 1: float32[4] row of slab 3, differentiated
operand 2: float32[4] row of slab 3, differentiated
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter cell/weight
  %1: float32[4] = parameter cell/bias
  %2: float32[4, 3] = transpose(%0, axes=(-1, -2))
  %3: float32[8, 4] = parameter cell/state
  %4: float32[4, 8] = transpose(%3, axes=(-1, -2))
  %5: float32[4] = constant 0.5
early
  %10: float32[3] row = gather 0
  %11: float32[4] row = matmul(%10, %0)
step
  %20: float32[8] row = gather 1, 2
  %21: float32[4] row = matmul(%20, %3)
  %22: float32[4] row = add(%21, %11)
  %23: float32[4] row = add(%22, %1)
  %24: float32[4] row = tanh(%23)
  result 0 = %24
step_back
  %30: float32[4] row = gradient 0
  map
    %31: float32[4] row = square(%24)
    %32: float32[4] row = multiply(%30, %31)
    %33: float32[4] row = subtract(%30, %32)
  -> %33
  %34: float32[8] row = matmul(%33, %4)
  scatter 1, 2 += %34
late
  %40: float32[3] row = matmul(%33, %2)
  scatter 0 += %40
deferred
  %50: float32[3, 4] = sum outer(%10, %33)
  %51: float32[8, 4] = sum outer(%20, %33)
  %52: float32[4] = sum %33
  gradient of cell/weight[0:3, 0:4] += %50
  gradient of cell/state[0:8, 0:4] += %51
  gradient of cell/bias[0:4] += %52"""

ALLOCATED = """\
program cell
operand 0: float32[3] row of slab 2, early, differentiated
operand 1: float32[4] row of slab 3, differentiated
operand 2: float32[4] row of slab 3, differentiated
result 0: float32[4] row
once
  %0: float32[3, 4] = parameter cell/weight
  %1: float32[8, 4] = parameter cell/state
  %2: float32[4, 8] = transpose(%1, axes=(-1, -2))
  %3: float32[4, 3] = transpose(%0, axes=(-1, -2))
early
  %10: float32[3] row in gathered 0 = gather 0
  %11: float32[4] row in kept 0 = matmul(%10, %0)
step
  scratch 0: float32[4] row
  scratch 1: float32[2] row
  %20: float32[8] row in gathered 1 = gather 1, 2
  %21: float32[4] row in scratch 0 = matmul(%20, %1)
  %22: float32[4] row in scratch 0 = add(%21, %11)
  %23: float32[2] row = index(%22, key=((0, 2, 1),))
  %24: float32[2] row = index(%22, key=((2, 4, 1),))
  %25: float32[2] row in %28[..., 0:2] = tanh(%23)
  %26: float32[2] row in scratch 1 = exp(%24)
  %27: float32[2] row in %28[..., 2:4] = tanh(%26)
  %28: float32[4] row in result 0 = concat(%25, %27, axis=-1)
  result 0 = %28
step_back
  scratch 0: float32[4] row
  %30: float32[4] row = gradient 0
  %31: float32[4] row in scratch 0 = square(%28)
  %32: float32[4] row in scratch 0 = multiply(%30, %31)
  %33: float32[4] row in kept 1 = subtract(%30, %32)
  %34: float32[8] row in scatter 0 = matmul(%33, %2)
  scatter 1, 2 += %34
late
  %40: float32[3] row in scatter 1 = matmul(%33, %3)
  scatter 0 += %40
deferred
  scratch 0: float32[4] row
  %50: float32[3, 4] = sum outer(%10, %33)
  %51: float32[8, 4] = sum outer(%20, %33)
  %53: float32[4] row in scratch 0 = negative(%33)
  %54: float32[8, 4] = sum outer(%20, %53)
  gradient of cell/weight[0:3, 0:4] += %50
  gradient of cell/state[0:8, 0:4] += %51
  gradient of cell/state[0:8, 0:4] += %54"""

EMBEDDING = """\
program embedding
operand 0: int64 row of slab 2
result 0: float32[3] row
once
  %0: float32[9, 3] = parameter embedding/table
step
  %1: int64 row = gather 0
  %2: float32[3] row = lookup(%0, %1)
  result 0 = %2
step_back
  %3: float32[3] row = gradient 0
deferred
  %4: float32[9, 3] = sum sparse scatter_row(%3, %1, size=9)
  gradient of embedding/table[sparse] += %4"""

DROPOUT = """\
program dropout
operand 0: float32[3] elements 0 of slab 2
result 0: float32[3] row
step
  %0: float32[3] elements 0 = gather 0
  %1: uint64 row = dropout keys
  %2: float32[3] row = segment_sum(%0)
  %3: float32[3] row = dropout(%2, %1, rate=0.5)
  result 0 = %3"""


@pytest.mark.parametrize("text", [CELL, ALLOCATED, EMBEDDING, DROPOUT])
def test_a_right_program_is_accepted_and_its_text_says_all_that_it_holds(text):
    verify_program(written(text))
    assert str(written(text)) == text


def cases(text):
    """Pairs of changes of a program and of the message that refuses it; a blank line stands between cases.

    ``OLD => NEW`` replaces a text that stands once in the program; ``LINE << NEW`` puts a line before the one
    that begins so.
    """
    collected = []
    for case in text.strip().split("\n\n"):
        *changes, message = [line.strip() for line in case.splitlines() if not line.startswith("#")]
        collected.append(pytest.param(changes, message, id="; ".join(changes)))
    return collected


def changed(text, changes):
    for change in changes:
        if " << " in change:
            line, _, new = change.partition(" << ")
            places = re.findall(rf"\n *{re.escape(line)}", text)
            old, new = places[0], f"\n{new}{places[0]}"
        else:
            old, _, new = change.partition(" => ")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the program"
        text = text.replace(old, new)
    return written(text)


def refused(program, message):
    with pytest.raises(ProgramError, match=re.escape(message)):
        verify_program(program, after="split")


STRUCTURE = """
add(%22, %1) => add(%24, %1)
    after split: step: %23: float32[4] row = add(%24, %1): %24 is read before it is made

-> %33 => -> %24
    its results are not among its equations'

%5: << %45: float32[4, 4] = constant 1.0
square(%24) => matmul(%24, %45)
    matmul is not element-wise

%21 << %60: float32[4] row = index(%20, key=((0, 4, 1),))
square(%24) => square(%60)
    %60 is a view of the region step

matmul(%20, %3) => matmul(%20, %0)
    step: %21: float32[4] row = matmul(%20, %0): matmul

%52: float32[4] => %52: float64[4]
    %52 is not of the type of the sum

gather 1, 2 => gather 1, 3
    there is no operand 3

early, differentiated => differentiated
    early: %10: float32[3] row = gather 0: operand 0 is not early

late << scatter 1 += %33
    operand 1 gets its gradient again

result 0 = %24 => # nothing
    after split: result 0 is stored 0 times

map << %60: float32[4] row = gradient 0
    the gradient of result 0 is pulled 2 times

sum %33 => sum %1
    what is summed has no rows

weight[0:3, 0:4] => weight[0:3, 0:5]
    the parameter is float32[3, 4]

once << distinct rows of operand 0: spread %21
    distinct: %21 is not made in early
"""

SPARSE = """
[sparse] => [0:9, 0:3]
    %4 may be row-sparse
"""

ELEMENTS = """
%2 << map
%2 << %4: float32[3] elements 0 = tanh(%0)
%2 << %5: uint64 row = add(%1, %1)
%2 << -> %4, %5
    one loop runs over rows of one level

dropout(%2, %1, rate=0.5) => add(%2, %0)
    the operands of add differ in rank or level
"""

MEMORY = """
%21: float32[4] row in scratch 0 => %21: float32[4] row
    step: %21: float32[4] row = matmul(%20, %1): %21 has no memory

%10: float32[3] row in gathered 0 => %10: float32[3] row
    deferred: %50: float32[3, 4] = sum outer(%10, %33): %10 is not held for other regions than early

%25 << %60: float32[4] row in scratch 0 = tanh(%11)
    %23 is read, and %60 has overwritten it

%51 << %60: float32[4] row in kept 1 = negative(%33)
    %33 is read, and %60 has overwritten it

%22: float32[4] row in scratch 0 = add(%21, %11) => %22: float32[4] row in scratch 0 = add(%11, %60)
%22 << %60: float32[4] row in scratch 0 = softmax(%21, axis=-1)
    %60 overwrites its operand %21

square(%28) => square(%30)
step_back << %60: float32[4] row in result 0 = tanh(%11)
    after split: result 0 is overwritten by %60
"""


@pytest.mark.parametrize(("changes", "message"), cases(STRUCTURE))
def test_a_broken_program_is_refused(changes, message):
    refused(changed(CELL, changes), message)


@pytest.mark.parametrize(("changes", "message"), cases(SPARSE))
def test_a_row_sparse_sum_is_nothing_but_a_gradient(changes, message):
    refused(changed(EMBEDDING, changes), message)


@pytest.mark.parametrize(("changes", "message"), cases(ELEMENTS))
def test_levels_are_checked(changes, message):
    refused(changed(DROPOUT, changes), message)


@pytest.mark.parametrize(("changes", "message"), cases(MEMORY))
def test_broken_memory_is_refused(changes, message):
    refused(changed(ALLOCATED, changes), message)
