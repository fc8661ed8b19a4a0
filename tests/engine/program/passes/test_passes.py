"""What each pass changes in a program: the lines that go and those that come, by region."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from arrows.engine.program.passes.differentiate import differentiate
from arrows.engine.program.passes.fuse import join
from arrows.engine.program.passes.hoist import deduplicate, defer, push_sums, split
from arrows.engine.program.passes.simplify import fold, narrow, widen
from arrows.engine.program.program import REGIONS, Program
from tests.engine.program.verify import verify_program
from tests.engine.program.written import written


class Case(NamedTuple):
    """A pass, the program that it gets, and what it changes there."""

    run: Callable[[Program], Program]
    title: str
    before: str
    changes: str


def differentiated(program: Program) -> Program:
    return differentiate(program, [True] * len(program.results))


def regions(program: Program) -> dict[str, list[str]]:
    """The lines of each region, and those before the first."""
    found: dict[str, list[str]] = {"": []}
    for line in str(program).splitlines():
        if line in REGIONS:
            found[line] = []
        else:
            found[next(reversed(found))].append(line.strip())
    return found


def changes(before: Program, after: Program) -> str:
    old, new, lines = regions(before), regions(after), []
    for region in ("", *REGIONS):
        went = [f"- {line}" for line in old.get(region, []) if line not in new.get(region, [])]
        came = [f"+ {line}" for line in new.get(region, []) if line not in old.get(region, [])]
        lines += [region] * bool(region and (went or came)) + went + came
    return "\n".join(lines)


EARLY_PRODUCT = """\
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
  %9: float32[3, 3] = transpose(%0, axes=(-1, -2))
early
  %1: float32[3] row = gather 0
  %2: float32[3] row = matmul(%1, %0)
step
  %3: float32[3] row = gather 1
  %4: float32[3] row = multiply(%2, %3)
  result 0 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row = multiply(%5, %2)
  %7: float32[3] row = multiply(%5, %3)
"""

CASES = [
    Case(
        deduplicate,
        "a word that is multiplied",
        EARLY_PRODUCT
        + """\
  scatter 1 += %6
late
  %8: float32[3] row = matmul(%7, %9)
  scatter 0 += %8
deferred
  %10: float32[3, 3] = sum outer(%1, %7)
  gradient of FC_1/weight[0:3, 0:3] += %10""",
        """\
+ distinct rows of operand 0: spread %2; summed %7; products %10""",
    ),
    Case(
        defer,
        "the gradient of an early operand waits for the last step",
        EARLY_PRODUCT
        + """\
  %8: float32[3] row = matmul(%7, %9)
  scatter 0 += %8
  scatter 1 += %6""",
        """\
step_back
- %7: float32[3] row = multiply(%5, %3)
- %8: float32[3] row = matmul(%7, %9)
- scatter 0 += %8
late
+ %7: float32[3] row = multiply(%5, %3)
+ %8: float32[3] row = matmul(%7, %9)
+ scatter 0 += %8""",
    ),
    Case(
        differentiated,
        "slices lie side by side",
        """\
operand 0: float32[6] row of slab 0, differentiated
result 0: float32[2] row
result 1: float32[4] row
step
  %0: float32[6] row = gather 0
  %1: float32[2] row = index(%0, key=((0, 2, 1),))
  %2: float32[4] row = index(%0, key=((2, 6, 1),))
  result 0 = %1
  result 1 = %2""",
        """\
step_back
+ %3: float32[2] row = gradient 0
+ %4: float32[4] row = gradient 1
+ %5: float32[6] row = concat(%3, %4, axis=-1)
+ scatter 0 += %5""",
    ),
    Case(
        fold,
        "rows of a matrix that meet zeros",
        """\
operand 0: float32[3] row of slab 0
result 0: float32[4] row
once
  %0: float32[2] = constant 0.0
  %1: float32[5, 4] = parameter FC_1/weight
step
  %2: float32[3] row = gather 0
  %3: float32[5] row = concat(%2, %0, axis=-1)
  %4: float32[4] row = matmul(%3, %1)
  result 0 = %4""",
        """\
once
- %0: float32[2] = constant 0.0
+ %5: float32[3, 4] = index(%1, key=((0, 3, 1),))
step
- %3: float32[5] row = concat(%2, %0, axis=-1)
- %4: float32[4] row = matmul(%3, %1)
- result 0 = %4
+ %6: float32[4] row = matmul(%2, %5)
+ result 0 = %6""",
    ),
    Case(
        join,
        "one gather makes the joined value",
        """\
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[6] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[6] row = concat(%0, %1, axis=-1)
  %3: float32[6] row = tanh(%2)
  result 0 = %3""",
        """\
step
- %0: float32[3] row = gather 0
- %1: float32[3] row = gather 1
- %2: float32[6] row = concat(%0, %1, axis=-1)
+ %2: float32[6] row = gather 0, 1""",
    ),
    Case(
        narrow,
        "a slice goes through the bias to the product",
        """\
