"""Chains: calls in a cycle of the program that follow one another become one operation, once seen to.

Neubig et al. batch one operation of a user's line at a time, so a cell that is written gate by gate takes as
many steps at each depth as it has calls.  Here the calls of a component that always follow one another, each
with the same of them as its operands, become one call site, and a run has one node for all of them: plain
code runs the steps of a `Function`.  A value inside of a chain that nothing outside has read is not kept;
whoever asks for it later computes it again, call by call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arrows import combinators as core
from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.inference import infer
from arrows.onthefly.call_sites import CallSites, Chain
from arrows.onthefly.recording import Recording
from arrows.onthefly.tensor import OUTPUT, OUTPUT_BITS
from arrows.ops import Tracer
from arrows.typesys import SourceLine, types as T

FEW = 16  # visits, below which nothing is learnt


@dataclass(frozen=True, eq=False, slots=True)
class Nodes:
    """The nodes of a run, with what they read, and where values of chains are.

    Attributes:
        nodes: the nodes, ascending; of a chain, that of its last call.
        sites: the site of each.
        lengths: how many values each reads.
        sources: the ids of these, one node after another; then those of elements of lists.
        inner: the nodes of chains whose values are kept; for each its place in `nodes`, and the place of its
            first output among those of the chain.
    """

    nodes: HostArray
    sites: HostArray
    lengths: HostArray
    sources: HostArray
    inner: tuple[HostArray, HostArray, HostArray]


class _Visits:
    """The visits of a chain of sites, among calls that follow one another."""

    def __init__(self, nodes: Nodes, calls: HostArray, chain: Sequence[int]) -> None:
        sites = nodes.sites[calls]
        first = np.flatnonzero(sites[: max(len(sites) - len(chain) + 1, 0)] == chain[0])
        for place, site in enumerate(chain[1:], 1):
            first = first[sites[first + place] == site]
        self.places = calls[first[:, None] + np.arange(len(chain))]  # by visit and call, the place in `nodes`
        self.nodes = nodes.nodes[self.places]
        ends = nodes.lengths.cumsum()
        starts = (ends - nodes.lengths)[self.places]
        widths = nodes.lengths[self.places[0]] if len(first) else []
        self.operands = [
            nodes.sources[starts[:, place] + n] for place, width in enumerate(widths) for n in range(width)
        ]

    def inside(self, operand: HostArray) -> HostArray:
        """Of which call of its visit each operand is, -1: of none."""
        found = self.nodes == (operand >> OUTPUT_BITS)[:, None]
        return np.where(found.any(1), found.argmax(1), -1)

    def which(self, operands: Sequence[tuple[int, int]]) -> HostArray:
        """The visits whose operands are as those of the chain."""
        right = np.ones(len(self.nodes), bool)
        outside: dict[int, HostArray] = {}
        for operand, (call, output) in zip(self.operands, operands, strict=False):
            if call >= 0:
                right &= operand == (self.nodes[:, call] << OUTPUT_BITS) + output
            else:
                right &= (self.inside(operand) < 0) & (operand == outside.setdefault(output, operand))
        return right


def merged(recording: Recording, sites: CallSites, plan: Plan, nodes: Nodes, wanted: HostArray) -> Nodes:
    """The nodes of a run with one node in place of each visit of a chain.

    Args:
        recording, sites, plan: of the network; `sites` learns new chains from many nodes.
        nodes: the nodes.
        wanted: the nodes that are asked for.
    """
    learns = sites.learns and len(nodes.nodes) >= 32 * FEW and sites.learnt != sites.version
    if not learns and not sites.chains:
        return nodes
    calls = np.flatnonzero(plan.sites.arity[nodes.sites] + plan.sites.domains[nodes.sites] > 0)
    if learns:
        for followers in _followers(sites, plan, nodes.sites[calls]):
            _learn(sites, nodes, _Visits(nodes, calls, followers), followers, wanted)
        sites.learnt = sites.version
    visit = np.full(len(recording.nodes), -1)  # by node
    count, found = 0, []
    for chain in sites.chains:
        visits = _Visits(nodes, calls, chain.sites)
        if not len(visits.nodes):
            continue
        which = visits.which(chain.operands)
        visit[visits.nodes[which]] = np.arange(count, count + which.sum())[:, None]
        count += len(which)
        found.append((chain, visits, which))
    read = _read_outside(nodes, visit, wanted)
    moved, offset = np.arange(len(recording.nodes)), np.zeros(len(recording.nodes), np.int64)
    site, lengths, keep = nodes.sites.copy(), nodes.lengths.copy(), np.ones(len(nodes.nodes), bool)
    reads: list[tuple[HostArray, HostArray]] = []
    for chain, visits, which in found:
        for call, kept in enumerate(chain.kept):
            if kept < 0:
                which &= ~read[visits.nodes[:, call]]
        places, members = visits.places[which], visits.nodes[which]
        keep[places[:, :-1]] = False
        site[places[:, -1]] = chain.call.number
        external = {output: n for n, (call, output) in enumerate(chain.operands) if call < 0}
        lengths[places[:, -1]] = len(external)
        operands = [visits.operands[n][which] for _, n in sorted(external.items())]
        reads.append((places[:, -1], np.array(operands).T))
        for call, kept in enumerate(chain.kept):
            if kept >= 0:
                moved[members[:, call]], offset[members[:, call]] = members[:, -1], kept
    ends = np.where(keep, lengths, 0).cumsum()
    sources = np.append(np.zeros(ends[-1], np.int64), nodes.sources[nodes.lengths.sum() :])
    plain = keep & (site == nodes.sites)
    old = np.repeat(plain, nodes.lengths)
    new = np.repeat(plain[keep], lengths[keep])
    sources[: len(new)][new] = nodes.sources[: len(old)][old]
    for places, columns in reads:
        sources[(ends[places] - lengths[places])[:, None] + np.arange(columns.shape[-1])] = columns
    nodes_of = sources >> OUTPUT_BITS
    sources = (moved[nodes_of] << OUTPUT_BITS) + (sources & OUTPUT) + offset[nodes_of]
    inner = np.flatnonzero((moved != np.arange(len(moved))) | (offset > 0))
    kept_nodes = nodes.nodes[keep]
    return Nodes(
        kept_nodes,
        site[keep],
        lengths[keep],
        sources,
        (inner, kept_nodes.searchsorted(moved[inner]), offset[inner]),
    )


def _read_outside(nodes: Nodes, visit: HostArray, wanted: HostArray) -> HostArray:
    """By node, whether it is asked for, or read by a node that is not of its visit."""
    targets, sources = nodes.nodes.repeat(nodes.lengths), nodes.sources >> OUTPUT_BITS
    read = np.zeros(len(visit), bool)
    own, elements = sources[: len(targets)], sources[len(targets) :]
    read[own[(visit[own] != visit[targets]) | (visit[own] < 0)]] = True
    read[np.append(elements, wanted)] = True
    return read


def _followers(sites: CallSites, plan: Plan, visited: HostArray) -> list[list[int]]:
    """Chains of sites that follow one another, nine times of ten, among the sites visited in order."""
    taken = {site for chain in sites.chains for site in chain.sites}
    simple = {call.number for call in list(sites.calls.values()) if call.simple} - taken
    count = np.bincount(visited)
    pairs, times = np.unique(visited[:-1] << 32 | visited[1:], return_counts=True)
    after: dict[int, int] = {}
    for pair, seen in zip(pairs.tolist(), times.tolist(), strict=True):
        a, b = pair >> 32, pair & 0xFFFFFFFF
        alike = plan.sites.base[a] == plan.sites.base[b] and {a, b} <= simple and a != b
        if alike and seen >= FEW and seen * 10 >= 9 * max(count[a], count[b]):
            after[a] = b
    chains = []
    for site in dict.fromkeys(visited.tolist()):
        chain = [site]
        while (following := after.pop(chain[-1], None)) is not None and following not in taken:
            taken |= {chain[-1], following}  # no other chain has them
            chain.append(following)
        if len(chain) > 1:
            chains.append(chain)
    return chains


def _learn(sites: CallSites, nodes: Nodes, visits: _Visits, chain: list[int], wanted: HostArray) -> None:
    """Makes a call site of a chain, whose calls have the operands that most visits have."""
    insides = [visits.inside(operand) for operand in visits.operands]
    call_of = [int(np.bincount(inside + 1).argmax()) - 1 for inside in insides]
    outside: list[HostArray] = []
    operands: list[tuple[int, int]] = []
    for operand, call in zip(visits.operands, call_of, strict=True):
        if call >= 0:
            operands.append((call, int(np.bincount(operand & OUTPUT).argmax())))
            continue
        number = next((n for n, other in enumerate(outside) if (other == operand).all()), len(outside))
        outside += [operand] if number == len(outside) else []
        operands.append((-1, number))
    which = visits.which(operands)
    if which.sum() * 10 < 9 * len(which):
        return
    last = max(nodes.nodes[-1], wanted[-1], (nodes.sources >> OUTPUT_BITS).max())
    visit = np.full(int(last) + 1, -1)
    visit[visits.nodes] = np.arange(len(visits.nodes))[:, None]
    read = _read_outside(nodes, visit, wanted)[visits.nodes].any(0)
    read[-1] = True
    parts = [sites.sites[site] for site in chain]

    def fused(*values: Tracer) -> tuple[Tracer, ...]:
        results: list[list[Tracer]] = []
        given = iter(operands)
        for part in parts:
            # As it was traced: what a function of the user reads may have changed since.
            recorder = values[0].context
            leaves = {leaf: recorder.constant(sites.constants[number]) for leaf, number in part.constants}
            for port in part.ports:
                call, output = next(given)
                leaves[port.leaf] = values[output] if call < 0 else results[call][output]
            results.append(recorder.replay(part.trace, [leaves[leaf] for leaf in sorted(leaves)]))
        return tuple(x for result, kept in zip(results, read, strict=True) if kept for x in result)

    widths = [len(part.outputs) if kept else 0 for part, kept in zip(parts, read, strict=True)]
    first = [sum(widths[:n]) if kept else -1 for n, kept in enumerate(read)]
    ports = [part.trace.inputs[port.leaf].type for part in parts for port in part.ports]
    types = {n: type for (call, n), type in zip(operands, ports, strict=True) if call < 0}
    name = f"{parts[0].typed.form.label} ... {parts[-1].typed.form.label}"
    input = T.Tuple(list(types.values())) if len(types) > 1 else types[0]
    typed = infer(core.Function(fused, name=name), input, float_type=sites.float_type)
    call_site = sites.add_typed(typed, range(len(types)), SourceLine.here())
    sites.chains.append(Chain(tuple(chain), tuple(operands), tuple(first), call_site))
