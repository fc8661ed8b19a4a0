"""Emitted regions compute what their equations say, for every way in which rows come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrows import ops
from arrows.engine.device import get_device
from arrows.engine.program.emitters import kernels
from arrows.engine.program.emitters.arrays import StepRefused
from arrows.engine.program.emitters.numpy import emit, emit_once
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.passes.copy_transposes import copy_transposes
from arrows.engine.program.passes.fuse import fuse
from arrows.engine.program.program import Program
from arrows.engine.program.text import parse_program
from arrows.engine.program.verify import verify_program
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import Batch, Bound, agree, emitted, plainly
from tests.engine.program.emitters.traced import program_of
from tests.engine.python_loops import interpreted
from tests.engine.random_functions import UNARY, functions

T_PAIR = T.Tuple((T.Tensor((4,), "float64"), T.Tensor((4,), "float64")))
T_SEQUENCE = T.Tuple((T.Sequence(T.Tensor((3,))), T.Tensor((3,))))
T_WORD = T.Tensor((), "int64")

fewer = settings(max_examples=max(settings.default.max_examples // 3, 1))


def random(seed: int, *shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def some_rows(program: Program, batch_rows: str, count: int) -> list[list[int]]:
    """For each operand the rows of a slab of 20 rows: a range for each step, for all, or none."""
    generator = np.random.default_rng(len(program.operands))
    rows = []
    for number in range(len(program.operands)):
        if batch_rows == "one range":
            rows.append(list(range(number, number + count)))
        elif batch_rows == "ranges":
            rows.append([11, 3, 4, 0, 1, 2][:count])
        else:
            rows.append(generator.integers(0, 20, count).tolist())
    return rows


def a_batch(program: Program, batch_rows: str = "no ranges", **more: Any) -> Batch:
    """Six rows in three steps; operands without elements."""
    slabs = {
        operand.slab: random(operand.slab, 20, *operand.type.shape, dtype=operand.type.dtype)
        for operand in program.operands
    }
    gradients = [
        random(90 + number, 6, *type.shape, dtype=type.dtype)
        for number, (type, _) in enumerate(program.results)
    ]
    rows = some_rows(program, batch_rows, 6)
    return Batch(bounds=[0, 1, 3, 6], slabs=slabs, rows=rows, gradients=gradients, **more)


def check(program: Program, batch: Batch, *, jit: bool = False, tolerance: float = 1e-6) -> None:
    """Emitted code on both devices, with and without reuse of memory, agrees with the plain equations."""
    expected = plainly(program, batch)
    made = fuse(program, dtype="float64") if jit else program
    for reuse in (True, False):
        allocated = allocate(copy_transposes(made), reuse=reuse)
        verify_program(allocated)
        for device in ("cpu",) if jit else ("cpu", "fake"):
            agree(emitted(allocated, batch, device, jit=jit), expected, tolerance)
        agree(emitted(allocated, batch, jit=jit, one_by_one=True, targets=False), expected, tolerance)


def parsed(text: str) -> Program:
    return parse_program("program example\n" + text)


# ------------------------------------------------------------------------------------------ gathers

TANH = """
operand 0: float32[3] row of slab 0
result 0: float32[3] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = tanh(%0)
  result 0 = %1"""


@pytest.mark.parametrize("rows", ["one range", "ranges", "no ranges"])
def test_rows_come_as_ranges_and_by_number(rows: str) -> None:
    program = parsed(TANH)
    check(program, a_batch(program, rows))


def test_a_range_is_not_copied() -> None:
    program = allocate(parsed(TANH))
    batch = a_batch(program, "one range")
    bound = Bound(program, batch)
    assert bound.gathers[0].buffer is None and np.shares_memory(bound.gathers[0].rows, bound.slabs[0])
    code = emit(program, "step", np)
    assert code is not None and "[...]" not in code.source


@pytest.mark.parametrize("rows", ["one range", "ranges", "no ranges"])
def test_rows_are_held_for_later_regions(rows: str) -> None:
    program = parsed("""
operand 0: float32[3] row of slab 0, differentiated
result 0: float32[3] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = tanh(%0)
  result 0 = %1
step_back
  %2: float32[3] row = gradient 0
  %3: float32[3] row = multiply(%2, %0)
  scatter 0 += %3""")
    check(program, a_batch(program, rows))


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("rows", ["no ranges", "side by side"])
def test_two_operands_side_by_side(rows: str, held: bool) -> None:
    text = """
