"""Where values lie: held, in place, or in scratch that is used again as soon as that is right."""

from __future__ import annotations

from typing import Any

from arrows import ops
from arrows.engine.program.passes.allocate import allocate
from tests.engine.program.emitters.traced import program_of


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
