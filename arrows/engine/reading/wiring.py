"""Wirings hold examples as reading leaves them: flat integer arrays, one column for each stream.

A *node* is one visit of a site; its value ids are ``node << shift`` and the next ones.  Nodes of constants
come first and are shared by all examples.  A `Wirings` holds many examples column by column, without a Python
object for each node, so it is cheap to keep, to pickle and to send between processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from arrows.engine.planning import ApplyOperation, Plan
from arrows.engine.reading.index_arrays import index_type
from arrows.ops.arrays import HostArray


@dataclass(frozen=True, slots=True)
class Column:
    """Values of many examples, one after another; example ``i`` has ``values[offsets[i]:offsets[i + 1]]``."""

    values: HostArray
    offsets: HostArray

    def select(self, indices: HostArray) -> Column:
        """Returns the values of the examples ``indices``, in that order."""
        return Selection.at(self.offsets, indices).of(self.values)

    @staticmethod
    def joined(columns: Sequence[Column]) -> Column:
        """Returns the examples of all ``columns``, one after another."""
        lengths = np.concatenate([np.diff(column.offsets) for column in columns])
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Column(np.concatenate([column.values for column in columns]), offsets)


# With so many examples and more, or so few values an example, one index array is faster than joining slices.
_MANY, _FEW = 4096, 8


class Selection:
    """Selects some examples from columns, given where each of them starts and ends there.

    >>> chosen = Selection.at(np.array([0, 1, 3, 4]), np.array([2, 0])).of(np.array([1, 2, 3, 4]))
    >>> chosen.values.tolist(), chosen.offsets.tolist()
    ([4, 1], [0, 1, 2])
    """

    def __init__(self, starts: HostArray, ends: HostArray) -> None:
        self.bounds: list[tuple[int, int]] = [(0, 0)]
        self.places: HostArray | None = None
        count = len(starts)
        if count == 1:
            a, b = starts[0], ends[0]
            self.offsets, self.bounds = np.array([0, b - a]), [(a, b)]
            return
        lengths = ends - starts
        self.offsets = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        if count == 0:
            return
        if bool((ends[:-1] == starts[1:]).all()):
            self.bounds = [(int(starts[0]), int(ends[-1]))]
        elif count < _MANY and self.offsets[-1] > _FEW * count:
            self.bounds = list(zip(starts.tolist(), ends.tolist(), strict=True))
        else:
            self.places = np.repeat(starts - self.offsets[:-1], lengths) + np.arange(self.offsets[-1])

    @staticmethod
    def at(offsets: HostArray, indices: HostArray) -> Selection:
        """Selects the examples ``indices`` from columns with these offsets."""
        return Selection(offsets[indices], offsets[indices + 1])

    def of(self, values: HostArray) -> Column:
        """The values of these examples."""
        if self.places is not None:
            return Column(values[self.places], self.offsets)
        if len(self.bounds) == 1:
            ((a, b),) = self.bounds
            return Column(values[a:b], self.offsets)
        return Column(np.concatenate([values[a:b] for a, b in self.bounds]), self.offsets)


@dataclass(frozen=True, slots=True)
class Visits:
    """The visits of taps.

    Attributes:
        sites: the number of the place of each visit, in the order of the visits.
        objects: for each stream of Python objects, what was tapped, by example.
    """

    sites: Column
    objects: tuple[tuple[list[Any], ...], ...]

    def select(self, indices: HostArray) -> Visits:
        """Returns the visits of the examples ``indices``, in that order."""
        objects = tuple(tuple(stream[i] for i in indices.tolist()) for stream in self.objects)
        return Visits(self.sites.select(indices), objects)

    @staticmethod
    def joined(parts: Sequence[Visits]) -> Visits:
        """Returns the visits of all ``parts``, one after another."""
        streams = zip(*(part.objects for part in parts), strict=True)
        return Visits(
            Column.joined([part.sites for part in parts]),
            tuple(tuple(chain.from_iterable(stream)) for stream in streams),
        )

    @staticmethod
    def none(streams: int) -> Visits:
        """The visits of no examples."""
        return Visits(Column(np.zeros(0, np.int32), np.zeros(1, np.int64)), ((),) * streams)


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of several examples.

    Attributes:
        results: for each tensor leaf of the result, value ids (rows of slabs, once they are known).
        levels: for each nesting level of the result, lengths.
        metrics: for each metric stream, as in `results`.
        labels: for each metric stream, the labels by example (None where it has none).
        visits: the visits of taps; None if there are no taps.
    """

    results: tuple[Column, ...]
    levels: tuple[Column, ...]
    metrics: tuple[Column, ...]
    labels: tuple[tuple[list[Any], ...] | None, ...]
    visits: Visits | None = None

    def select(self, indices: HostArray) -> Outputs:
        """Returns what comes out of the examples ``indices``, in that order."""

        selections: dict[int, Selection] = {}

        def each(columns: tuple[Column, ...]) -> tuple[Column, ...]:
            for column in columns:
                if id(column.offsets) not in selections:
                    selections[id(column.offsets)] = Selection.at(column.offsets, indices)
            return tuple(selections[id(column.offsets)].of(column.values) for column in columns)

        return Outputs(
            results=each(self.results),
            levels=each(self.levels),
            metrics=each(self.metrics),
            labels=tuple(labels and tuple(labels[i] for i in indices.tolist()) for labels in self.labels),
            visits=self.visits and self.visits.select(indices),
        )

    @staticmethod
    def joined(parts: Sequence[Outputs]) -> Outputs:
        """Returns what comes out of the examples of all ``parts``, one after another."""

        def joined(columns: Callable[[Outputs], tuple[Column, ...]]) -> tuple[Column, ...]:
            return tuple(map(Column.joined, zip(*map(columns, parts), strict=True)))

        def joined_labels(stream: Sequence[tuple[list[Any], ...] | None]) -> tuple[list[Any], ...] | None:
            if stream[0] is None:
                return None
            return tuple(chain.from_iterable(labels for labels in stream if labels is not None))

        visits = [part.visits for part in parts if part.visits]
        return Outputs(
            results=joined(lambda part: part.results),
            levels=joined(lambda part: part.levels),
            metrics=joined(lambda part: part.metrics),
            labels=tuple(map(joined_labels, zip(*(part.labels for part in parts), strict=True))),
            visits=Visits.joined(visits) if visits else None,
        )


