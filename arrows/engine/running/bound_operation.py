"""An operation of a batch, its regions bound to arrays: forward and backward ones to the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arrows.engine.device import Arena, Device
from arrows.engine.program import Program
from arrows.engine.program.emitters.arrays import Frame, PlacesOfRows, StepRefused
from arrows.engine.program.program import Place
from arrows.engine.running.batch_plan import PlannedOperation
from arrows.engine.running.gradient_memory import RunDeferred
from arrows.ops.arrays import Array


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
    planned: PlannedOperation,
    batch: BatchArrays,
    *,
    once: Sequence[Array],
    results: Sequence[Array],
    gradients: Sequence[Array | None],
    tick: Callable[[int], None] | None,
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
        gather, memory["gathered", number] = index.bind(arena, batch.slabs[index.slab])
        gathers.append(gather)
    if flow.waiting:
        memory |= _scatters(planned, batch.scattered)
    before: list[Callable[[int], None]] = []
    after: list[Callable[[int], None]] = []
    if code.program.distinct is not None:
        pairs = _distinct_pairs(code.program, memory)
        if planned.distinct is not None:
            before.append(planned.distinct.spread(device, pairs["spread"]))
            after.append(planned.distinct.add_up(device, arena, pairs["sums"]))
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
    regions = {name: region.make(frame) for name, region in code.code.regions.items()}
    if "early" in regions:
        before.insert(0, _component(regions["early"]))
    if "late" in regions:
        after.append(_component(regions["late"]))
    for number, (group, sums) in enumerate(zip(code.scatter_groups, flow.sums, strict=False)):
        target = batch.gradients[group.slab]
        if sums is not None and target is not None:
            values = batch.scattered[code.operation.index, number]
            after.append(sums.bind(device, arena, target, values))
    if tick is not None:
        after.append(tick)
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
    program: Program, memory: dict[tuple[str, int], Array | None]
) -> dict[str, list[tuple[Array, Array]]]:
    """By kind, arrays by distinct row, each with that of all rows: where a batch computes all rows one and
    the same, which is noted in ``memory`` then."""
    pairs: dict[str, list[tuple[Array, Array]]] = {"spread": [], "sums": []}
    assert program.distinct is not None
    for kind, values in (("spread", program.distinct.spread), ("sums", program.distinct.summed)):
        for number, var in enumerate(values):
            place = program.memory[var]
            assert isinstance(place, Place)
            of_all = memory.get((place.kind, place.number))
            by_row = memory.setdefault((kind, number), of_all)
            if of_all is not None and by_row is not None:
                pairs[kind].append((by_row, of_all))
    return pairs
