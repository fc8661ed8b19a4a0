"""Which arrays of a batch may lie in the same memory when nothing is kept for gradients: those of which one
is no longer read when the other is first written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arrows.engine.planning import ApplyOperation, Plan, ReadOperation

Interval = tuple[int, int]  # the first and the last component that an array is needed in


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where the arrays of a batch lie.

    Attributes:
        slabs: for each slab, the number of its memory among that of its element type.
        operations: for each operation, the number of the memory for what it keeps from step to step.
        openings: the component before which the constants of a slab have to be written, and the slab;
            ascending.
    """

    slabs: list[int]
    operations: list[int]
    openings: list[tuple[int, int]]


def all_apart(plan: Plan) -> Rooms:
    """Every array in memory of its own: gradients are computed from the values of all."""
    slabs = range(len(plan.slabs))
    openings = [(-1, slab) for slab in slabs if plan.slabs[slab].constants]
    return Rooms(list(slabs), list(range(len(plan.operations))), openings)


def shared_rooms(plan: Plan) -> Rooms:
    """Arrays that are not needed at the same time in the same memory.

    Components run one after another, so a slab is needed from the first component that writes or reads it
    (from the beginning, if it holds values that were read) to the last (to the end, if a result or a metric
    reads it), and what an operation keeps, in the components that it runs in.
    """
    never = int(plan.pairs.component.max(initial=-1)) + 1
    slabs: list[list[int]] = [[] for _ in plan.slabs]
    operations: list[list[int]] = [[] for _ in plan.operations]
    for o, component in zip(plan.pairs.operation.tolist(), plan.pairs.component.tolist(), strict=True):
        operation = plan.operations[o]
        operations[o].append(component)
        if isinstance(operation, ReadOperation):
            slabs[operation.slabs[0]].append(-1)
        if isinstance(operation, ApplyOperation):
            for owner, output in plan.result_places[o]:
                slabs[plan.operations[owner].slabs[output]].append(component)
            for port in operation.ports:
                slabs[port.slab].append(component)
    for slab in (*plan.results, *plan.metrics):
        slabs[slab].append(never)
    needed = [(min(times, default=never), max(times, default=never)) for times in slabs]
    return Rooms(
        _coloured(needed, [slab.type.dtype for slab in plan.slabs]),
        _coloured([(min(times, default=0), max(times, default=0)) for times in operations]),
        sorted((begin, n) for n, (begin, _) in enumerate(needed) if plan.slabs[n].constants),
    )


def _coloured(needed: list[Interval], kinds: Iterable[str] = ()) -> list[int]:
    """A number for each interval; those of one kind that meet get different ones, of the fewest that do.

    In the order of their beginnings, each takes the first number that is free (interval graph colouring).
    """
    kind_of = list(kinds) or [""] * len(needed)
    found = [0] * len(needed)
    taken_until: dict[str, list[int]] = {}
    for n in sorted(range(len(needed)), key=needed.__getitem__):
        begin, end = needed[n]
        until = taken_until.setdefault(kind_of[n], [])
        found[n] = next((room for room, last in enumerate(until) if last < begin), len(until))
        until[found[n] : found[n] + 1] = [end]
    return found