@dataclass(frozen=True, slots=True)
class Wirings:
    """The wirings of several examples.

    Attributes:
        base: [examples], the node number from which each example's value ids count.
        site: the site of each node (int32).
        depth: the depth key of each node within its component (int32), with the offsets of ``site``.
        sources: value ids, node after node: one for each port of one row, then the elements of each sequence.
        counts: the length of each sequence a node takes.
        raw: for each tensor type that is read, its values (``[reads, *shape]``).
        outputs: what comes out.
        same: a number for each node, equal for nodes that compute the same; None where that is not known.
    """

    base: HostArray
    site: Column
    depth: Column
    sources: Column
    counts: Column
    raw: tuple[Column, ...]
    outputs: Outputs
    same: Column | None = None

    def __len__(self) -> int:
        return len(self.base)

    @property
    def node_offsets(self) -> HostArray:
        """Where the nodes of each example begin, and where the last one's end."""
        return self.site.offsets

    def select(self, indices: HostArray) -> Wirings:
        """Returns the wirings of the examples ``indices``, in that order."""
        nodes = Selection.at(self.site.offsets, indices)
        return Wirings(
            base=self.base[indices],
            site=nodes.of(self.site.values),
            depth=nodes.of(self.depth.values),
            sources=self.sources.select(indices),
            counts=self.counts.select(indices),
            raw=tuple(column.select(indices) for column in self.raw),
            outputs=self.outputs.select(indices),
            same=self.same and nodes.of(self.same.values),
        )

    @staticmethod
    def joined(parts: Sequence[Wirings]) -> Wirings:
        """Returns the wirings of all ``parts``, one after another."""
        if len(parts) == 1:
            return parts[0]
        site = Column.joined([part.site for part in parts])
        return Wirings(
            base=np.concatenate([part.base for part in parts]),
            site=site,
            depth=Column(np.concatenate([part.depth.values for part in parts]), site.offsets),
            sources=Column.joined([part.sources for part in parts]),
            counts=Column.joined([part.counts for part in parts]),
            raw=tuple(map(Column.joined, zip(*(part.raw for part in parts), strict=True))),
            outputs=Outputs.joined([part.outputs for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class SourceLayout:
    """Where in `Wirings.sources` the sources of each node are.

    Attributes:
        first_source: where each node's sources start, ``[nodes]``.
        length: how many each has.
        counts: the lengths of the sequences that nodes take, one after another.
        first_count: where each node's counts start.
    """

    first_source: HostArray
    length: HostArray
    counts: HostArray
    first_count: HostArray


def source_layout(plan: Plan, site: HostArray, counts: HostArray) -> SourceLayout:
    """Lays out the sources of nodes: those of one row, then the elements of each sequence, once a tensor
    leaf.

    Args:
        plan: the model's plan.
        site: the site of each node.
        counts: as in `Wirings`.
    """
    length = plan.sites.arity[site].astype(np.int32)
    first_count = np.zeros(len(site), np.int32)
    if len(counts):
        first_count = _starts(plan.sites.domains[site])
        operations = plan.sites.operation[site]
        for operation in plan.operations:
            if isinstance(operation, ApplyOperation):
                (nodes,) = (operations == operation.index).nonzero()
                for number, width in enumerate(operation.widths):
                    length[nodes] += counts[first_count[nodes] + number] * width
    return SourceLayout(first_source=_starts(length), length=length, counts=counts, first_count=first_count)


def _starts(lengths: HostArray) -> HostArray:
    starts: HostArray = lengths.cumsum(dtype=index_type(int(lengths.sum())))
    starts -= lengths
    return starts
