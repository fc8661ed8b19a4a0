"""Decides which slabs may share memory when nothing is kept for gradients.

Two slabs may lie in the same memory if the one is no longer read when the other is first written; likewise
what two operations keep from step to step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arrows.engine.planning import Plan

Interval = tuple[int, int]
"""The first and the last component that an array is needed in."""

_BEFORE_ALL = -1


@dataclass(frozen=True, slots=True)
class SlabMemory:
    """Where the arrays of a batch lie.

    Attributes:
        slabs: for each slab, the number of its memory among that of its element type.
        operations: for each operation, the number of the memory for what it keeps from step to step.
        constants: the component before which the constants of a slab have to be written, and the slab;
            ascending.
    """

    slabs: list[int]
    operations: list[int]
    constants: list[tuple[int, int]]


def separate_memory(plan: Plan) -> SlabMemory:
    """Every array in memory of its own: gradients are computed from the values of all."""
    slabs = range(len(plan.slabs))
    constants = [(_BEFORE_ALL, slab) for slab in slabs if plan.slabs[slab].constants]
    return SlabMemory(list(slabs), list(range(len(plan.operations))), constants)


def shared_memory(plan: Plan) -> SlabMemory:
    """Arrays that are not needed at the same time in the same memory.

    Components run one after another.  A slab is needed from the first component that writes or reads it
    (from the beginning, if it holds values that were read) to the last (to the end, if a result or a metric
    reads it); what an operation keeps is needed in the components that it runs in.
    """
    after_all = int(plan.pairs.component.max(initial=-1)) + 1
    slabs: list[list[int]] = [[] for _ in plan.slabs]
    operations: list[list[int]] = [[] for _ in plan.operations]
    for o, component in zip(plan.pairs.operation.tolist(), plan.pairs.component.tolist(), strict=True):
        operation = plan.operations[o]
        operations[o].append(component)
        if operation.kind == "read":
            slabs[operation.slabs[0]].append(_BEFORE_ALL)
        if operation.computes:
            for owner, output in plan.result_places[o]:
                slabs[plan.operations[owner].slabs[output]].append(component)
            for port in operation.ports:
                slabs[port.slab].append(component)
    for slab in (*plan.results, *plan.metrics):
        slabs[slab].append(after_all)
    needed = [(min(times, default=after_all), max(times, default=after_all)) for times in slabs]
    return SlabMemory(
        _coloured(needed, [slab.type.dtype for slab in plan.slabs]),
        _coloured([(min(times, default=0), max(times, default=0)) for times in operations]),
        sorted((begin, n) for n, (begin, _) in enumerate(needed) if plan.slabs[n].constants),
    )


def _coloured(needed: list[Interval], dtypes: Iterable[str] = ()) -> list[int]:
    """A number for each interval; those of one element type that meet get different ones, of the fewest.

    In the order of their beginnings, each takes the first number that is free (interval graph colouring).
    """
    dtype_of = list(dtypes) or [""] * len(needed)
    numbers = [0] * len(needed)
    taken_until: dict[str, list[int]] = {}
    for n in sorted(range(len(needed)), key=needed.__getitem__):
        begin, end = needed[n]
        until = taken_until.setdefault(dtype_of[n], [])
        numbers[n] = next((number for number, last in enumerate(until) if last < begin), len(until))
        until[numbers[n] : numbers[n] + 1] = [end]
    return numbers
