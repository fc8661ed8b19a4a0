"""Prepared sets: examples that are read once, to be used in many batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import Fingerprint, Wirings, lengths_of
from arrows.engine.scheduling.node_table import NodeTable, node_table


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

    def select(self, places: HostArray) -> WiredBatch:
        """The examples at some places of the batch."""
        return WiredBatch(self.wirings, self.indices[places], self.tables)

    def part(self, first: int, count: int) -> WiredBatch:
        """``count`` of these examples, from the ``first`` on."""
        return WiredBatch(self.wirings, self.indices[first : first + count], self.tables)

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