operand 0: float32[3] row of slab 0, differentiated
operand 1: float32[3] row of slab 0, differentiated
result 0: float32[6] row
step
  %0: float32[6] row = gather 0, 1
  %1: float32[6] row = tanh(%0)
  result 0 = %1"""
    if held:
        text += """
step_back
  %2: float32[6] row = gradient 0
  %3: float32[6] row = multiply(%2, %0)
  scatter 0, 1 += %3"""
    program = parsed(text)
    batch = a_batch(program)
    if rows == "side by side":  # the last two steps are ranges
        batch.rows = [[5, 4, 6, 8, 10, 12], [3, 5, 7, 9, 11, 13]]
    check(program, batch)
    check(program, Batch(**{**vars(batch), "rows": [list(range(0, 12, 2)), list(range(1, 12, 2))]}))


def test_a_result_is_read_by_later_steps() -> None:
    """A chain: each row reads the one before."""
    program = parsed("""
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 1
result 0: float32[3] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = gather 1
  %2: float32[3] row = add(%0, %1)
  %3: float32[3] row = tanh(%2)
  result 0 = %3""")
    batch = Batch(
        bounds=[0, 1, 2, 3, 4],
        slabs={0: random(0, 9, 3), 1: random(1, 4, 3)},
        rows=[[4, 5, 6, 7], [0, 1, 2, 3]],
        outputs={0: (0, 5)},
    )
    check(program, batch)


# ------------------------------------------------------------------------------------------ results


def test_results_that_are_views_gathers_and_constants() -> None:
    program = parsed("""
operand 0: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[2] row
result 2: float32[3]
result 3: float32[3] row
result 4: float32[3] row
once
  %9: float32[3] = constant [1.0, 2.0, 3.0]
step
  %0: float32[3] row = gather 0
  %1: float32[2] row = index(%0, key=((1, 3, 1),))
  %2: float32[3] row = exp(%0)
  result 0 = %0
  result 1 = %1
  result 2 = %9
  result 3 = %2
  result 4 = %2""")
    check(program, a_batch(program))


# ----------------------------------------------------------------------------------- joins and views


def test_joins_in_place_and_by_copy() -> None:
    program = parsed("""
operand 0: float32[3] row of slab 0
operand 1: float32[2] row of slab 1
result 0: float32[7] row
result 1: float32[5] row
step
  %0: float32[3] row = gather 0
  %1: float32[2] row = gather 1
  %2: float32[3] row = tanh(%0)
  %3: float32[2] row = exp(%1)
  %4: float32[5] row = concat(%2, %1, axis=-1)
  %5: float32[7] row = concat(%4, %3, axis=-1)
  %6: float32[3] row = negative(%0)
  %7: float32[2] row = negative(%1)
  %8: float32[5] row = concat(%6, %7, axis=-1)
  %9: float32[5] row = square(%8)
  result 0 = %5
  result 1 = %9""")
    check(program, a_batch(program))
    memory = {f"%{var.id}": str(place) for var, place in allocate(program).memory.items()}
    assert memory["%2"] == "%4[..., 0:3]" and memory["%3"] == "%5[..., 5:7]"
    code = emit(allocate(program), "step", np)
    assert code is not None and "concat" not in code.source


def test_a_join_along_the_first_of_two_axes() -> None:
    program = parsed("""
operand 0: float32[2, 3] row of slab 0
result 0: float32[4, 3] row
step
  %0: float32[2, 3] row = gather 0
  %1: float32[2, 3] row = tanh(%0)
  %2: float32[2, 3] row = exp(%0)
  %3: float32[4, 3] row = concat(%1, %2, axis=-2)
  result 0 = %3""")
    check(program, a_batch(program))


def test_views_of_what_lies_in_scratch_are_made_once_for_a_number_of_rows() -> None:
    program = parsed("""
operand 0: float32[4] row of slab 0
result 0: float32[2] row
result 1: float32[2] row
step
  %0: float32[4] row = gather 0
  %1: float32[4] row = tanh(%0)
  %2: float32[2] row = index(%1, key=((0, 2, 1),))
  %3: float32[2] row = index(%1, key=((2, 4, 1),))
  %4: float32[2] row = add(%2, %3)
  %5: float32[2, 2] row = reshape(%1, shape=(2, 2))
  %6: float32[2, 2] row = transpose(%5, axes=(-1, -2))
  %7: float32[2] row = index(%6, key=(1,))
  %8: float32[2] row = multiply(%7, %4)
  result 0 = %4
  result 1 = %8""")
    check(program, a_batch(program))
    code = emit(allocate(program), "step", np)
    assert code is not None
    assert "scratch0[:, 0:2]" in code.source and code.source.count("scratch0v") > 2


def test_a_reshape_of_a_range_is_a_copy_of_each_step() -> None:
    program = parsed("""
