"""The agenda against the rule as the paper words it, node by node."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from arrows.engine.scheduling.merge import RANKS, agenda


def by_hand(operation, depth, edges, heavy):
    """Repeats: of the operations with ready nodes, that of the lowest mean depth runs all of them."""
    mean = {
        o: np.mean([d for p, d in zip(operation, depth, strict=True) if p == o] or [0])
        for o in range(len(heavy))
    }
    steps, now = [None] * len(operation), 0
    while None in steps:
        ready = {
            n
            for n, step in enumerate(steps)
            if step is None and all(steps[a] is not None for a, z in edges if z == n)
        }
        best = min({operation[n] for n in ready}, key=lambda o: (mean[o], heavy[o], o))
        for n in ready:
            if operation[n] == best:
                steps[n] = now
        now += 1
    return steps


@st.composite
def graphs(draw):
    nodes = draw(st.integers(0, 12))
    operations = draw(st.integers(1, 4))
    operation = draw(st.lists(st.integers(0, operations - 1), min_size=nodes, max_size=nodes))
    pair = st.tuples(st.integers(0, max(nodes - 2, 0)), st.integers(1, max(nodes - 1, 1)))
    edges = draw(st.lists(pair.filter(lambda e: e[0] < e[1]), max_size=20 if nodes > 1 else 0))
    depth = [0] * nodes
    for n in range(nodes):
        depth[n] = max([depth[a] + 1 for a, z in edges if z == n], default=0)
    return operation, depth, edges, draw(st.lists(st.booleans(), min_size=operations, max_size=operations))


@given(graphs())
def test_it_is_the_rule_of_the_paper(graph):
    operation, depth, edges, heavy = graph
    source, target = np.array(edges, int).reshape(-1, 2).T
    nodes = np.array(operation, int), np.array(depth, int)
    found = agenda(RANKS["agenda"], *nodes, source, target, np.array(heavy))
    assert found.tolist() == by_hand(operation, depth, edges, heavy)
