"""Neighbours that one kernel can compute become one `RowMap`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arrows import ops
from arrows.engine.cuda import KERNELS
from arrows.engine.program.instructions import RowMap
from arrows.engine.program.passes.fuse import MOST_VALUES, fuse, values_of
from arrows.ops import Equation
from arrows.typesys import types as T
from tests.engine.program.passes.renumber import renumbered
from tests.engine.program.traced import program_of
from tests.engine.program.verify import verify_program
from tests.engine.program.written import written

HEAD = """\
program example
for kernels
operand 0: float32[5] row of slab 0
operand 1: int32 row of slab 1
result 0: float32 row
"""


def fused(body: str, head: str = HEAD) -> str:
    program = fuse(written(head + "step\n" + body))
    verify_program(program)
    return renumbered(program).removeprefix(head + "step\n")


def kinds(function: Any, *shape: int) -> list[str]:
    """The instructions of a function's step, by kind, without loads and stores."""
    program = fuse(replace(program_of(function, [*shape], gradients=False), kernels=KERNELS))
    found = [
        made.primitive.name
        if isinstance(made, Equation)
        else f"map of {len(made.equations)}"
        if isinstance(made, RowMap)
        else type(made).__name__
        for made in program.region("step")
    ]
    return [kind for kind in found if kind not in ("Gather", "Store")]


def test_a_loss_is_one_kernel() -> None:
    assert (
        fused("""\
  %0: float32[5] row = gather 0
  %1: int32 row = gather 1
  %2: float32[5] row = tanh(%0)
  %3: float32[5] row = log_softmax(%2, axis=-1)
  %4: float32 row = lookup(%3, %1)
  result 0 = %4""")
        == """\
  %0: float32[5] row = gather 0
  %1: int32 row = gather 1
  map
    %2: float32[5] row = tanh(%0)
    %3: float32[5] row = log_softmax(%2, axis=-1)
    %4: float32 row = lookup(%3, %1)
  -> %4
  result 0 = %4"""
    )


@pytest.mark.parametrize("shape", [(7,), (300,)])
def test_reductions_join_what_they_read_and_what_reads_them(shape: tuple[int, ...]) -> None:
    assert kinds(lambda x: ops.standardize(x) * 2.0 + 0.5, *shape) == ["map of 7"]


@pytest.mark.parametrize(
    ("name", "reduce", "shape"),
    [("argmax", ops.argmax, (30,)), ("sum", lambda x: x.sum(axis=1), (6, 2))],
)
def test_a_reduction_without_a_kernel_ends_a_run(name: str, reduce: Any, shape: tuple[int, ...]) -> None:
    """Such as one along an axis, of which lanes would keep several sums."""
    assert kinds(lambda x: reduce(ops.tanh(x) * 2.0), *shape) == ["map of 2", name]


def test_lanes_take_few_reductions() -> None:
    """They compute what they read anew for each."""

    def function(x: Any) -> Any:
        for _ in range(12):
            x = x * x.sum()
        return x

    assert [kind.partition(" of ")[0] for kind in kinds(function, 100)] == ["map", "map"]


PRODUCTS = """\
program example
for kernels
operand 0: float32[4] row of slab 0
operand 1: float32[40] row of slab 1
result 0: float32[40] row
once
  %0: float32[4, 40] = parameter FC_1/weight
"""


def test_an_equation_that_waits_for_nothing_joins_what_reads_it() -> None:
    """Not those before the product: one more launch would be needed for it alone."""
    assert (
        fused(
            """\
  %1: float32[4] row = gather 0
  %2: float32[40] row = gather 1
  %3: float32[40] row = tanh(%2)
  %4: float32[40] row = matmul(%1, %0)
  %5: float32[40] row = add(%3, %4)
  result 0 = %5""",
            PRODUCTS,
        )
        == """\
  %1: float32[4] row = gather 0
  %2: float32[40] row = gather 1
  %3: float32[40] row = matmul(%1, %0)
  map
    %4: float32[40] row = tanh(%2)
    %5: float32[40] row = add(%4, %3)
  -> %5
  result 0 = %5"""
    )


def test_the_compiler_is_not_given_endless_kernels() -> None:
    def long(x: Any) -> Any:
        return sum((x * (n + 0.5) for n in range(1, 300)), x)

    assert len(kinds(long, 4)) > 1


@pytest.mark.parametrize("count", [MOST_VALUES - 1, MOST_VALUES, 5 * MOST_VALUES])
def test_a_kernel_reads_so_many_values(count: int) -> None:
    """A wider join is made of joins, no two of which are too wide together; so is a long sum."""
    for join in (lambda *xs: ops.concat(xs), lambda *xs: sum(xs[1:], xs[0])):
        operands = T.Tuple([T.Tensor((2,), "float32")] * count)
        program = replace(program_of(join, operands, gradients=False), kernels=KERNELS)
        program = fuse(program)
        verify_program(program)
        kernels = [each for each in program.region("step") if isinstance(each, (Equation, RowMap))]
        for each in kernels:
            equations = each.equations if isinstance(each, RowMap) else [each]
            assert len(values_of(equations)) <= MOST_VALUES
        assert len(kernels) <= count // 50 + 1
