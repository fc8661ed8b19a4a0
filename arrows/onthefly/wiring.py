"""Selects the nodes that a run must compute, and wires them as reading wires an example of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.lowering import ApplySite
from arrows.engine.planning import Plan
from arrows.engine.reading import Column, Outputs, Wirings, starts_of_runs
from arrows.engine.values import convert_many
from arrows.onthefly.call_sites import CallSites
from arrows.onthefly.recording import Recording, grown
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops.arrays import HostArray

OUTPUT = (1 << OUTPUT_BITS) - 1
_ROUNDS = 4


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
        values: kind -> the data of that kind that enter with the nodes.
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
        self._local = np.zeros(0, np.int64)  # by node of the run that was wired last, its number there
        self._recording, self._call_sites = recording, call_sites

    def select(self, ids: Sequence[int]) -> NodeSelection | None:
        """Selects the nodes that some values need and that have not run; None if there are none."""
        recording, call_sites = self._recording, self._call_sites
        flat, start = recording.columns()
        self.has_run = grown(self.has_run, len(start))
        nodes = self._needed(np.unique(np.array(ids) >> OUTPUT_BITS))
        if not len(nodes):
            return None
        lengths = start[nodes + 1] - start[nodes] - 1
        inner = places_within(lengths)
        sources = flat[(start[nodes] + 1).repeat(lengths) + inner]
        source_nodes = sources >> OUTPUT_BITS
        sites, table = flat[start[nodes]], call_sites.table
        ports = self._ports(nodes, sites, inner, lengths)
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
            carried_sites[kinds == kind] = call_sites.carried_site(kind)
        counts = []
        if recording.lengths:
            counts = [length for node in nodes.tolist() for length in recording.lengths.get(node, ())]
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
        reads = plan.lowered.streams.reads
        raw = [
            _column(convert_many(selection.values.get(self._call_sites.kind(type), ()), type))
            for type in reads
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
        flat, start = recording.columns()
        top = len(recording.nodes) if recording.rows else int(wanted[-1]) + 1
        nodes = np.flatnonzero(~self.has_run[:top])
        # All are needed if each is wanted or read by one of them. Else those that are not are dropped: few
        # rounds will do, unless many calls follow one another on what is not needed.
        for _ in range(_ROUNDS if not recording.rows else 0):
            lengths = start[nodes + 1] - start[nodes] - 1
            needed = np.zeros(top, bool)
            needed[flat[(start[nodes] + 1).repeat(lengths) + places_within(lengths)] >> OUTPUT_BITS] = True
            needed[wanted] = True
            kept = nodes[needed[nodes]]
            if len(kept) == len(nodes):
                return kept
            nodes = kept
        return self._reached(wanted)

    def _reached(self, wanted: HostArray) -> HostArray:
        """As `_needed`, node by node: from what is wanted to what it reads."""
        recording, ready = self._recording, self.has_run.tolist()
        waiting = [node for node in wanted.tolist() if not ready[node]]
        needed = []
        for node in waiting:
            ready[node] = True
        while waiting:
            node = waiting.pop()
            needed.append(node)
            reached = [id >> OUTPUT_BITS for id in recording.nodes[node][1:]]
            if node in recording.row_of:
                reached.append(recording.row_of[node])
            for rows in recording.rows.get(node, ()):
                reached += rows
            for node in reached:
                if not ready[node]:
                    ready[node] = True
                    waiting.append(node)
        return np.array(sorted(needed), np.int64)

    def _ports(self, nodes: HostArray, sites: HostArray, inner: HostArray, lengths: HostArray) -> HostArray:
        """For each source, the number of the port that reads it, counted within the site.

        Args:
            nodes, sites: the nodes, and their sites.
            inner: for each source, its place among those of its node.
            lengths: how many sources each node has.
        """
        recording = self._recording
        if not recording.lengths:
            return inner
        ports, ends = inner.copy(), np.cumsum(lengths)
        for place in np.flatnonzero(np.isin(nodes, list(recording.lengths))).tolist():
            site = self._call_sites.sites[sites[place]]
            assert isinstance(site, ApplySite)
            single = sum(port.domain is None for port in site.ports)
            spans = [port.domain for port in site.ports if port.domain is not None]
            counts = dict(zip(site.domains, recording.lengths[int(nodes[place])], strict=True))
            numbers = [np.arange(single)]
            numbers += [np.full(counts[domain], single + number) for number, domain in enumerate(spans)]
            ports[ends[place] - lengths[place] : ends[place]] = np.concatenate(numbers)
        return ports

    def _depths(self, selection: NodeSelection, plan: Plan, first: int) -> HostArray:
        """The depth of each node within its component; nodes that have run do not count.

        It is the number of edges of the longest way to the node from nodes of its component.
        """
        row_of, nodes, local = self._recording.row_of, selection.nodes, self._local
        component = plan.sites.base[selection.sites]
        targets = np.arange(len(nodes)).repeat(selection.lengths)
        sources = local[selection.sources >> OUTPUT_BITS] - first
        inside = ~selection.from_carried[0]
        inside[inside] = component[sources[inside]] == component[targets[inside]]
        depths = [0] * len(nodes)
        edges = zip(sources[inside].tolist(), targets[inside].tolist(), strict=True)
        if not row_of:
            for source, target in edges:  # the targets ascend, and each comes after what it reads
                if depths[source] >= depths[target]:
                    depths[target] = depths[source] + 1
        else:  # the rows of a sequence come when their operation runs
            steps = [(source, target, 1) for source, target in edges]
            for place, node in enumerate(nodes.tolist()):
                if node in row_of:
                    steps.append((int(local[row_of[node]]) - first, place, 0))
            for source, target, step in sorted(steps, key=lambda edge: edge[1]):
                depths[target] = max(depths[target], depths[source] + step)
        return np.array(depths, np.int32)

    def _values(self, nodes: HostArray, sites: HostArray) -> dict[int, list[Any]]:
        """The data that enter with some nodes, by their kind."""
        values = {}
        for kind, reads in self._recording.reads.items():
            own = nodes[sites == self._call_sites.read_site(kind)]
            values[kind] = [reads[node] for node in own.tolist()]
        return values

    def finish(self, selection: NodeSelection) -> None:
        """Notes that nodes have run, and drops the data that have entered with them."""
        self.has_run[selection.nodes] = True
        for kind, reads in self._recording.reads.items():
            own = selection.nodes[selection.sites == self._call_sites.read_site(kind)]
            for node in own.tolist():
                del reads[node]


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
