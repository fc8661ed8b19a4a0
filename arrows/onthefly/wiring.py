"""Selects the nodes that a run must compute, and wires them as reading wires an example of a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.lowering import ApplySite
from arrows.engine.planning import Plan
from arrows.engine.reading import Column, Outputs, Wirings, starts_of_runs
from arrows.engine.values import convert_many
from arrows.onthefly.call_sites import CallSites
from arrows.onthefly.recording import Recording
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops.arrays import HostArray

OUTPUT = (1 << OUTPUT_BITS) - 1
WAITING, WANTED, HAS_RUN = 0, 1, 2


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class NodeSelection:
    """The nodes of a run: those that the wanted values need and that have not run.

    Attributes:
        needed: the nodes, ascending.
        nodes: the same as an array.
        sites: the site of each node.
        sources: the ids of the values that the nodes read, node after node.
        counts: the lengths of the sequences that the nodes read.
        carried: the ids of the sources that earlier runs have computed, ascending and distinct.
        carried_types: for each id in `carried`, the number of its type.
        carried_sites: for each id in `carried`, the site at which it enters this run.
        from_carried: a mask of the sources that are carried, and the place of each of them in `carried`.
        values: number of a type -> the data of that type that enter with the nodes.
    """

    needed: list[int]
    nodes: HostArray
    sites: HostArray
    sources: HostArray
    counts: HostArray
    carried: HostArray
    carried_types: HostArray
    carried_sites: HostArray
    from_carried: tuple[HostArray, HostArray]
    values: dict[int, list[Any]]


class Wirer:
    """Selects and wires the nodes of a recording.

    Args:
        recording: the nodes.
        call_sites: the call sites of the program.

    Attributes:
        state: for each node, WAITING, WANTED or HAS_RUN.
    """

    def __init__(self, recording: Recording, call_sites: CallSites) -> None:
        self.state = bytearray()
        self._local = np.zeros(0, np.int64)  # by node of the run that was wired last, its number there
        self._recording, self._call_sites = recording, call_sites

    def select(self, ids: Sequence[int]) -> NodeSelection | None:
        """Selects the nodes that some values need and that have not run; None if there are none."""
        self._recording.check_whole()
        try:
            needed = self._needed(ids)
            return self._selection(needed) if needed else None
        except BaseException:  # Ctrl-C, say
            self.state[:] = self.state.replace(bytes([WANTED]), bytes([WAITING]))
            raise

    def _selection(self, needed: list[int]) -> NodeSelection:
        recording, call_sites = self._recording, self._call_sites
        nodes = np.array(needed)
        site, start = recording.site_column.array(), recording.start_column.array()
        begins, lengths = start[nodes], start[nodes + 1] - start[nodes]
        ends = lengths.cumsum()
        inner = np.arange(ends[-1]) - (ends - lengths).repeat(lengths)
        sources = recording.source_column.array()[begins.repeat(lengths) + inner]
        source_nodes = sources >> OUTPUT_BITS
        sites, table = site[nodes], call_sites.table
        ports = self._ports(nodes, sites, inner, lengths)
        places = table.first_place[sites].repeat(lengths) + ports
        call_sites.observe(places, site[source_nodes], sources & OUTPUT)

        has_run = np.frombuffer(bytes(self.state), np.uint8)[source_nodes] == HAS_RUN
        carried = np.sort(sources[has_run])
        carried = carried[starts_of_runs(carried)]
        which = carried.searchsorted(sources[has_run])
        types = table.type[table.first_producer[site[carried >> OUTPUT_BITS]] + (carried & OUTPUT)]
        carried_sites = np.zeros(len(carried), np.int64)
        for type in dict.fromkeys(types.tolist()):
            carried_sites[types == type] = call_sites.carried_site(type)
        counts = []
        if recording.lengths:
            counts = [length for node in needed for length in recording.lengths.get(node, ())]
        return NodeSelection(
            needed=needed,
            nodes=nodes,
            sites=sites,
            sources=sources,
            counts=np.array(counts, np.int64),
            carried=carried,
            carried_types=types,
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
        local = self._local = grown(self._local, len(self._recording.site))
        local[selection.nodes] = first + np.arange(len(selection.nodes))
        ids = (local[selection.sources >> OUTPUT_BITS] << shift) + (selection.sources & OUTPUT)
        has_run, which = selection.from_carried
        ids[has_run] = (constants + which) << shift
        bounds = np.array([0, count])
        depth = np.zeros(count, np.int32)
        depth[len(selection.carried) :] = self._depths(selection.needed, plan)
        types = [self._call_sites.type_number(type) for type in plan.lowered.streams.reads]
        raw = [
            _column(convert_many(selection.values.get(number, ()), type))
            for number, type in zip(types, plan.lowered.streams.reads, strict=True)
        ]
        raw += [
            _column(selection.carried[selection.carried_types == number])
            for number in self._call_sites.carried_types
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

    def set_state(self, selection: NodeSelection, state: int) -> None:
        """Sets the state of the selected nodes."""
        for node in selection.needed:
            self.state[node] = state

    def _needed(self, ids: Sequence[int]) -> list[int]:
        """The nodes that some values need and that have not run, ascending; they are WANTED from now on."""
        recording, state = self._recording, self.state
        state.extend(bytes(len(recording.site) - len(state)))
        start, sources, rows, row_of = recording.start, recording.sources, recording.rows, recording.row_of
        needed: list[int] = []
        waiting: list[int] = []

        def want(nodes: Iterable[int]) -> None:
            for node in nodes:
                if not state[node]:
                    state[node] = WANTED
                    waiting.append(node)

        want([id >> OUTPUT_BITS for id in ids])
        while waiting:
            node = waiting.pop()
            needed.append(node)
            for id in sources[start[node] : start[node + 1]]:  # `want`, inlined: this runs for every edge
                source = id >> OUTPUT_BITS
                if not state[source]:
                    state[source] = WANTED
                    waiting.append(source)
            if rows:
                want([row_of[node]] if node in row_of else ())
                want(row for each in rows.get(node, ()) for row in each)
        needed.sort()
        return needed

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

    def _depths(self, needed: Sequence[int], plan: Plan) -> list[int]:
        """The depth of each node within its component; nodes that have run do not count."""
        recording = self._recording
        base: list[int] = plan.sites.base.tolist()
        site, start, sources, row_of = recording.site, recording.start, recording.sources, recording.row_of
        keys: dict[int, int] = {}
        find = keys.get
        depths = []
        for node in needed:
            low = key = base[site[node]]
            if row_of and node in row_of:  # the rows of a sequence come when their operation runs
                key = keys[row_of[node]]
            for id in sources[start[node] : start[node + 1]]:
                other = find(id >> OUTPUT_BITS, -1)
                if other >= key:
                    key = other + 1
            keys[node] = key
            depths.append(key - low)
        return depths

    def _values(self, nodes: HostArray, sites: HostArray) -> dict[int, list[Any]]:
        """The data that enter with some nodes, by the number of their type."""
        values = {}
        for type, reads in self._recording.reads.items():
            own = nodes[sites == self._call_sites.read_site(type)]
            values[self._call_sites.type_number(type)] = [reads[node] for node in own.tolist()]
        return values

    def forget_values(self, selection: NodeSelection) -> None:
        """Drops the data that have entered a run."""
        for type, reads in self._recording.reads.items():
            own = selection.nodes[selection.sites == self._call_sites.read_site(type)]
            for node in own.tolist():
                del reads[node]


def grown(array: HostArray, size: int) -> HostArray:
    """The array, with room for at least `size` numbers."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _column(values: HostArray) -> Column:
    return Column(values, np.array([0, len(values)]))
