"""Checks indices against the number of rows there, when examples are read.

An index that depends on examples alone is computed here, on the host, by the functions that the model
computes it with.  So it does not matter how it reaches the table: as a number, in a vector or a
sequence, through functions or elements of a sequence.  An index that depends on parameters or on chance is
known only when the model runs (`computed_indices`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from arrows.engine.lowering import ApplySite, CarriedSite, ConstantSite, ElementSite
from arrows.engine.planning import Plan, ReadOperation
from arrows.engine.reading.wiring import SourceLayout, source_layout
from arrows.ops import INVARIANT, ROW, Equation, IndexOutOfRange, Segments, Trace, Var
from arrows.ops.arrays import HostArray, quiet
from arrows.ops.segment_places import no_element
from arrows.typesys import types as T

_RANDOM = frozenset({"normal", "uniform", "dropout"})


@dataclass(frozen=True, eq=False, slots=True)
class IndexSite:
    """What is computed of a site to know indices.

    Attributes:
        site: the site.
        ports: the operands that are read, by their place among the site's.
        equations: what is computed or checked, in order.
        values: the results of the equations that are computed; of the others, only the index is checked.
        results: what other sites read: the site that owns it, the number of the output, and the value.
    """

    site: ApplySite
    ports: tuple[int, ...]
    equations: tuple[Equation, ...]
    values: frozenset[Var]
    results: tuple[tuple[int, int, Var], ...]

    def __str__(self) -> str:
        """What two models have in common that check alike; a table's width does not count."""
        arrays = {var: array for array, var in self.site.trace.constants if var in self.values}
        constants = [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays.values()]
        uses = [(equation.primitive.name, index_of(equation)) for equation in self.equations]
        computed = [str(equation) for equation in self.equations if equation.result in self.values]
        return f"{self.site.index} {self.ports} {computed} {uses} {constants}"


def index_limit(trace: Trace, leaf: int) -> int | None:
    """Returns the number of rows that an operand indexes; None if it is no index."""
    found = [use for use in map(index_of, trace.equations) if use is not None]
    sizes = [size for var, size in found if var == trace.inputs[leaf] and size is not None]
    return min(sizes, default=None)


def index_sites(plan: Plan) -> list[IndexSite]:
    """What has to be computed of a model to know all indices that depend on examples alone."""
    sites = plan.lowered.sites
    wanted: dict[int, set[Var]] = {}
    known = {site.index: _known(site.trace) for site in sites if isinstance(site, ApplySite)}
    waiting = [
        (site, use[0])
        for site in sites
        if isinstance(site, ApplySite)
        for use in map(index_of, site.trace.equations)
        if use is not None and use[0] in known[site.index]
    ]
    while waiting:
        site, var = waiting.pop()
        if var in wanted.setdefault(site.index, set()):
            continue
        wanted[site.index].add(var)
        for equation in site.trace.equations:
            if equation.result == var:
                waiting += [(site, operand) for operand in equation.operands]
        for port in site.ports:
            if site.trace.inputs[port.leaf] == var:
                for producer in plan.lowered.reaching[port.place]:
                    made = _maker(plan, *producer)
                    if made is not None and made[1] in known[made[0].index]:
                        waiting.append(made)
    return [_index_site(plan, number, wanted[number]) for number in sorted(wanted)]


def computed_indices(plan: Plan) -> dict[int, frozenset[int]]:
    """The equations whose index may depend on more than examples: their places in the trace, by operation."""
    sites = [site for site in plan.lowered.sites if isinstance(site, ApplySite)]
    if not any(index_of(equation) for site in sites for equation in site.trace.equations):
        return {}
    known = {site.index: _known(site.trace) for site in sites}
    changed = True
    while changed:
        changed = False
        for site in sites:
            unknown = {
                site.trace.inputs[port.leaf]
                for port in site.ports
                for producer in plan.lowered.reaching[port.place]
                if not _is_known(plan, known, *producer)
            }
            if not unknown.isdisjoint(known[site.index]):
                known[site.index] = _known(site.trace, unknown)
                changed = True
    found: dict[int, set[int]] = {}
    for site in sites:
        for number, equation in enumerate(site.trace.equations):
            use = index_of(equation)
            if use is None or use[0] in known[site.index]:
                continue
            index, size = use
            if size is None or _bound(site.trace, index) > size:  # else the host need not wait
                found.setdefault(int(plan.sites.operation[site.index]), set()).add(number)
    return {operation: frozenset(numbers) for operation, numbers in found.items()}


