"""Schedules: what `merge` makes passes the specification, and the specification refuses what is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES, Plan
from arrows.engine.reading import Column
from arrows.engine.scheduling import Merged, OperationRows, PortRows, merge
from tests.engine.scheduling.specification import ScheduleError, verify
from tests.generate import Case, cases
from tests.profile import NIGHTLY


@ar.fix
def tree(me: Any) -> Any:
    """A tree of any number of children, with an operation on a sequence at each node."""
    dense = ar.FC(2, ops.tanh)
    own = ar.GetItem("x") >> ar.Vector(2)
    below = ar.GetItem("kids") >> ar.Map(me)
    node = (own & below >> ar.Sum()) >> ar.Concat() >> dense
    softened = (own & below) >> ar.Function(lambda x, rows: ops.segment_softmax(rows * x)) >> ar.Sum()
    leaf = own >> (ar.Metric("leaf") & ar.Identity()) >> ar.GetItem(1)
    return ar.OneOf(lambda t: t["kind"], {"node": node, "soft": softened, "leaf": leaf})


numbers = itertools.count()


def t(kind: str, *kids: Any) -> Any:
    """A node unlike all others."""
    return {"kind": kind, "x": [next(numbers), 1], "kids": list(kids)}


EXAMPLES = [
    t("node", t("soft", t("leaf"), t("node")), t("leaf")),
    t("leaf"),
    t("soft", t("node", t("leaf"), t("node", t("leaf"))), t("soft")),
]


def merged_batch(schedule: str, block: Any = tree, examples: Any = EXAMPLES) -> tuple[Plan, Merged]:
    model = ar.compile(block, schedule=schedule)
    return model.plan, merge(model.plan, model.prepare(examples)[:].wired)


@settings(max_examples=200 if NIGHTLY else 12)
@given(case=cases(), schedule=st.sampled_from(SCHEDULES), data=st.data())
def test_every_batch_of_random_blocks_passes(case: Case, schedule: str, data: st.DataObject) -> None:
    model = ar.compile(case.block, schedule=schedule)
    prepared = model.prepare(case.examples)
    order = (
        data.draw(st.lists(st.sampled_from(range(len(case.examples))), max_size=8)) if case.examples else []
    )
    verify(model.plan, merge(model.plan, prepared[order].wired))


def test_depth_takes_a_step_for_each_operation_and_depth() -> None:
    """Fold's rule, with the numbers counted by hand."""
    chain = ar.Fold(
        (ar.GetItem(0) & ar.GetItem(1) >> ar.Scalar()) >> ar.Function(lambda h, x: ops.tanh(h) + x),
        ar.Zeros([]),
    )
    plan, merged = merged_batch("depth", chain, [range(7), range(10, 13), [], range(20, 25)])
    sizes = [int(np.diff(merged.operations[o].bounds)[step]) for o, step in merged.steps]
    assert sizes == [3, 3, 3, 2, 2, 1, 1]
    plan, merged = merged_batch("none", chain, [range(7)])
    assert len(merged.steps) == 7
    assert plan.schedule == "none"


# ------------------------------------------------------------------------------------------ tampered


Change = Callable[[Plan, Merged], Merged]


def operation(plan: Plan, merged: Merged) -> int:
    """One that takes a sequence, runs in several steps and gathers."""
    return next(
        o.index
        for o in plan.operations
        if o.domains and len(merged.operations[o.index].bounds) > 2 and any(p.domain is None for p in o.ports)
    )


def changed(merged: Merged, o: int, **parts: Any) -> Merged:
    operations: list[OperationRows] = list(merged.operations)
    operations[o] = replace(operations[o], **parts)
    return replace(merged, operations=tuple(operations))


def port_rows(value: Callable[[np.ndarray, int], np.ndarray], port: int) -> Change:
    def change(plan: Plan, merged: Merged) -> Merged:
        o = operation(plan, merged)
        ports = list(merged.operations[o].ports)
        size = merged.slab_rows[plan.operations[o].ports[port].slab]
        ports[port] = PortRows(value(ports[port].rows.copy(), size))
        return changed(merged, o, ports=tuple(ports))

    return change


def first_is(number: Callable[[int], int]) -> Callable[[np.ndarray, int], np.ndarray]:
    def value(rows: np.ndarray, size: int) -> np.ndarray:
        rows[0] = number(size)
        return rows

    return value


def shifted(plan: Plan, merged: Merged, by: int) -> Merged:
    """The rows of an operation overlap those of its neighbour in the slab."""
    o = next(
        o
        for slab in plan.slabs
        if len(slab.outputs) > 1
        for o, _ in slab.outputs[:1]
        if merged.operations[o].count
    )
    rows = merged.operations[o]
    return changed(merged, o, first_rows=tuple(first + by for first in rows.first_rows))


def bounds_doubled(plan: Plan, merged: Merged) -> Merged:
    o = operation(plan, merged)
    bounds = merged.operations[o].bounds.copy()
    bounds[1] = bounds[0]
    return changed(merged, o, bounds=bounds)


def result_is(number: Callable[[int], int]) -> Change:
    def change(plan: Plan, merged: Merged) -> Merged:
        (column,) = merged.outputs.results
        values = column.values.copy()
        values[-1] = number(merged.slab_rows[plan.results[0]])
        return replace(merged, outputs=merged.outputs._replace(results=(Column(values, column.offsets),)))

    return change


TAMPERED: list[tuple[str, Change, str]] = [
    ("a step left out", lambda p, m: replace(m, steps=m.steps[:-1]), "never run"),
    ("a step run twice", lambda p, m: replace(m, steps=[m.steps[0], *m.steps]), "rows that have run"),
    ("a row too far", port_rows(first_is(lambda size: size), 0), "outside of slab"),
    ("a negative row", port_rows(first_is(lambda size: -1), 0), "outside of slab"),
    ("an element's row that comes later", port_rows(first_is(lambda size: size - 1), -1), "not written yet"),
    ("a step without rows", bounds_doubled, "has no rows"),
    ("rows written twice", lambda p, m: shifted(p, m, 1), "rows of slab . that are not its own"),
    ("rows outside", lambda p, m: shifted(p, m, 10**6), "rows of slab . that are not its own"),
    (
        "a slab too long",
        lambda p, m: replace(m, slab_rows=tuple(n + 1 for n in m.slab_rows)),
        "never written",
    ),
    ("a result too far", result_is(lambda size: size), "a result reads rows outside"),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("change", "match"), [pytest.param(c, m, id=name) for name, c, m in TAMPERED])
def test_what_is_tampered_with_is_refused(schedule: str, change: Change, match: str) -> None:
    plan, merged = merged_batch(schedule)
    tampered = change(plan, merged)
    verify(plan, merged)  # the change was made to a copy
    with pytest.raises(ScheduleError, match=match):
        verify(plan, tampered)