operand 0: float32[6] row of slab 0
result 0: float32[2, 2] row
step
  %0: float32[6] row = gather 0
  %1: float32[6] row = tanh(%0)
  %2: float32[4] row = index(%1, key=((1, 5, 1),))
  %3: float32[2, 2] row = reshape(%2, shape=(2, 2))
  %4: float32[2, 2] row = exp(%3)
  result 0 = %4""")
    check(program, a_batch(program))


# ------------------------------------------------------------------------------------------ elements


@pytest.mark.parametrize("rows", ["one range", "no ranges"])
def test_elements_of_sequences(rows: str) -> None:
    def function(xs: Any, y: Any) -> Any:
        weights = ops.segment_softmax(xs * ops.segment_broadcast(y, xs))
        return ops.segment_sum(ops.tanh(weights * xs)), xs * 2.0

    program = program_of(function, T_SEQUENCE)
    offsets = [0, 2, 2, 5, 6, 9, 9]
    elements = list(range(3, 12)) if rows == "one range" else [5, 6, 0, 1, 2, 7, 3, 3, 1]
    batch = Batch(
        bounds=[0, 1, 3, 6],
        slabs={0: random(0, 20, 3), 1: random(1, 20, 3)},
        rows=[elements, [1, 4, 2, 2, 0, 3]],
        offsets={0: offsets},
        gradients=[random(2, 6, 3), random(3, 9, 3)],
    )
    check(program, batch)


# ------------------------------------------------------------------------------------- whole programs


def cell(width: int) -> Any:
    weight = ops.Parameter("weight", (2 * width, 3 * width), "float32", None)
    bias = ops.Parameter("bias", (3 * width,), "float32", None)
    owner = object()

    def function(x: Any, h: Any) -> Any:
        joined = ops.concat([x, h]) @ ops.parameter(owner, weight) + ops.parameter(owner, bias)
        i, f, u = (
            ops.sigmoid(joined[:width]),
            ops.sigmoid(joined[width : 2 * width]),
            ops.tanh(joined[2 * width :]),
        )
        return ops.tanh(i * u + f * h)

    return function


@pytest.mark.parametrize("defers", [True, False])
@pytest.mark.parametrize("early", [(), (0,)])
@pytest.mark.parametrize("slabs", [(0, 1), (0, 0)])
def test_a_cell(early: tuple[int, ...], slabs: tuple[int, int], defers: bool) -> None:
    program = program_of(cell(3), ([3], [3]), early=early, slabs=slabs, defers=defers)
    parameters = [random(5, 6, 9), random(6, 9)]
    check(program, a_batch(program, parameters=parameters), tolerance=1e-5)
    check(program, a_batch(program, parameters=parameters, components=[0, 3, 6]), tolerance=1e-5)


def test_rows_of_a_table_stay_sparse() -> None:
    table = ops.Parameter("table", (5, 3), "float32", None)
    owner = object()

    def function(word: Any) -> Any:
        return ops.tanh(ops.lookup(ops.parameter(owner, table), word))

    program = program_of(function, T_WORD)
    batch = a_batch(program, parameters=[random(5, 5, 3)])
    batch.slabs = {0: np.arange(20) % 5}
    check(program, batch)
    assert isinstance(emitted(allocate(program), batch).accumulated[0], ops.RowSparse)


def test_dropout_keys() -> None:
    program = program_of(lambda x: ops.tanh(ops.drop(x, 0.5)), [3])
    check(program, a_batch(program, keys=np.arange(6, dtype=np.uint64)))


@fewer
@given(drawn=functions(), early=st.booleans())
def test_random_programs(drawn: Any, early: bool) -> None:
    function, _ = drawn
    program = program_of(function, T_PAIR, early=(1,) if early else ())
    check(program, a_batch(program), tolerance=1e-9)


@fewer
@given(drawn=functions([*UNARY[:5], UNARY[9], UNARY[10], UNARY[11], UNARY[14], UNARY[15]]))
def test_random_programs_as_loops(drawn: Any) -> None:
    function, _ = drawn
    program = program_of(function, T_PAIR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "compiled", lambda source, dtype: interpreted(source))
        check(program, a_batch(program), jit=True, tolerance=1e-9)


# ------------------------------------------------------------------------------------ distinct rows


def test_what_is_summed_by_distinct_row() -> None:
    """`deferred` reads the sums where a product says so, and all rows elsewhere."""
    program = allocate(
        parsed("""
