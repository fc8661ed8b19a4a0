"""Wirings hold examples as reading leaves them: flat integer arrays, one column for each stream.

A *node* is one visit of a site; its value ids are ``node << shift`` and the next ones.  Nodes of constants
come first and are shared by all examples.  A `Wirings` holds many examples column by column, without a Python
object for each node, so it is cheap to keep, to pickle and to send between processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import Site
from arrows.engine.planning import Operation, Plan
from arrows.engine.reading.index_arrays import index_type, lengths_of


@dataclass(frozen=True, slots=True)
class Column:
    """Values of many examples, one after another; example ``i`` has ``values[offsets[i]:offsets[i + 1]]``."""

    values: HostArray
    offsets: HostArray

    def lists(self) -> list[list[Any]]:
        """For each example, the list of its values."""
        return [self.values[a:b].tolist() for a, b in pairwise(self.offsets.tolist())]

    def select(self, indices: HostArray) -> Column:
        """Returns the values of the examples ``indices``, in that order."""
        return Selection(self.offsets, indices).of(self.values)

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
    """Selects some examples from columns with these offsets.

    >>> chosen = Selection(np.array([0, 1, 3, 4]), np.array([2, 0])).of(np.array([1, 2, 3, 4]))
    >>> chosen.values.tolist(), chosen.offsets.tolist()
    ([4, 1], [0, 1, 2])
    """

    def __init__(self, offsets: HostArray, indices: HostArray) -> None:
        starts, ends = offsets[indices], offsets[indices + 1]
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

    def of(self, values: HostArray) -> Column:
        """The values of these examples."""
        if self.places is not None:
            return Column(values[self.places], self.offsets)
        if len(self.bounds) == 1:
            ((a, b),) = self.bounds
            return Column(values[a:b], self.offsets)
        return Column(np.concatenate([values[a:b] for a, b in self.bounds]), self.offsets)


class Outputs(NamedTuple):
    """The outputs of several examples; each group has a column for each of its streams.

    Attributes:
        results: value ids (rows of slabs, once known) of the tensor leaves of the result and of taps.
        levels: lengths, for each nesting level of the result and of taps.
        metrics: for each metric stream, as in `results`.
        labels: for each metric with labels, these, which are Python objects.
        visits: the numbers of the places that are visited, if there are taps: one column, or none.
        objects: for each tap of Python objects, these.
    """

    results: tuple[Column, ...]
    levels: tuple[Column, ...] = ()
    metrics: tuple[Column, ...] = ()
    labels: tuple[Column, ...] = ()
    visits: tuple[Column, ...] = ()
    objects: tuple[Column, ...] = ()

    def select(self, indices: HostArray) -> Outputs:
        """Returns what comes out of the examples ``indices``, in that order."""
        selections: dict[int, Selection] = {}

        def chosen(column: Column) -> Column:
            key = id(column.offsets)
            if key not in selections:
                selections[key] = Selection(column.offsets, indices)
            return selections[key].of(column.values)

        return Outputs(*(tuple(map(chosen, group)) for group in self))

    @staticmethod
    def joined(parts: Sequence[Outputs]) -> Outputs:
        """Returns what comes out of the examples of all ``parts``, one after another."""
        return Outputs(*(_joined_groups(groups) for groups in zip(*parts, strict=True)))


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
        hashes: the structural hash of each node, ``uint64[nodes, 2]``; None where nodes share too little.
    """

    base: HostArray
    site: Column
    depth: Column
    sources: Column
    counts: Column
    raw: tuple[Column, ...]
    outputs: Outputs
    hashes: Column | None = None

    def __len__(self) -> int:
        return len(self.base)

    def moved(self, ids: Column, base: HostArray, plan: Plan) -> Column:
        """Value ids of these examples as they are if the nodes of each example count from another base."""
        constants = len(plan.lowered.constants) << plan.shift
        distance = (base - self.base).astype(base.dtype) << plan.shift
        if not distance.any():
            return ids
        values = ids.values + np.repeat(distance, lengths_of(ids.offsets))
        if constants:
            values = np.where(ids.values < constants, ids.values, values)
        return Column(values, ids.offsets)

    def own_hashes(self, place: int) -> Column:
        """The hashes; where there are none, some that no other nodes have: those of the part of a set at this
        place."""
        nodes = len(self.site.values)
        lanes = np.arange(nodes, dtype=np.uint64), np.full(nodes, place, np.uint64)
        return self.hashes or Column(np.stack(lanes, axis=1), self.site.offsets)

    def select(self, indices: HostArray) -> Wirings:
        """Returns the wirings of the examples ``indices``, in that order."""
        nodes = Selection(self.site.offsets, indices)
        return Wirings(
            base=self.base[indices],
            site=nodes.of(self.site.values),
            depth=nodes.of(self.depth.values),
            sources=self.sources.select(indices),
            counts=self.counts.select(indices),
            raw=tuple(column.select(indices) for column in self.raw),
            outputs=self.outputs.select(indices),
            hashes=self.hashes and nodes.of(self.hashes.values),
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
            raw=_joined_groups([part.raw for part in parts]),
            outputs=Outputs.joined([part.outputs for part in parts]),
            hashes=_joined_hashes(parts),
        )


def _joined_hashes(parts: Sequence[Wirings]) -> Column | None:
    if all(part.hashes is None for part in parts):
        return None
    return Column.joined([part.own_hashes(place) for place, part in enumerate(parts)])


def _joined_groups(groups: Sequence[tuple[Column, ...]]) -> tuple[Column, ...]:
    return tuple(map(Column.joined, zip(*groups, strict=True)))


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
            if operation.domains:
                (nodes,) = (operations == operation.index).nonzero()
                for number, width in enumerate(operation.widths):
                    length[nodes] += counts[first_count[nodes] + number] * width
    return SourceLayout(first_source=_starts(length), length=length, counts=counts, first_count=first_count)


def element_ids(
    reader: Site | Operation,
    sources: HostArray,
    counts: HostArray,
    first: HostArray,
    first_count: HostArray,
) -> Iterator[tuple[int, HostArray, HostArray]]:
    """The elements that some nodes of a site or an operation read through each port that takes a sequence.

    Args:
        reader: the site or the operation.
        sources, counts: as in `Wirings`.
        first, first_count: where each node's elements start among the sources, and its counts.

    Yields:
        The domain; where the elements of each node start, and those of the last stop; their value ids.
    """
    for number, domain in enumerate(reader.domains):
        lengths = counts[first_count + number]
        ends = np.zeros(len(lengths) + 1, np.intp)
        np.cumsum(lengths, out=ends[1:])
        for port in reader.ports:
            if port.domain == domain:
                at = np.repeat(first - ends[:-1], lengths) + np.arange(ends[-1])
                yield domain, ends, sources[at]
                first = first + lengths


def _starts(lengths: HostArray) -> HostArray:
    starts: HostArray = lengths.cumsum(dtype=index_type(int(lengths.sum())))
    starts -= lengths
    return starts
