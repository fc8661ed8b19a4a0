"""Selects the nodes that a run must compute, and wires them as reading wires an example of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from arrows.engine.lowering import CarriedSite, ReadSite
from arrows.engine.planning import Plan
from arrows.engine.reading import Column, Outputs, Wirings, starts_of_runs
from arrows.engine.values import convert_many
from arrows.onthefly.call_sites import CallSites
from arrows.onthefly.recording import Recording, grown
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops.arrays import HostArray

OUTPUT = (1 << OUTPUT_BITS) - 1


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class NodeSelection:
    """The nodes of a run: those that the wanted values need and that have not run.

    Attributes:
        nodes: the nodes, ascending.
        sites: the site of each node.
        sources: the ids of the values that the nodes read, node after node.
        lengths: how many sources each node has.
        counts: the lengths of the sequences that the nodes read.
        carried: the ids of the sources that earlier runs have computed, ascending and distinct.
        carried_kinds: for each id in `carried`, its kind.
        carried_sites: for each id in `carried`, the site at which it enters this run.
        from_carried: a mask of the sources that are carried, and the place of each of them in `carried`.
        values: site at which data enter -> the data that enter there with the nodes.
    """

    nodes: HostArray
    sites: HostArray
    sources: HostArray
    lengths: HostArray
    counts: HostArray
    carried: HostArray
    carried_kinds: HostArray
    carried_sites: HostArray
    from_carried: tuple[HostArray, HostArray]
    values: dict[int, list[Any]]


class Wirer:
    """Selects and wires the nodes of a recording.

    Args:
        recording: the nodes.
        call_sites: the call sites of the program.

    Attributes:
        has_run: for each node, whether it has run.
    """

    def __init__(self, recording: Recording, call_sites: CallSites) -> None:
        self.has_run = np.zeros(0, bool)
        self._all_before: int | None = 0  # those before this one have run, and no other; None: not so
        self._local = np.zeros(0, np.int64)  # by node of the run that was wired last, its number there
        self._recording, self._call_sites = recording, call_sites

    def select(self, ids: Sequence[int]) -> NodeSelection | None:
        """Selects the nodes that some values need and that have not run; None if there are none."""
        recording, call_sites = self._recording, self._call_sites
        flat, start = recording.columns()
        self.has_run = grown(self.has_run, len(start))
        nodes = self._needed(np.unique(np.array(ids, np.int64) >> OUTPUT_BITS))
        if not len(nodes):
            return None
        lengths = start[nodes + 1] - start[nodes] - 1
        inner = places_within(lengths)
        sources = flat[(start[nodes] + 1).repeat(lengths) + inner]
        source_nodes = sources >> OUTPUT_BITS
        sites, table = flat[start[nodes]], call_sites.table
        ports, counts = self._ports(nodes, inner, lengths) if recording.ports else (inner, [])
        places = table.first_place[sites].repeat(lengths) + ports
        call_sites.observe(places, flat[start[source_nodes]], sources & OUTPUT)

        has_run = self.has_run[source_nodes]
        carried = np.sort(sources[has_run])
        carried = carried[starts_of_runs(carried)]
        which = carried.searchsorted(sources[has_run])
        carried_from = flat[start[carried >> OUTPUT_BITS]]
        kinds = table.kind[table.first_producer[carried_from] + (carried & OUTPUT)]
        carried_sites = np.zeros(len(carried), np.int64)
        for kind in dict.fromkeys(kinds.tolist()):
            carried_sites[kinds == kind] = call_sites.entrance(CarriedSite, kind)
        return NodeSelection(
            nodes=nodes,
            sites=sites,
            sources=sources,
            lengths=lengths,
            counts=np.array(counts, np.int64),
            carried=carried,
            carried_kinds=kinds,
            carried_sites=carried_sites,
            from_carried=(has_run, which),
            values=self._values(nodes, sites),
        )

    def wire(self, selection: NodeSelection, plan: Plan) -> Wirings:
        """Makes one example of selected nodes, for a plan: carried values first, then the nodes.

        Its result is the first output of each node.
        """
        constants, shift = len(plan.lowered.constants), plan.shift
        first = constants + len(selection.carried)
        count = len(selection.carried) + len(selection.nodes)
        local = self._local = grown(self._local, len(self._recording.nodes))
        local[selection.nodes] = first + np.arange(len(selection.nodes))
        ids = (local[selection.sources >> OUTPUT_BITS] << shift) + (selection.sources & OUTPUT)
        has_run, which = selection.from_carried
        ids[has_run] = (constants + which) << shift
        bounds = np.array([0, count])
        depth = np.zeros(count, np.int32)
        depth[len(selection.carried) :] = self._depths(selection, plan, first)
        raw = [
            _column(convert_many(selection.values.get(site.index, ()), site.outputs[0]))
            for site in plan.lowered.sites
            if isinstance(site, ReadSite)
        ]
        raw += [
            _column(selection.carried[selection.carried_kinds == kind])
            for kind in self._call_sites.carried_kinds
        ]
        return Wirings(
            base=np.array([constants]),
            site=Column(np.concatenate([selection.carried_sites, selection.sites]).astype(np.int32), bounds),
            depth=Column(depth, bounds),
            sources=_column(ids),
            counts=_column(selection.counts),
            raw=tuple(raw),
            outputs=Outputs((_column(np.arange(first, constants + count) << shift),)),
        )

    def _needed(self, wanted: HostArray) -> HostArray:
        """The nodes that some nodes need, themselves included, and that have not run, ascending."""
        recording = self._recording
        if not len(wanted):
            return wanted
        if self._all_before is not None and not recording.rows:
            # While a program reads only what needs all: each node is wanted, or read by another one.
            first, top = self._all_before, int(wanted[-1]) + 1
            flat, start = recording.columns()
            needed = np.zeros(max(top, first), bool)
            ids = flat[start[first] : start[max(top, first)]] >> OUTPUT_BITS
            ids[start[first:top] - start[first]] = int(wanted[0])  # there are sites
            needed[ids] = True
            needed[wanted] = True
            if needed[first:].all():
                return np.arange(first, top)
        self._all_before = None
        ready, all_nodes = bytearray(self.has_run), recording.nodes
        found: list[int] = []
        waiting = wanted.tolist()
        while waiting:
            node = waiting.pop()
            if ready[node]:
                continue
            ready[node] = True
            found.append(node)
            for id in all_nodes[node][1:]:
                if not ready[id >> OUTPUT_BITS]:
                    waiting.append(id >> OUTPUT_BITS)
            if recording.rows:
                waiting += (recording.row_of[node],) if node in recording.row_of else ()
                waiting += chain.from_iterable(recording.rows.get(node, ()))
        return np.array(sorted(found), np.int64)

    def _ports(self, nodes: HostArray, inner: HostArray, lengths: HostArray) -> tuple[HostArray, list[int]]:
        """For each source, the number of the port that reads it, counted within the site; the lengths of
        sequences.

        Args:
            nodes: the nodes.
            inner: for each source, its place among those of its node.
            lengths: how many sources each node has.
        """
        recording = self._recording
        ports, ends, all_lengths = inner.copy(), lengths.cumsum(), list[int]()
        for place in np.flatnonzero(np.isin(nodes, list(recording.ports))).tolist():
            node = int(nodes[place])
            ports[ends[place] - lengths[place] : ends[place]] = recording.ports[node]
            all_lengths += recording.lengths[node]
        return ports, all_lengths

    def _depths(self, selection: NodeSelection, plan: Plan, first: int) -> HostArray:
        """The depth of each node within its component; nodes that have run do not count.

        It is the number of edges of the longest way to the node from nodes of its component.
        """
        row_of, nodes, local = self._recording.row_of, selection.nodes.tolist(), self._local
        component = plan.sites.base[selection.sites]
        targets = np.arange(len(nodes)).repeat(selection.lengths)
        sources = local[selection.sources >> OUTPUT_BITS] - first
        inside = ~selection.from_carried[0]
        inside[inside] = component[sources[inside]] == component[targets[inside]]
        operation = np.arange(len(nodes))  # whose rows a node is: they come when it runs
        if row_of:
            rows = [place for place, node in enumerate(nodes) if node in row_of]
            operation[rows] = local[[row_of[nodes[place]] for place in rows]] - first
        depths = [0] * len(nodes)
        edges = zip(operation[sources[inside]].tolist(), targets[inside].tolist(), strict=True)
        for source, target in edges:  # the targets ascend, and each comes after what it reads
            if depths[source] >= depths[target]:
                depths[target] = depths[source] + 1
        return np.array(depths, np.int32)[operation]

    def _values(self, nodes: HostArray, sites: HostArray) -> dict[int, list[Any]]:
        """The data that enter with some nodes, by the site at which they enter."""
        reads, is_read = self._recording.reads, self._call_sites.table.is_read[sites]
        values: dict[int, list[Any]] = {}
        for node, site in zip(nodes[is_read].tolist(), sites[is_read].tolist(), strict=True):
            values.setdefault(site, []).append(reads[node])
        return values

    def finish(self, selection: NodeSelection) -> None:
        """Notes that nodes have run, and drops the data that have entered with them."""
        self.has_run[selection.nodes] = True
        if self._all_before is not None:
            self._all_before = int(selection.nodes[-1]) + 1
        for node in selection.nodes[self._call_sites.table.is_read[selection.sites]].tolist():
            del self._recording.reads[node]


def places_within(lengths: HostArray) -> HostArray:
    """For each item of lists that lie one after another, its place in its list.

    >>> places_within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = lengths.cumsum()
    places: HostArray = np.arange(lengths.sum()) - (ends - lengths).repeat(lengths)
    return places


def _column(values: HostArray) -> Column:
    return Column(values, np.array([0, len(values)]))
