"""Examples lowered once, to be used in many batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.reading import Fingerprint, Wirings
from arrows.engine.scheduling.node_table import NodeTable, node_table
from arrows.typesys.errors import ArrowTypeError, message


@dataclass(frozen=True, eq=False, slots=True)
class WiredBatch:
    """Some examples of a set.

    Attributes:
        wirings: the set.
        indices: places in it, ``[examples]``, in an order of their own; an example may stand there twice.
        tables: the tables of the set that there are so far, by whether they share; kept by who keeps the set.
    """

    wirings: Wirings
    indices: np.ndarray
    tables: dict[bool, NodeTable] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.indices)

    @staticmethod
    def all(wirings: Wirings) -> WiredBatch:
        """All examples of a set."""
        return WiredBatch(wirings, np.arange(len(wirings)))

    def part(self, first: int, count: int) -> WiredBatch:
        """Some of these examples."""
        return WiredBatch(self.wirings, self.indices[first : first + count], self.tables)

    def apart(self) -> WiredBatch:
        """These examples, each as often as it is chosen: a set of their own if one is chosen twice."""
        if len(np.unique(self.indices)) == len(self.indices):
            return self
        return WiredBatch.all(self.wirings.select(self.indices))

    def table(self, plan: Plan, share: bool) -> NodeTable:
        """The nodes of the set by number; arguments as those of `node_table`."""
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
    indices: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def wired(self) -> WiredBatch:
        """The batch's examples among the wirings of the set."""
        return WiredBatch(self.prepared.wirings, self.indices, self.prepared.tables)


class Prepared:
    """Examples lowered by one model: ``prepared[indices]`` is a batch for that model and for those that read
    examples alike.

    A set can be pickled; it then serves models that read alike in any process.  Lowering runs the users'
    functions (`InputTransform`, keys of `OneOf`), so what they hold counts, a vocabulary say: as it was when
    the set was finished, and in another model as it is when that model first uses the set. A model that has
    made a set, or used it, may use it for good.  A pickle is a program that runs when it is loaded: open
    those of your own making alone.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
        >>> examples = model.prepare([[1, 2], [], [3]])
        >>> len(examples), model(examples[[2, 0]]).tolist()
        (3, [3.0, 3.0])
    """

    def __init__(self, wirings: Wirings, fingerprint: Fingerprint) -> None:
        self.wirings = wirings
        self.fingerprint = fingerprint
        self.plans: WeakSet[Plan] = WeakSet()  # of the models that have made or used the set
        self.tables: dict[bool, NodeTable] = {}  # not pickled: the first batch makes what is missing

    @staticmethod
    def numbered(plan: Plan, wirings: Wirings, fingerprint: Fingerprint) -> Prepared:
        """A set whose nodes are numbered; not with dropout, where numbers depend on what a batch is for."""
        prepared = Prepared(wirings, fingerprint)
        prepared.plans.add(plan)
        if not plan.has_dropout:
            prepared[:].wired.table(plan, plan.shares)
        return prepared

    def __reduce__(self) -> tuple[Any, ...]:
        if self.fingerprint.refusal is not None:
            raise ArrowTypeError(
                message(
                    "cannot pickle prepared examples",
                    reason="a model that read them from a file could not tell whether it reads examples as "
                    f"they were read: {self.fingerprint.refusal}",
                    hint="say what your functions' data is, and say it anew when it changes: "
                    "ar.compile(block, fingerprint='vocabulary of May')",
                )
            )
        return Prepared, (self.wirings, self.fingerprint)

    def __len__(self) -> int:
        return len(self.wirings)

    def __getitem__(self, indices: Any) -> Batch:
        """The batch of the examples at ``indices``: integers, a slice, or one integer (a batch of one).

        Raises:
            IndexError: there is no such example.
            ArrowTypeError: ``indices`` are no integers.
        """
        if isinstance(indices, slice):
            found = np.arange(len(self))[indices]
        else:
            try:
                found = np.atleast_1d(np.asarray(indices))
            except ValueError:  # lists of different lengths
                found = np.empty((0, 0), np.intp)
            if found.shape == (0,):
                found = found.astype(np.intp)
            if found.dtype.kind not in "iu" or found.ndim != 1:
                raise ArrowTypeError(
                    message(
                        "cannot take a batch of a prepared set",
                        reason=f"expected places in the set, got {indices!r}",
                    )
                )
            if len(found) and not -len(self) <= int(found.min()) <= int(found.max()) < len(self):
                raise IndexError(f"the prepared set has {len(self)} examples; there is no {indices!r} in it")
            found = np.where(found < 0, found + len(self), found)
        return Batch(self, found.astype(np.intp))

    def __repr__(self) -> str:
        return f"Prepared({len(self)} examples, {len(self.wirings.site.values)} nodes)"
