"""The plan of a model, made once: which operations there are, where their rows live, in what order they may
run.

Sites that do the same thing are one *operation* (same trace, same parameters, same constants), so a layer
used in five places is batched together.  Outputs that can meet at one port share a *slab*, so that a gather
reads one array. A slab's rows are its constants first, then the rows of each operation that writes to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arrows.combinators import AnyBlock
from arrows.engine.lowering.lower import Lowered
from arrows.engine.lowering.merge_chains import Composed
from arrows.engine.lowering.node_code import MetricStream
from arrows.engine.lowering.sites import Site
from arrows.engine.planning.strata import strata
from arrows.ops import Trace
from arrows.typesys import types as T

SCHEDULES = ("strata", "depth", "agenda", "none")


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """A varying operand of an operation: which input leaf, which slab it gathers from, which sequence it
    spans."""

    leaf: int
    slab: int
    domain: int | None


@dataclass(frozen=True, slots=True)
class Operation:
    """What sites that do the same have in common.

    Attributes:
        index: the operation's number.
        kind: ``"apply"``, ``"read"``, ``"constant"`` or ``"element"``.
        name: for people: the blocks that stand at its sites.
        outputs: type of each tensor that a node gives.
        slabs: for each output, the slab that holds it.
        ports: the varying operands, those of one row first, then those of each sequence.
        constants: operands that are always the same constant: (input leaf, value).
        trace: what it computes (``"apply"`` only).
        parent, domain: of ``"element"``: the operation whose rows these are, and the sequence that counts
        them.
        stream: of ``"read"``: the raw stream; of ``"constant"``: the constant's number.
        early: the ports whose rows are all there before the first step of the operation in a component.
        domains: the sequences among the ports, ascending.
        widths: for each of `domains`, how many tensors an element of the sequence has.
    """

    index: int
    kind: str
    name: str
    outputs: tuple[T.Tensor, ...]
    slabs: tuple[int, ...]
    ports: tuple[PlannedPort, ...] = ()
    constants: tuple[tuple[int, np.ndarray], ...] = ()
    trace: Trace | None = None
    parent: int = -1
    domain: int = -1
    stream: int = -1
    early: tuple[int, ...] = ()
    domains: tuple[int, ...] = field(init=False)
    widths: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        spans = [port.domain for port in self.ports if port.domain is not None]
        domains = tuple(sorted(set(spans)))
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "widths", tuple(map(spans.count, domains)))


@dataclass(frozen=True, slots=True)
class Slab:
    """One array of rows: what its rows are, which constants stand in front, which outputs follow, in
    order."""

    type: T.Tensor
    constants: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]


@dataclass(eq=False, slots=True, weakref_slot=True)
class Plan:
    """Everything about a model that does not depend on data.

    Attributes:
        lowered: the written lowering function and its sites.
        schedule: one of `SCHEDULES`.
        shift: value ids of node ``n`` are ``n << shift`` and the following ones.
        operations, slabs: see there.
        bases, static: for each site, the key its component starts at, and whether its key never moves.
        site_operation, site_arity, site_domains: arrays over sites: the operation, the number of ports of
            one row, that of sequences.
        site_pair: for each site, its (operation, component), numbered by operation, then component.
        pair_operation, pair_component: arrays over these pairs.
        elements: by operation and sequence, the operation that stands for the rows it gives for the elements.
        results, metrics: the slabs that the result's leaves and the metric streams are read from.
        constants: the values of the constants.
        applies: for each operation, whether it computes.
        constant_rows: the row of each constant in its slab.
        widest: the most outputs of an operation.
        further: (operation, output) for each output but the first of an operation.
        result_places: for each operation that computes, and each of its results, whose output holds it: its
        own, or that of its elements' nodes.
    """

    lowered: Lowered
    schedule: str
    shift: int
    operations: list[Operation]
    slabs: list[Slab]
    bases: list[int]
    static: list[bool]
    site_operation: np.ndarray
    site_arity: np.ndarray
    site_domains: np.ndarray
    site_pair: np.ndarray
    pair_operation: np.ndarray
    pair_component: np.ndarray
    results: list[int]
    metrics: list[int]
    constants: list[np.ndarray]
    elements: dict[tuple[int, int], int] = field(init=False)
    applies: np.ndarray = field(init=False)
    constant_rows: np.ndarray = field(init=False)
    widest: int = field(init=False)
    further: list[tuple[int, int]] = field(init=False)
    result_places: dict[int, list[tuple[int, int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.elements = {
            (one.parent, one.domain): one.index for one in self.operations if one.kind == "element"
        }
        self.applies = np.array([one.kind == "apply" for one in self.operations], bool)
        self.widest = max((len(one.outputs) for one in self.operations), default=1)
        self.further = [(one.index, k) for one in self.operations for k in range(1, len(one.outputs))]
        self.constant_rows = np.zeros(len(self.constants), np.int32)
        for one in self.operations:
            if one.kind == "constant":
                self.constant_rows[one.stream] = self.slabs[one.slabs[0]].constants.index(one.stream)
        self.result_places = {
            one.index: self._result_places(one.index, one.trace)
            for one in self.operations
            if one.trace is not None
        }

    def _result_places(self, operation: int, trace: Trace) -> list[tuple[int, int]]:
        places = []
        seen: dict[int, int] = {}
        for var in trace.results:
            owner = operation if var.rows < 0 else self.element_operation(operation, var.rows)
            places.append((owner, seen.get(owner, 0)))
            seen[owner] = seen.get(owner, 0) + 1
        return places

    @property
    def has_chance(self) -> bool:
        """Whether there is dropout anywhere."""
        return any(one.trace is not None and one.trace.dropout_key is not None for one in self.operations)

    @property
    def shares(self) -> bool:
        """Whether equal nodes of a batch may be one: not where one node at a time is what is wanted."""
        return self.schedule != "none"

    def element_operation(self, operation: int, domain: int) -> int:
        """The operation that stands for the rows that ``operation`` gives for the elements of a sequence."""
        return self.elements[operation, domain]

    @property
    def metric_streams(self) -> list[MetricStream]:
        """The metric streams, in the order of their first place in the expression."""
        return self.lowered.metrics


class _UnionFind:
    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def find(self, one: int) -> int:
        root = one
        while self.parent[root] != root:
            root = self.parent[root]
        while self.parent[one] != root:
            self.parent[one], one = root, self.parent[one]
        return root

    def join(self, a: int, b: int) -> None:
        self.parent[self.find(b)] = self.find(a)


def bits_for(outputs: int) -> int:
    """How many bits of a value id tell so many outputs of a node apart.

    >>> bits_for(1), bits_for(2), bits_for(2048)
    (0, 1, 11)
    """
    return max(outputs - 1, 0).bit_length()


def make_plan(lowered: Lowered, schedule: str) -> Plan:
    """Plans a lowered expression for a schedule.

    Args:
        lowered: what `arrows.engine.lowering.lower.lower` made of a typed expression.
        schedule: one of `SCHEDULES`.
    """
    found = lowered.sites
    sites, flow = found.sites, found.flow
    widest = max((len(site.outputs) for site in sites), default=1)
    shift = bits_for(widest)

    site_operation, firsts, streams = _group(lowered)
    outputs = [(o, k) for o, site in enumerate(firsts) for k in range(len(site.outputs))]
    number_of = {output: number for number, output in enumerate(outputs)}

    def reaching(place: int) -> list[int]:
        producers = (found.producers[producer] for producer in flow.reaching(place))
        return [number_of[site_operation[site], k] for site, k in producers]

    # Outputs that can meet share a slab: at a port, in a leaf of the result, in a metric.
    groups = _UnionFind(len(outputs))
    orphans: list[T.Tensor] = []

    def gathered(place: int, of: T.Tensor) -> int:
        """A member of the group that reaches ``place``; what nothing reaches gets an empty slab of its
        own."""
        members = reaching(place)
        if not members:
            orphans.append(of)
            return -len(orphans)
        for other in members[1:]:
            groups.join(members[0], other)
        return members[0]

    ports_of: list[dict[tuple[int, int | None], int]] = [{} for _ in firsts]
    for site in sites:
        known = ports_of[site_operation[site.index]]
        for port in site.ports:
            member = gathered(port.place, site.trace.inputs[port.leaf].type)
            key = (port.leaf, port.domain)
            if key in known and known[key] >= 0 and member >= 0:
                groups.join(known[key], member)
            elif known.get(key, -1) < 0:
                known[key] = member
    result_members = [
        gathered(place, of) for place, of in zip(lowered.leaves, lowered.leaf_types, strict=True)
    ]
    metric_members = [gathered(stream.place, stream.type) for stream in lowered.metrics]

    slab_number: dict[int, int] = {}
    members: list[list[tuple[int, int]]] = []
    for number, output in enumerate(outputs):
        root = groups.find(number)
        if root not in slab_number:
            slab_number[root] = len(members)
            members.append([])
        members[slab_number[root]].append(output)
    first_orphan = len(members)

    def slab_of(member: int) -> int:
        return slab_number[groups.find(member)] if member >= 0 else first_orphan - member - 1

    slabs = []
    for group in members:
        o, k = group[0]
        constant = tuple(firsts[o].domain for o, _ in group if firsts[o].kind == "constant")
        slabs.append(
            Slab(firsts[o].outputs[k], constant, tuple(m for m in group if firsts[m[0]].kind != "constant"))
        )
    slabs.extend(Slab(of, (), ()) for of in orphans)

    if schedule == "strata":
        component = strata(_site_graph(lowered), site_operation)
    else:
        component = [0] * len(sites)  # Fold's rule: depths count over the whole example
    waited = {port for site in sites for port in _waited(lowered, site, component, site_operation)}

    operations = []
    for o, site in enumerate(firsts):
        ports = tuple(
            PlannedPort(port.leaf, slab_of(ports_of[o][port.leaf, port.domain]), port.domain)
            for port in site.ports
        )
        operations.append(
            Operation(
                o,
                site.kind,
                _name(site),
                site.outputs,
                tuple(slab_of(number_of[o, k]) for k in range(len(site.outputs))),
                ports,
                tuple((leaf, found.constants[number]) for leaf, number in site.constants),
                site.trace if site.kind == "apply" else None,
                site_operation[site.parent] if site.kind == "element" else -1,
                site.domain if site.kind == "element" else -1,
                streams.get(o, site.domain),
                () if schedule == "none" else tuple(n for n in range(len(ports)) if (o, n) not in waited),
            )
        )

    moving = _moving(lowered, component)
    bases = [number << 32 for number in component]
    # One pair for all reads of a type: their rows are the raw stream, in the order of the nodes.
    first_component = {o: component[site.index] for o, site in enumerate(firsts) if site.kind == "read"}
    pairs = sorted(
        {(o, first_component.get(o, component[s])) for s, o in enumerate(site_operation)},
    )
    pair_number = {pair: number for number, pair in enumerate(pairs)}
    return Plan(
        lowered,
        schedule,
        shift,
        operations,
        slabs,
        bases,
        [not moves for moves in moving],
        np.array(site_operation, np.int32),
        np.array([sum(port.domain is None for port in site.ports) for site in sites], np.int32),
        np.array([len(site.domains) for site in sites], np.int32),
        np.array(
            [pair_number[o, first_component.get(o, component[s])] for s, o in enumerate(site_operation)],
            np.int32,
        ),
        np.array([o for o, _ in pairs], np.int32),
        np.array([c for _, c in pairs], np.int32),
        [slab_of(member) for member in result_members],
        [slab_of(member) for member in metric_members],
        found.constants,
    )


def _group(lowered: Lowered) -> tuple[list[int], list[Site], dict[int, int]]:
    """The operation of each site, one site of each operation, and the raw stream of those that read."""
    stream_of = {of: number for number, of in enumerate(lowered.reads)}
    numbers: dict[Hashable, int] = {}
    firsts: list[Site] = []
    streams: dict[int, int] = {}
    operation: list[int] = []
    for site in lowered.sites.sites:
        key: tuple[Any, ...]
        match site.kind:
            case "apply":
                ports = tuple((port.leaf, port.domain) for port in site.ports)
                key = ("apply", site.trace.key(), ports, site.constants)
            case "read":
                key = ("read", site.outputs[0])
            case "element":
                key = ("element", operation[site.parent], site.domain)
            case _:
                key = ("constant", site.domain)
        number = numbers.setdefault(key, len(firsts))
        if number == len(firsts):
            firsts.append(site)
            if site.kind == "read":
                streams[number] = stream_of[site.outputs[0]]
        operation.append(number)
    return operation, firsts, streams


def _site_graph(lowered: Lowered) -> list[list[int]]:
    """Which sites each site can feed; the rows of an operation count as the operation."""
    found = lowered.sites
    successors: list[set[int]] = [set() for _ in found.sites]
    for site in found.sites:
        for port in site.ports:
            for producer in found.flow.reaching(port.place):
                source = found.producers[producer][0]
                successors[source].add(site.index)
        if site.kind == "element":
            # Both ways: the rows are there when, and only when, their operation has run.
            successors[site.parent].add(site.index)
            successors[site.index].add(site.parent)
    return [sorted(some) for some in successors]


def _waited(
    lowered: Lowered, site: Site, component: list[int], operation: list[int]
) -> Iterator[tuple[int, int]]:
    """The ports, as (operation, position), that a site in the same component may feed at this one."""
    found = lowered.sites
    for number, port in enumerate(site.ports):
        for producer in found.flow.reaching(port.place):
            source = found.sites[found.producers[producer][0]]
            if source.kind in ("apply", "element") and component[source.index] == component[site.index]:
                yield operation[site.index], number


def _moving(lowered: Lowered, component: list[int]) -> list[bool]:
    """Whether a site's key depends on its inputs: something in its own component feeds it."""
    successors = _site_graph(lowered)
    moving = [site.kind == "element" for site in lowered.sites.sites]
    for source, targets in enumerate(successors):
        for target in targets:
            if component[source] == component[target]:
                moving[target] = True
    return moving


def _name(site: Site) -> str:
    if site.typed is None:
        return site.kind
    steps = site.typed.steps if isinstance(site.typed, Composed) else (site.typed,)
    return " >> ".join(_form_name(step.form) for step in steps)


def _form_name(form: AnyBlock) -> str:
    return form.name or getattr(form, "kind", None) or type(form).__name__


__all__ = ["SCHEDULES", "Operation", "Plan", "PlannedPort", "Slab", "make_plan"]
