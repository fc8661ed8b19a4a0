"""The default schedule takes the fewest steps that any could need."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.engine import scheduling
from arrows.engine.planning import SCHEDULES
from arrows.engine.scheduling.node_table import node_table
from benchmarks.datasets import Ints
from tests.networks import networks


@pytest.mark.parametrize("name", networks())
def test_strata_take_the_fewest_steps(name: str) -> None:
    block, examples = networks()[name]
    every = np.arange(len(examples))
    steps = {}
    for schedule in SCHEDULES:
        model = ar.compile(block, schedule=schedule)
        prepared = model.prepare(examples)
        steps[schedule] = len(scheduling.merge(model.plan, prepared[every].wired).steps)
        if schedule == "depth":
            fewest, nodes = longest_chains(model, prepared, every)
    assert steps["strata"] == fewest == min(steps.values()) and max(steps.values()) <= nodes


def longest_chains(model: ar.Model, prepared: ar.Prepared, indices: Ints) -> tuple[int, int]:
    """The lower bound on the steps of any schedule, and how many nodes run.

    The model is compiled with `schedule="depth"`, whose wirings hold the depth of each node.
    """
    plan, wirings = model.plan, prepared.wirings.select(indices)
    site, depth = wirings.site.values, wirings.depth.values
    operation = plan.sites.operation[site]
    is_element = np.array([each.kind == "element" for each in plan.operations])[operation]
    # The rows of a sequence come when their operation runs.
    owner = np.maximum.accumulate(np.where(is_element, 0, np.arange(len(site))))
    table = node_table(plan, wirings, share=False)
    target = np.repeat(np.arange(len(site)), table.length[table.numbers.values])
    source = (table.sources >> plan.shift) - len(plan.lowered.constants)
    target, source = target[source >= 0], owner[table.place[source[source >= 0]]]
    runs = plan.applies[operation]
    chain = np.zeros((len(plan.operations), len(site)), np.int32)
    for level in range(int(depth.max(initial=0)) + 1):
        into = np.flatnonzero((depth[target] == level) & runs[target])
        for row in chain:
            np.maximum.at(row, target[into], row[source[into]])
        here = np.flatnonzero((depth == level) & runs)
        chain[operation[here], here] += 1
    return int(chain.max(axis=1, initial=0).sum()), int(runs.sum())
