"""The plan of a model, made once: its operations, where their rows live, and in what order they may run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import Lowered
from arrows.engine.planning.operations import Operation, PlannedPort, SiteGroups, group_sites
from arrows.engine.planning.slabs import Output, PlannedSlabs, plan_slabs
from arrows.engine.planning.strata import strata

SCHEDULES = ("strata", "depth", "agenda", "none")


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """The operations in the components where they run, by operation, then component.

    Attributes:
        operation, component: arrays over the pairs.
    """

    operation: HostArray
    component: HostArray


class SiteColumns:
    """What is asked of the sites of many nodes at a time, as arrays over sites.

    Args:
        lowered, groups: the sites, and the operation of each.
        component: of each site.
        successors: the sites that each can feed.

    Attributes:
        operation: the operation of each site.
        arity: the number of ports of one row.
        domains: the number of sequences among the ports.
        pair: the (operation, component) of each site, as a number of `Pairs`.
        base: the depth key that the site's component starts at.
        static: whether the depth key of all its nodes is ``base``: nothing in its own component feeds it.
    """

    def __init__(
        self,
        lowered: Lowered,
        groups: SiteGroups,
        component: Sequence[int],
        successors: Sequence[Sequence[int]],
    ) -> None:
        sites = lowered.sites
        static = [site.kind != "element" for site in sites]
        for source, targets in enumerate(successors):
            for target in targets:
                if component[source] == component[target]:
                    static[target] = False
        # One pair for all reads of a type: their rows are the raw stream, in the order of the nodes.
        read_components = {
            o: component[site.index] for o, site in enumerate(groups.firsts) if site.kind == "read"
        }
        site_pairs = [(o, read_components.get(o, component[site])) for site, o in enumerate(groups.operation)]
        pairs = sorted(set(site_pairs))
        numbers = {pair: number for number, pair in enumerate(pairs)}
        self.operation = np.array(groups.operation, np.int32)
        self.arity = np.array([sum(p.domain is None for p in site.ports) for site in sites], np.int32)
        self.domains = np.array([len(site.domains) for site in sites], np.int32)
        self.pair = np.array([numbers[pair] for pair in site_pairs], np.int32)
        # The low 32 bits of a key count depth within the component.
        self.base = np.array(component, np.int64) << 32
        self.static = np.array(static, bool)
        self.pairs = Pairs(
            *(np.array(column, np.int32) for column in ([o for o, _ in pairs], [c for _, c in pairs]))
        )


class Plan:
    """Everything about a model that does not depend on data.

    Args:
        lowered: what `arrows.engine.lowering.lower` makes of a typed expression, or what was observed of a
            program that runs on the fly.
        schedule: one of `SCHEDULES`.
        slabs_by_type: whether all outputs of one type share a slab, else those that can meet.

    Attributes:
        lowered, schedule: the same.
        shift: value ids of node ``n`` are ``n << shift`` and the following ones.
        operations: the operations.
        slabs: the slabs.
        results: the slabs that the leaves of the result and of the taps are read from.
        metrics: the slabs that the metric streams are read from.
        constant_rows: the row of each constant in its slab.
        sites: the sites.
        pairs: the operations by component.
    """

    def __init__(self, lowered: Lowered, schedule: str, *, slabs_by_type: bool = False) -> None:
        groups = group_sites(lowered.sites)
        slabs = plan_slabs(lowered, groups, by_type=slabs_by_type)
        successors = _successors(lowered)
        if schedule == "strata":
            component = strata(successors, groups.operation)
        else:
            component = [0] * len(lowered.sites)  # Looks et al. 2017: depth counts over the whole example
        self.lowered, self.schedule = lowered, schedule
        self.shift = bits_for(max((len(site.outputs) for site in lowered.sites), default=1))
        self.operations = _operations(lowered, groups, slabs, component, schedule)
        self.slabs, self.results, self.metrics = slabs.slabs, slabs.results, slabs.metrics
        self.constant_rows = slabs.constant_rows
        self.sites = SiteColumns(lowered, groups, component, successors)
        self.pairs = self.sites.pairs

    @cached_property
    def elements(self) -> dict[tuple[int, int], int]:
        """By operation and sequence, the operation that stands for the rows it gives for the elements."""
        return {
            (operation.owner, operation.site.domain): operation.index
            for operation in self.operations
            if operation.kind == "element"
        }

    @cached_property
    def applies(self) -> HostArray:
        """For each operation, whether it computes."""
        return np.array([operation.computes for operation in self.operations], bool)

    @cached_property
    def streams(self) -> list[Operation]:
        """The operations whose rows come in."""
        return [operation for operation in self.operations if operation.kind in ("read", "carried")]

    @cached_property
    def reads_at_once(self) -> HostArray:
        """For each operation, whether it reads rows that are all there before its first step in a component.

        Not if it gives rows for the elements of a sequence, which are in its nodes' order.
        """
        parents = {parent for parent, _ in self.elements}
        return np.array(
            [
                operation.computes
                and operation.index not in parents
                and len(operation.ports) > sum(operation.widths)
                and len(operation.early) == len(operation.ports)
                for operation in self.operations
            ],
            bool,
        )

    @cached_property
    def heavy(self) -> HostArray:
        """For each operation, whether it multiplies matrices."""
        return np.array(
            [
                operation.computes
                and any(equation.primitive.name == "matmul" for equation in operation.trace.equations)
                for operation in self.operations
            ],
            bool,
        )

    @cached_property
    def widest(self) -> int:
        """The most outputs of an operation."""
        return max((len(operation.outputs) for operation in self.operations), default=1)

    @cached_property
    def slab_of(self) -> HostArray:
        """By operation and output, the slab; 0 for outputs that an operation lacks."""
        slabs = np.zeros((len(self.operations), self.widest), np.int64)
        for operation in self.operations:
            slabs[operation.index, : len(operation.slabs)] = operation.slabs
        return slabs

    @cached_property
    def later_outputs(self) -> list[Output]:
        """Each output but the first of an operation."""
        return [
            (operation.index, k) for operation in self.operations for k in range(1, len(operation.outputs))
        ]

    @cached_property
    def slab_columns(self) -> tuple[HostArray, HostArray, HostArray, HostArray]:
        """The slabs as arrays.

        Their outputs, one slab after another: the operation and the number of each; then by slab its number
        of constants, and where its outputs start (and where those of the last stop).
        """
        outputs = np.array([output for slab in self.slabs for output in slab.outputs], np.intp).reshape(-1, 2)
        constants = np.array([len(slab.constants) for slab in self.slabs], np.intp)
        begins = np.cumsum([0, *(len(slab.outputs) for slab in self.slabs)])
        return outputs[:, 0], outputs[:, 1], constants, begins

    @cached_property
    def result_places(self) -> dict[int, list[Output]]:
        """For each operation that computes, the outputs that hold its results: its own, or its elements'."""
        return {
            operation.index: self._result_places(operation)
            for operation in self.operations
            if operation.computes
        }

    def _result_places(self, operation: Operation) -> list[Output]:
        places: list[Output] = []
        count: dict[int, int] = {}
        for var in operation.trace.results:
            owner = operation.index if var.rows < 0 else self.elements[operation.index, var.rows]
            count[owner] = count.get(owner, 0) + 1
            places.append((owner, count[owner] - 1))
        return places

    @property
    def has_dropout(self) -> bool:
        """Whether there is dropout anywhere."""
        return any(
            operation.computes and operation.trace.dropout_key is not None for operation in self.operations
        )

    @property
    def shares(self) -> bool:
        """Whether equal nodes of a batch may be one: not where one node at a time is what is wanted."""
        return self.schedule != "none"


