"""Numbers the nodes of a set of wirings, once for each set, so that merging a batch only looks numbers up.

Nodes that compute the same have one number. What a node is, beside its example (its operation and depth, what
it reads), is kept by number, and value ids count numbers. So nothing has to be shifted when examples are put
together to a batch.

Numbers ascend by operation, component and depth, which is the order of a batch's rows. So sorting the numbers
of a batch puts its rows in order, an operation's rows are one range, and so are those of a step. Numbers of
equal key ascend so that much of what steps read is a range too: a view instead of a gather.

A prepared set is examples that are read once, to be used in many batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Column,
    Fingerprint,
    Outputs,
    Wirings,
    classify,
    index_type,
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
    if share and wirings.hashes is not None:
        classes = classify(wirings.hashes.values)
    else:
        classes = np.arange(nodes, dtype=index_type(nodes))
    number = np.empty(int(classes.max(initial=-1)) + 1, classes.dtype)
    # Of several numbers written to one place NumPy keeps the last, so they are written backwards.
    number[classes[::-1]] = np.arange(nodes, dtype=classes.dtype)[::-1]
    place = np.sort(number)  # the first node of each class
    keys = ordered_keys(plan, plan.sites.pair[site[place]], wirings.depth.values[place])
    by_key = stable_order(keys.key, len(keys.pair))
    keys, place = NodeKeys(keys.key[by_key], keys.pair, keys.depth), place[by_key]
    number[classes[place]] = np.arange(len(place))
    base = (wirings.site.offsets[:-1] + constants).astype(index_type((nodes + constants) << plan.shift))
    sources = wirings.moved(wirings.sources, base, plan)
    layout = source_layout(plan, site, wirings.counts.values)
    first = layout.first_source
    # Outside of recursion and folds the nodes of a step stand in the order of what they read first. That is a
    # range where all of it is read: the output layer of a tree reads the states of all its nodes. Nodes that
    # give rows for the elements of a sequence are left out, for these rows are in their order.
    (chosen,) = (plan.reads_at_once[plan.pairs.operation[keys.pair]] & (np.bincount(keys.key) > 1)).nonzero()
    for key in chosen[plan.pairs.component[keys.pair[chosen]].argsort(kind="stable")].tolist():
        step = slice(*keys.key.searchsorted([key, key + 1]).tolist())
        read = (sources.values[first[place[step]]] >> plan.shift) - constants
        place[step] = place[step][stable_order(number[classes[np.maximum(read, 0)]], len(place))]
        number[classes[place[step]]] = np.arange(step.start, step.stop)
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


def _to_table_ids(plan: Plan, number_of: HostArray) -> Callable[[Column], Column]:
    """A function from ids that count all nodes of the set to those of the table."""
    constants, shift = len(plan.lowered.constants), plan.shift
    dtype = index_type((len(number_of) + constants) << shift)
    number = np.concatenate([np.arange(constants), number_of + constants]).astype(dtype)

    def to_table_ids(ids: Column) -> Column:
        values = ids.values
        return Column((number[values >> shift] << shift) + (values & ((1 << shift) - 1)), ids.offsets)

    return to_table_ids


@dataclass(frozen=True, eq=False, slots=True)
class WiredBatch:
    """Some examples of a set of wirings.

    Attributes:
        wirings: the set.
        indices: places in it, ``[examples]``, in any order; an example may be there twice.
        tables: the set's node tables that were made so far, by whether they share equal nodes.
    """

    wirings: Wirings
    indices: HostArray
    tables: dict[bool, NodeTable] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def nodes(self) -> int:
        """How many nodes the examples have."""
        offsets = self.wirings.site.offsets
        return int((offsets[self.indices + 1] - offsets[self.indices]).sum())

    @staticmethod
    def all(wirings: Wirings) -> WiredBatch:
        """All examples of a set."""
        return WiredBatch(wirings, np.arange(len(wirings)))

    def select(self, places: HostArray | slice) -> WiredBatch:
        """The examples at some places of the batch."""
        return WiredBatch(self.wirings, self.indices[places], self.tables)

    def alone(self) -> WiredBatch:
        """The same examples as a set of their own."""
        distinct, places = np.unique(self.indices, return_inverse=True)
        return WiredBatch(self.wirings.select(distinct), places)

    def apart(self) -> WiredBatch:
        """The same examples with nodes of their own: if one is there twice, a set that holds it twice."""
        if len(self.indices) == 1 or len(np.unique(self.indices)) == len(self.indices):
            return self
        return WiredBatch.all(self.wirings.select(self.indices))

    def table(self, plan: Plan, share: bool) -> NodeTable:
        """The node table of the set; arguments as those of `node_table`."""
        if share not in self.tables:
            self.tables[share] = node_table(plan, self.wirings, share)
        return self.tables[share]


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Some examples of a `Prepared` set, in an order of their own; what its indexing gives.

    Attributes:
        prepared: the set.
        indices: places in the set, ``[examples]``.
    """

    prepared: Prepared
    indices: HostArray

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def wired(self) -> WiredBatch:
        """The batch's examples among the wirings of the set."""
        batch = WiredBatch(self.prepared.wirings, self.indices, self.prepared.tables)
        return batch if self.prepared.path is None else batch.alone()


