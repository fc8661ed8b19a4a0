"""Puts the steps of a batch in order, by the model's schedule.

A step runs one operation on one or more nodes. The schedules are those of `arrows.compile`:

* ``strata`` and ``depth``: nodes have a depth within their component, counted while the examples are read;
  the nodes of an operation at one depth are one step, and steps run by component, depth, operation. The
  plan numbers the components in topological order for ``strata``, and puts all into one for ``depth``;
* ``agenda``: steps are chosen one after another, among the operations that have ready nodes;
* ``none``: each node is a step of its own, in the order in which the examples were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import starts_of_runs
from arrows.engine.scheduling.node_table import NodeKeys, NodeTable, ordered_keys

Step = tuple[int, int]
"""An operation, and which of its steps."""

Span = tuple[int, int, int]
"""A component, the place of its first step among all, and the place after its last."""


def by_depth(
    plan: Plan,
    operation: HostArray,
    pair: HostArray,
    depth: HostArray,
    first_run: Sequence[int],
) -> tuple[list[Step], list[Span]]:
    """Orders steps by component, depth and operation.

    Components are numbered in topological order, so a step's operands are there when it runs.  The arrays are
    over runs of nodes with one key, in the order of the rows; ``first_run`` is by operation.
    """
    component = plan.pairs.component[pair]
    order = np.lexsort((operation, depth, component))
    order = order[plan.applies[operation[order]]]
    operations = operation[order].tolist()
    steps = [(o, run - first_run[o]) for o, run in zip(operations, order.tolist(), strict=True)]
    component = component[order]
    cuts = [*starts_of_runs(component).tolist(), len(steps)]
    return steps, [(int(component[start]), start, stop) for start, stop in pairwise(cuts)]


def step_keys(plan: Plan, table: NodeTable, numbers: HostArray, index: HostArray) -> NodeKeys:
    """Keys of a batch's nodes by which their steps are their depths, for ``agenda`` and ``none``.

    The rows that an operation gives for the elements of a sequence have the step of its node.  ``index`` is
    memory for a number by node of the table, and is overwritten.
    """
    nodes = len(numbers)
    order = np.argsort(table.place[numbers])  # a node comes before the rows of its sequences
    numbers = numbers[order]
    key = table.keys.key[numbers]
    pair, depth = table.keys.pair[key], table.keys.depth[key]
    operation = plan.pairs.operation[pair]
    is_element = np.array([each.kind == "element" for each in plan.operations])[operation]
    owner = np.maximum.accumulate(np.where(is_element, 0, np.arange(nodes)))
    runs = plan.applies[operation]
    steps = np.cumsum(runs) - 1
    if plan.schedule == "agenda":
        length = table.length[numbers]
        begins = table.first[numbers] - (np.cumsum(length) - length)
        ids = table.sources[np.repeat(begins, length) + np.arange(length.sum())]
        node = (ids >> plan.shift) - len(plan.lowered.constants)
        target = np.repeat(np.arange(nodes), length)[node >= 0]
        index[numbers] = np.arange(nodes)
        source = owner[index[node[node >= 0]]]
        edges = runs[source] & runs[target]
        source, target = steps[source[edges]], steps[target[edges]]
        steps[runs] = agenda(operation[runs], depth[runs], source, target, plan.heavy)
    steps[~runs] = 0
    back = np.empty(nodes, np.intp)
    back[order] = np.arange(nodes)
    return ordered_keys(plan, pair[back], steps[owner[back]])


def agenda(
    operation: HostArray, depth: HostArray, source: HostArray, target: HostArray, heavy: HostArray
) -> HostArray:
    """Gives each node the step of the agenda that it runs in.

    At each step, of the operations that have ready nodes, the one whose nodes lie least deep on average
    runs, on all that are ready. The average is over all its nodes in the batch. Of equals, cheap operations
    run before those that multiply matrices, so that more nodes of the latter may be ready by then. The
    loop is over steps, with a few array operations for each.

    Args:
        operation: the operation of each node, ``[nodes]``; nodes of one operation may run at once.
        depth: the depth of each node, ``[nodes]``.
        source, target: for each edge, the node whose value is read and the node that reads it, ``[edges]``.
        heavy: for each operation, whether it multiplies matrices.

    Returns:
        Steps, from 0, ``[nodes]``.

    Source: Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017,
    section 3.2.

    >>> # two chains of a and b, one a step behind: a a b / a b
    >>> operation, depth = np.array([0, 0, 1, 0, 1]), np.array([0, 1, 2, 0, 1])
    >>> agenda(operation, depth, np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0, 1])).tolist()
    [0, 1, 2, 0, 2]
    """
    nodes = len(operation)
    operations = len(heavy)
    costs: list[bool] = heavy.tolist()
    count = np.bincount(operation, minlength=operations)
    mean = np.bincount(operation, weights=depth, minlength=operations) / np.maximum(count, 1)
    readers = target[np.argsort(source, kind="stable")]
    first_reader = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=first_reader[1:])
    waiting = np.bincount(target, minlength=nodes)

    ready: list[list[HostArray]] = [[] for _ in range(operations)]
    active: set[int] = set()

    def release(free: HostArray) -> None:
        """Puts nodes whose operands are all computed on the agenda."""
        free = free[np.argsort(operation[free], kind="stable")]
        starts = starts_of_runs(operation[free])
        for start, stop in pairwise([*starts.tolist(), len(free)]):
            o = int(operation[free[start]])
            ready[o].append(free[start:stop])
            active.add(o)

    release(np.flatnonzero(waiting == 0))
    steps = np.zeros(nodes, np.int64)
    step = 0
    while active:
        best = min(active, key=lambda o: (mean[o], costs[o], o))
        active.remove(best)
        batch = ready[best][0] if len(ready[best]) == 1 else np.concatenate(ready[best])
        ready[best] = []
        steps[batch] = step
        step += 1
        lengths = first_reader[batch + 1] - first_reader[batch]
        total = int(lengths.sum())
        if not total:
            continue
        starts = first_reader[batch] - (np.cumsum(lengths) - lengths)
        read_by = readers[np.repeat(starts, lengths) + np.arange(total)]
        np.subtract.at(waiting, read_by, 1)
        free = read_by[waiting[read_by] == 0]
        if len(free):
            release(np.unique(free))
    return steps