def bits_for(outputs: int) -> int:
    """How many bits of a value id tell so many outputs of a node apart.

    >>> bits_for(1), bits_for(2), bits_for(2048)
    (0, 1, 11)
    """
    return max(outputs - 1, 0).bit_length()


def _operations(
    lowered: Lowered, groups: SiteGroups, slabs: PlannedSlabs, component: Sequence[int], schedule: str
) -> tuple[Operation, ...]:
    raw_streams = {type: number for number, type in enumerate(lowered.streams.reads)}
    carried = count(len(raw_streams))
    waiting = set(_waiting_ports(lowered, groups, component))
    operations: list[Operation] = []
    for o, site in enumerate(groups.firsts):
        # Without batching each node is a step of its own, so no operand is complete before it.
        early = [n for n in range(len(site.ports)) if schedule != "none" and (o, n) not in waiting]
        ports = [PlannedPort(p.leaf, slabs.operands[o, p.leaf, p.domain], p.domain) for p in site.ports]
        stream = 0
        if site.kind in ("read", "carried"):
            stream = raw_streams[site.outputs[0]] if site.kind == "read" else next(carried)
        operations.append(
            Operation(
                index=o,
                site=site,
                slabs=tuple(slabs.outputs[o, k] for k in range(len(site.outputs))),
                ports=tuple(ports),
                constants=tuple((leaf, lowered.constants[number]) for leaf, number in site.constants),
                early=tuple(early),
                stream=stream,
                owner=groups.operation[site.parent] if site.kind == "element" else o,
            )
        )
    return tuple(operations)


