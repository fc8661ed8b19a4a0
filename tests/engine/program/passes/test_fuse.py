"""Runs of element-wise equations become one `RowMap`; what a loop cannot do stays between them."""

from __future__ import annotations

from typing import Any

from arrows import ops
from arrows.engine.program.instructions import RowMap
from arrows.engine.program.passes.fuse import fuse
from tests.engine.program.passes.renumber import renumbered
from tests.engine.program.traced import program_of
from tests.engine.program.verify import verify_program
from tests.engine.program.written import written

HEAD = """\
program example
operand 0: float32[4] row of slab 0
operand 1: float32[4] row of slab 1
result 0: float32[4] row
step
"""


def fused(body: str) -> str:
    return renumbered(fuse(written(HEAD + body))).removeprefix(HEAD)


def test_a_run_of_neighbours() -> None:
    assert (
        fused("""\
  %0: float32[4] row = gather 0
  %1: float32[4] row = sigmoid(%0)
  %2: float32[2] row = index(%1, key=((0, 2, 1),))
  %3: float32[2] row = index(%1, key=((2, 4, 1),))
  %4: float32[4] row = concat(%3, %2, axis=-1)
  %5: float32[4] row = multiply(%4, %0)
  result 0 = %5""")
        == """\
  %0: float32[4] row = gather 0
  map
    %1: float32[4] row = sigmoid(%0)
    %2: float32[2] row = index(%1, key=((0, 2, 1),))
    %3: float32[2] row = index(%1, key=((2, 4, 1),))
    %4: float32[4] row = concat(%3, %2, axis=-1)
    %5: float32[4] row = multiply(%4, %0)
  -> %5
  result 0 = %5"""
    )


def test_one_equation_and_its_views_are_no_run() -> None:
    """NumPy takes a view for nothing, and the compiler takes a while for each loop."""
    body = """\
  %0: float32[4] row = gather 0
  %1: float32[4] row = tanh(%0)
  %2: float32[2] row = index(%1, key=((0, 2, 1),))
  result 0 = %2"""
    assert fused(body) == body


def test_views_that_others_read_follow_the_map() -> None:
    """Within it such a view has another number, if it is read there."""
    assert (
        fused("""\
  %0: float32[4] row = gather 0
  %1: float32[4] row = tanh(%0)
  %2: float32[4] row = negative(%1)
  %3: float32[2] row = index(%2, key=((0, 2, 1),))
  %4: float32[2] row = index(%2, key=((2, 4, 1),))
  %5: float32[2] row = square(%4)
  result 0 = %3
  result 1 = %4
  result 2 = %5""")
        == """\
  %0: float32[4] row = gather 0
  map
    %1: float32[4] row = tanh(%0)
    %2: float32[4] row = negative(%1)
    %3: float32[2] row = index(%2, key=((2, 4, 1),))
    %4: float32[2] row = square(%3)
  -> %2, %4
  %5: float32[2] row = index(%2, key=((0, 2, 1),))
  %6: float32[2] row = index(%2, key=((2, 4, 1),))
  result 0 = %5
  result 1 = %6
  result 2 = %4"""
    )


def test_a_long_run_is_several_loops() -> None:
    def long(x: Any) -> Any:
        return sum((x * (n + 0.5) for n in range(1, 300)), x)

    program = fuse(program_of(long, [100], gradients=False))
    verify_program(program)
    maps = [each for each in program.region("step") if isinstance(each, RowMap)]
    assert [len(each.equations) for each in maps] == [120, 120, 120, 120, 118]


def test_a_loop_that_would_take_the_compiler_minutes_is_left_to_numpy() -> None:
    """Of few equations, which are cut into many pieces."""

    def cut(x: Any) -> Any:
        for _ in range(8):
            x = ops.tanh(ops.concat([x[n : n + 1] for n in reversed(range(100))])) * 2.0
        return x

    before = program_of(cut, [100], gradients=False)
    assert str(fuse(before)) == str(before)
