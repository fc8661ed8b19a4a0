"""The nodes of a set of wirings by number: made once a set, so that merging a batch only looks things up.

Nodes that compute the same have one number. What is known of a node beside its example (its operation and
depth, what it reads) is kept by number, with ids that count numbers too, so nothing has to be moved when
examples are chosen for a batch. Numbers ascend in the order in which a batch's rows stand, so a batch is
ordered by sorting its numbers: by operation, component and depth, then so that much of what is read is a
range, a view instead of a gather.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arrows.engine.planning import ApplyOperation, Plan, ReadOperation
from arrows.engine.reading.source_layout import extents, index_type, lengths_of
from arrows.engine.reading.wiring import Column, Outputs, Wirings
from arrows.engine.scheduling.sorting import largest_first, stable_order


@dataclass(frozen=True, slots=True)
class NodeTable:
    """What is known of nodes by their numbers.

    A value's id is that of the numbered node that makes it, ``(constants + number) << shift``, plus the
    output; the ids of constants are ``constant << shift``.

    Attributes:
        numbers: for each example, the numbers of its nodes, in the order of the nodes.
        place: by number, the first node of the set with it.
        key: by number, where it stands in the order of (operation, component, depth): the smallest integers
            with that order. They ascend.
        key_pair, key_depth: by key, the number of (operation, component) and the depth.
        first: by number, where its sources start; of a node that reads an input, the place of its value.
        sources: ids; for each node those of one row, then the elements of each sequence.
        length: by number, how many sources it has.
        counts: the lengths of sequences.
        first_count: by number, where its counts start.
        outputs: what comes out of the examples, by these ids.
    """

    numbers: Column
    place: np.ndarray
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
    site = wirings.site.values
    nodes, constants = len(site), len(plan.lowered.constants)
    same = wirings.same if share else None
    alike = np.arange(nodes, dtype=index_type(nodes)) if same is None else same.values
    place = _first_alike(alike, _in_turn(plan, wirings.site.offsets))
    # Without batching, rows stand in the order in which they are computed.
    depth = np.zeros(len(place), np.int32) if plan.schedule == "none" else wirings.depth.values[place]
    key, key_pair, key_depth = ordered_keys(plan, plan.sites.pair[site[place]], depth)
    order = stable_order(key, len(key_pair))
    key, place = key[order], place[order]
    number = np.empty(int(alike.max(initial=-1)) + 1, alike.dtype)
    number[alike[place]] = np.arange(len(place))
    moved = _moving(plan, wirings)
    sources = moved(wirings.sources)
    layout = extents(plan, site, wirings.counts.values)
    first = layout.first_source
    if plan.schedule != "none":
        for a, z in _single_steps(plan, key, key_pair):
            mine = place[a:z]
            made_by = (sources.values[first[mine]] >> plan.shift) - constants
            read = np.where(made_by < 0, made_by, number[alike[np.maximum(made_by, 0)]]) + constants
            mine = mine[stable_order(read, len(place) + constants)]
            place[a:z] = mine
            number[alike[mine]] = np.arange(a, z)
    for operation in plan.operations:
        if isinstance(operation, ReadOperation):
            at = np.flatnonzero(plan.sites.operation[site] == operation.index)
            first[at] = np.arange(len(at))
    number_of = number[alike]
    renumbered = _renumbering(plan, number_of)
    shared: dict[bytes, np.ndarray] = {}  # columns with equal offsets are selected at once

    def coming_out(ids: Column) -> Column:
        ids = renumbered(moved(ids))
        return Column(ids.values, shared.setdefault(ids.offsets.tobytes(), ids.offsets))

    return NodeTable(
        Column(number_of, wirings.site.offsets),
        place,
        key,
        key_pair,
        key_depth,
        first[place],
        renumbered(sources).values,
        layout.length[place],
        wirings.counts.values,
        layout.first_count[place],
        replace(
            wirings.outputs,
            results=tuple(map(coming_out, wirings.outputs.results)),
            metrics=tuple(map(coming_out, wirings.outputs.metrics)),
        ),
    )


def _in_turn(plan: Plan, offsets: np.ndarray) -> np.ndarray:
    """The nodes of a set, those of the largest examples first.

    Rows of one step are in this order. So where sequences end at different steps, those that go on are the
    first rows of each, and what they read is a range: a view instead of a gather.
    """
    lengths = lengths_of(offsets)
    examples = np.arange(len(lengths)) if plan.schedule == "none" else largest_first(lengths)
    lengths = lengths[examples]
    ends = np.cumsum(lengths)
    kind = index_type(int(offsets[-1]))
    nodes: np.ndarray = np.repeat((offsets[examples] - (ends - lengths)).astype(kind), lengths)
    nodes += np.arange(len(nodes), dtype=kind)
    return nodes


def _first_alike(alike: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Of the nodes in an order, the first of those that are alike, in that order."""
    turn = np.full(int(alike.max(initial=-1)) + 1, -1, nodes.dtype)
    # Of what is written to one place, the last stays: the first turn.
    turn[alike[nodes[::-1]]] = np.arange(len(nodes), dtype=nodes.dtype)[::-1]
    is_first = np.zeros(len(nodes), bool)
    is_first[turn[turn >= 0]] = True  # of a larger set, only some may be left
    return nodes[is_first]


