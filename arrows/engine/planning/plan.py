"""The plan of a model, made once: its operations, where their rows live, and in what order they may run.

An *operation* is the sites that do the same thing, so that their nodes run together.

The order is known from the block, before any data, so it is computed once a model and not once a batch.
Sites that feed one another in a cycle (the cell of a recursion, the step of a fold) are one *component*, and
only within it does depth count.  Everything else runs once for the whole batch: embeddings before the
recursion, output layers and losses after it.  On the models of the benchmark `steps`, a batch takes as few
steps as any schedule could need (docs/results.md).

Components are laid in *strata*: a component's stratum is one more than the highest that feeds it.  Components
of one stratum that do the same thing (the two directions of a bidirectional layer, a layer that stands in
several places) become one.  This can never close a cycle, because edges only lead upwards.

*Slabs* are the arrays of rows that hold the outputs of operations.  Outputs that can meet share a slab: at
one port, so that a gather reads one array instead of choosing among several for each row; in one leaf of the
result; in one metric.  Meeting is transitive, so slabs are the connected components of outputs and their
readers.  A slab's rows are its constants first, then the rows of each operation that writes to it.  Constants
come first because their rows are then the same in every batch, however many rows follow.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import AnyBlock
from arrows.engine.device import Device
from arrows.engine.lowering import Composed, Lowered, Site, SiteKind
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import ArrowValueError, cached_property, message, types as T


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """A varying operand of an operation: its input leaf, the slab it gathers from, the sequence it spans."""

    leaf: int
    slab: int
    domain: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """The work that several sites share, so that their nodes run together.

    Attributes:
        index: the operation's number.
        site: the first of its sites.
        slabs: for each output, the slab that holds it.
        ports: of what computes, the varying operands, those of one row first, then those of each sequence.
        constants: of what computes, operands that are always the same constant: (input leaf, value).
        early: the ports whose rows are all there before the first step of the operation in a component.
        stream: of what exists before anything is computed, the number of the raw stream that holds it; of
            values of earlier runs, that of their ids.
        owner: the operation that gives its rows: itself; of rows for the elements of a sequence, the one that
            takes the sequence.
    """

    index: int
    site: Site
    slabs: tuple[int, ...]
    ports: tuple[PlannedPort, ...] = ()
    constants: tuple[tuple[int, HostArray], ...] = ()
    early: tuple[int, ...] = ()
    stream: int = 0
    owner: int

    @property
    def kind(self) -> SiteKind:
        """What stands at its sites."""
        return self.site.kind

    @property
    def computes(self) -> bool:
        """Whether its rows are computed by a program of its own."""
        return self.site.kind == "apply"

    @property
    def outputs(self) -> tuple[T.Tensor, ...]:
        """The type of each tensor that a node gives."""
        return self.site.outputs

    @cached_property
    def trace(self) -> Trace:
        """What it computes."""
        return self.site.trace

    @cached_property
    def domains(self) -> tuple[int, ...]:
        """The sequences among the ports, ascending."""
        return self.site.domains

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """For each of `domains`, how many tensors an element of the sequence has."""
        spans = [port.domain for port in self.ports]
        return tuple(map(spans.count, self.domains))

    @cached_property
    def name(self) -> str:
        """The blocks that stand at its sites, for messages and tables."""
        match self.site:
            case Site(occurrence=Composed(steps=steps)):
                return " >> ".join(_form_name(step.form) for step in steps)
            case Site(occurrence=Typed(form=form)):
                return _form_name(form)
        return self.kind


@dataclass(frozen=True, slots=True)
class SiteGroups:
    """The sites grouped by the work that they do.

    Attributes:
        operation: the operation of each site.
        firsts: the first site of each operation.
    """

    operation: list[int]
    firsts: list[Site]


def group_sites(sites: Sequence[Site]) -> SiteGroups:
    """Groups sites that do the same thing: of the same trace, parameters and constants.

    A layer that is used in five places is one operation, so its nodes run together wherever they stand.
    """
    numbers: dict[Hashable, int] = {}
    firsts: list[Site] = []
    operation: list[int] = []
    for site in sites:
        number = numbers.setdefault(_work(site, operation), len(firsts))
        if number == len(firsts):
            firsts.append(site)
        operation.append(number)
    return SiteGroups(operation, firsts)


def _work(site: Site, operation: Sequence[int]) -> Hashable:
    """A key that is equal for sites that do the same thing."""
    match site.kind:
        case "apply":
            return site.trace.key, tuple((port.leaf, port.domain) for port in site.ports), site.constants
        case "element":
            return operation[site.parent], site.domain
        case _:
            return site.kind, site.outputs, site.constants


def _form_name(form: AnyBlock) -> str:
    return form.name or getattr(form, "kind", None) or type(form).__name__


def components(successors: Sequence[Sequence[int]]) -> list[int]:
    """Numbers the strongly connected components of a graph in topological order (Kosaraju, Sharir 1981).

    The stack is explicit: a site graph may be as deep as the expression.

    Args:
        successors: for each node, the nodes that it feeds.

    Returns:
        The component of each node; an edge never leads to a smaller number.

    >>> components([[1], [2], [1, 3], []])
    [0, 1, 1, 2]
    """
    finished: list[int] = []  # each node after all that it feeds, but for cycles
    seen: set[int] = set()
    predecessors: list[list[int]] = [[] for _ in successors]
    for root, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(root)
        work = [(root, False)]
        while work:
            node, done = work.pop()
            if done:
                finished.append(node)
            elif node not in seen:
                seen.add(node)
                work += [(node, True), *((target, False) for target in successors[node])]
    component = [-1] * len(successors)
    closed = 0
    for root in reversed(finished):
        pending = [root] if component[root] < 0 else []
        while pending:
            node = pending.pop()
            if component[node] < 0:
                component[node] = closed
                pending += predecessors[node]
        closed += component[root] == closed
    return component


def strata(successors: Sequence[Sequence[int]], operation: Sequence[int]) -> list[int]:
    """Numbers the sites' components so that an edge never leads to a smaller number.

    Components that do the same thing get the same number where that is possible, and so run together.

    Args:
        successors: for each site, the sites that it can feed.
        operation: for each site, what it does.

    Returns:
        The number of each site's component.

    >>> strata([[2], [3], [4], [4], []], operation=[0, 0, 1, 1, 2])  # two chains that do the same thing
    [0, 0, 1, 1, 2]
    """
    component = components(successors)
    members: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for site, number in enumerate(component):
        members[number].append(site)
    stratum = [0] * len(members)
    for number, sites in enumerate(members):
        for site in sites:
            for target in successors[site]:
                if component[target] != number:
                    stratum[component[target]] = max(stratum[component[target]], stratum[number] + 1)
    work = [
        (stratum[number], tuple(sorted(operation[site] for site in sites)))
        for number, sites in enumerate(members)
    ]
    rank = {key: place for place, key in enumerate(sorted(set(work)))}
    return [rank[work[number]] for number in component]


Output = tuple[int, int]
"""An operation, and the number of one of its outputs."""

Operand = tuple[int, int, int | None]
"""An operation, a leaf of its input, and the sequence that the leaf belongs to (None: one row a node)."""


@dataclass(frozen=True, slots=True)
class Slab:
    """One array of rows.

    Attributes:
        type: what a row is.
        constants: the constants in front.
        outputs: the outputs that follow, in order.
    """

    type: T.Tensor
    constants: tuple[int, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedSlabs:
    """The slabs of a model, and who writes to and reads from them.

    Attributes:
        slabs: the slabs.
        outputs: the slab of each output.
        operands: the slab that each operand is gathered from.
        results: the slabs that the leaves of the result and of the taps are read from.
        metrics: the slabs that the metric streams are read from.
        constant_rows: the row of each constant in its slab.
    """

    slabs: tuple[Slab, ...]
    outputs: dict[Output, int]
    operands: dict[Operand, int]
    results: tuple[int, ...]
    metrics: tuple[int, ...]
    constant_rows: HostArray


def plan_slabs(lowered: Lowered, groups: SiteGroups, *, by_type: bool) -> PlannedSlabs:
    """Puts outputs that can meet at a reader into one slab: a block says before any data which can.

    Ordinary code does not: with ``by_type`` all outputs of one type share a slab, which keeps its number when
    more sites are observed.
    """
    firsts, operation_of = groups.firsts, groups.operation
    outputs = [(o, k) for o, site in enumerate(firsts) for k in range(len(site.outputs))]
    members = {output: number for number, output in enumerate(outputs)}
    types = [firsts[o].outputs[k] for o, k in members]
    meets: list[list[int]] = [[] for _ in members]  # by member, those in the same slab

    def read(reader: int, place: int) -> int:
        for site, k in () if by_type else lowered.reaching[place]:
            output = members[operation_of[site], k]
            meets[output].append(reader)
            meets[reader].append(output)
        return reader

    def reader(of: T.Tensor) -> int:
        types.append(of)
        meets.append([])
        return len(meets) - 1

    operands: dict[Operand, int] = {}
    for site in lowered.sites:
        for port in site.ports:
            operand = operation_of[site.index], port.leaf, port.domain
            if operand not in operands:
                operands[operand] = reader(site.trace.inputs[port.leaf].type)
            read(operands[operand], port.place)
    results = [read(reader(leaf.type), leaf.place) for leaf in lowered.streams.leaves]
    metrics = [read(reader(stream.type), stream.place) for stream in lowered.streams.metrics]

    # Slabs are numbered by their first outputs; those that nothing writes to come last, and are empty.
    numbers: dict[object, int] = {}
    keys: Sequence[object] = types if by_type else components(meets)
    slab_of = [numbers.setdefault(key, len(numbers)) for key in keys]
    slab_types = dict(zip(reversed(slab_of), reversed(types), strict=True))
    slab_constants: list[list[int]] = [[] for _ in numbers]
    slab_outputs: list[list[Output]] = [[] for _ in numbers]
    constant_rows = np.zeros(len(lowered.constants), np.int32)
    for (o, k), member in members.items():
        site, slab = firsts[o], slab_of[member]
        if site.kind == "constant":
            ((_, constant),) = site.constants
            constant_rows[constant] = len(slab_constants[slab])
            slab_constants[slab].append(constant)
        else:
            slab_outputs[slab].append((o, k))
    return PlannedSlabs(
        slabs=tuple(
            Slab(slab_types[n], tuple(constants), tuple(outputs))
            for n, (constants, outputs) in enumerate(zip(slab_constants, slab_outputs, strict=True))
        ),
        outputs={output: slab_of[member] for output, member in members.items()},
        operands={operand: slab_of[member] for operand, member in operands.items()},
        results=tuple(slab_of[member] for member in results),
        metrics=tuple(slab_of[member] for member in metrics),
        constant_rows=constant_rows,
    )


def check_slab_types(slabs: Sequence[Slab], device: Device) -> None:
    """Checks that a device's kernels have the element types of slabs.

    Raises:
        ArrowValueError: they have not.
    """
    for dtype in device.lacks.intersection(slab.type.dtype for slab in slabs):
        raise ArrowValueError(
            message(
                f"cannot compute in {dtype} on {device.name!r}",
                reason="its kernels have no arithmetic in that type",
                hint='float_type="float32" takes all numbers as float32; the CPU computes in float16',
            )
        )


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
        self.pairs = Pairs(*np.array(pairs, np.int32).reshape(-1, 2).T.copy())


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
        most = max((len(site.outputs) for site in lowered.sites), default=1)
        self.shift = max(most - 1, 0).bit_length()  # tells so many outputs of a node apart
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
