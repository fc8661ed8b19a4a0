"""For each rule of programs one that breaks it, and is refused with the place and the reason."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from arrows.engine.program.instructions import (
    SumRows,
)
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
# Single assignment
add(%22, %1) => add(%24, %1)
    after split: step: %23: float32[4] row = add(%24, %1): %24 is read before it is made

%24 << %23: float32[4] row = add(%22, %1)
    %23 is made already

# What is inside of a map is seen by nothing else
-> %33 => -> %24
    its results are not among its equations'

%5: << %45: float32[4, 4] = constant 1.0
square(%24) => matmul(%24, %45)
    matmul is not element-wise

%31: float32[4] row = square(%24) => %31: float32[4] = square(%1)
    %31 has no rows, and is made in step_back

# Views stay in their region
%21 << %60: float32[4] row = index(%20, key=((0, 4, 1),))
square(%24) => square(%60)
    %60 is a view of the region step

# Types and levels
matmul(%20, %3) => matmul(%20, %0)
    step: %21: float32[4] row = matmul(%20, %0): matmul

%52: float32[4] => %52: float64[4]
    %52 is not of the type of the sum

%5: << %6: float32[4] row = square(%1)
    %6 is not of the type of square: %6: float32[4] invariant

%21 << %60: float32[4] = square(%1)
    %60 has no rows, and is made in step

# Operands
gather 1, 2 => gather 1, 3
    there is no operand 3

gather 1, 2 => gather 0, 2
    the operands are of different slabs, types or levels

early, differentiated => differentiated
    early: %10: float32[3] row = gather 0: operand 0 is not early

scatter 0 += %40 => scatter 1, 2 += %34
    late: scatter 1, 2 += %34: operand 1 is not early

late << scatter 1 += %33
    operand 1 gets its gradient again

# Results
result 0 = %24 => # nothing
    after split: result 0 is stored 0 times

result 0 = %24 => result 0 = %20
    %20 is not of the type of the result: %20: float32[4] row

gradient 0 => gradient 1
    there is no result 1

map << %60: float32[4] row = gradient 0
    the gradient of result 0 is pulled 2 times

%30 << %60: float32[3] row = gradient 0
    %60 is not of the type of the result

# Sums, and gradients of parameters
sum %33 => sum %1
    what is summed has no rows

sum %33 => sum sparse %33
    the sum of a value is not row-sparse

weight[0:3, 0:4] => weight[0:3, 0:5]
    the parameter is float32[3, 4]

weight[0:3, 0:4] => weight[0:2, 0:4]
    %50 is not of the type of the region: %50: float32[2, 4]

# Distinct rows
once << distinct rows of operand 1: spread %11
    operand 1, which is not early

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

# Memory of other regions
%10: float32[3] row in gathered 0 => %10: float32[3] row
    deferred: %50: float32[3, 4] = sum outer(%10, %33): %10 is not held for other regions than early

in kept 1 => in scratch 0
    %33 is not held for other regions than step_back

# What is read must be there
%25 << %60: float32[4] row in scratch 0 = tanh(%11)
    %23 is read, and %60 has overwritten it

%51 << %60: float32[4] row in kept 1 = negative(%33)
    %33 is read, and %60 has overwritten it

in %28[..., 2:4] => in %28[..., 0:2]
    %28: float32[4] row in result 0 = concat(%25, %27, axis=-1): %25 is read, and %27 has overwritten it

%22: float32[4] row in scratch 0 = add(%21, %11) => %22: float32[4] row in scratch 0 = add(%11, %60)
%22 << %60: float32[4] row in scratch 0 = cumsum(%21, axis=-1, reverse=False)
    %60 overwrites its operand %21

in scratch 1 = exp(%24) => in %22[..., 0:2] = exp(%24)
tanh(%26) => multiply(%26, %23)
    %23

result 0 = << %60: float32[4] row in result 0 = tanh(%11)
    %28 is read, and %60 has overwritten it

# What is handed over must stay there
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


def test_the_sum_of_a_value_is_not_row_sparse():
    program = written(CELL)
    total, *others = program.region("deferred")
    assert isinstance(total, SumRows)
    sparse = replace(total, summed=total.reads[0], sparse=True)
    broken = program.with_regions(deferred=(sparse, *others))
    refused(broken, "the sum of a value is not row-sparse")


def test_a_loop_overwrites_what_it_reads_element_by_element():
    text = """\
    program f
    operand 0: float32[4] row of slab 2
    result 0: float32[4] row
    step
      scratch 0: float32[4] row
      %0: float32[4] row = gather 0
      %1: float32[4] row in scratch 0 = tanh(%0)
      map
        %2: float32[4] row = square(%1)
        %3: float32[4] row in scratch 0 = add(%2, %1)
      -> %3
      result 0 = %3"""
    verify_program(written(text))
    shifted = text.replace("square(%1)", "concat(%4, %5, axis=-1)").replace(
        "      map\n",
        "      %4: float32[1] row = index(%1, key=((3, 4, 1),))\n"
        "      %5: float32[3] row = index(%1, key=((0, 3, 1),))\n      map\n",
    )
    refused(written(shifted), "%3 overwrites its operand %4")


def test_a_result_that_lies_elsewhere_is_copied():
    text = """\
    program f
    operand 0: float32[2] row of slab 2
    result 0: float32[2] row
    result 1: float32[2] row
    result 2: float32[2] row
    once
      %9: float32[2] = constant 0.5
    step
      %0: float32[2] row = gather 0
      %1: float32[2] row in result 0 = tanh(%0)
      result 0 = %1
      result 1 = %1
      result 2 = %9"""
    verify_program(written(text))
    swapped = text.replace("result 0 = %1", "%2: float32[2] row in result 1 = exp(%0)\n result 0 = %1")
    verify_program(written(swapped))
    refused(
        written(swapped + "\n %3: float32[2] row in kept 0 = negative(%2)"),
        "%2 is read, and %1 has overwritten it",
    )
