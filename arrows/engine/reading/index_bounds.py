"""Checks integers that are read from examples and used as an index against the number of rows there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.engine.lowering import ApplySite
from arrows.engine.planning import Plan, ReadOperation
from arrows.engine.reading.wiring import source_layout
from arrows.ops import Trace
from arrows.ops.arrays import HostArray


@dataclass(frozen=True, slots=True)
class IndexPort:
    """An operand of a site that is an index: its place among those of one row, and the number of rows."""

    site: int
    place: int
    limit: int


def index_ports(plan: Plan) -> list[IndexPort]:
    """The operands by which operations look something up, without computing with them first."""
    ports = []
    for site in plan.lowered.sites:
        if not isinstance(site, ApplySite):
            continue
        for place, port in enumerate(port for port in site.ports if port.domain is None):
            limit = index_limit(site.trace, port.leaf)
            if limit is not None:
                ports.append(IndexPort(site.index, place, limit))
    return ports


def index_limit(trace: Trace, leaf: int) -> int | None:
    """Returns the number of rows that an operand indexes; None if it is no index."""
    limits = []
    for equation in trace.equations:
        name, operands = equation.primitive.name, equation.operands
        if name in ("lookup", "pick") and operands[1] == trace.inputs[leaf]:
            shape = operands[0].type.shape
            limits.append(shape[0] if name == "lookup" else shape[-1])
    return min(limits, default=None)


def first_out_of_range(
    plan: Plan,
    ports: list[IndexPort],
    site: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: list[HostArray],
) -> tuple[int, int, int] | None:
    """The first node with an index out of range, the index and the limit; None if all is well.

    ``ports`` are those of `index_ports`; the arrays are those of `structural_hash.node_hashes`.
    """
    if not ports:
        return None
    operation = plan.sites.operation[site]
    first = source_layout(plan, site, counts).first_source
    for read_operation in plan.operations:
        if (
            not isinstance(read_operation, ReadOperation)
            or read_operation.outputs[0].shape
            or "int" not in read_operation.outputs[0].dtype
        ):
            continue
        read = operation == read_operation.index
        place = np.cumsum(read) - 1
        for port in ports:
            nodes = np.flatnonzero(site == port.site)
            source = sources[first[nodes] + port.place] >> plan.shift
            direct = read[source]
            values = raw[read_operation.stream][place[source[direct]]]
            bad = np.flatnonzero((values < 0) | (values >= port.limit))
            if len(bad):
                return int(nodes[direct][bad[0]]), int(values[bad[0]]), port.limit
    return None
