"""The backward regions of an operation, bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arrows.engine.program.emitters.arrays import PlacesOfRows, RegionArrays, SegmentBounds
from arrows.engine.running.bound_operation import BoundOperation, held_arrays, scratch_arrays
from arrows.engine.running.kernel_sums import WaitingRows
from arrows.ops import RowSparse
from arrows.ops.arrays import Array

RunDeferred: TypeAlias = Callable[
    [Sequence[Array | None], Sequence[Array | None]], Sequence[Array | RowSparse | None]
]
"""``run_deferred(targets, added)`` gives the gradients of parameters: see `BatchGradients`."""


@dataclass(frozen=True, eq=False, slots=True)
class ScatterArrays:
    """Where the gradients of an operation's operands wait until the rows that were read take them.

    Attributes:
        groups: for each `ScatterGroup`, one array, with a row of zeros at its end unless kernels read it.
        scatters: by number of the scatter, its range of such an array.
    """

    groups: Sequence[Array]
    scatters: Sequence[Array]


@dataclass(frozen=True, eq=False, slots=True)
class WaitingArrays:
    """On a device with kernels, where gradients wait until rows pull them.

    Attributes:
        rows: which of these are whose.
        arrays: by slab.
    """

    rows: WaitingRows
    arrays: Mapping[int, Array]


def bind_scatters(operation: BoundOperation, waiting: WaitingArrays) -> ScatterArrays:
    """Makes the arrays for the gradients of an operation's operands, or takes parts of the waiting ones."""
    planned, batch = operation.planned, operation.batch
    code, rows = planned.code, planned.rows
    # What is added to other rows right after the step that makes it needs its array no longer, so operations
    # share these. A component of several steps adds only after the last, though.
    one_step_a_component = len(planned.first_steps) == len(planned.bounds) - 1
    groups: list[Array] = []
    scatters: dict[int, Array] = {}
    for number, group in enumerate(code.scatter_groups):
        counts = [sum(len(rows.ports[port].rows) for port in operands) for operands in group.operands]
        slab = batch.slabs[group.slab]
        first = waiting.rows.first.get((code.operation.index, number))
        if first is None:
            shared = one_step_a_component and group.early
            name = number if shared else (code.operation.index, number)
            array = batch.arena.array(("scatter", name), (sum(counts) + 1, *slab.shape[1:]), str(slab.dtype))
            if not batch.device.has_kernels:
                array[-1] = 0
        else:
            array = waiting.arrays[group.slab][first : first + sum(counts)]
        groups.append(array)
        start = 0
        for scatter, operands, count in zip(group.scatters, group.operands, counts, strict=True):
            flat, width = array[start : start + count], len(operands)
            start += count
            if width > 1:
                flat = flat.reshape(count // width, width * flat.shape[1], *flat.shape[2:])
            scatters[scatter] = flat
    return ScatterArrays(groups, [scatters[number] for number in range(code.scatter_count)])


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class BoundBackward:
    """An operation whose backward regions are bound to arrays.

    Attributes:
        run_steps: runs ``step_back`` on some steps; None where the program has no such region.
        finish: finishes a component: sums by distinct row, ``late``, gradients of other rows.
        run_deferred: runs ``deferred`` on the arrays to write gradients of parameters to (None: to new
            arrays) and those to add them to, and returns the values, None for what has been added; None where
            the program has no such region.
    """

    run_steps: Callable[[int, int], None] | None
    finish: Callable[[int], None]
    run_deferred: RunDeferred | None

    def run(self, first: int, stop: int, part: int | None) -> None:
        """Runs some steps in the reverse order, and what is left to do after the first of a component."""
        if self.run_steps is not None:
            self.run_steps(first, stop)
        if part is not None:
            self.finish(part)


def bind_backward(
    operation: BoundOperation,
    scatters: Mapping[int, ScatterArrays],
    waiting: WaitingArrays,
    gradient_slabs: Sequence[Array | None],
    gradients: Sequence[Array | None],
    tick: Callable[[], None] | None,
) -> BoundBackward:
    """Binds the backward regions of an operation.

    Args:
        operation: the operation, after its forward regions.
        scatters: of all operations.
        waiting: what rows pull from, on a device with kernels.
        gradient_slabs: the gradients of all rows.
        gradients: for each result, those of the operation's rows.
        tick: notes that gradients have been added to other rows, for a profile.
    """
    planned, batch = operation.planned, operation.batch
    code, device, arena, uploaded = planned.code, batch.device, batch.arena, batch.uploaded
    index = code.operation.index
    saved = held_arrays(planned, arena, ("saved", index), code.saved)
    sums: Sequence[Array] = ()
    add_up, saved_late = None, saved
    if code.distinct is not None:
        summed = code.distinct.summed
        sums = [array for number in summed if (array := saved[number]) is not None]
        if planned.distinct is not None:
            sums, add_up = planned.distinct.bind_sums(device, arena, uploaded, saved)
            saved_late = list(saved)
            for number, total in zip(summed, sums, strict=True):
                saved_late[number] = total
    pulled = {each.result: each.bind(uploaded, waiting.arrays) for each in planned.flow.pulled}
    arrays = _BackwardArrays(
        operation=operation,
        gradients=gradients,
        scatters=scatters[index].scatters,
        sums=sums,
        pulled=pulled,
    )

    run_steps = run_late = run_deferred = None
    if code.step_back is not None:
        pulls = []
        for each in planned.flow.pulls:
            target = gradients[each.result]
            if target is not None:
                scattered = scatters[each.reader].groups[each.group]
                pulls.append(each.pulls.bind(device, arena, uploaded, target, scattered))
        run_steps = code.step_back.make(
            arrays.of("step_back", planned.bounds, operation.segments, saved, pulls)
        )
    if code.late is not None:
        run_late = code.late.make(arrays.of("late", planned.parts, {}, saved_late))
    if code.deferred is not None:
        whole = {domain: segments.bind(uploaded) for domain, segments in planned.whole_segments.items()}
        run_deferred = code.deferred.make(arrays.of("deferred", [0, planned.rows.count], whole, saved))
    finish = _finish(add_up, run_late, _bind_sums(operation, scatters[index], gradient_slabs), tick)
    return BoundBackward(run_steps=run_steps, finish=finish, run_deferred=run_deferred)


def _bind_sums(
    operation: BoundOperation, scatters: ScatterArrays, gradient_slabs: Sequence[Array | None]
) -> list[Callable[[int], None]]:
    """What adds the gradients of operands to the rows that were read, component by component."""
    planned, batch = operation.planned, operation.batch
    added: list[Callable[[int], None]] = []
    groups = zip(planned.code.scatter_groups, scatters.groups, planned.flow.sums, strict=True)
    for group, values, sums in groups:
        target = gradient_slabs[group.slab]
        if sums is not None and target is not None:
            added.append(sums.add_to(batch.device, batch.arena, batch.uploaded, target, values))
    return added


@dataclass(frozen=True, eq=False, slots=True)
class _BackwardArrays:
    """What the backward regions of an operation share."""

    operation: BoundOperation
    gradients: Sequence[Array | None]
    scatters: Sequence[Array]
    sums: Sequence[Array]
    pulled: Mapping[int, PlacesOfRows]

    def of(
        self,
        region: str,
        bounds: Sequence[int],
        segments: Mapping[int, Sequence[SegmentBounds]],
        saved: Sequence[Array | None],
        pulls: Sequence[Callable[[int], None]] = (),
    ) -> RegionArrays:
        """The arrays of one region."""
        operation = self.operation
        return RegionArrays(
            once=operation.once,
            bounds=bounds,
            segments=segments,
            gathers=operation.gathers,
            results=operation.results,
            kept=operation.kept,
            scratch=scratch_arrays(operation.planned, operation.batch.arena, region),
            device=operation.batch.device,
            gradients=self.gradients,
            saved=saved,
            scatters=self.scatters,
            sums=self.sums,
            keys=operation.keys,
            pulls=pulls,
            pulled=self.pulled,
            ones=operation.batch.arena.ones,
        )


def _finish(
    add_up: Callable[[], None] | None,
    run_late: Callable[[int, int], None] | None,
    added: Sequence[Callable[[int], None]],
    tick: Callable[[], None] | None,
) -> Callable[[int], None]:
    """What is left to do for a component after its steps."""

    def finish(part: int) -> None:
        if add_up is not None:
            add_up()
        if run_late is not None:
            run_late(part, part + 1)
        for add in added:
            add(part)
        if tick is not None:
            tick()

    return finish
