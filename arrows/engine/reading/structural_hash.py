"""Sharing of equal sub-graphs in a batch: nodes that compute the same from the same are one.

Each node gets a 128-bit structural hash: of its site, of the hashes of its inputs in order, of the bits of
what was read from the example.  Hashes are made when examples are lowered, level by level with array
operations, and become numbers by a table; in a batch, two look-ups find the equal ones.  Sharing changes
no number: a metric or a result that names a dropped node reads the row of the one that stands for it, once
a visit.
"""

from __future__ import annotations

import itertools

import numpy as np

from arrows.engine.planning import ElementOperation, Plan, ReadOperation
from arrows.engine.reading.mixing import scramble
from arrows.engine.reading.source_layout import extents, starts_of_runs
from arrows.engine.reading.wiring import Column

# Hashing costs some 30 array operations a level.  Deep narrow examples, which share little anyway, go
# without.
_FEWEST_A_LEVEL = 48

_ODD = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], np.uint64)[:, None]
_FIRST = np.array([0xBF58476D1CE4E5B9, 0xAEF17502108EF2D9], np.uint64)[:, None]
_SECOND = np.array([0x94D049BB133111EB, 0xDB4F0B9175AE2165], np.uint64)[:, None]


def node_hashes(
    plan: Plan,
    site: np.ndarray,
    key: np.ndarray,
    sources: np.ndarray,
    counts: np.ndarray,
    raw: list[np.ndarray],
) -> np.ndarray | None:
    """Hashes the nodes of lowered examples.

    Args:
        plan: the model's plan.
        site: the site of each node, those of the constants first.
        key: the key of each node, which is larger than those of its inputs.
        sources: value ids, node after node, as in `Wirings`.
        counts: the lengths of the sequences that nodes take.
        raw: for each tensor type that is read, its values in the order of the nodes.

    Returns:
        Two 64-bit words for each node, ``[2, nodes]``; None where hashing would not pay.
    """
    nodes = len(site)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = starts_of_runs(ordered)
    if nodes < _FEWEST_A_LEVEL * max(len(starts), 1):
        return None
    hashes = _mixed(_ODD * (site.astype(np.uint64) + np.uint64(1)))
    _add_read(plan, site, raw, hashes)
    for number in range(len(plan.lowered.constants)):
        hashes[:, number] = _mixed(hashes[:, number : number + 1] + _ODD * np.uint64(number + 1))[:, 0]

    # The sources of the nodes in the order of the levels, each with a salt for its place among its node's
    # inputs.
    layout = extents(plan, site, counts)
    domains = plan.sites.domains[site]
    for number in range(1, int(domains.max(initial=0))):  # where one sequence ends and the next begins
        at = np.flatnonzero(domains > number)
        hashes[:, at] = _mixed(
            hashes[:, at] + _ODD * counts[layout.first_count[at] + number].astype(np.uint64)
        )
    length_sorted = layout.length[order]
    ends = np.cumsum(length_sorted)
    total = int(ends[-1]) if nodes else 0
    place = np.arange(total) - np.repeat(ends - length_sorted, length_sorted)
    source = sources[np.repeat(layout.first_source[order], length_sorted) + place]
    output = source & ((1 << plan.shift) - 1)
    salt = _ODD * (
        place.astype(np.uint64) * np.uint64(1 << plan.shift) + output.astype(np.uint64) + np.uint64(1)
    )
    source = source >> plan.shift
    element = np.array([isinstance(one, ElementOperation) for one in plan.operations])[plan.sites.operation][
        site
    ]
    parents = np.maximum.accumulate(np.where(element, 0, np.arange(nodes)))
    has_elements = bool(element.any())

    bounds = np.append(starts, nodes)
    for a, z in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level, lengths = order[a:z], length_sorted[a:z]
        fed = lengths > 0
        if fed.any():
            b, y = int(ends[a] - length_sorted[a]), int(ends[z - 1])
            parts = _mixed(hashes[:, source[b:y]] + salt[:, b:y])
            offsets = np.cumsum(lengths[fed]) - lengths[fed]
            into = level[fed]
            sums = np.add.reduceat(parts, offsets, axis=1)
            hashes[:, into] = _mixed(hashes[:, into] + sums + _ODD * lengths[fed].astype(np.uint64))
        if has_elements:
            mine = level[element[level]]
            distance = (mine - parents[mine]).astype(np.uint64)
            hashes[:, mine] = _mixed(hashes[:, mine] + _mixed(hashes[:, parents[mine]] + _ODD * distance))
    return hashes


def unlike_any(first: int, count: int) -> np.ndarray:
    """Words for nodes that were not hashed, those from the ``first`` of a set on: equal to no others."""
    return np.stack([np.arange(first, first + count, dtype=np.uint64), np.full(count, _ODD[0, 0])])


def classify(hashes: np.ndarray, offsets: np.ndarray) -> Column:
    """Numbers the nodes so that those with equal hashes have one number.

    No sort: all nodes write their place into a table, under some bits of their hash, and the last one stays
    in each entry. Those whose hash is that one's are done; the others, which met another hash there, try
    again under other bits.

    Args:
        hashes: ``[2, nodes]``.
        offsets: where each example's nodes start.
    """
    nodes = hashes.shape[1]
    bits = max(2 * nodes - 1, 1).bit_length()
    shift = np.uint64(64 - bits)
    table = np.empty(1 << bits, np.int32)
    stands = np.empty(nodes, np.int32)
    left = np.arange(nodes, dtype=np.int32)
    a, b = hashes
    for attempt in itertools.count():
        place = (a * np.uint64(2 * attempt + 1) + b * np.uint64(attempt)) >> shift
        table[place] = left
        found = table[place]
        stands[left] = found
        met = np.flatnonzero((hashes[0, found] != a) | (hashes[1, found] != b))
        if len(met) == 0:
            break
        left, a, b = left[met], a[met], b[met]
    number = np.cumsum(stands == np.arange(nodes), dtype=np.int32) - 1
    return Column(number[stands], offsets)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Both lanes scrambled, each with factors of its own."""
    return scramble(words, _FIRST, _SECOND)


def _add_read(plan: Plan, site: np.ndarray, raw: list[np.ndarray], hashes: np.ndarray) -> None:
    """Hashes of inputs: the site and the bits of the value."""
    for operation in plan.operations:
        if not isinstance(operation, ReadOperation):
            continue
        at = np.flatnonzero(plan.sites.operation[site] == operation.index)
        values = np.ascontiguousarray(raw[operation.stream])
        size = int(np.prod(values.shape[1:]))
        bits = values.reshape(len(values), size).view(f"u{values.dtype.itemsize}").astype(np.uint64)
        words = hashes[:, at]
        for column in range(bits.shape[1]):
            words = _mixed(words + _ODD * (bits[:, column] + np.uint64(1)))
        hashes[:, at] = words
