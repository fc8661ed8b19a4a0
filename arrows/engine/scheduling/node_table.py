"""Numbers the nodes of a set of wirings, once for each set, so that merging a batch only looks numbers up.

Nodes that compute the same have one number. What a node is, beside its example (its operation and depth, what
it reads), is kept by number, and value ids count numbers. So nothing has to be shifted when examples are put
together to a batch.

Numbers ascend by operation, component and depth, which is the order of a batch's rows. So sorting the numbers
of a batch puts its rows in order, an operation's rows are one range, and so are those of a step. Numbers of
equal key ascend so that much of what steps read is a range too: a view instead of a gather.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Column,
    Outputs,
    Wirings,
    classify,
    index_type,
    largest_first,
    lengths_of,
    source_layout,
    stable_order,
)


@dataclass(frozen=True, slots=True)
class NodeKeys:
    """The places of nodes in the order of (operation, component, depth).

    Attributes:
        key: of each node, the smallest integers with that order.
        pair: by key, the number of (operation, component).
        depth: by key, the depth.
    """

    key: HostArray
    pair: HostArray
    depth: HostArray


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The nodes of a set by their numbers.

    The id of a value is that of the numbered node that makes it, ``(constants + number) << shift``, plus the
    output; the ids of constants are ``constant << shift``.

    Attributes:
        numbers: for each example, the numbers of its nodes, in the order of the nodes.
        place: by number, the first node of the set with it.
        keys: by number; they ascend.
        first: by number, where its sources start; for a node that reads an input, the place of its value.
        sources: ids; for each node those of one row, then the elements of each sequence.
        length: by number, how many sources it has.
        counts: the lengths of sequences.
        first_count: by number, where its counts start.
        outputs: what comes out of the examples, by these ids.
    """

    numbers: Column
    place: HostArray
    keys: NodeKeys
    first: HostArray
    sources: HostArray
    length: HostArray
    counts: HostArray
    first_count: HostArray
    outputs: Outputs


def node_table(plan: Plan, wirings: Wirings, share: bool) -> NodeTable:
    """Makes the table of a set.

    Args:
        plan: the model's plan.
        wirings: the set.
        share: whether equal nodes get one number, where they are known.
    """
    site = wirings.site.values
    nodes, constants = len(site), len(plan.lowered.constants)
    place = _largest_examples_first(wirings.site.offsets)
    if share and wirings.hashes is not None:
        classes = classify(wirings.hashes.values)
        place = _first_of_classes(classes, place)
    else:
        classes = np.arange(nodes, dtype=index_type(nodes))
    keys = ordered_keys(plan, plan.sites.pair[site[place]], wirings.depth.values[place])
    by_key = stable_order(keys.key, len(keys.pair))
    keys, place = NodeKeys(keys.key[by_key], keys.pair, keys.depth), place[by_key]
    number = np.empty(int(classes.max(initial=-1)) + 1, classes.dtype)
    number[classes[place]] = np.arange(len(place))
    base = (wirings.site.offsets[:-1] + constants).astype(index_type((nodes + constants) << plan.shift))
    sources = wirings.moved(wirings.sources, base, plan)
    layout = source_layout(plan, site, wirings.counts.values)
    first = layout.first_source
    for start, stop in _single_steps(plan, keys):
        in_step = place[start:stop]
        read = sources.values[first[in_step]] >> plan.shift
        if constants:
            producer = read - constants
            read = np.where(producer < 0, read, number[classes[np.maximum(producer, 0)]] + constants)
        else:
            read = number[classes[read]]
        in_step = in_step[stable_order(read, len(place) + constants)]
        place[start:stop] = in_step
        number[classes[in_step]] = np.arange(start, stop)
    operation = plan.sites.operation[site]
    for stream in plan.streams:
        (reads,) = (operation == stream.index).nonzero()
        first[reads] = np.arange(len(reads))
    number_of = number[classes]
    to_table_ids = _to_table_ids(plan, number_of)
    offsets: dict[bytes, HostArray] = {}  # columns that share their offsets are selected at once

    def renumbered(ids: Column) -> Column:
        ids = to_table_ids(wirings.moved(ids, base, plan))
        return Column(ids.values, offsets.setdefault(ids.offsets.tobytes(), ids.offsets))

    return NodeTable(
        numbers=Column(number_of, wirings.site.offsets),
        place=place,
        keys=keys,
        first=first[place],
        sources=to_table_ids(sources).values,
        length=layout.length[place],
        counts=wirings.counts.values,
        first_count=layout.first_count[place],
        outputs=wirings.outputs._replace(
            results=tuple(map(renumbered, wirings.outputs.results)),
            metrics=tuple(map(renumbered, wirings.outputs.metrics)),
        ),
    )


