"""What a kernel alone reads is computed inside it, across levels and sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arrows import ops
from arrows.engine.program.instructions import Compute, RowMap, View
from arrows.engine.program.passes.fuse_across import fuse_across
from arrows.engine.program.pipeline import KERNELS
from arrows.engine.program.program import Program
from arrows.engine.program.text import parse_program
from arrows.engine.program.verify import verify_program
from arrows.typesys import types as T
from tests.engine.program.emitters.traced import program_of
from tests.engine.program.passes.renumber import renumbered

HEAD = """\
program example
for kernels
operand 0: float32[4] elements 0 of slab 0
result 0: float32[4] {level}
"""
WORDS = T.Sequence(T.Tensor((4,), "float32"))
SCORED = T.Sequence(T.Tuple([T.Tensor((), "float32"), T.Tensor((4,), "float32")]))
QUERY = T.Tensor((4,), "float32")


def fused(body: str, level: str = "row") -> str:
    head = HEAD.format(level=level)
    program = fuse_across(parse_program(head + "step\n" + body))
    verify_program(program)
    return renumbered(program).removeprefix(head + "step\n")


def kernels(function: Any, *types: Any) -> tuple[int, int]:
    """How many kernels a function takes forwards and backwards."""
    program: Program = program_of(function, T.Tuple(types) if len(types) > 1 else types[0])
    program = replace(program, kernels=True)
    for each in KERNELS:
        program = each(program)
    forward, backward = (
        sum(
            isinstance(each, (Compute, RowMap)) and not isinstance(each, View)
            for each in program.region(name)
        )
        for name in ("step", "step_back")
    )
    return forward, backward


def test_a_sum_computes_its_elements() -> None:
    assert (
        fused("""\
  %0: float32[4] elements 0 = gather 0
  %1: float32[4] elements 0 = tanh(%0)
  %2: float32[4] row = segment_sum(%1)
  result 0 = %2""")
        == """\
  %0: float32[4] elements 0 = gather 0
  map
    %1: float32[4] elements 0 = tanh(%0)
    %2: float32[4] row = segment_sum(%1)
  -> %2
  result 0 = %2"""
    )


def pooled(pairs: Any) -> Any:
    """What `Attention` runs."""
    scores, values = pairs
    return ops.segment_sum(ops.reshape(ops.segment_softmax(scores), (1,)) * values)


@pytest.mark.parametrize(
    ("function", "types", "count"),
    [
        (pooled, (SCORED,), (2, 2)),
        (lambda xs: ops.segment_softmax(xs * 2.0), (WORDS,), (1, 1)),
        (lambda xs: xs - ops.segment_broadcast(ops.segment_sum(xs), xs), (WORDS,), (1, 1)),
        (lambda xs, q: ops.segment_sum(xs * ops.segment_broadcast(q * 2.0, xs)), (WORDS, QUERY), (2, 2)),
    ],
    ids=["attention", "softmax", "centred", "with a query"],
)
def test_how_many_kernels_a_function_takes(function: Any, types: Any, count: tuple[int, int]) -> None:
    assert kernels(function, *types) == count


def test_a_sum_of_one_number_is_not_taken_for_each_of_many() -> None:
    """A thread for each number would go over the whole sequence again."""

    def scaled(words: Any, query: Any) -> Any:
        return query * ops.segment_sum(words[0] * 2.0)

    def spread(words: Any) -> Any:
        return words * ops.segment_broadcast(ops.segment_sum(words[0]), words)

    assert kernels(scaled, WORDS, QUERY)[0] == 2
    assert kernels(spread, WORDS)[0] == 2
