"""Gathers of several ports at once: what one `concat` joins is fetched as one, straight into its place.

A cell that reads ``concat(h1, h2)`` has two ports whose rows lie in one slab.  Gathered one by one and
joined, every value is copied twice; but the rows of a node's operands, one after another, already are the
rows of the joined value.  So one gather with the ports' row numbers interleaved makes it, and where these are
a range of the slab, it is a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arrows.engine.planning import ApplyOperation
from arrows.ops import ROW, Equation, Trace, Var


@dataclass(frozen=True, slots=True)
class Joint:
    """Ports that one ``concat`` joins.

    Attributes:
        ports: positions in `ApplyOperation.ports`, in the order of the operands.
        slab: where all their rows lie.
        result: the joined value.
    """

    ports: tuple[int, ...]
    slab: int
    result: Var


def joints(operation: ApplyOperation, trace: Trace, equations: Sequence[Equation]) -> tuple[Joint, ...]:
    """The values among the results of ``equations`` that one gather can make.

    Args:
        operation: the operation.
        trace: its specialised trace.
        equations: those with rows.
    """
    port_of = {trace.inputs[port.leaf]: n for n, port in enumerate(operation.ports) if port.domain is None}
    found = []
    for equation in equations:
        if equation.primitive.name != "concat" or equation.result in trace.results:
            continue
        operands, result = equation.operands, equation.result
        if len(operands) < 2 or any(v not in port_of or v.rows != ROW for v in operands):
            continue
        first = -len(result.type.shape)
        ports = tuple(port_of[v] for v in operands)
        slabs = {operation.ports[port].slab for port in ports}
        alike = all(v.type == operands[0].type for v in operands)
        if alike and len(slabs) == 1 and dict(equation.attributes)["axis"] == first:
            found.append(Joint(ports, slabs.pop(), result))
    return tuple(found)
