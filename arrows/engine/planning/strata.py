"""In what order sites may run: components of the graph of which site can feed which, in strata.

Known from the block, before any data.  Sites that feed one another in a cycle (the cell of a recursion, the
step of a fold) are one *component*; within it, depth counts.  Everything else runs once for the whole
batch: embeddings before the recursion, output layers and losses after it.

Components are laid in strata: a component's stratum is one more than the highest that feeds it.  Those of one
stratum that do the same (the two directions of a bidirectional layer, a layer that stands in several places)
become one, which can never close a cycle, for edges only lead upwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def components(successors: Sequence[Sequence[int]]) -> list[int]:
    """Numbers the strongly connected components of a graph in topological order (Tarjan 1972, explicit
    stack).

    Args:
        successors: for each node, the nodes that it feeds.

    Returns:
        The component of each node; an edge never leads to a smaller number.
    """
    count = len(successors)
    index, low, component = [-1] * count, [0] * count, [-1] * count
    path: list[int] = []
    found = clock = 0
    for root in range(count):
        if index[root] >= 0:
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
                other = successors[node][place]
                if index[other] < 0:
                    work += [(node, place + 1), (other, 0)]
                    break
                if component[other] < 0:  # still on the path
                    low[node] = min(low[node], index[other])
            else:
                if low[node] == index[node]:
                    while True:
                        member = path.pop()
                        component[member] = found
                        low[member] = count  # closed: nobody's low may come from it any more
                        if member == node:
                            break
                    found += 1
    # Tarjan finds sinks first.
    return [found - 1 - number for number in component]


def strata(successors: Sequence[Sequence[int]], operation: Sequence[int]) -> list[int]:
    """Numbers the sites' components so that an edge never leads to a smaller number, and equal work runs
    together.

    Args:
        successors: for each site, the sites that it can feed.
        operation: for each site, what it does.
    """
    component = components(successors)
    count = max(component, default=-1) + 1
    members: list[list[int]] = [[] for _ in range(count)]
    for site, number in enumerate(component):
        members[number].append(site)
    stratum = [0] * count
    for number, sites in enumerate(members):
        for site in sites:
            for other in successors[site]:
                if component[other] != number:
                    stratum[component[other]] = max(stratum[component[other]], stratum[number] + 1)
    groups: list[tuple[int, Hashable]] = [
        (stratum[number], tuple(sorted(operation[site] for site in sites)))
        for number, sites in enumerate(members)
    ]
    rank = {group: place for place, group in enumerate(sorted(set(groups)))}
    return [rank[groups[number]] for number in component]