def ordered_keys(
    plan: Plan, pair: np.ndarray, depth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The key of each node, and the pair and the depth of each key, as in `NodeTable`."""
    span = int(depth.max(initial=0)) + 1
    wide = pair.astype(np.int64) * span + depth
    if len(plan.pairs.operation) * span <= 4 * len(wide) + 2**16:
        there = np.zeros(len(plan.pairs.operation) * span, bool)
        there[wide] = True
        known = np.flatnonzero(there)
        key = (np.cumsum(there) - 1)[wide]
    else:
        known, key = np.unique(wide, return_inverse=True)
    key_pair, key_depth = np.divmod(known, span)
    # 16 bits: every batch looks keys up.
    return key.astype(np.int16 if len(known) < 2**15 else np.int32), key_pair, key_depth


def _single_steps(plan: Plan, key: np.ndarray, key_pair: np.ndarray) -> list[tuple[int, int]]:
    """Which ranges of the nodes run in one step outside of recursion and folds, each before those that it
    feeds.

    These can stand in the order of what they read first, which is a range then where all of it is read: the
    output layer of a tree reads the states of all its nodes.  Rows that a sequence's operation gives stand in
    its order, so both stay as they are.
    """
    keys_of_pair = np.bincount(key_pair, minlength=len(plan.pairs.operation))
    bounds = np.searchsorted(key, np.arange(len(key_pair) + 1))
    parents = {parent for parent, _ in plan.elements}
    found = []
    for k in np.argsort(plan.pairs.component[key_pair], kind="stable").tolist():
        operation = plan.operations[plan.pairs.operation[key_pair[k]]]
        if not isinstance(operation, ApplyOperation) or operation.index in parents:
            continue
        reads = len(operation.ports) > sum(operation.widths)
        if reads and keys_of_pair[key_pair[k]] == 1 and len(operation.early) == len(operation.ports):
            found.append((int(bounds[k]), int(bounds[k + 1])))
    return found


def _moving(plan: Plan, wirings: Wirings) -> Callable[[Column], Column]:
    """From the value ids of wirings, which count from their example's base, to ids that count all nodes."""
    constants, shift = len(plan.lowered.constants), plan.shift
    kind = index_type((len(wirings.site.values) + constants) << shift)
    move = (wirings.site.offsets[:-1] + constants - wirings.base).astype(kind) << shift

    def moved(ids: Column) -> Column:
        values = ids.values
        found = values + np.repeat(move, lengths_of(ids.offsets))
        if constants:
            found = np.where(values < (constants << shift), values, found)
        return Column(found, ids.offsets)

    return moved


def _renumbering(plan: Plan, number_of: np.ndarray) -> Callable[[Column], Column]:
    """From ids that count all nodes to those of the table; ``number_of``: of each node."""
    constants, shift = len(plan.lowered.constants), plan.shift
    known = np.concatenate([np.arange(constants), number_of + constants]).astype(
        index_type((len(number_of) + constants) << shift)
    )

    def renumbered(ids: Column) -> Column:
        values = ids.values
        return Column((known[values >> shift] << shift) + (values & ((1 << shift) - 1)), ids.offsets)

    return renumbered
