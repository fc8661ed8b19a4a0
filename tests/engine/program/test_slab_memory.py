"""Memory that is used again while a batch runs without gradients: never before its last reader is done."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.engine.planning import SCHEDULES, Plan
from arrows.engine.program.slab_memory import shared_memory
from arrows.engine.scheduling import Merged, merge
from tests.generate import Case, cases
from tests.profile import draws

Times = dict[int, list[float]]


def uses(plan: Plan, merged: Merged) -> tuple[Times, Times]:
    """When each slab is written or read, and when each operation runs, by the number of the step."""
    slabs: Times = defaultdict(list)
    operations: Times = defaultdict(list)
    for operation in plan.operations:
        if operation.kind == "read" and merged.operations[operation.index].count:
            slabs[operation.slabs[0]].append(-1)
    for at, (o, _) in enumerate(merged.steps):
        operations[o].append(at)
        for owner, output in plan.result_places[o]:
            slabs[plan.operations[owner].slabs[output]].append(at)
        running = plan.operations[o]
        for port in running.ports:
            slabs[port.slab].append(at)
    for slab in (*plan.results, *plan.metrics):
        slabs[slab].append(len(merged.steps))
    starts = [(component, first) for component, first, _ in merged.spans]
    for n, (begin, slab) in enumerate(shared_memory(plan).constants):
        step = next((at for component, at in starts if component >= begin), len(merged.steps))
        slabs[slab].append(step - 0.5 + n / 1000)  # one after another, before the step
    return slabs, operations


def meet(a: list[float], b: list[float]) -> bool:
    return bool(a and b) and max(min(a), min(b)) <= min(max(a), max(b))


@pytest.mark.parametrize("schedule", SCHEDULES)
@draws(10, 1000, "slabs")
@given(case=cases(), data=st.data())
def test_what_shares_memory_is_never_needed_at_once(schedule: str, case: Case, data: st.DataObject) -> None:
    model = ar.compile(case.block, schedule=schedule, float_type="float64")
    plan, found = model.plan, shared_memory(model.plan)
    slabs, operations = uses(plan, merge(plan, model.prepare(case.examples)[:].wired))
    for n, slab in enumerate(plan.slabs):
        for k, other in enumerate(plan.slabs[:n]):
            if found.slabs[n] == found.slabs[k] and slab.type.dtype == other.type.dtype:
                assert not meet(slabs[n], slabs[k])
    for o in operations:
        for other_operation in operations:
            if other_operation != o and found.operations[o] == found.operations[other_operation]:
                assert not meet(operations[o], operations[other_operation])
