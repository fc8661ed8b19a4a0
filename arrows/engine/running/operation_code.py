"""What the runner asks of an operation's program, looked up once for all batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from arrows.engine.planning import ApplyOperation
from arrows.engine.program import Program, ProgramCode
from arrows.engine.program.emitters.arguments import OnceValue
from arrows.engine.program.emitters.numpy import RegionCode
from arrows.engine.program.emitters.row_matrix import table_index
from arrows.engine.program.instructions import (
    Accumulate,
    LoadKeys,
    LoadParameter,
    Scatter,
    SumRows,
)
from arrows.engine.program.program import Place, Slot
from arrows.ops import Var
from arrows.typesys import types as T

COMPONENT_REGIONS = ("early", "late")
"""The regions that run over all rows of a component at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherLayout:
    """One gather of a program.

    Attributes:
        operands: the ports that are gathered side by side.
        type: of one row of the value.
        slab: where the rows lie.
        level: what counts the rows, as in `Var`.
        by_component: whether all rows of a component are gathered at once.
        held: whether later regions read the rows.
        indexes: whether the gradient of a table is summed by the gathered numbers.
    """

    operands: tuple[int, ...]
    type: T.Tensor
    slab: int
    level: int
    by_component: bool
    held: bool
    indexes: bool = False


@dataclass(frozen=True, slots=True)
class ScatterGroup:
    """The scatters of a program into one slab: their gradients share one array.

    Attributes:
        slab: its number.
        scatters: the numbers of the scatters, in the order of the array.
        operands: of each, the ports whose gradients lie side by side.
        early: whether all the rows are there before the operation's first step in a component.
    """

    slab: int
    scatters: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    early: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctLayout:
    """How repeated rows of one operand are computed once; see `Distinct`.

    Attributes:
        operand: the port.
        width: how many numbers a row of it has.
        spread: the numbers of the kept values that ``early`` makes of the distinct rows.
        summed: the numbers of the saved values that are summed by distinct row.
    """

    operand: int
    width: int
    spread: tuple[int, ...]
    summed: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperationCode:
    """An operation's program, its functions, and what the runner binds them to.

    Attributes:
        operation: the operation.
        code: the program and its functions.
        early, step, step_back, late, deferred: the functions of the regions; None where there is nothing.
        gathers: by their number in the program.
        slots: what the program's own arrays hold, by kind and number: ``kept`` and ``saved`` for all rows,
            and by region what is scratch there.
        scatter_groups: the scatters, by slab.
        distinct: how repeated rows are computed once, if they are.
        parameters: what ``once`` reads of layers, in order.
        accumulates: what ``deferred`` adds to gradients of parameters, in order.
        has_keys: whether dropout keys are read.
        read_by_kernels: the positions, among the values of ``once``, of those that kernels read: these must
            lie together.
    """

    operation: ApplyOperation
    code: ProgramCode
    early: RegionCode | None
    step: RegionCode
    step_back: RegionCode | None
    late: RegionCode | None
    deferred: RegionCode | None
    gathers: tuple[GatherLayout, ...]
    slots: Mapping[tuple[str, int], Slot]
    scatter_groups: tuple[ScatterGroup, ...]
    distinct: DistinctLayout | None
    parameters: tuple[LoadParameter, ...]
    accumulates: tuple[Accumulate, ...]
    has_keys: bool
    read_by_kernels: frozenset[int]

    @staticmethod
    def of(operation: ApplyOperation, code: ProgramCode) -> OperationCode:
        """The code of an operation, with what the runner looks up in it."""
        program, regions = code.program, code.regions
        accumulates = (each for each in program.region("deferred") if isinstance(each, Accumulate))
        return OperationCode(
            operation=operation,
            code=code,
            early=regions.get("early"),
            step=regions["step"],
            step_back=regions.get("step_back"),
            late=regions.get("late"),
            deferred=regions.get("deferred"),
            gathers=_gathers(program),
            slots=_slots(program),
            scatter_groups=_scatter_groups(operation, [scatter for _, scatter in program.scatters]),
            distinct=_distinct(program),
            parameters=tuple(each for each in program.region("once") if isinstance(each, LoadParameter)),
            accumulates=tuple(accumulates),
            has_keys=any(isinstance(instruction, LoadKeys) for _, instruction in program),
            read_by_kernels=_read_by_kernels(code),
        )


def _read_by_kernels(code: ProgramCode) -> frozenset[int]:
    once = code.program.once_numbers
    arguments = [
        argument
        for region in code.regions.values()
        for kernel in region.kernels
        for argument in kernel.arguments
    ]
    return frozenset(once[each.var] for each in arguments if isinstance(each, OnceValue))


def _gathers(program: Program) -> tuple[GatherLayout, ...]:
    sums = (each for each in program.region("deferred") if isinstance(each, SumRows) and program.kernels)
    indices = {table_index(program, each) for each in sums}
    return tuple(
        GatherLayout(
            operands=gather.operands,
            type=gather.result.type,
            slab=program.operands[gather.operands[0]].slab,
            level=gather.result.rows,
            by_component=region in COMPONENT_REGIONS,
            held=program.memory.get(gather.result) == Place("gathered", number),
            indexes=number in indices,
        )
        for number, (region, gather) in enumerate(program.gathers)
    )


def _slots(program: Program) -> dict[tuple[str, int], Slot]:
    held = {
        (place.kind, place.number): Slot(var.rows, var.type.shape, var.type.dtype)
        for var, place in program.memory.items()
        if isinstance(place, Place) and place.kind in ("kept", "saved")
    }
    scratch = {(region, n): slot for region, slots in program.scratch.items() for n, slot in enumerate(slots)}
    return held | scratch


def _scatter_groups(operation: ApplyOperation, scatters: Sequence[Scatter]) -> tuple[ScatterGroup, ...]:
    """The scatters by slab: those of one operand first, by its leaf; so the order of sums does not depend on
    the regions that they stand in."""

    def place(number: int) -> tuple[bool, int]:
        operands = scatters[number].operands
        joined = len(operands) > 1
        return joined, number if joined else operation.ports[operands[0]].leaf

    by_slab: dict[int, list[int]] = {}
    for number in sorted(range(len(scatters)), key=place):
        by_slab.setdefault(operation.ports[scatters[number].operands[0]].slab, []).append(number)
    return tuple(
        ScatterGroup(
            slab,
            tuple(numbers),
            tuple(scatters[number].operands for number in numbers),
            all(set(operation.early).issuperset(scatters[number].operands) for number in numbers),
        )
        for slab, numbers in by_slab.items()
    )


def _distinct(program: Program) -> DistinctLayout | None:
    distinct = program.distinct
    if distinct is None:
        return None

    def number(var: Var) -> int:
        memory = program.memory[var]
        assert isinstance(memory, Place)
        return memory.number

    return DistinctLayout(
        operand=distinct.operand,
        width=prod(program.operands[distinct.operand].type.shape),
        spread=tuple(map(number, distinct.spread)),
        summed=tuple(map(number, distinct.summed)),
    )
