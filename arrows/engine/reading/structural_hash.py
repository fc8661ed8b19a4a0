"""Finds nodes that compute the same from equal inputs, so that a batch computes them once.

Each node gets a structural hash of its site, of its inputs' hashes in order and of the bits that were read
from the example. The hashes are made when examples are read, level by level with array operations, and become
numbers by a table; in a batch, equal numbers are one node. No result changes: what names a node that is left
out, such as a metric or a result, reads the row of the one that stands for it, once a visit.

Nodes with equal hashes are never compared, so a collision would be a wrong number. With 128 bits, two of
10**9 different nodes collide with a probability below 10**-20; with 64 it would be 0.03.
"""

from __future__ import annotations

import itertools

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading.wiring import source_layout, starts_of_runs
from arrows.ops import finalise

# Hashing costs some 30 array operations a level. Deep narrow examples are not hashed: they share little.
_FEWEST_A_LEVEL = 48

# A hash is two lanes of 64 bits, which are mixed with odd factors of their own.
_ODD = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], np.uint64)[:, None]
_FIRST = np.array([0xBF58476D1CE4E5B9, 0xAEF17502108EF2D9], np.uint64)[:, None]
_SECOND = np.array([0x94D049BB133111EB, 0xDB4F0B9175AE2165], np.uint64)[:, None]


def node_hashes(
    plan: Plan,
    site: HostArray,
    key: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: list[HostArray],
) -> HostArray | None:
    """Hashes the nodes of examples.

    Args:
        plan: the model's plan.
        site: the site of each node, those of the constants first.
        key: the key of each node, which is larger than those of its inputs.
        sources: value ids, node after node, as in `Wirings`.
        counts: the lengths of the sequences that nodes take.
        raw: for each tensor type that is read, its values in the order of the nodes.

    Returns:
        Two 64-bit words for each node, ``[nodes, 2]``; None where hashing would not pay.
    """
    nodes = len(site)
    order = np.argsort(key, kind="stable")
    starts = starts_of_runs(key[order])  # nodes of one key are a level: none reads another
    if nodes < _FEWEST_A_LEVEL * max(len(starts), 1):
        return None
    hashes = _mixed(_ODD * (site.astype(np.uint64) + np.uint64(1)))
    _mix_in_values(plan, site, raw, hashes)
    for number in range(len(plan.lowered.constants)):
        hashes[:, number] = _mixed(hashes[:, number : number + 1] + _ODD * np.uint64(number + 1))[:, 0]

    layout = source_layout(plan, site, counts)
    domains = plan.sites.domains[site]
    for number in range(1, int(domains.max(initial=0))):  # where one sequence ends and the next begins
        nodes_of = np.flatnonzero(domains > number)
        lengths = counts[layout.first_count[nodes_of] + number].astype(np.uint64)
        hashes[:, nodes_of] = _mixed(hashes[:, nodes_of] + _ODD * lengths)
    # All sources, level after level, each with a salt for its place among its node's inputs.
    length = layout.length[order]
    ends = np.cumsum(length)
    total = int(ends[-1]) if nodes else 0
    place = np.arange(total) - np.repeat(ends - length, length)
    source = sources[np.repeat(layout.first_source[order], length) + place]
    output = source & ((1 << plan.shift) - 1)
    salt = _ODD * (
        place.astype(np.uint64) * np.uint64(1 << plan.shift) + output.astype(np.uint64) + np.uint64(1)
    )
    source = source >> plan.shift
    is_element = np.array([each.kind == "element" for each in plan.operations])[plan.sites.operation][site]
    parents = np.maximum.accumulate(np.where(is_element, 0, np.arange(nodes)))
    has_elements = bool(is_element.any())

    bounds = np.append(starts, nodes)
    for a, z in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level, lengths = order[a:z], length[a:z]
        fed = lengths > 0
        if fed.any():
            b, y = int(ends[a] - length[a]), int(ends[z - 1])
            parts = _mixed(hashes[:, source[b:y]] + salt[:, b:y])
            offsets = np.cumsum(lengths[fed]) - lengths[fed]
            sums = np.add.reduceat(parts, offsets, axis=1)
            readers = level[fed]
            hashes[:, readers] = _mixed(hashes[:, readers] + sums + _ODD * lengths[fed].astype(np.uint64))
        if has_elements:
            rows = level[is_element[level]]
            distance = (rows - parents[rows]).astype(np.uint64)
            hashes[:, rows] = _mixed(hashes[:, rows] + _mixed(hashes[:, parents[rows]] + _ODD * distance))
    return hashes.T


def classify(hashes: HostArray) -> HostArray:
    """A number for each node, the same for nodes with equal hashes (``[nodes, 2]``).

    There is no sort. All nodes write their place into a table, under some bits of their hash, and the last
    one stays in each entry. Those whose hash is that one's are done; the others, which collided with another
    hash, try again under other bits.
    """
    hashes = np.ascontiguousarray(hashes.T)
    nodes = hashes.shape[1]
    bits = max(2 * nodes - 1, 1).bit_length()
    shift = np.uint64(64 - bits)
    table = np.empty(1 << bits, np.int32)
    representative = np.empty(nodes, np.int32)
    left = np.arange(nodes, dtype=np.int32)
    a, b = hashes
    for attempt in itertools.count():
        entry = (a * np.uint64(2 * attempt + 1) + b * np.uint64(attempt)) >> shift
        table[entry] = left
        last = table[entry]
        representative[left] = last
        collided = np.flatnonzero((hashes[0, last] != a) | (hashes[1, last] != b))
        if len(collided) == 0:
            break
        left, a, b = left[collided], a[collided], b[collided]
    number: HostArray = np.cumsum(representative == np.arange(nodes), dtype=np.int32) - 1
    return number[representative]


def _mixed(words: HostArray) -> HostArray:
    """Scrambles both lanes in place."""
    return finalise(np, words, _FIRST, _SECOND)


def _mix_in_values(plan: Plan, site: HostArray, raw: list[HostArray], hashes: HostArray) -> None:
    """Mixes the bits of the values that were read into the hashes of the nodes that read them."""
    for operation in plan.operations:
        if operation.kind != "read":
            continue
        nodes = np.flatnonzero(plan.sites.operation[site] == operation.index)
        values = np.ascontiguousarray(raw[operation.stream])
        size = int(np.prod(values.shape[1:]))
        bits = values.reshape(len(values), size).view(f"u{values.dtype.itemsize}")
        words = hashes[:, nodes]
        for column in range(size):
            words = _mixed(words + _ODD * (bits[:, column].astype(np.uint64) + np.uint64(1)))
        hashes[:, nodes] = words
