"""An operation of a batch, its regions bound to arrays: forward and backward ones to the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arrows.engine.device import Arena, BufferRows, Device
from arrows.engine.program import Clock
from arrows.engine.program.emitters.arrays import Frame, PlacesOfRows, StepRefused
from arrows.engine.running.batch_plan import PlannedOperation
from arrows.engine.running.gradient_memory import RunDeferred
from arrows.ops.arrays import Array


class OperationRefused(Exception):
    """A kernel refused the operands of a step; None: of what an operation computes once a batch."""

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class BoundOperation:
    """An operation whose regions are bound to arrays; None for what its program does not have.

    Attributes:
        planned: the operation.
        step, step_back, deferred: run these regions; None where the program has none.
        before: called with the number of a component before its first step.
        after: likewise after its last step backwards.
    """

    planned: PlannedOperation
    step: Callable[[int, int], None]
    step_back: Callable[[int, int], None] | None
    before: Sequence[Callable[[int], None]]
    after: Sequence[Callable[[int], None]]
    deferred: RunDeferred | None

    def run(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps, and before the first step of a component what runs early.

        Raises:
            OperationRefused: a kernel refused its operands; of what runs early, the component's first step.
        """
        early = part is not None
        try:
            if part is not None:
                for run in self.before:
                    run(part)
            early = False
            self.step(first, stop)
        except StepRefused as refused:
            step = first if early else refused.step
            raise OperationRefused(self.planned.code.operation.index, step) from refused.__cause__

    def run_back(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps in the reverse order, and what is left to do after the first of a component."""
        if self.step_back is not None:
            self.step_back(first, stop)
        if part is not None:
            for run in self.after:
                run(part)


def bind(
    planned: PlannedOperation, device: Device, arena: Arena, once: Sequence[Array], clock: Clock | None
) -> BoundOperation:
    """Binds the regions of an operation.

    Args:
        planned: the operation.
        device: where the arrays are.
        arena: has memory for all that the batch takes.
        once: the values of the region ``once``.
        clock: is told when gradients have been added to other rows, for a profile.
    """
    code, flow = planned.code, planned.flow
    memory = {
        key: arena.rows(rows) if isinstance(rows, BufferRows) else arena.array(*rows)
        for key, rows in planned.memory.items()
    }
    if not device.has_kernels:
        for waiting in flow.waiting:
            arena.rows(waiting)[-1] = 0
    steps = whole = {domain: each.bind() for domain, each in planned.segments.items()}
    if planned.whole_segments is not planned.segments:
        whole = {domain: each.bind() for domain, each in planned.whole_segments.items()}
    frame = Frame(
        device=device,
        once=once,
        bounds=planned.bounds,
        segments={"step": steps, "step_back": steps, "deferred": whole},
        gathers=planned.gathers,
        memory=memory,
        keys=None if planned.keys is None else planned.keys.array,
        pulls=[
            pulls.bind(device, arena, memory["gradient", result], arena.rows(waiting))
            for result, waiting, pulls in flow.pulls
        ],
        places={
            result: PlacesOfRows(offsets, places, arena.array(*waiting))
            for result, (offsets, places, waiting) in flow.places.items()
        },
        ones=arena.ones,
    )
    regions = {name: region.make(frame) for name, region in code.code.regions.items()}
    before = [_component(regions[name]) for name in ("early",) if name in regions]
    after = [_component(regions[name]) for name in ("late",) if name in regions]
    if planned.distinct is not None:
        pairs: dict[str, list[tuple[Array, Array]]] = {"spread": [], "sums": []}
        for key, place in code.program.distinct_places.items():
            pairs[key[0]].append((memory[key], memory[place.kind, place.number]))
        before.append(planned.distinct.spread(device, pairs["spread"]))
        after.insert(0, planned.distinct.add_up(device, arena, pairs["sums"]))
    for target, waiting, row_sums in flow.sums:
        after.append(row_sums.bind(device, arena, arena.array(*target), arena.rows(waiting)))
    if clock is not None:
        after.append(lambda _part: clock.tick("scatter", code.operation.index))
    return BoundOperation(
        planned=planned,
        step=regions["step"],
        step_back=regions.get("step_back"),
        before=before,
        after=after,
        deferred=regions.get("deferred"),
    )


def _component(run: Callable[[int, int], None]) -> Callable[[int], None]:
    """Runs a region on one component."""
    return lambda part: run(part, part + 1)