def _bound(trace: Trace, var: Var) -> float:
    """A number that values of a function are below, if its equations say that, and that none is negative."""
    for array, constant in trace.constants:
        if constant == var:
            return int(array.max()) + 1 if array.size and array.min() >= 0 else inf
    for equation in trace.equations:
        if equation.result == var:
            match equation.primitive.name:
                case "argmax" | "argmin" | "argsort":
                    axis: Any = dict(equation.attributes).get("axis", -1)
                    return int(equation.operands[0].type.shape[axis])
                case "index" | "reshape" | "transpose" | "broadcast_to":
                    return _bound(trace, equation.operands[0])
                case "add":
                    return sum(_bound(trace, operand) for operand in equation.operands) - 1
    return inf


def _is_known(plan: Plan, known: Mapping[int, set[Var]], number: int, output: int) -> bool:
    made = _maker(plan, number, output)
    if made is None:
        return not isinstance(plan.lowered.sites[number], CarriedSite)
    return made[1] in known[made[0].index]


def _known(trace: Trace, unknown: Collection[Var] = ()) -> set[Var]:
    """The values of a function that depend on its input alone, but for some of it."""
    known = {*trace.inputs, *(var for _, var in trace.constants)} - {trace.dropout_key, *unknown}
    for equation in trace.equations:
        if equation.primitive.name not in _RANDOM and known.issuperset(equation.operands):
            known.add(equation.result)
    return {var for var in known if var is not None}


def index_of(equation: Equation) -> tuple[Var, int | None] | None:
    """The operand of an equation that is an index, and the number of rows; None: those of the sequence."""
    operands, attributes = equation.operands, dict(equation.attributes)
    size: Any = attributes.get("size")
    match equation.primitive.name:
        case "lookup":
            return operands[1], operands[0].type.shape[0]
        case "pick":
            return operands[1], operands[0].type.shape[-1]
        case "place" | "scatter_row" | "one_hot":
            return operands[-1], size
        case "segment_take" if attributes["default"] is None:
            return operands[1], None
    return None


def _maker(plan: Plan, number: int, output: int) -> tuple[ApplySite, Var] | None:
    """The site that computes an output, and its value there; None if nothing computes it."""
    site, level = plan.lowered.sites[number], ROW
    if isinstance(site, ElementSite):
        number, level = site.parent, site.domain
    maker = plan.lowered.sites[number]
    if not isinstance(maker, ApplySite):
        return None
    return maker, [var for var in maker.trace.results if max(var.rows, ROW) == level][output]


def _index_site(plan: Plan, number: int, wanted: set[Var]) -> IndexSite:
    site = plan.lowered.sites[number]
    assert isinstance(site, ApplySite)
    elements = {
        each.domain: each.index
        for each in plan.lowered.sites
        if isinstance(each, ElementSite) and each.parent == number
    }
    results, counts = [], dict.fromkeys([number, *elements.values()], 0)
    for var in site.trace.results:
        owner = number if var.rows < 0 else elements[var.rows]
        if var in wanted:
            results.append((owner, counts[owner], var))
        counts[owner] += 1
    return IndexSite(
        site=site,
        ports=tuple(n for n, port in enumerate(site.ports) if site.trace.inputs[port.leaf] in wanted),
        equations=tuple(
            equation
            for equation in site.trace.equations
            if equation.result in wanted or (index_of(equation) or (None,))[0] in wanted
        ),
        values=frozenset(wanted),
        results=tuple(results),
    )


@dataclass(frozen=True, slots=True)
class Misfit:
    """An index that is out of range.

    Attributes:
        node: that looks it up.
        error: what its example gets.
    """

    node: int
    error: IndexOutOfRange