def _largest_examples_first(offsets: HostArray) -> HostArray:
    """The nodes of a set, those of the largest examples first.

    The rows of a step are in this order. Where sequences end at different steps, those that go on are then
    the first rows of every step, and what they read of the step before is a range: a view instead of a
    gather.
    """
    if len(offsets) == 2:
        return np.arange(offsets[1], dtype=index_type(int(offsets[1])))
    lengths = lengths_of(offsets)
    examples = largest_first(lengths)
    lengths = lengths[examples]
    ends = np.cumsum(lengths)
    dtype = index_type(int(offsets[-1]))
    nodes: HostArray = np.repeat((offsets[examples] - (ends - lengths)).astype(dtype), lengths)
    nodes += np.arange(len(nodes), dtype=dtype)
    return nodes


def _first_of_classes(classes: HostArray, nodes: HostArray) -> HostArray:
    """The first node of each class, in the order of ``nodes``, which has all of them."""
    turn = np.empty(int(classes.max(initial=-1)) + 1, nodes.dtype)
    # Of several numbers written to one place NumPy keeps the last, so they are written backwards.
    turn[classes[nodes[::-1]]] = np.arange(len(nodes), dtype=nodes.dtype)[::-1]
    is_first = np.zeros(len(nodes), bool)
    is_first[turn] = True
    return nodes[is_first]


def ordered_keys(plan: Plan, pair: HostArray, depth: HostArray) -> NodeKeys:
    """Keys of nodes, from the pair (which ascend by operation) and the depth of each."""
    span = int(depth.max(initial=0)) + 1
    wide = pair.astype(np.int64) * span + depth
    if len(plan.pairs.operation) * span <= 4 * len(wide) + 2**16:  # a small table saves a sort
        present = np.zeros(len(plan.pairs.operation) * span, bool)
        present[wide] = True
        (distinct,) = present.nonzero()
        key = (present.cumsum() - 1)[wide]
    else:
        distinct, key = np.unique(wide, return_inverse=True)
    key_pair, key_depth = np.divmod(distinct, span)
    # 16 bits where they suffice, since every batch looks keys up.
    return NodeKeys(key.astype(np.int16 if len(distinct) < 2**15 else np.int32), key_pair, key_depth)


def _single_steps(plan: Plan, keys: NodeKeys) -> list[tuple[int, int]]:
    """The ranges of numbers that run in one step outside of recursion and folds, in topological order.

    The nodes of such a step can stand in the order of what they read first. That is a range where all of it
    is read: the output layer of a tree reads the states of all its nodes. An operation that gives rows for
    the elements of a sequence is left out, for these rows are in its nodes' order.
    """
    (chosen,) = plan.reads_at_once[plan.pairs.operation[keys.pair]].nonzero()
    chosen = chosen[plan.pairs.component[keys.pair[chosen]].argsort(kind="stable")]
    starts, stops = keys.key.searchsorted(chosen), keys.key.searchsorted(chosen, "right")
    ranges = zip(starts.tolist(), stops.tolist(), strict=True)
    return [(start, stop) for start, stop in ranges if stop - start > 1]


def _to_table_ids(plan: Plan, number_of: HostArray) -> Callable[[Column], Column]:
    """A function from ids that count all nodes of the set to those of the table."""
    constants, shift = len(plan.lowered.constants), plan.shift
    dtype = index_type((len(number_of) + constants) << shift)
    number = np.concatenate([np.arange(constants), number_of + constants]).astype(dtype)

    def to_table_ids(ids: Column) -> Column:
        values = ids.values
        return Column((number[values >> shift] << shift) + (values & ((1 << shift) - 1)), ids.offsets)

    return to_table_ids
