"""Schedules: what `merge` makes passes the specification."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES, Plan
from arrows.engine.scheduling import Merged, merge
from tests.engine.scheduling.specification import verify
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
