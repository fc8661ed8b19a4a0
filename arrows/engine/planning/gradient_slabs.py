"""Finds the slabs that gradients flow through, from the loss back to parameters and requested inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from arrows.engine.planning.operations import ApplyOperation, ElementOperation, Operation
from arrows.engine.planning.plan import Plan


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


def _computed(plan: Plan) -> Iterator[tuple[Operation, ApplyOperation]]:
    """The operations whose rows are computed, each with the one that computes them."""
    for operation in plan.operations:
        source = plan.operations[operation.parent] if isinstance(operation, ElementOperation) else operation
        if isinstance(source, ApplyOperation):
            yield operation, source


def _grown(slabs: set[int], following: Callable[[], Iterable[int]]) -> set[int]:
    """Adds to slabs what follows from them, until nothing does."""
    while new := set(following()) - slabs:
        slabs |= new
    return slabs
