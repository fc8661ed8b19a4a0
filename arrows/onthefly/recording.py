"""The nodes of a batch on the fly, which the program records in flat lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops.arrays import HostArray
from arrows.ops.splitmix import GOLDEN, finalise
from arrows.typesys import ArrowValueError
from arrows.typesys import types as T
from arrows.typesys.errors import message


class GrowingColumn:
    """An integer array that follows a growing list.

    >>> numbers = [1, 2]
    >>> column = GrowingColumn(numbers)
    >>> numbers.append(3)
    >>> column.array().tolist()
    [1, 2, 3]
    """

    def __init__(self, source: list[int]) -> None:
        self._source = source
        self._array = np.zeros(1024, np.int64)
        self._count = 0

    def array(self) -> HostArray:
        """The whole list as an array; copies only the numbers that are new."""
        count = len(self._source)
        if count > len(self._array):
            larger = np.empty(2 * count, np.int64)
            larger[: self._count] = self._array[: self._count]
            self._array = larger
        self._array[self._count : count] = self._source[self._count :]
        self._count = count
        return self._array[:count]


class Recording:
    """The nodes of a batch.

    What adds a node appends to `site` first and to `start` last, so `check_whole` finds an interrupted one.

    Attributes:
        site: the site of each node.
        start: the place in `sources` where the sources of each node start, and where those of the last end.
        sources: the ids of the values that the nodes read, node after node.
        lengths: node -> the lengths of the sequences among its operands.
        reads: type -> node -> the data that enter there; dropped once the node has run.
        dropout: node with dropout -> the instance that called it, and the number of such calls that the
            instance had made before.
        rows: node whose operation returns rows for the elements of sequences -> the nodes of these rows.
        row_of: node of such a row -> the node of the operation.
    """

    def __init__(self) -> None:
        self.site: list[int] = []
        self.start: list[int] = [0]
        self.sources: list[int] = []
        self.lengths: dict[int, tuple[int, ...]] = {}
        self.reads: dict[T.Tensor, dict[int, Any]] = {}
        self.dropout: dict[int, tuple[int, int]] = {}
        self.rows: dict[int, list[range]] = {}
        self.row_of: dict[int, int] = {}
        self.site_column = GrowingColumn(self.site)
        self.start_column = GrowingColumn(self.start)
        self.source_column = GrowingColumn(self.sources)

    def check_whole(self) -> None:
        """Refuses nodes of which one was interrupted while it was added.

        Raises:
            ArrowValueError: one was.
        """
        if len(self.start) != len(self.site) + 1:
            raise ArrowValueError(
                message(
                    "cannot compute a value",
                    reason="the batch was interrupted while it recorded a call",
                    hint="begin another batch: with net.batch() as g: ...",
                )
            )

    def add_read(self, site: int, type: T.Tensor, value: object) -> int:
        """Adds a node at which data enter; returns the id of their value."""
        node = len(self.site)
        self.site.append(site)
        self.start.append(len(self.sources))
        reads = self.reads.get(type)
        if reads is None:
            reads = self.reads[type] = {}
        reads[node] = value
        return node << OUTPUT_BITS

    def add_rows(self, node: int, site: int, length: int) -> int:
        """Adds a node for each row that an operation returns for a sequence's elements; returns the first."""
        first = len(self.site)
        self.site.extend([site] * length)
        self.start.extend([len(self.sources)] * length)
        rows = range(first, first + length)
        self.rows.setdefault(node, []).append(rows)
        self.row_of.update(dict.fromkeys(rows, node))
        return first


def dropout_keys(seed: int, step: int, calls: HostArray) -> HostArray:
    """A 64-bit key for each call: a hash of seed, step, instance and the call's number in its instance.

    So masks depend neither on which nodes run together nor on which values the program reads in between.

    Args:
        seed: the network's.
        step: how many steps the network has made.
        calls: the instance and the number of each call, ``[calls, 2]`` (uint64).

    >>> dropout_keys(0, 0, np.array([[0, 0], [0, 1]], np.uint64)).shape
    (2,)
    """
    keys = np.full(len(calls), seed % 2**64, np.uint64)
    for words in (np.uint64(step % 2**64), calls[:, 0], calls[:, 1]):
        keys = finalise(np, keys + np.uint64(GOLDEN)) ^ words
    return finalise(np, keys + np.uint64(GOLDEN))
