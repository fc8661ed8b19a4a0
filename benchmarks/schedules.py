"""Schedules of batches, not executed: the one place where benchmarks reach below a model's surface."""

from __future__ import annotations

import numpy as np

import arrows as ar
from arrows.engine import scheduling
from arrows.engine.planning import ElementOperation
from arrows.engine.scheduling.node_table import node_table
from benchmarks.datasets import Ints


def merge(model: ar.Model, prepared: ar.Prepared, indices: Ints) -> scheduling.Merged:
    """Selects examples of a prepared set and merges their wirings into a schedule, without executing it.

    Args:
        model: from `arrows.compile`.
        prepared: from `model.prepare`.
        indices: which examples.

    Returns:
        The merged batch.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Scalar() >> ar.Function(lambda x: x * x))
    >>> merge(model, model.prepare([1.0, 2.0, 3.0]), np.array([0, 2])).examples
    2
    """
    return scheduling.merge(model.plan, prepared[indices].wired)


def longest_chains(model: ar.Model, prepared: ar.Prepared, indices: Ints) -> tuple[int, int]:
    """The fewest steps that any schedule could need, and how many nodes run.

    Args:
        model: compiled with `schedule="depth"`, whose wirings know how deep a node lies.
        prepared, indices: as those of `merge`.

    Returns:
        The sum, over the operations, of the most nodes of one operation on a path; the number of nodes.

    >>> import arrows as ar
    >>> add = ar.Function(lambda total, x: total + x)
    >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([])), schedule="depth")
    >>> longest_chains(model, model.prepare([[1.0, 2.0, 3.0], [4.0]]), np.arange(2))
    (3, 4)
    """
    plan, wirings = model.plan, prepared.wirings.select(indices)
    site, depth = wirings.site.values, wirings.depth.values
    operation = plan.sites.operation[site]
    is_element = np.array([isinstance(each, ElementOperation) for each in plan.operations])[operation]
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