operand 0: float32[3] row of slab 0
result 0: float32[2] row
once
  %0: float32[3, 8] = parameter FC_1/weight
  %1: float32[8] = parameter FC_1/bias
step
  %2: float32[3] row = gather 0
  %3: float32[8] row = matmul(%2, %0)
  %4: float32[8] row = add(%3, %1)
  %5: float32[2] row = index(%4, key=((2, 4, 1),))
  result 0 = %5""",
        """\
once
+ %6: float32[3, 2] = index(%0, key=((0, 3, 1), (2, 4, 1)))
+ %8: float32[2] = index(%1, key=((2, 4, 1),))
step
- %3: float32[8] row = matmul(%2, %0)
- %4: float32[8] row = add(%3, %1)
- %5: float32[2] row = index(%4, key=((2, 4, 1),))
- result 0 = %5
+ %7: float32[2] row = matmul(%2, %6)
+ %9: float32[2] row = add(%7, %8)
+ result 0 = %9""",
    ),
    Case(
        push_sums,
        "a view is summed as what it shows",
        """\
operand 0: float32[3] row of slab 0
operand 1: float32[2] row of slab 1
result 0: float32[2] row
once
  %0: float32[2, 3] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[2] row = gather 1
  result 0 = %2
step_back
  %3: float32[2] row = gradient 0
  %4: float32[3, 2] row = outer(%1, %3)
  %5: float32[2, 3] row = transpose(%4, axes=(-1, -2))
deferred
  %6: float32[2, 3] = sum %5
  gradient of FC_1/weight[0:2, 0:3] += %6""",
        """\
once
- %0: float32[2, 3] = parameter FC_1/weight
step_back
- %4: float32[3, 2] row = outer(%1, %3)
- %5: float32[2, 3] row = transpose(%4, axes=(-1, -2))
deferred
- %6: float32[2, 3] = sum %5
+ %7: float32[3, 2] = sum outer(%1, %3)
+ %6: float32[2, 3] = transpose(%7, axes=(-1, -2))""",
    ),
    Case(
        split,
        "the product with a word runs early",
        """\
operand 0: float32[3] row of slab 0, early
operand 1: float32[4] row of slab 1
result 0: float32[4] row
once
  %0: float32[7, 4] = parameter RNN_1/weight
  %1: float32[4] = parameter RNN_1/bias
step
  %2: float32[3] row = gather 0
  %3: float32[4] row = gather 1
  %4: float32[7] row = concat(%2, %3, axis=-1)
  %5: float32[4] row = matmul(%4, %0)
  %6: float32[4] row = add(%5, %1)
  %7: float32[4] row = tanh(%6)
  result 0 = %7""",
        """\
once
+ %8: float32[3, 4] = index(%0, key=((0, 3, 1),))
+ %10: float32[4, 4] = index(%0, key=((3, 7, 1),))
early
+ %2: float32[3] row = gather 0
+ %9: float32[4] row = matmul(%2, %8)
+ %13: float32[4] row = add(%9, %1)
step
- %2: float32[3] row = gather 0
- %4: float32[7] row = concat(%2, %3, axis=-1)
- %5: float32[4] row = matmul(%4, %0)
- %6: float32[4] row = add(%5, %1)
- %7: float32[4] row = tanh(%6)
+ %11: float32[4] row = matmul(%3, %10)
+ %14: float32[4] row = add(%13, %11)
+ %7: float32[4] row = tanh(%14)""",
    ),
    Case(
        widen,
        "gates of two widths",
        """\
operand 0: float32[3] row of slab 0
result 0: float32[2] row
once
  %0: float32[3, 2] = parameter FC_1/weight
  %1: float32[3, 1] = parameter FC_2/weight
step
  %2: float32[3] row = gather 0
  %3: float32[2] row = matmul(%2, %0)
  %4: float32[1] row = matmul(%2, %1)
  %5: float32[2] row = multiply(%3, %4)
  result 0 = %5""",
        """\
once
+ %6: float32[3, 3] = concat(%0, %1, axis=-1)
step
- %3: float32[2] row = matmul(%2, %0)
- %4: float32[1] row = matmul(%2, %1)
- %5: float32[2] row = multiply(%3, %4)
+ %7: float32[3] row = matmul(%2, %6)
+ %8: float32[2] row = index(%7, key=((0, 2, 1),))
+ %9: float32[1] row = index(%7, key=((2, 3, 1),))
+ %5: float32[2] row = multiply(%8, %9)""",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.run.__name__}: {case.title}")
def test_what_a_pass_changes(case: Case) -> None:
    before = written("program example\n" + case.before)
    after = case.run(before)
    verify_program(after)
    assert changes(before, after) == case.changes


def test_products_of_one_step_and_by_large_matrices_stay_apart() -> None:
    (gates,) = ("program example\n" + case.before for case in CASES if case.run is widen)
    both = gates.replace("slab 0", "slab 0, early"), gates.replace("2]", "30000]")
    assert all(widen(program) is program for program in map(written, both))