def indices_out_of_range(
    plan: Plan,
    indices: Sequence[IndexSite],
    site: HostArray,
    key: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: list[HostArray],
) -> list[Misfit]:
    """The indices that are out of range, by their nodes; of a node with several, one.

    ``indices`` are those of `index_sites`; the arrays are those of `structural_hash.node_hashes`.
    """
    if not indices:
        return []
    values = _HostValues(plan, site, sources, source_layout(plan, site, counts))
    values.take_in(indices, raw)
    computed = [each for each in indices if each.results]
    if computed:  # what reads these has a larger key
        is_computed = np.isin(site, [each.site.index for each in computed])
        for level in np.unique(key[is_computed]).tolist():
            (nodes,) = (is_computed & (key == level)).nonzero()
            for each in computed:
                values.compute(each, nodes[site[nodes] == each.site.index])
    for each in indices:
        if not each.results:
            values.compute(each, np.flatnonzero(site == each.site.index))
    return sorted(values.misfits, key=lambda misfit: misfit.node)


@dataclass(eq=False, slots=True)
class _HostValues:
    """The values of examples that indices depend on, as far as they are known.

    Attributes:
        plan: the model's plan.
        site, sources: the nodes.
        layout: where the sources of each node are.
        rows: by tensor type, its values.
        place: by value id, its row there; -1 where the value is not known.
        free: by tensor type, the first row that nothing has been written to.
        misfits: the indices that were out of range.
    """

    plan: Plan
    site: HostArray
    sources: HostArray
    layout: SourceLayout
    rows: dict[T.Tensor, HostArray] = field(default_factory=dict)
    place: HostArray = field(init=False)
    free: dict[T.Tensor, int] = field(default_factory=dict)
    misfits: list[Misfit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place = np.full(len(self.site) << self.plan.shift, -1, np.int64)

    def take_in(self, indices: Sequence[IndexSite], raw: list[HostArray]) -> None:
        """Takes in what was read, and constants, of the types that are asked for; and makes room."""
        plan = self.plan
        types = {each.site.trace.inputs[each.site.ports[n].leaf].type for each in indices for n in each.ports}
        room = dict.fromkeys(types, 0)
        for each in indices:
            for owner, _, var in each.results:
                room[var.type] = room.get(var.type, 0) + int(np.count_nonzero(self.site == owner))
        parts: dict[T.Tensor, list[HostArray]] = {type: [] for type in room}
        constants = self.site[: len(plan.lowered.constants)].tolist()
        for node, constant in enumerate(plan.lowered.sites[number] for number in constants):
            if isinstance(constant, ConstantSite) and constant.outputs[0] in types:
                value = plan.lowered.constants[constant.constant][None]
                self._place(parts, constant.outputs[0], np.array([node]), value)
        operation = plan.sites.operation[self.site]
        for read in plan.operations:
            if isinstance(read, ReadOperation) and read.outputs[0] in types:
                self._place(parts, read.outputs[0], np.flatnonzero(operation == read.index), raw[read.stream])
        for type, count in room.items():
            self.free[type] = sum(map(len, parts[type]))
            if count:
                parts[type].append(np.empty((count, *type.shape), type.dtype))
            whole = parts[type] or [np.empty((0, *type.shape), type.dtype)]
            self.rows[type] = whole[0] if len(whole) == 1 else np.concatenate(whole)

    def _place(
        self, parts: dict[T.Tensor, list[HostArray]], type: T.Tensor, nodes: HostArray, values: HostArray
    ) -> None:
        first = sum(map(len, parts[type]))
        self.place[nodes << self.plan.shift] = np.arange(first, first + len(nodes))
        parts[type].append(values)

    @quiet
    def compute(self, index: IndexSite, nodes: HostArray) -> None:
        """Computes what is known of some nodes of a site, and checks their indices."""
        if not len(nodes):
            return
        operands = self._operands(index, nodes)
        unknown = np.zeros(len(nodes), bool)
        for var, places in operands.places.items():
            unknown[operands.owners(var)[places < 0]] = True
        if unknown.any():
            self.compute(index, nodes[~unknown])
            return
        trace = index.site.trace
        values = {var: array for array, var in trace.constants}
        for leaf, number in index.site.constants:
            constant = self.plan.lowered.constants[number]
            values[trace.inputs[leaf]] = np.broadcast_to(constant, (len(nodes), *constant.shape))
        values |= {var: self.rows[var.type][places] for var, places in operands.places.items()}
        for equation in index.equations:
            use = index_of(equation)
            if use is not None and use[0] in values:
                errors = operands.out_of_range(equation, values[use[0]], *use)
                if errors:
                    self.misfits += [Misfit(int(nodes[place]), error) for place, error in errors.items()]
                    self.compute(index, np.delete(nodes, list(errors)))
                    return
            if equation.result in index.values:
                values[equation.result] = operands.run(equation, values)
        for _, output, var in index.results:
            ids = (operands.nodes_of(index.site, var) << self.plan.shift) + output
            first = self.free[var.type]
            self.free[var.type] = last = first + len(ids)
            self.rows[var.type][first:last] = values[var]
            self.place[ids] = np.arange(first, last)

    def _operands(self, index: IndexSite, nodes: HostArray) -> _Operands:
        site, layout = index.site, self.layout
        first = layout.first_source[nodes]
        places, offsets, place = {}, {}, 0
        for place, port in enumerate(port for port in site.ports if port.domain is None):
            if place in index.ports:
                places[site.trace.inputs[port.leaf]] = self.place[self.sources[first + place]]
        start = first + sum(port.domain is None for port in site.ports)
        for number, domain in enumerate(site.domains):
            counts = layout.counts[layout.first_count[nodes] + number].astype(np.int64)
            ends = offsets[domain] = np.concatenate([[0], np.cumsum(counts)])
            for place, port in enumerate(site.ports):
                if port.domain == domain:
                    if place in index.ports:
                        at = np.repeat(start - ends[:-1], counts) + np.arange(ends[-1])
                        places[site.trace.inputs[port.leaf]] = self.place[self.sources[at]]
                    start = start + counts
        return _Operands(nodes, places, offsets)


@dataclass(frozen=True, eq=False, slots=True)
class _Operands:
    """What some nodes of a site read.

    Attributes:
        nodes: the nodes.
        places: by operand, where in `_HostValues.rows` its rows are.
        offsets: by sequence, where the elements of each node start.
    """

    nodes: HostArray
    places: Mapping[Var, HostArray]
    offsets: Mapping[int, HostArray]

    def owners(self, var: Var) -> HostArray:
        """For each row of a value, the node that it belongs to, by its place among the nodes."""
        count = np.arange(len(self.nodes))
        return count if var.rows < 0 else np.repeat(count, np.diff(self.offsets[var.rows]))

    def nodes_of(self, site: ApplySite, var: Var) -> HostArray:
        """For each row of a result, its node: those of elements follow the node of the operation."""
        if var.rows < 0:
            return self.nodes
        before = [each for each in sorted({each.rows for each in site.trace.results}) if 0 <= each < var.rows]
        first = self.nodes + 1 + sum((np.diff(self.offsets[each]) for each in before), start=np.int64(0))
        offsets = self.offsets[var.rows]
        return np.repeat(first - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])

    def run(self, equation: Equation, values: Mapping[Var, HostArray]) -> HostArray:
        """Computes an equation on all rows."""
        primitive, attributes = equation.primitive, dict(equation.attributes)
        has_rows = tuple(var.rows != INVARIANT for var in equation.operands)
        if any(has_rows):
            attributes = primitive.lift(attributes, has_rows, tuple(var.type for var in equation.operands))
        extra = {}
        if primitive.segmented:
            level = max(var.rows for var in (*equation.operands, equation.result))
            extra["segments"] = Segments.of(np, self.offsets[level])
        run: Any = primitive.kernel(np, **attributes)
        return np.asarray(run(*(values[var] for var in equation.operands), **extra))

    def out_of_range(
        self, equation: Equation, index: HostArray, var: Var, size: int | None
    ) -> dict[int, IndexOutOfRange]:
        """The nodes whose index is out of range, by their place among the nodes, and the error of each."""
        limit: Any = size
        if size is None:
            limit = np.diff(self.offsets[equation.operands[0].rows])
            index = np.broadcast_to(index, limit.shape)
        wrong = np.argwhere((index < 0) | (index >= limit))
        if not len(wrong):
            return {}
        if size is None or var.rows >= ROW:
            bad, first = np.unique(self.owners(var)[wrong[:, 0]], return_index=True)
        else:  # one index for all nodes
            bad, first = np.arange(len(self.nodes)), np.zeros(len(self.nodes), np.int64)
        errors = {}
        for place, row in zip(bad.tolist(), wrong[first], strict=True):
            number = int(index[tuple(row)])
            if size is None:
                errors[place] = no_element(number, int(limit[place]), None)
            else:
                errors[place] = IndexOutOfRange(equation.primitive.name, number, size, None)
        return errors
