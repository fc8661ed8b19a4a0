"""Selects the nodes that a run must compute, and wires them as reading wires an example of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import Column, Outputs, Wirings, joined_ranges, spliced
from arrows.engine.values import convert_many
from arrows.onthefly.call_sites import CallSites
from arrows.onthefly.chains import Nodes, merged
from arrows.onthefly.recording import LISTS, Recording
from arrows.onthefly.tensor import OUTPUT, OUTPUT_BITS


@dataclass(frozen=True, eq=False, slots=True)
class WiredNodes:
    """The nodes of a run: those that the wanted values need and that have not run.

    Attributes:
        nodes: the nodes, ascending.
        sites: the site of each node.
        carried: the ids of the values that they read and that earlier runs have computed, ascending.
        wirings: one example: the carried values, then the nodes. Its result is the first output of each.
        inner: see `Nodes`.
    """

    nodes: HostArray
    sites: HostArray
    carried: HostArray
    wirings: Wirings
    inner: tuple[HostArray, HostArray, HostArray]


def wire(
    recording: Recording, call_sites: CallSites, plan_of_all: Callable[[], Plan], ids: Sequence[int]
) -> WiredNodes | None:
    """Selects and wires the nodes that some values need and that have not run; None if there are none.

    Args:
        recording: the nodes.
        call_sites: the call sites of the program.
        plan_of_all: makes the plan of all that has been observed, when values of earlier runs have entered.
        ids: the values.
    """
    flat, start = recording.columns()
    wanted = np.unique(np.array(ids, np.int64) >> OUTPUT_BITS)
    nodes = _needed(recording, wanted)
    if not len(nodes):
        return None
    sites = -1 - flat[start[nodes]]
    lengths = start[nodes + 1] - start[nodes] - 1
    sources = flat[joined_ranges(start[nodes] + 1, lengths)]
    (listed,) = (sources >= LISTS).nonzero()
    readers, lists = nodes.repeat(lengths)[listed], _Lists(recording, sources[listed])
    lengths -= np.bincount(nodes.searchsorted(readers), minlength=len(nodes))
    sources = np.concatenate([np.delete(sources, listed), lists.members])
    plan, none = plan_of_all(), np.zeros(0, np.int64)
    found = Nodes(nodes, sites, lengths, sources, (none, none, none))
    if plan.schedule == "strata":
        found = merged(recording, call_sites, plan, found, wanted)
        if len(found.nodes) < len(nodes):
            recording.all_before = None
        nodes, sites, lengths, sources = found.nodes, found.sites, found.lengths, found.sources
    order, targets = spliced(lengths, nodes.searchsorted(readers), lengths.sum() + lists.first, lists.sizes)
    source_nodes, outputs = sources >> OUTPUT_BITS, sources & OUTPUT
    has_run = recording.run_of[source_nodes] > 0
    carried = np.unique(sources[has_run])
    entrances = call_sites.entrances(-1 - flat[start[carried >> OUTPUT_BITS]], carried & OUTPUT)

    plan = plan_of_all()
    constants, shift = len(plan.lowered.constants), plan.shift
    first = constants + len(carried)
    number = np.full(len(recording.nodes), len(nodes))  # by node, its place among these; or after them
    number[nodes] = np.arange(len(nodes))
    component, source = np.append(plan.sites.base[sites], -1), number[source_nodes]
    values = (first + source << shift) + outputs
    values[has_run] = (constants + carried.searchsorted(sources[has_run])) << shift
    (inside,) = (component[source][order] == component[targets]).nonzero()
    depth = _depths(recording, nodes, number, source[order[inside]], targets[inside])
    raw: dict[int, HostArray] = {}
    for operation in plan.streams:  # which may have several sites of a type, where an interrupt left one
        if operation.kind == "read":
            entering = nodes[plan.sites.operation[sites] == operation.index].tolist()
            data = [recording.reads[node] for node in entering]
            raw[operation.stream] = convert_many(data, operation.site.outputs[0])
        else:
            raw[operation.stream] = carried[plan.sites.operation[entrances] == operation.index]
    return WiredNodes(
        nodes,
        sites,
        carried,
        Wirings(
            base=np.array([constants]),
            site=_column(np.concatenate([entrances, sites]).astype(np.int32)),
            depth=_column(np.append(np.zeros(len(carried), np.int32), depth)),
            sources=_column(values[order]),
            counts=_column(lists.counts),
            raw=tuple(_column(raw[stream]) for stream in sorted(raw)),
            outputs=Outputs((_column(np.arange(first, first + len(nodes)) << shift),)),
        ),
        found.inner,
    )


class _Lists:
    """The lists that some numbers of nodes stand for.

    Attributes:
        members: the ids of all of them, one list after another.
        counts, first, sizes: for each number, how many elements its list has; where its members start, and
            how many they are.
    """

    def __init__(self, recording: Recording, numbers: HostArray) -> None:
        lists, which = np.unique(numbers - LISTS, return_inverse=True)
        chosen = [recording.lists[number] for number in lists.tolist()]
        sizes = np.array([len(members) for _, members in chosen], np.int64)
        self.members = np.concatenate([np.zeros(0, np.int64), *(members for _, members in chosen)])
        self.counts = np.array([count for count, _ in chosen], np.int64)[which]
        self.first, self.sizes = (sizes.cumsum() - sizes)[which], sizes[which]


def _needed(recording: Recording, wanted: HostArray) -> HostArray:
    """The nodes that some nodes need, themselves included, and that have not run, ascending."""
    if len(wanted) and recording.all_before is not None and not recording.rows:
        # While a program reads only what needs all: each node is wanted, or read by another one.
        first, top = recording.all_before, int(wanted[-1]) + 1
        flat, start = recording.columns()
        needed = np.zeros(max(top, first), bool)
        ids = flat[start[first] : start[max(top, first)]]
        listed = _Lists(recording, ids[ids >= LISTS]).members
        needed[np.append(ids[(ids >= 0) & (ids < LISTS)], listed) >> OUTPUT_BITS] = True
        needed[wanted] = True
        if needed[first:].all():
            return np.arange(first, top)
    recording.all_before = None
    ready, all_nodes = bytearray(recording.run_of > 0), recording.nodes
    found: list[int] = []
    waiting = wanted.tolist()
    while waiting:
        node = waiting.pop()
        if ready[node]:
            continue
        ready[node] = True
        found.append(node)
        for id in all_nodes[node][1:]:
            if id >= LISTS:
                waiting += (recording.lists[id - LISTS][1] >> OUTPUT_BITS).tolist()
            elif not ready[id >> OUTPUT_BITS]:
                waiting.append(id >> OUTPUT_BITS)
        if recording.rows:
            waiting += (recording.row_of[node],) if node in recording.row_of else ()
            waiting += chain.from_iterable(recording.rows.get(node, ()))
    return np.array(sorted(found), np.int64)


def _depths(recording: Recording, nodes: HostArray, number: HostArray, *edges: HostArray) -> HostArray:
    """The depth of each node within its component: the length of the longest way to it from nodes there.

    Args:
        recording: the nodes.
        nodes: those that are wired.
        number: by node, its place among these.
        edges: the places of the sources and of the targets within a component; the targets ascend, and each
            comes after what it reads.
    """
    operation = np.arange(len(nodes))  # whose rows a node is: they come when it runs
    if recording.row_of:
        rows = [place for place, node in enumerate(nodes.tolist()) if node in recording.row_of]
        operation[rows] = number[[recording.row_of[node] for node in nodes[rows].tolist()]]
    depths = [0] * len(nodes)
    pairs = np.unique(edges[1] * len(nodes) + operation[edges[0]])  # most read h and c of a state: one edge
    for target, source in zip(*[each.tolist() for each in np.divmod(pairs, len(nodes))], strict=True):
        if depths[source] >= depths[target]:
            depths[target] = depths[source] + 1
    return np.array(depths, np.int32)[operation]


def _column(values: HostArray) -> Column:
    return Column(values, np.array([0, len(values)]))