operand 0: float32[3] row of slab 0, early, differentiated
operand 1: float32[2] row of slab 1, differentiated
result 0: float32[2] row
distinct rows of operand 0: spread %2; summed %6; products %8
once
  %0: float32[3, 2] = parameter FC_1/weight
  %10: float32[2] = parameter FC_1/bias
early
  %1: float32[3] row = gather 0
  %2: float32[2] row = matmul(%1, %0)
step
  %3: float32[2] row = gather 1
  %4: float32[2] row = multiply(%2, %3)
  result 0 = %4
step_back
  %5: float32[2] row = gradient 0
  %6: float32[2] row = multiply(%5, %3)
deferred
  %8: float32[3, 2] = sum outer(%1, %6)
  %9: float32[2] = sum %6
  gradient of FC_1/weight[0:3, 0:2] += %8
  gradient of FC_1/bias[0:2] += %9""")
    )
    code = emit(program, "deferred", np)
    assert code is not None
    assert (
        "(rows0, sums0, out=targets[0])" in code.source
        and "sum_rows_1(saved0, out=targets[1])" in code.source
    )


# ---------------------------------------------------------------------------------------- odds and ends


def test_a_region_without_instructions() -> None:
    program = allocate(parsed(TANH))
    assert (
        emit(program, "early", np) is None and emit_once(program, get_device("cpu")).compute((), (), 0) == ()
    )


def test_a_refused_step_says_which() -> None:
    table = ops.Parameter("table", (5, 3), "float32", None)
    owner = object()
    program = allocate(
        program_of(lambda word: ops.lookup(ops.parameter(owner, table), word), T_WORD, gradients=False)
    )
    batch = a_batch(program, parameters=[random(5, 5, 3)])
    batch.slabs, batch.rows = {0: np.arange(20)}, [[0, 1, 2, 3, 4, 19]]
    with pytest.raises(StepRefused) as refused:
        emitted(program, batch)
    assert refused.value.step == 2 and isinstance(refused.value.__cause__, ops.IndexOutOfRange)


def test_pulls_come_before_each_step_in_reverse() -> None:
    program = allocate(program_of(lambda x: ops.tanh(x), [3]))
    bound = Bound(program, a_batch(program))
    code = emit(program, "step_back", np)
    assert code is not None
    code.make(bound.arrays("step_back"))(0, 3)
    assert bound.pulled == [2, 1, 0]


def test_ticks_follow_each_instruction() -> None:
    program = allocate(program_of(lambda x: ops.tanh(ops.exp(x)), [3], gradients=False))
    ticks: list[tuple[str, int]] = []
    emitted(program, a_batch(program), tick=lambda region, position: ticks.append((region, position)))
    assert ticks == [("step", position) for _ in range(3) for position in range(4)]


def test_several_equations_run_one_by_one_without_a_compiler() -> None:
    program = fuse(program_of(lambda x: (ops.tanh(x[:2] * 2.0 + 1.0), x * x), [4], gradients=False))
    assert any(len(getattr(made, "equations", ())) > 1 for _, made in program)
    batch = a_batch(program)
    agree(emitted(allocate(program), batch), plainly(program, batch))


@pytest.mark.parametrize(("many", "contiguous"), [(True, True), (False, False)])
def test_transposes_are_copied_for_many_steps(many: bool, contiguous: bool) -> None:
    program = allocate(copy_transposes(program_of(cell(3), ([3], [3]))))
    once = emit_once(program, get_device("cpu"))
    weight = random(5, 6, 9)
    values = once.compute(list(once.constants), [weight, random(6, 9)], 100 if many else 3)
    transposed = [value for value in values if np.shape(value) == (9, 6)]
    assert transposed and all(np.array_equal(value, weight.T) for value in transposed)
    assert [value.flags.c_contiguous for value in transposed] == [contiguous] * len(transposed)


def test_single_numbers_lose_their_axes() -> None:
    program = program_of(lambda x: ops.tanh(x) * 2.0 + 1.0, [4])
    check(program, a_batch(program))
    code = emit(allocate(program), "step", np)
    assert code is not None and code.source.count(".reshape(())") == 2


def test_a_value_without_rows_that_is_read_twice_by_one_equation() -> None:
    program = parse_program("""
        program twice
        result 0: float32[2] row
        once
          %0: float32[2] = constant [1.0, 2.0]
          %1: float32[2] = add(%0, %0)
        step
          result 0 = %1
    """)
    code = emit_once(program, get_device("cpu"))
    assert code.compute(code.constants, [], 0)[1].tolist() == [2.0, 4.0]
