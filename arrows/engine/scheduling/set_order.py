"""Orders the nodes of a set that is larger than memory as `node_table` orders those of one in memory.

A batch of a set has its rows in the order of the whole set: equal nodes stand where the first of them stands,
that of the largest example. Only that place must be known of a node to put any batch in order. So an
`OrderWriter` takes the nodes piece by piece and finds the first of all equal ones, by an external hash join.
Memory holds a few numbers an example, and one bucket of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrows.column_file import ColumnWriter
from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Wirings,
    classify,
    index_type,
    largest_first,
    lengths_of,
    starts_of_runs,
    with_stop,
)
from arrows.engine.scheduling.node_table import first_of_classes, largest_examples_first
from arrows.ops.arrays import HostArray

# How many distinct nodes of pieces a bucket has, about: 32 bytes each, and as much again while it is sorted.
_BUCKET = 1 << 20
_MOST_BUCKETS = 64  # each is two open files for a while
_SLICE = 1 << 18  # numbers that are computed at once


@dataclass(frozen=True, slots=True)
class _Piece:
    """Where the nodes of a piece are, and its distinct ones; ``records`` is None if they are not known."""

    first: int
    nodes: int
    first_record: int
    records: int | None


class OrderWriter:
    """Writes the columns "first" and "deep" of a set; see `SetOrder`.

    Args:
        plan: the model's plan.
        columns: where the columns go, and temporary ones whose names begin with an underscore.
    """

    def __init__(self, plan: Plan, columns: ColumnWriter) -> None:
        self.plan, self.columns = plan, columns
        self._lengths: list[HostArray] = []
        self._pieces: list[_Piece] = []
        self._nodes = self._records = 0
        pairs = len(plan.pairs.operation)
        self._least = np.full(pairs, np.iinfo(np.int32).max, np.int32)
        self._most = np.full(pairs, -1, np.int32)

    def add(self, wirings: Wirings, hashes: HostArray | None) -> None:
        """Takes a piece; ``hashes`` are those of its nodes, if equal nodes are to be one."""
        site, offsets = wirings.site.values, wirings.site.offsets
        pair = self.plan.sites.pair[site]
        np.minimum.at(self._least, pair, wirings.depth.values)
        np.maximum.at(self._most, pair, wirings.depth.values)
        self._lengths.append(lengths_of(offsets).astype(np.int64))
        records = None
        if hashes is not None:
            classes = classify(hashes, offsets).values
            distinct = first_of_classes(classes, largest_examples_first(self.plan, offsets))
            number = np.empty(len(distinct), np.int32)
            number[classes[distinct]] = np.arange(len(distinct))
            self.columns.add("_record", number[classes])
            self.columns.add("_hash", hashes[:, distinct].T)
            self.columns.add("_node", self._nodes + distinct.astype(np.int64))
            records = len(distinct)
        self._pieces.append(_Piece(self._nodes, len(site), self._records, records))
        self._nodes += len(site)
        self._records += records or 0

    def finish(self) -> None:
        """Finishes the columns, once all pieces are there."""
        self.columns.add("deep", self._most > self._least)
        if all(piece.records is None for piece in self._pieces):
            return
        lengths = np.concatenate(self._lengths)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        order = largest_first(lengths)
        starts = np.empty(len(lengths), np.int64)
        starts[order] = np.cumsum(lengths[order]) - lengths[order]

        def place(node: HostArray) -> HostArray:
            """The place of nodes where those of the largest examples come first."""
            example = np.searchsorted(offsets, node, side="right") - 1
            places: HostArray = starts[example] + (node - offsets[example])
            return places

        self._join(place)
        self.columns.begin("first", index_type(self._nodes))
        hashed = 0  # nodes of pieces before whose equal ones are known
        for piece in self._pieces:
            if piece.records is None:
                for begin in range(piece.first, piece.first + piece.nodes, _SLICE):
                    end = min(begin + _SLICE, piece.first + piece.nodes)
                    self.columns.add("first", place(np.arange(begin, end)))
                continue
            first = self.columns.read("_first", piece.first_record, piece.records)
            self.columns.add("first", first[self.columns.read("_record", hashed, piece.nodes)])
            hashed += piece.nodes
        for name in ("_record", "_hash", "_node", "_first"):
            self.columns.drop(name)

    def _join(self, place: Callable[[HostArray], HostArray]) -> None:
        """Writes the column "_first": for each distinct node of a piece, the place of the first equal one."""
        bits = min((self._records // _BUCKET).bit_length(), _MOST_BUCKETS.bit_length() - 1)
        for bucket in range(1 << bits):
            self.columns.begin(f"_bucket{bucket}", np.uint64, (4,))
        for begin, count in self._slices():
            rows = np.empty((count, 4), np.uint64)
            rows[:, :2] = self.columns.read("_hash", begin, count)
            rows[:, 2] = place(self.columns.read("_node", begin, count))
            rows[:, 3] = np.arange(begin, begin + count)
            self._distribute("_bucket", rows, (rows[:, 0] >> np.uint64(63 - bits)) >> np.uint64(1))
        size = -(-self._records // (1 << bits))  # of a range of records
        for part in range(1 << bits):
            self.columns.begin(f"_part{part}", np.uint64, (2,))
        for bucket in range(1 << bits):
            rows = self.columns.read_all(f"_bucket{bucket}")
            self.columns.drop(f"_bucket{bucket}")
            rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
            new = np.ones(len(rows), bool)
            new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
            first = rows[new, 2][np.cumsum(new) - 1]
            self._distribute("_part", np.stack([rows[:, 3], first], axis=1), rows[:, 3] // np.uint64(size))
        for part in range(1 << bits):
            rows = self.columns.read_all(f"_part{part}")
            self.columns.drop(f"_part{part}")
            result = np.empty(len(rows), np.int64)
            result[(rows[:, 0] - np.uint64(part * size)).astype(np.int64)] = rows[:, 1]
            self.columns.add("_first", result)

    def _slices(self) -> Iterator[tuple[int, int]]:
        for begin in range(0, self._records, _SLICE):
            yield begin, min(_SLICE, self._records - begin)

    def _distribute(self, name: str, rows: HostArray, bucket: HostArray) -> None:
        """Appends each row to the column of its bucket."""
        order = np.argsort(bucket, kind="stable")
        rows, bucket = rows[order], bucket[order]
        for start, stop in pairwise(with_stop(starts_of_runs(bucket), len(rows)).tolist()):
            self.columns.add(f"{name}{int(bucket[start])}", rows[start:stop])
