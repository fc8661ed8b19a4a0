"""The agenda: at each step, of the operations that have ready nodes, the one whose nodes lie least deep.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017, section 3.2.
All nodes of the operation that are ready run at once.  The mean depth of an operation is taken over all its
nodes in the batch.  Time goes by steps, so the work is a few array operations for each.
"""

from __future__ import annotations

import numpy as np


def agenda(
    operation: np.ndarray, depth: np.ndarray, source: np.ndarray, target: np.ndarray, operations: int
) -> np.ndarray:
    """Gives each node the number of the step that it runs in.

    Args:
        operation: the operation of each node, ``[nodes]``; nodes of one operation may run at once.
        depth: the depth of each node, ``[nodes]``.
        source, target: for each edge, the node whose value is read and the node that reads it, ``[edges]``.
        operations: how many operations there are.

    Returns:
        Steps, from 0, ``[nodes]``.

    Source: Neubig, Goldberg, Dyer (2017), section 3.2.

    >>> # two chains of a and b, one a step behind: a a b / a b
    >>> operation, depth = np.array([0, 0, 1, 0, 1]), np.array([0, 1, 2, 0, 1])
    >>> agenda(operation, depth, np.array([0, 1, 3]), np.array([1, 2, 4]), 2).tolist()
    [0, 1, 2, 0, 2]
    """
    nodes = len(operation)
    count = np.bincount(operation, minlength=operations)
    mean = np.bincount(operation, weights=depth, minlength=operations) / np.maximum(count, 1)
    order = np.argsort(source, kind="stable")
    readers = target[order]
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=first[1:])
    waiting = np.bincount(target, minlength=nodes)

    ready: list[list[np.ndarray]] = [[] for _ in range(operations)]
    active: set[int] = set()

    def release(found: np.ndarray) -> None:
        """Puts nodes that wait for nothing on the agenda."""
        which = operation[found]
        by_operation = np.argsort(which, kind="stable")
        which = which[by_operation]
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        for some in np.split(found[by_operation], starts[1:]):
            if len(some):
                o = int(operation[some[0]])
                ready[o].append(some)
                active.add(o)

    release(np.flatnonzero(waiting == 0))
    step = np.zeros(nodes, np.int64)
    now = 0
    while active:
        best = min(active, key=lambda o: (mean[o], o))
        active.remove(best)
        run = ready[best][0] if len(ready[best]) == 1 else np.concatenate(ready[best])
        ready[best] = []
        step[run] = now
        now += 1
        lengths = first[run + 1] - first[run]
        total = int(lengths.sum())
        if not total:
            continue
        starts = first[run] - (np.cumsum(lengths) - lengths)
        read_by = readers[np.repeat(starts, lengths) + np.arange(total)]
        np.subtract.at(waiting, read_by, 1)
        free = read_by[waiting[read_by] == 0]
        if len(free):
            release(np.unique(free))
    return step
