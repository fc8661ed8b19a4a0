"""An operation of a batch, its regions bound to arrays: forward and backward ones to the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arrows.engine.device import Arena, Device
from arrows.engine.program.emitters.arrays import Frame, PlacesOfRows, StepRefused
from arrows.engine.running.batch_plan import PlannedOperation
from arrows.engine.running.operation_code import DistinctLayout
from arrows.ops import RowSparse
from arrows.ops.arrays import Array

RunDeferred: TypeAlias = Callable[
    [Sequence[Array | None], Sequence[Array | None]], Sequence[Array | RowSparse | None]
]
"""``run_deferred(targets, added)`` gives the gradients of parameters: see `BatchGradients`."""


class OperationRefused(Exception):
    """A kernel refused the operands of a step; None: of what an operation computes once a batch."""

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class BatchArrays:
    """What all operations of a batch are bound to.

    Attributes:
        device: where the arrays are.
        arena: gives memory.
        slabs: the rows of all operations.
        gradients: for each slab, the gradients of its rows; None where none come in.
        waiting: on a device with kernels, for each slab the gradients that its rows pull.
        scattered: by operation and number of the `ScatterGroup`, where the gradients of its operands wait.
    """

    device: Device
    arena: Arena
    slabs: Sequence[Array]
    gradients: Sequence[Array | None]
    waiting: Mapping[int, Array]
    scattered: Mapping[tuple[int, int], Array]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class BoundOperation:
    """An operation whose regions are bound to arrays; None for what its program does not have.

    Attributes:
        planned: the operation.
        early: what runs before a component, given its number among those of the operation.
        step, step_back: run these regions on some steps.
        late: what is left to do for a component after its steps backwards.
        deferred: runs ``deferred`` on the arrays to write gradients of parameters to (None: to new arrays)
            and those to add them to, and returns the values, None for what has been added.
    """

    planned: PlannedOperation
    early: Callable[[int], None] | None
    step: Callable[[int, int], None]
    step_back: Callable[[int, int], None] | None
    late: Callable[[int], None]
    deferred: RunDeferred | None

    def run(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps, and before the first step of a component what runs early.

        Raises:
            OperationRefused: a kernel refused its operands.
        """
        try:
            if part is not None and self.early is not None:
                self.early(part)
            self.step(first, stop)
        except StepRefused as refused:
            index = self.planned.code.operation.index
            raise OperationRefused(index, refused.step) from refused.__cause__

    def run_back(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps in the reverse order, and what is left to do after the first of a component."""
        if self.step_back is not None:
            self.step_back(first, stop)
        if part is not None:
            self.late(part)


def bind(
    planned: PlannedOperation,
    batch: BatchArrays,
    *,
    once: Sequence[Array],
    results: Sequence[Array],
    gradients: Sequence[Array | None],
    tick: Callable[[], None] | None,
) -> BoundOperation:
    """Binds the regions of an operation.

    Args:
        planned: the operation.
        batch: what all operations are bound to.
        once: the values of the region ``once``.
        results: for each result, the operation's rows of its slab.
        gradients: for each result, the gradients of these rows; None where none come in.
        tick: notes that gradients have been added to other rows, for a profile.
    """
    code, flow, device, arena = planned.code, planned.flow, batch.device, batch.arena
    memory: dict[tuple[str, int], Array | None] = {
        key: arena.array(*buffer) for key, buffer in planned.memory.items()
    }
    memory |= {("result", number): rows for number, rows in enumerate(results)}
    memory |= {("gradient", number): rows for number, rows in enumerate(gradients)}
    gathers = []
    for number, index in enumerate(planned.gathers):
        gather, memory["gathered", number] = index.bind(arena, batch.slabs[index.layout.slab])
        gathers.append(gather)
    if flow.waiting:
        memory |= _scatters(planned, batch.scattered)
    spread = add_up = None
    if code.distinct is not None:
        pairs = _distinct_pairs(code.distinct, memory)
        if planned.distinct is not None:
            spread = planned.distinct.spread(device, pairs["spread"])
            add_up = planned.distinct.add_up(device, arena, pairs["sums"])
    pulls = [
        pulled.bind(device, arena, target, batch.scattered[reader, group])
        for result, reader, group, pulled in flow.pulls
        if (target := gradients[result]) is not None
    ]
    frame = Frame(
        device=device,
        once=once,
        bounds=planned.bounds,
        segments={
            region: {domain: each.bind() for domain, each in by_domain.items()}
            for region, by_domain in planned.segments.items()
        },
        gathers=gathers,
        memory=memory,
        keys=None if planned.keys is None else planned.keys.array,
        pulls=pulls,
        places={
            result: PlacesOfRows(offsets, places, batch.waiting[slab])
            for result, (offsets, places, slab) in flow.places.items()
        },
        ones=arena.ones,
    )
    added = [
        sums.bind(device, arena, target, batch.scattered[code.operation.index, number])
        for number, (group, sums) in enumerate(zip(code.scatter_groups, flow.sums, strict=False))
        if sums is not None and (target := batch.gradients[group.slab]) is not None
    ]
    run_late = None if code.late is None else code.late.make(frame)
    return BoundOperation(
        planned=planned,
        early=None if code.early is None else _early(code.early.make(frame), planned.first_steps, spread),
        step=code.step.make(frame),
        step_back=None if code.step_back is None else code.step_back.make(frame),
        late=_late(add_up, run_late, added, tick),
        deferred=None if code.deferred is None else code.deferred.make(frame),
    )


def _scatters(
    planned: PlannedOperation, scattered: Mapping[tuple[int, int], Array]
) -> dict[tuple[str, int], Array]:
    """For each scatter its range of the array of its group."""
    code, scatters = planned.code, {}
    for number, group in enumerate(code.scatter_groups):
        array, start = scattered[code.operation.index, number], 0
        for scatter, operands in zip(group.scatters, group.operands, strict=True):
            width = len(operands)
            count = sum(len(planned.rows.ports[port].rows) for port in operands)
            flat = array[start : start + count]
            start += count
            if width > 1:
                flat = flat.reshape(count // width, width * flat.shape[1], *flat.shape[2:])
            scatters["scatter", scatter] = flat
    return scatters


def _distinct_pairs(
    layout: DistinctLayout, memory: dict[tuple[str, int], Array | None]
) -> dict[str, list[tuple[Array, Array]]]:
    """By kind, arrays by distinct row, each with that of all rows: where a batch computes all rows one and
    the same, which is noted in ``memory`` then."""
    pairs: dict[str, list[tuple[Array, Array]]] = {"spread": [], "sums": []}
    for kind, held, numbers in (("spread", "kept", layout.spread), ("sums", "saved", layout.summed)):
        for place, number in enumerate(numbers):
            of_all = memory.get((held, number))
            by_row = memory.setdefault((kind, place), of_all)
            if of_all is not None and by_row is not None:
                pairs[kind].append((by_row, of_all))
    return pairs


def _early(
    run_component: Callable[[int, int], None], first_steps: Sequence[int], spread: Callable[[], None] | None
) -> Callable[[int], None]:
    """Runs ``early`` on one component; its first step counts as the one that is refused."""

    def run_early(part: int) -> None:
        try:
            run_component(part, part + 1)
        except StepRefused as refused:
            raise StepRefused(first_steps[part]) from refused.__cause__
        if spread is not None:
            spread()

    return run_early


def _late(
    add_up: Callable[[], None] | None,
    run_component: Callable[[int, int], None] | None,
    added: Sequence[Callable[[int], None]],
    tick: Callable[[], None] | None,
) -> Callable[[int], None]:
    """What is left to do for a component after its steps."""

    def run_late(part: int) -> None:
        if add_up is not None:
            add_up()
        if run_component is not None:
            run_component(part, part + 1)
        for add in added:
            add(part)
        if tick is not None:
            tick()

    return run_late
