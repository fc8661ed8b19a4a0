"""Where values lie: held, in place, or in scratch that is used again as soon as that is right."""

from __future__ import annotations

from typing import Any

from arrows import ops
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.passes.fuse import fuse
from arrows.engine.program.text import parse_program
from tests.engine.program.emitters.traced import program_of


def slots(function: Any, input: Any) -> int:
    """How many scratch arrays the steps of a function need."""
    program = allocate(program_of(function, input, gradients=False))
    return len(program.scratch.get("step", ()))


def same(before: str, after: str, **options: Any) -> None:
    assert (
        str(allocate(parse_program("program example\n" + before), **options)) == "program example\n" + after
    )


def test_what_later_regions_read_is_held() -> None:
    same(
        """\
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
early
  %1: float32[3] row = gather 0
  %2: float32[3] row = matmul(%1, %0)
step
  %3: float32[3] row = gather 1
  %4: float32[3] row = add(%2, %3)
  %5: float32[3] row = tanh(%4)
  %6: float32[3] row = exp(%5)
  result 0 = %6
step_back
  %7: float32[3] row = gradient 0
  %8: float32[3] row = multiply(%7, %6)
  %9: float32[3] row = multiply(%8, %5)
  scatter 1 += %9
late
  %10: float32[3] row = multiply(%9, %9)
  scatter 0 += %10
deferred
  %11: float32[3, 3] = sum outer(%1, %9)
  gradient of FC_1/weight[0:3, 0:3] += %11""",
        """\
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
early
  %1: float32[3] row in gathered 0 = gather 0
  %2: float32[3] row in kept 0 = matmul(%1, %0)
step
  scratch 0: float32[3] row
  %3: float32[3] row = gather 1
  %4: float32[3] row in scratch 0 = add(%2, %3)
  %5: float32[3] row in kept 1 = tanh(%4)
  %6: float32[3] row in result 0 = exp(%5)
  result 0 = %6
step_back
  scratch 0: float32[3] row
  %7: float32[3] row = gradient 0
  %8: float32[3] row in scratch 0 = multiply(%7, %6)
  %9: float32[3] row in saved 0 = multiply(%8, %5)
  scatter 1 += %9
late
  %10: float32[3] row in scatter 1 = multiply(%9, %9)
  scatter 0 += %10
deferred
  %11: float32[3, 3] = sum outer(%1, %9)
  gradient of FC_1/weight[0:3, 0:3] += %11""",
    )


def test_parts_of_joins() -> None:
    """A product goes by a copy; so does what is read elsewhere, or twice."""
    same(
        """\
operand 0: float32[2] row of slab 0
result 0: float32[12] row
once
  %0: float32[2, 2] = parameter FC_1/weight
step
  %1: float32[2] row = gather 0
  %2: float32[2] row = matmul(%1, %0)
  %3: float32[2] row = tanh(%1)
  %4: float32[2] row = exp(%1)
  %5: float32[2] row = sqrt(%1)
  %6: float32[4] row = concat(%3, %2, axis=-1)
  %7: float32[12] row = concat(%6, %4, %4, %5, %1, axis=-1)
  result 0 = %7""",
        """\
operand 0: float32[2] row of slab 0
result 0: float32[12] row
once
  %0: float32[2, 2] = parameter FC_1/weight
step
  scratch 0: float32[2] row
  scratch 1: float32[4] row
  scratch 2: float32[2] row
  %1: float32[2] row = gather 0
  %2: float32[2] row in scratch 0 = matmul(%1, %0)
  %3: float32[2] row in %6[..., 0:2] = tanh(%1)
  %4: float32[2] row in scratch 2 = exp(%1)
  %5: float32[2] row in %7[..., 8:10] = sqrt(%1)
  %6: float32[4] row in scratch 1 = concat(%3, %2, axis=-1)
  %7: float32[12] row in result 0 = concat(%6, %4, %4, %5, %1, axis=-1)
  result 0 = %7""",
    )


