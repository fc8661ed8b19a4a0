"""The nodes of a batch on the fly, which the program records in a flat list."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from arrows.arrays import HostArray

LISTS = 1 << 62
"""What stands for a list in a node is its number and this; no id is as large."""


class Recording:
    """The nodes of a batch.

    A node is appended at once, by what makes it, and what else is known of it is noted afterwards.  So an
    interrupt leaves no half of a node that anything refers to.

    Attributes:
        nodes: each node: -1 less its site, the ids of the values that it reads, and for each sequence what
            stands for its list. No other number is negative, so these show where nodes begin.
        lists: sequences that nodes read: the length, and the ids of their elements' values. A decoder
            attends to one at each step, and a node for each would hold all ids again.
        reads: node -> the data that enter there; dropped once it has run.
        dropout: node with dropout -> the instance that called it, and the number of such calls that the
            instance had made before.
        rows: node whose operation returns rows for the elements of sequences -> the nodes of these rows.
        row_of: node of such a row -> the node of the operation.
        run_of: by node, the number of its run, from 1 on; 0: it has not run.
        all_before: the nodes before this one have run, and no other; None: not so.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[int, ...]] = []
        self.lists: list[tuple[int, HostArray]] = []
        self.reads: dict[int, Any] = {}
        self.dropout: dict[int, tuple[int, int]] = {}
        self.rows: dict[int, list[range]] = {}
        self.row_of: dict[int, int] = {}
        self.run_of = np.zeros(1024, np.int64)
        self.all_before: int | None = 0
        self._flat = np.zeros(1024, np.int64)
        self._start = np.zeros(1024, np.int64)
        self._count = 0

    def columns(self) -> tuple[HostArray, HostArray]:
        """All nodes one after another in one array, and where each begins and the last ends."""
        count = len(self.nodes)
        if count > self._count:
            new = np.fromiter(chain.from_iterable(self.nodes[self._count : count]), np.int64)
            first = self._start[self._count]
            end = first + len(new)
            self._start, self.run_of = grown(self._start, count + 1), grown(self.run_of, count)
            self._flat = grown(self._flat, end)
            self._flat[first:end], self._start[count] = new, end
            self._start[self._count : count] = first + (new < 0).nonzero()[0]
            self._count = count
        return self._flat, self._start[: count + 1]

    def add_rows(self, node: int, site: int, length: int) -> range:
        """Adds a node for each row that an operation returns for a sequence's elements."""
        rows = range(len(self.nodes), len(self.nodes) + length)
        self.nodes.extend([(-1 - site,)] * length)
        self.rows.setdefault(node, []).append(rows)
        self.row_of.update(dict.fromkeys(rows, node))
        return rows


def grown(array: HostArray, size: int) -> HostArray:
    """The array, with room for at least `size` numbers."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
