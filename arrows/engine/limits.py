"""Which integers that an example holds are used as an index, and into how many rows: checked when it is
lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arrows.engine.plan import Plan

_NO_LIMIT = -1


def index_limits(plan: Plan) -> dict[int, np.ndarray]:
    """The number of rows that each read site's integers may point into.

    Args:
        plan: the model's plan.

    Returns:
        For each raw stream with such sites, an array over all sites: the limit, or -1 for none.
    """
    found = plan.lowered.sites
    stream_of = {of: number for number, of in enumerate(plan.lowered.reads)}
    limits: dict[int, np.ndarray] = {}
    for site in found.sites:
        if site.kind != "apply":
            continue
        trace = site.trace
        for port in site.ports:
            var = trace.inputs[port.leaf]
            sizes = []
            for equation in trace.equations:
                name, operands = equation.primitive.name, equation.operands
                if name in ("lookup", "pick") and operands[1] == var:
                    shape = operands[0].type.shape
                    sizes.append(shape[0] if name == "lookup" else shape[-1])
            if not sizes:
                continue
            for producer in found.flow.reaching(port.place):
                source = found.sites[found.producers[producer][0]]
                if source.kind != "read":
                    continue
                stream = stream_of[source.outputs[0]]
                table = limits.setdefault(stream, np.full(len(found.sites), _NO_LIMIT))
                known = int(table[source.index])
                table[source.index] = min(sizes) if known == _NO_LIMIT else min(known, *sizes)
    return limits
