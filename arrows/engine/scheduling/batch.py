"""Some examples of a set of wirings, chosen for a batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arrows.engine.planning.plan import Plan
from arrows.engine.reading.wiring import Wirings
from arrows.engine.scheduling.node_table import NodeTable, node_table


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
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
    def all(wirings: Wirings) -> Chosen:
        """All examples of a set."""
        return Chosen(wirings, np.arange(len(wirings)))

    def part(self, first: int, count: int) -> Chosen:
        """Some of these examples."""
        return Chosen(self.wirings, self.indices[first : first + count], self.tables)

    def apart(self) -> Chosen:
        """These examples, each as often as it is chosen: a set of their own if one is chosen twice."""
        if len(np.unique(self.indices)) == len(self.indices):
            return self
        return Chosen.all(self.wirings.select(self.indices))

    def table(self, plan: Plan, share: bool) -> NodeTable:
        """The nodes of the set by number; arguments as those of `node_table`."""
        if share not in self.tables:
            self.tables[share] = node_table(plan, self.wirings, share)
        return self.tables[share]
