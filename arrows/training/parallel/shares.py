"""Divides the examples of a batch among ranks, so that all finish at about the same time."""

from __future__ import annotations

import heapq

import numpy as np

from arrows.ops.arrays import HostArray


def shares(costs: HostArray, ranks: int) -> list[HostArray]:
    """Divides examples, the costliest first, each to the rank that has the least so far.

    The most that a rank has is at most 4/3 of the least possible (Graham, "Bounds on multiprocessing timing
    anomalies", SIAM Journal on Applied Mathematics 17, 1969, theorem 2).

    Args:
        costs: of each example, such as its number of nodes.
        ranks: how many there are.

    Returns:
        For each rank the places of its examples, ascending.

    >>> [share.tolist() for share in shares(np.array([1, 9, 5, 4, 1]), 2)]
    [[0, 1], [2, 3, 4]]
    """
    loads = [(0, rank) for rank in range(ranks)]
    places: list[list[int]] = [[] for _ in range(ranks)]
    for place in np.argsort(-costs, kind="stable").tolist():
        load, rank = loads[0]
        places[rank].append(place)
        # An example costs something even if it has no nodes: else one rank would get all of these.
        heapq.heapreplace(loads, (load + int(costs[place]) + 1, rank))
    return [np.array(sorted(own), np.intp) for own in places]
