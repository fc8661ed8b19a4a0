"""Finds the slabs that gradients flow through, from the loss back to parameters and requested inputs."""

from __future__ import annotations

from arrows.engine.planning.operations import ApplyOperation, ElementOperation, Operation
from arrows.engine.planning.plan import Plan


def moving_slabs(plan: Plan, wanted_sites: set[int]) -> set[int]:
    """Returns the slabs that depend, through floats alone, on a parameter or on a site in `wanted_sites`."""
    moving: set[int] = set()
    for site in plan.lowered.sites:
        if site.index in wanted_sites:
            moving.add(plan.operations[plan.sites.operation[site.index]].slabs[0])
    pending = True
    while pending:
        pending = False
        for operation in plan.operations:
            source = _computing(plan, operation)
            if source is None:
                continue
            trained = any(spec.has_gradient for _, spec, _ in source.trace.parameters)
            if trained or any(port.slab in moving for port in source.ports):
                for type, slab in zip(operation.outputs, operation.slabs, strict=True):
                    if type.dtype.startswith("float") and slab not in moving:
                        moving.add(slab)
                        pending = True
    return moving


def _computing(plan: Plan, operation: Operation) -> ApplyOperation | None:
    """Returns the operation that computes an operation's rows; None if they are read or constants."""
    if isinstance(operation, ElementOperation):
        operation = plan.operations[operation.parent]
    return operation if isinstance(operation, ApplyOperation) else None


def receiving_slabs(plan: Plan, seeds: set[int], moving: set[int]) -> set[int]:
    """Returns the slabs in `moving` that a gradient reaches from the slabs in `seeds`."""
    receiving = seeds & moving
    pending = True
    while pending:
        pending = False
        for operation in plan.operations:
            source = _computing(plan, operation)
            if source is None or not receiving.intersection(operation.slabs):
                continue
            for port in source.ports:
                if port.slab in moving and port.slab not in receiving:
                    receiving.add(port.slab)
                    pending = True
    return receiving
