"""Consecutive steps of one operation are one call of its function."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import arrows as ar
from arrows.engine.planning import ApplyOperation
from arrows.engine.running.batch_plan import StepRange, step_ranges
from arrows.engine.scheduling import Merged, merge
from tests.generate import Case, cases
from tests.profile import draws


def merged_batch(block: Any, examples: list[Any], schedule: str = "strata") -> tuple[ar.Model, Merged]:
    model = ar.compile(block, schedule=schedule)
    return model, merge(model.plan, model.prepare(examples)[:].wired)


def first_steps(model: ar.Model, merged: Merged) -> dict[int, list[int]]:
    return {
        operation.index: merged.operations[operation.index].parts[:-1].tolist()
        for operation in model.plan.operations
        if isinstance(operation, ApplyOperation) and merged.operations[operation.index].count
    }


def test_the_steps_of_a_chain_are_one_range() -> None:
    chain = ar.Map(ar.Scalar()) >> ar.Fold(ar.Function(lambda total, x: total + x), ar.Zeros([]))
    block = chain >> ar.Function(lambda x: x * 2.0)
    model, merged = merged_batch(block, [[1, 2, 3], [4], [5, 6]])
    ranges = [each for _, span in step_ranges(merged, first_steps(model, merged)) for each in span]
    assert ranges == [StepRange(ranges[0].operation, 0, 3, 0), StepRange(ranges[1].operation, 0, 1, 0)]


@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda", "none"])
@draws(10, 1000, "ranges")
@given(case=cases())
def test_ranges_are_the_steps_in_their_order(schedule: str, case: Case) -> None:
    model, merged = merged_batch(case.block, case.examples, schedule)
    firsts = first_steps(model, merged)
    spans = step_ranges(merged, firsts)
    assert [component for component, _ in spans] == [component for component, _, _ in merged.spans]
    steps = [(o, step) for _, span in spans for o, first, stop, _ in span for step in range(first, stop)]
    assert steps == merged.steps
    # Each component of an operation begins once, with a range of its own.
    begun = {(o, part): first for _, span in spans for o, first, _, part in span if part is not None}
    assert begun == {(o, part): step for o, own in firsts.items() for part, step in enumerate(own)}
