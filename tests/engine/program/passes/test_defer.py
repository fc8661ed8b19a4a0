"""What no step waits for runs once for all rows."""

from __future__ import annotations

from arrows.engine.program.passes.defer import defer
from arrows.engine.program.text import parse_program
from tests.engine.program.passes.renumber import renumbered


def test_what_only_parameters_need() -> None:
    """Nothing but the gradient of a parameter needs the product: it runs once for all rows."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3] = parameter Bias_1/bias
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = add(%1, %0)
  %3: float32[3] row = tanh(%2)
  result 0 = %3
step_back
  %4: float32[3] row = gradient 0
  %5: float32[3] row = multiply(%4, %3)
deferred
  %6: float32[3] = sum %5
  gradient of Bias_1/bias[0:3] += %6"""
    after = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[3] row
once
  %0: float32[3] = parameter Bias_1/bias
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = add(%1, %0)
  %3: float32[3] row = tanh(%2)
  result 0 = %3
step_back
  %4: float32[3] row = gradient 0
deferred
  %5: float32[3] row = multiply(%4, %3)
  %6: float32[3] = sum %5
  gradient of Bias_1/bias[0:3] += %6"""
    assert renumbered(defer(parse_program(before))) == after


def test_gradients_of_early_operands() -> None:
    """The gradient of the early operand waits for the last step."""
    before = """\
program example
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
  %8: float32[3] row = matmul(%7, %9)
  scatter 0 += %8
  scatter 1 += %6"""
    after = """\
program example
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
  %1: float32[3, 3] = transpose(%0, axes=(-1, -2))
early
  %2: float32[3] row = gather 0
  %3: float32[3] row = matmul(%2, %0)
step
  %4: float32[3] row = gather 1
  %5: float32[3] row = multiply(%3, %4)
  result 0 = %5
step_back
  %6: float32[3] row = gradient 0
  %7: float32[3] row = multiply(%6, %3)
  scatter 1 += %7
late
  %8: float32[3] row = multiply(%6, %4)
  %9: float32[3] row = matmul(%8, %1)
  scatter 0 += %9"""
    assert renumbered(defer(parse_program(before))) == after


def test_what_is_summed_through_a_view() -> None:
    """What a view shows that stands with the sums runs once for all rows too."""
    before = """\
program example
operand 0: float32[3] row of slab 0
result 0: float32[1, 3] row
once
  %0: float32[3] = parameter Bias_1/bias
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = add(%1, %0)
  %3: float32[1, 3] row = reshape(%2, shape=(1, 3))
  result 0 = %3
step_back
  %4: float32[1, 3] row = gradient 0
  %5: float32[1, 3] row = tanh(%4)
deferred
  %6: float32[3] row = reshape(%5, shape=(3,))
  %7: float32[3] = sum %6
  gradient of Bias_1/bias[0:3] += %7"""
    after = before.replace("  %5: float32[1, 3] row = tanh(%4)\ndeferred\n", "deferred\n").replace(
        "  %6:", "  %5: float32[1, 3] row = tanh(%4)\n  %6:"
    )
    assert renumbered(defer(parse_program(before))) == after
