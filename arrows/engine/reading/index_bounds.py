"""Checks indices against the number of rows there.

An index that an example holds, be it a number, in a vector or in a sequence, is checked here when the example
is read. One that the model computes is known only when it runs (`computed_indices`): NumPy's kernels check it
themselves, and programs for other devices have `in_range`, for which the host waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import Site
from arrows.engine.planning import Plan
from arrows.engine.reading.wiring import SourceLayout, element_ids, lengths_of, source_layout
from arrows.ops import Equation, IndexOutOfRange, Trace, Var


@dataclass(frozen=True, slots=True)
class IndexPort:
    """An operand that is an index.

    Attributes:
        site: the site that looks something up.
        place: the place of the port among the site's.
        stream: the number of the raw stream that may hold the index.
        size: the number of rows there.
        primitive: what looks up.
    """

    site: int
    place: int
    stream: int
    size: int
    primitive: str


def index_of(equation: Equation) -> tuple[Var, int | None] | None:
    """The operand of an equation that is an index, and the number of rows; None: those of the sequence."""
    operands, attributes = equation.operands, dict(equation.attributes)
    size: Any = attributes.get("size")
    match equation.primitive.name:
        case "lookup":
            return operands[1], operands[0].type.shape[0]
        case "scatter_row" | "one_hot":
            return operands[-1], size
        case "segment_take" if attributes["default"] is None:
            return operands[1], None
    return None


def index_limit(trace: Trace, leaf: int) -> tuple[int, str] | None:
    """The number of rows that an operand indexes, and what looks up there; None if it is no index."""
    uses = [(index_of(equation), equation.primitive.name) for equation in trace.equations]
    var = trace.inputs[leaf]
    return min(((use[1], name) for use, name in uses if use and use[0] == var and use[1]), default=None)


def index_ports(plan: Plan) -> list[IndexPort]:
    """The operands of a model that are indices, and may come from examples as they are."""
    streams = {type: number for number, type in enumerate(plan.lowered.streams.reads)}
    ports = []
    for site in _applied(plan):
        for place, port in enumerate(site.ports):
            limit, type = index_limit(site.trace, port.leaf), site.trace.inputs[port.leaf].type
            if limit is not None and type in streams:
                ports.append(IndexPort(site.index, place, streams[type], *limit))
    return ports


def _applied(plan: Plan) -> list[Site]:
    return [site for site in plan.lowered.sites if site.kind == "apply"]


def computed_indices(plan: Plan) -> dict[int, frozenset[int]]:
    """The equations whose index may depend on more than what is read: places in the trace, by operation."""
    found: dict[int, set[int]] = {}
    for site in _applied(plan):
        for number, equation in enumerate(site.trace.equations):
            use = index_of(equation)
            if use is not None and (use[1] is None or _bound(plan, site, use[0]) > use[1]):
                found.setdefault(int(plan.sites.operation[site.index]), set()).add(number)
    return {operation: frozenset(numbers) for operation, numbers in found.items()}


def _bound(plan: Plan, site: Site, var: Var) -> float:
    """A number that an index is below, and that it is not negative: 0 if it is what an example holds."""
    trace, constants = site.trace, [array for array, constant in site.trace.constants if constant == var]
    if var in trace.inputs:
        leaf = trace.inputs.index(var)
        places = [port.place for port in site.ports if port.leaf == leaf]
        makers = [plan.lowered.sites[maker] for place in places for maker, _ in plan.lowered.reaching[place]]
        if any(maker.kind not in ("read", "constant") for maker in makers):
            return inf
        numbers = [number for other, number in site.constants if other == leaf]
        numbers += [number for maker in makers for _, number in maker.constants]
        constants = [plan.lowered.constants[number] for number in numbers]
        return max(map(_limit_of, constants), default=0)
    if constants:
        return _limit_of(constants[0])
    for equation in trace.equations:
        if equation.result == var:
            match equation.primitive.name:
                case "argmax":
                    axis: Any = dict(equation.attributes)["axis"]
                    return int(equation.operands[0].type.shape[axis])
                case "index" | "reshape" | "transpose" | "broadcast_to":
                    inner = equation.operands[0]
                    return inf if inner in trace.inputs else _bound(plan, site, inner)
    return inf


def _limit_of(array: HostArray) -> float:
    """A number that all elements are below, if none is negative."""
    return int(array.max(initial=-1)) + 1 if array.min(initial=0) >= 0 else inf


def indices_out_of_range(
    plan: Plan,
    ports: Sequence[IndexPort],
    site: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: Sequence[HostArray],
) -> list[tuple[int, IndexOutOfRange]]:
    """The indices that are out of range: the nodes that look them up, ascending, and their errors.

    ``ports`` are those of `index_ports`; the arrays are those of `structural_hash.node_hashes`.
    """
    suspects = [port for port in ports if _limit_of(raw[port.stream]) > port.size]
    if not suspects:
        return []
    layout = source_layout(plan, site, counts)
    row = np.full(len(site), -1)  # by node that reads an input, the place of its value
    for operation in plan.operations:
        if operation.kind == "read":
            (nodes,) = (plan.sites.operation[site] == operation.index).nonzero()
            row[nodes] = np.arange(len(nodes))
    misfits = []
    for port in suspects:
        readers, ids = _read_by(plan, port, np.flatnonzero(site == port.site), layout, sources)
        rows = row[ids >> plan.shift]
        readers, values = readers[rows >= 0], raw[port.stream][rows[rows >= 0]]
        wrong = (values < 0) | (values >= port.size)
        for place in np.flatnonzero(wrong.any(axis=tuple(range(1, wrong.ndim)))).tolist():
            number = int(values[place][wrong[place]].flat[0])
            misfits.append((int(readers[place]), IndexOutOfRange(port.primitive, number, port.size, None)))
    return sorted(misfits, key=lambda misfit: misfit[0])


def _read_by(
    plan: Plan, port: IndexPort, nodes: HostArray, layout: SourceLayout, sources: HostArray
) -> tuple[HostArray, HostArray]:
    """What a port of a site's nodes reads: for each value, the node and the id."""
    site, first = plan.lowered.sites[port.site], layout.first_source[nodes]
    single = sum(other.domain is None for other in site.ports)
    if port.place < single:
        return nodes, sources[first + port.place]
    elements = element_ids(site, sources, layout.counts, first + single, layout.first_count[nodes])
    _, ends, ids = next(islice(elements, port.place - single, None))
    return nodes.repeat(lengths_of(ends)), ids
