"""The nodes of a set of wirings by number: made once a set, so that merging a batch only looks things up.

Nodes that compute the same have one number. What is known of a node beside its example (its operation and
depth, what it reads) is kept by number, with ids that count numbers too, so nothing has to be moved when
examples are chosen for a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arrows.engine.extents import extents, lengths_of
from arrows.engine.plan import Plan
from arrows.engine.wiring import Column, Outputs, Wirings


@dataclass(frozen=True, slots=True)
class NodeTable:
    """What is known of nodes by their numbers.

    A value's id is that of the numbered node that makes it, ``(constants + number) << shift``, plus the
    output; the ids of constants are ``constant << shift``.

    Attributes:
        numbers: for each example, the numbers of its nodes, in the order of the nodes.
        repeats: whether a number can stand there more than once.
        count: how many numbers there are.
        key: by number, where it stands in the order of (operation, component, depth): the smallest integers
            with that order.
        key_pair, key_depth: by key, the number of (operation, component) and the depth.
        first: by number, where its sources start; of a node that reads an input, the place of its value.
        sources: ids; for each node those of one row, then the elements of each sequence.
        length: by number, how many sources it has.
        counts: the lengths of sequences.
        first_count: by number, where its counts start.
        outputs: what comes out of the examples, by these ids.
    """

    numbers: Column
    repeats: bool
    count: int
    key: np.ndarray
    key_pair: np.ndarray
    key_depth: np.ndarray
    first: np.ndarray
    sources: np.ndarray
    length: np.ndarray
    counts: np.ndarray
    first_count: np.ndarray
    outputs: Outputs


def node_table(plan: Plan, wirings: Wirings, share: bool) -> NodeTable:
    """Makes the table of a set.

    Args:
        plan: the model's plan.
        wirings: the set.
        share: whether nodes that compute the same get one number, where the wirings know it.
    """
    site, offsets = wirings.site.values, wirings.site.offsets
    nodes = len(site)
    layout = extents(plan, site, wirings.counts.values)
    first = layout.first_source
    for operation in plan.operations:
        if operation.kind == "read":
            at = np.flatnonzero(plan.site_operation[site] == operation.index)
            first[at] = np.arange(len(at))
    depth = wirings.depth.values
    if plan.schedule == "none":
        depth = np.zeros_like(depth)  # rows in the order in which they are computed
    length, first_count = layout.length, layout.first_count
    same = wirings.same if share else None
    if same is None:
        numbers, count = Column(np.arange(nodes, dtype=_index(nodes)), offsets), nodes
        number_of = None
    else:
        numbers, count = same, int(same.values.max(initial=-1)) + 1
        number_of = same.values
        place = np.empty(count, np.intp)
        place[number_of] = np.arange(nodes)  # any of those with a number
        site, depth, first, length, first_count = (
            values[place] for values in (site, depth, first, length, first_count)
        )
    key, key_pair, key_depth = ordered_keys(plan, plan.site_pair[site], depth)
    renumbered = _renumbering(plan, wirings, number_of)
    shared: dict[bytes, np.ndarray] = {}  # columns with equal offsets are selected at once

    def coming_out(ids: Column) -> Column:
        ids = renumbered(ids)
        return Column(ids.values, shared.setdefault(ids.offsets.tobytes(), ids.offsets))

    return NodeTable(
        numbers,
        number_of is not None,
        count,
        key,
        key_pair,
        key_depth,
        first.astype(_index(len(wirings.sources.values))),
        renumbered(wirings.sources).values,
        length.astype(np.int32),
        wirings.counts.values,
        first_count.astype(np.int32),
        replace(
            wirings.outputs,
            results=tuple(map(coming_out, wirings.outputs.results)),
            metrics=tuple(map(coming_out, wirings.outputs.metrics)),
        ),
    )


def ordered_keys(
    plan: Plan, pair: np.ndarray, depth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The key of each node, and the pair and the depth of each key, as in `NodeTable`."""
    span = int(depth.max(initial=0)) + 1
    wide = pair.astype(np.int64) * span + depth
    if len(plan.pair_operation) * span <= 4 * len(wide) + 2**16:
        there = np.zeros(len(plan.pair_operation) * span, bool)
        there[wide] = True
        known = np.flatnonzero(there)
        key = (np.cumsum(there) - 1)[wide]
    else:
        known, key = np.unique(wide, return_inverse=True)
    key_pair, key_depth = np.divmod(known, span)
    # 16 bits: NumPy's stable sort is a radix sort.
    return key.astype(np.int16 if len(known) < 2**15 else np.int32), key_pair, key_depth


def _renumbering(plan: Plan, wirings: Wirings, number_of: np.ndarray | None) -> Callable[[Column], Column]:
    """From the value ids of wirings, which count from their example's base, to those of the table."""
    constants, shift = len(plan.constants), plan.shift
    kind = _index((len(wirings.site.values) + constants) << shift)
    move = (wirings.site.offsets[:-1] + constants - wirings.base).astype(kind) << shift
    known = None
    if number_of is not None:
        known = np.concatenate([np.arange(constants, dtype=kind), number_of.astype(kind) + kind(constants)])

    def renumbered(ids: Column) -> Column:
        values = ids.values
        moved = values + np.repeat(move, lengths_of(ids.offsets))
        if constants:
            moved = np.where(values < (constants << shift), values, moved)
        if known is not None:
            moved = (known[moved >> shift] << shift) + (moved & ((1 << shift) - 1))
        return Column(moved, ids.offsets)

    return renumbered


def _index(most: int) -> type[np.signedinteger]:
    """The smaller element type that numbers up to ``most`` fit in."""
    return np.int32 if most < 2**31 else np.int64
