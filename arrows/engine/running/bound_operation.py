"""An operation of a batch, its forward regions bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from arrows.engine.device import Arena, Device, Uploaded
from arrows.engine.program.emitters.arrays import GatherArrays, RegionArrays, SegmentBounds, StepRefused
from arrows.engine.program.program import Slot
from arrows.engine.running.batch_plan import PlannedOperation
from arrows.ops.arrays import Array

# Operations share scratch arrays: nothing outlives its step.
_SCRATCH_NAMES = {"early": "component", "late": "component", "step": "step", "step_back": "step"}


class OperationRefused(Exception):
    """A kernel refused the operands of a step; None: of what an operation computes once a batch."""

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


@dataclass(frozen=True, eq=False, slots=True)
class BatchArrays:
    """What all operations of a batch are bound to.

    Attributes:
        device: where the arrays are.
        arena: gives memory.
        uploaded: has the index arrays.
        slabs: the rows of all operations.
    """

    device: Device
    arena: Arena
    uploaded: Uploaded
    slabs: Sequence[Array]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class BoundOperation:
    """An operation whose forward regions are bound to arrays.

    Attributes:
        planned: the operation.
        batch: what all operations are bound to.
        once: the values of the region ``once``.
        gathers: by number of the gather in the program.
        segments: for each sequence, its bounds at each step.
        results: for each result, the operation's rows of its slab.
        kept: by number of `Held`, what forward regions hold for all rows.
        keys: the dropout keys of all rows.
        run_early: runs ``early`` on one component; None where the program has no such region.
        run_steps: runs ``step`` on some steps.
    """

    planned: PlannedOperation
    batch: BatchArrays
    once: Sequence[Array]
    gathers: Mapping[int, GatherArrays]
    segments: Mapping[int, Sequence[SegmentBounds]]
    results: Sequence[Array]
    kept: Sequence[Array | None]
    keys: Array | None
    run_early: Callable[[int], None] | None
    run_steps: Callable[[int, int], None]

    def run(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps, and before the first step of a component what runs early.

        Raises:
            OperationRefused: a kernel refused its operands.
        """
        try:
            if part is not None and self.run_early is not None:
                self.run_early(part)
            self.run_steps(first, stop)
        except StepRefused as refused:
            index = self.planned.code.operation.index
            raise OperationRefused(index, refused.step) from refused.__cause__


def bind_forward(
    planned: PlannedOperation,
    batch: BatchArrays,
    *,
    memory: int,
    once: Sequence[Array],
    results: Sequence[Array],
    keys: Array | None,
) -> BoundOperation:
    """Binds the forward regions of an operation.

    Args:
        planned: the operation.
        batch: what all operations are bound to.
        memory: the number of the memory for what is kept.
        once: the values of the region ``once``.
        results: for each result, the operation's rows of its slab.
        keys: the dropout keys of all rows, if the program reads them.
    """
    code, arena, uploaded = planned.code, batch.arena, batch.uploaded
    gathers = {
        number: gather.bind(arena, uploaded, batch.slabs[gather.layout.slab], memory, number)
        for number, gather in enumerate(planned.gathers)
    }
    segments = {domain: segments.bind(uploaded) for domain, segments in planned.segments.items()}
    kept = held_arrays(planned, arena, ("kept", memory), code.kept)
    run_early = None
    if code.early is not None:
        kept_early, spread = kept, None
        if planned.distinct is not None:
            kept_early, spread = planned.distinct.bind_spread(batch.device, arena, uploaded, kept)
        run_component = code.early.make(
            RegionArrays(
                once=once,
                bounds=planned.parts,
                segments={},
                gathers=gathers,
                results=results,
                kept=kept_early,
                scratch=scratch_arrays(planned, arena, "early"),
                device=batch.device,
                keys=keys,
            )
        )
        run_early = _early(run_component, planned.first_steps, spread)
    run_steps = code.step.make(
        RegionArrays(
            once=once,
            bounds=planned.bounds,
            segments=segments,
            gathers=gathers,
            results=results,
            kept=kept,
            scratch=scratch_arrays(planned, arena, "step"),
            device=batch.device,
            keys=keys,
        )
    )
    return BoundOperation(
        planned=planned,
        batch=batch,
        once=once,
        gathers=gathers,
        segments=segments,
        results=results,
        kept=kept,
        keys=keys,
        run_early=run_early,
        run_steps=run_steps,
    )


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


def held_arrays(
    planned: PlannedOperation, arena: Arena, name: tuple[str, int], slots: Sequence[Slot | None]
) -> list[Array | None]:
    """Arrays for all rows of an operation."""
    return [
        None
        if slot is None
        else arena.array((*name, number), planned.shape(slot.level, slot.shape), slot.dtype)
        for number, slot in enumerate(slots)
    ]


def scratch_name(region: str, operation: int) -> Hashable:
    """Whose the scratch arrays of a region are: those of most regions are shared by all operations."""
    return _SCRATCH_NAMES.get(region, (region, operation))


def scratch_arrays(planned: PlannedOperation, arena: Arena, region: str) -> list[Array]:
    """Scratch arrays of a region, for its longest step."""
    name = scratch_name(region, planned.code.operation.index)
    return [
        arena.array((name, number), planned.scratch_shape(region, slot.level, slot.shape), slot.dtype)
        for number, slot in enumerate(planned.code.scratch(region))
    ]