class Prepared:
    """Examples that a model has read: ``prepared[indices]`` is a batch for it and for models that read alike.

    `Model.prepare` keeps a set in memory, or in a file (``cache=``), from which a batch reads what belongs to
    its examples.

    A set can be pickled, with all its examples, and then serves models that read alike in any process.
    Reading runs the users' functions (`InputTransform`, keys of `OneOf`), so what these hold counts, a
    vocabulary say: as it was when the set was finished, and in another model as it is when that model first
    uses the set. A model that has made or used a set may use it from then on.  A pickle is a program that
    runs when it is loaded: open only those that you made.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
        >>> examples = model.prepare([[1, 2], [], [3]])
        >>> len(examples), model(examples[[2, 0]]).tolist()
        (3, [3.0, 3.0])
    """

    def __init__(self, wirings: Wirings, fingerprint: Fingerprint, path: Path | None = None) -> None:
        self.wirings = wirings
        self.path = path  # of the folder that the wirings are mapped from
        self.fingerprint = fingerprint
        self.plans: WeakSet[Plan] = WeakSet()  # of the models that have made or used the set
        self.places: Sequence[str] | None = None  # where each example stands in a file, for messages
        self._places: Any = np.arange(len(wirings))
        self.tables: dict[bool, NodeTable] = {}  # not pickled, since the first batch makes what is missing

    @staticmethod
    def numbered(plan: Plan, wirings: Wirings, fingerprint: Fingerprint) -> Prepared:
        """A set whose nodes are numbered; not with dropout, where numbers depend on what a batch is for."""
        prepared = Prepared(wirings, fingerprint)
        prepared.plans.add(plan)
        if not plan.has_dropout:
            prepared[:].wired.table(plan, plan.shares)
        return prepared

    def __reduce__(self) -> tuple[Any, ...]:
        self.fingerprint.require_told("cannot pickle prepared examples")
        return Prepared, (self.wirings, self.fingerprint)

    def __len__(self) -> int:
        return len(self.wirings)

    @property
    def nodes(self) -> HostArray:
        """How many nodes each example has, ``int64[examples]``: what a batch of it costs, about.

        A node is one visit of an operation, or a value that is read.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
            >>> model.prepare([[1, 2], [], [3]]).nodes.tolist()
            [3, 1, 2]
        """
        return lengths_of(self.wirings.site.offsets).astype(np.int64, copy=False)

    def __getitem__(self, indices: object) -> Batch:
        """The batch of the examples at ``indices``: integers, a slice, a mask, or one integer
        (a batch of one).

        Raises:
            IndexError: there is no such example, or ``indices`` are no integers.
        """
        places = np.atleast_1d(self._places[indices])
        if places.ndim > 1:
            raise IndexError(f"a batch is a list of places in the set, not {indices!r}")
        return Batch(self, places)

    def __repr__(self) -> str:
        return f"Prepared({len(self)} examples, {int(self.wirings.site.offsets[-1])} nodes)"