def _successors(lowered: Lowered) -> list[list[int]]:
    """Returns for each site the sites that it can feed; element rows count as their operation."""
    successors: list[set[int]] = [set() for _ in lowered.sites]
    for site in lowered.sites:
        for port in site.ports:
            for source, _ in lowered.reaching[port.place]:
                successors[source].add(site.index)
        if site.kind == "element":
            # Edges in both directions: element rows exist exactly when their operation has run.
            successors[site.parent].add(site.index)
            successors[site.index].add(site.parent)
    return [sorted(targets) for targets in successors]


def _waiting_ports(
    lowered: Lowered, groups: SiteGroups, component: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """The ports, as (operation, position), that a site in the same component may feed."""
    for site in lowered.sites:
        for number, port in enumerate(site.ports):
            for source, _ in lowered.reaching[port.place]:
                computed = lowered.sites[source].kind in ("apply", "element")
                if computed and component[source] == component[site.index]:
                    yield groups.operation[site.index], number


def moving_slabs(plan: Plan, wanted_sites: set[int]) -> set[int]:
    """Returns the slabs that depend, through floats alone, on a parameter or on a site in `wanted_sites`."""
    moving = {plan.operations[plan.sites.operation[site]].slabs[0] for site in wanted_sites}

    def fed() -> Iterator[int]:
        for operation, source in _computed(plan):
            trained = any(spec.has_gradient for _, spec, _ in source.trace.parameters)
            if trained or any(port.slab in moving for port in source.ports):
                for type, slab in zip(operation.outputs, operation.slabs, strict=True):
                    if type.dtype.startswith("float"):
                        yield slab

    return _grown(moving, fed)


def receiving_slabs(plan: Plan, seeds: set[int], moving: set[int]) -> set[int]:
    """Returns the slabs in `moving` that a gradient reaches from the slabs in `seeds`."""
    receiving = seeds & moving

    def feeding() -> Iterator[int]:
        for operation, source in _computed(plan):
            if receiving.intersection(operation.slabs):
                yield from (port.slab for port in source.ports if port.slab in moving)

    return _grown(receiving, feeding)


def _computed(plan: Plan) -> Iterator[tuple[Operation, Operation]]:
    """The operations whose rows are computed, each with the one that computes them."""
    for operation in plan.operations:
        owner = plan.operations[operation.owner]
        if owner.computes:
            yield operation, owner


def _grown(slabs: set[int], following: Callable[[], Iterable[int]]) -> set[int]:
    """Adds to slabs what follows from them, until nothing does."""
    while new := set(following()) - slabs:
        slabs |= new
    return slabs
