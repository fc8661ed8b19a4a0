"""Settles in what order sites may run: by strata of the components of the graph of sites.

The order is known from the block, before any data, so it is computed once a model and not once a batch.
Sites that feed one another in a cycle (the cell of a recursion, the step of a fold) are one *component*, and
only within it does depth count.  Everything else runs once for the whole batch: embeddings before the
recursion, output layers and losses after it.  On the models of the benchmark `steps`, a batch takes as few
steps as any schedule could need (docs/results.md).

Components are laid in strata: a component's stratum is one more than the highest that feeds it.  Components
of one stratum that do the same thing (the two directions of a bidirectional layer, a layer that stands in
several places) become one.  This can never close a cycle, because edges only lead upwards.
"""

from __future__ import annotations

from collections.abc import Sequence


def components(successors: Sequence[Sequence[int]]) -> list[int]:
    """Numbers the strongly connected components of a graph in topological order (Tarjan 1972).

    The stack is explicit: a site graph may be as deep as the expression.

    Args:
        successors: for each node, the nodes that it feeds.

    Returns:
        The component of each node; an edge never leads to a smaller number.

    >>> components([[1], [2], [1, 3], []])
    [0, 1, 1, 2]
    """
    count = len(successors)
    index: list[int | None] = [None] * count
    component: list[int | None] = [None] * count
    low = [0] * count
    path: list[int] = []
    closed = clock = 0
    for root in range(count):
        if index[root] is not None:
            continue
        work = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = clock
                clock += 1
                path.append(node)
            else:
                low[node] = min(low[node], low[successors[node][position - 1]])
            for place in range(position, len(successors[node])):
                target = successors[node][place]
                target_index = index[target]
                if target_index is None:
                    work += [(node, place + 1), (target, 0)]
                    break
                if component[target] is None:  # still on the path
                    low[node] = min(low[node], target_index)
            else:
                if low[node] == index[node]:
                    while True:
                        member = path.pop()
                        component[member] = closed
                        low[member] = count  # closed: it no longer lowers any node's low link
                        if member == node:
                            break
                    closed += 1
    # Tarjan closes sinks first, so the numbers are turned round.
    return [closed - 1 - number for number in component if number is not None]


def strata(successors: Sequence[Sequence[int]], operation: Sequence[int]) -> list[int]:
    """Numbers the sites' components so that an edge never leads to a smaller number.

    Components that do the same thing get the same number where that is possible, and so run together.

    Args:
        successors: for each site, the sites that it can feed.
        operation: for each site, what it does.

    Returns:
        The number of each site's component.

    >>> strata([[2], [3], [4], [4], []], operation=[0, 0, 1, 1, 2])  # two chains that do the same thing
    [0, 0, 1, 1, 2]
    """
    component = components(successors)
    members: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for site, number in enumerate(component):
        members[number].append(site)
    stratum = [0] * len(members)
    for number, sites in enumerate(members):
        for site in sites:
            for target in successors[site]:
                if component[target] != number:
                    stratum[component[target]] = max(stratum[component[target]], stratum[number] + 1)
    work = [
        (stratum[number], tuple(sorted(operation[site] for site in sites)))
        for number, sites in enumerate(members)
    ]
    rank = {key: place for place, key in enumerate(sorted(set(work)))}
    return [rank[work[number]] for number in component]
