"""Where values lie: held, in place, or in scratch that is used again as soon as that is right."""

from __future__ import annotations

from typing import Any

from arrows import ops
from arrows.engine.program.passes.allocate import allocate
from tests.engine.program.emitters.traced import program_of
from tests.engine.program.written import written


def slots(function: Any, input: Any) -> int:
    """How many scratch arrays the steps of a function need."""
    program = allocate(program_of(function, input, gradients=False))
    return len(program.scratch.get("step", ()))


def same(before: str, after: str, **options: Any) -> None:
    assert str(allocate(written("program example\n" + before), **options)) == "program example\n" + after


def test_a_chain_runs_in_one_scratch_array() -> None:
    assert slots(lambda x: ops.tanh(ops.exp(-ops.tanh(x))).sum(), [4]) == 1


def test_a_view_keeps_what_it_shows() -> None:
    """The reversed view is read after the next value was made: that one goes elsewhere."""

    def function(x: Any) -> Any:
        kept = ops.tanh(x)
        back = kept[::-1]
        return (ops.exp(kept) + back).sum()

    assert slots(function, [4]) == 2

    def shown(x: Any) -> Any:
        kept = ops.tanh(x)
        return (kept + kept[::-1]).sum()  # in place this would read what it has written

    assert slots(shown, [4]) == 2


def test_what_a_held_value_is_made_of_lies_beneath_it_where_scratch_would_be_as_large() -> None:
    before = """\
operand 0: float32[3] row of slab 0, early
operand 1: float32[3] row of slab 1
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
  %1: float32[3] = parameter FC_1/bias
early
  %2: float32[3] row = gather 0
  %3: float32[3] row{product} = matmul(%2, %0)
  %4: float32[3] row{sum} = add(%3, %1)
step
  %5: float32[3] row = gather 1
  %6: float32[3] row{result} = add(%4, %5)
  result 0 = %6"""
    after = before.format(product=" in kept 0", sum=" in kept 0", result=" in result 0")
    same(before.format(product="", sum="", result=""), after)