def test_without_reuse() -> None:
    """Each value has memory of its own; what regions hold for others stays held."""
    same(
        """\
operand 0: float32[2] row of slab 0, differentiated
result 0: float32[4] row
step
  %0: float32[2] row = gather 0
  %1: float32[2] row = exp(%0)
  %2: float32[2] row = tanh(%1)
  %3: float32[4] row = concat(%1, %2, axis=-1)
  result 0 = %3
step_back
  %4: float32[4] row = gradient 0
  %5: float32[2] row = index(%4, key=((0, 2, 1),))
  %6: float32[2] row = multiply(%5, %0)
  scatter 0 += %6""",
        """\
operand 0: float32[2] row of slab 0, differentiated
result 0: float32[4] row
step
  scratch 0: float32[2] row
  scratch 1: float32[2] row
  scratch 2: float32[4] row
  %0: float32[2] row in gathered 0 = gather 0
  %1: float32[2] row in scratch 0 = exp(%0)
  %2: float32[2] row in scratch 1 = tanh(%1)
  %3: float32[4] row in scratch 2 = concat(%1, %2, axis=-1)
  result 0 = %3
step_back
  scratch 0: float32[2] row
  %4: float32[4] row = gradient 0
  %5: float32[2] row = index(%4, key=((0, 2, 1),))
  %6: float32[2] row in scratch 0 = multiply(%5, %0)
  scatter 0 += %6""",
        reuse=False,
    )


def test_what_is_computed_of_distinct_rows_is_no_result() -> None:
    text = """\
program example
operand 0: float32[2] row of slab 0, early
operand 1: float32[2] row of slab 1
result 0: float32[2] row
early
  %0: float32[2] row = gather 0
  %1: float32[2] row = exp(%0)
step
  result 0 = %1"""
    assert "%1: float32[2] row in result 0" in str(allocate(parse_program(text)))
    text = text.replace("\nearly", "\ndistinct rows of operand 0: spread %1\nearly")
    assert "%1: float32[2] row in kept 0" in str(allocate(parse_program(text)))


def test_one_value_of_two_results_and_two_scatters() -> None:
    text = str(allocate(program_of(lambda x, y: (x + y,) * 2, ([3], [3]))))
    assert "in result 0 = add" in text and "result 1 = " in text
    assert text.count("in scatter 0") == 1 and "in scatter 1" not in text


def test_a_chain_runs_in_one_scratch_array() -> None:
    assert slots(lambda x: ops.tanh(ops.exp(-ops.tanh(x))).sum(), [4]) == 1


def test_what_is_read_again_is_not_written_over() -> None:
    def twice(x: Any) -> Any:
        kept = ops.tanh(x)
        return (ops.exp(kept) * kept).sum()

    assert slots(twice, [4]) == 2


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


def test_a_map_of_several_equations_writes_beside_what_it_reads() -> None:
    def function(x: Any) -> Any:
        first = ops.softmax(x)
        return ops.softmax(ops.tanh(first) * first[0].reshape((1,)))

    program = allocate(fuse(program_of(function, [4], gradients=False)))
    assert "map" in str(program) and len(program.scratch["step"]) == 2


def test_kernels_load_what_no_product_reads() -> None:
    same(
        """\
for kernels
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
result 1: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
step
  %1: float32[3] row = gather 0
  %2: float32[3] row = gather 1
  %3: float32[3] row = matmul(%1, %0)
  %4: float32[3] row = multiply(%3, %2)
  %5: float32[3] row = tanh(%4)
  result 0 = %4
  result 1 = %5
step_back
  %6: float32[3] row = gradient 0
  %7: float32[3] row = gradient 1
  %8: float32[3] row = multiply(%6, %2)
  scatter 1 += %8
  %9: float32[3] row = matmul(%7, %0)
  scatter 0 += %9
deferred
  %10: float32[3] = sum %7""",
        """\
for kernels
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 1, differentiated
result 0: float32[3] row
result 1: float32[3] row
once
  %0: float32[3, 3] = parameter FC_1/weight
step
  scratch 0: float32[3] row
  scratch 1: float32[3] row
  %1: float32[3] row in scratch 0 = gather 0
  %2: float32[3] row = gather 1
  %3: float32[3] row in scratch 1 = matmul(%1, %0)
  %4: float32[3] row in result 0 = multiply(%3, %2)
  %5: float32[3] row in result 1 = tanh(%4)
  result 0 = %4
  result 1 = %5
step_back
  %6: float32[3] row = gradient 0
  %7: float32[3] row in gradient 1 = gradient 1
  %8: float32[3] row in scatter 0 = multiply(%6, %2)
  scatter 1 += %8
  %9: float32[3] row in scatter 1 = matmul(%7, %0)
  scatter 0 += %9
deferred
  %10: float32[3] = sum %7""",
    )
    text = str(
        allocate(
            parse_program(
                "program p\nfor kernels\nresult 0: float32 row\nstep_back\n%0: float32 row = gradient 0"
            )
        )
    )
    assert str(parse_program(text)) == text


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
