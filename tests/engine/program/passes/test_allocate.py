"""Where values lie: held, in place, or in scratch that is used again as soon as that is right."""

from __future__ import annotations

from typing import Any

from arrows import ops
from arrows.engine.program.passes.allocate import allocate
from tests.engine.program.traced import program_of
from tests.engine.program.written import written


def slots(function: Any, input: Any) -> int:
    """How many scratch arrays the steps of a function need."""
    program = allocate(program_of(function, input, gradients=False))
    return len(program.scratch.get("step", ()))


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


def test_what_is_held_for_gradients_lies_where_nothing_is_read_backwards() -> None:
    before = """\
operand 0: float32[3] row of slab 0, early
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
early
  %1: float32[3] row{early} = gather 0
  %2: float32[3] row in kept 0 = matmul(%1, %0)
step
  %3: float32[3] row = gather 1
  %4: float32[3] row in result 0 = add(%2, %3)
  result 0 = %4
step_back
  %5: float32[3] row = gradient 0
  %6: float32[3] row in kept 0 = multiply(%5, %4)
  scatter 1 += %6
deferred
  %7: float32[3, 3] = sum outer(%1, %6)
  gradient of FC_1/weight[0:3, 0:3] += %7"""
    after = before.format(early=" in gathered 0")
    bare = before.replace(" in kept 0", "").replace(" in result 0", "").format(early="")
    assert str(allocate(written("program example\n" + bare))) == "program example\n" + after
