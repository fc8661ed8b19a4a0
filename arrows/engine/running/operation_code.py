"""What the runner asks of an operation's program, looked up once for all batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arrows.engine.device import Device
from arrows.engine.planning import Operation
from arrows.engine.program import (
    Accumulate,
    CKernel,
    LoadKeys,
    Place,
    Program,
    RegionCode,
    Scatter,
    Slot,
    SumRows,
    is_product,
    once,
)
from arrows.ops import Equation, Var


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


class OperationCode:
    """An operation's program, its functions, and what the runner binds them to.

    Attributes:
        operation: the operation.
        program: its program.
        once: computes what has no rows, of the arrays of parameters.
        regions: by region, what makes its function.
        slots: what the program's own arrays hold, by kind and number: ``kept`` for all rows, and by region
            what is scratch there.
        scatter_groups: the scatters, by slab.
        indexed: the gathers by whose numbers the gradient of a table is summed, on a device with kernels.
        accumulates: what ``deferred`` adds to gradients of parameters, in order.
        has_keys: whether dropout keys are read.
        read_by_kernels: the positions, among the values of ``once``, of those that kernels read: these must
            lie together.
        transposed: the positions, among the values of ``once``, of transposed matrices by which products of
            single steps multiply, on a device without kernels.
    """

    def __init__(
        self, operation: Operation, program: Program, regions: Mapping[str, RegionCode], device: Device
    ) -> None:
        self.operation, self.program, self.regions = operation, program, regions
        self.once = once(program, device)
        deferred, numbers = program.region("deferred"), program.once_numbers
        self.slots = {
            (place.kind, place.number): Slot(var.rows, var.type.shape, var.type.dtype)
            for var, place in program.memory.items()
            if isinstance(place, Place) and place.kind == "kept"
        }
        for region, scratch in program.scratch.items():
            self.slots |= {(region, number): slot for number, slot in enumerate(scratch)}
        self.scatter_groups = _scatter_groups(operation, [scatter for _, scatter in program.scatters])
        sums = [each for each in deferred if isinstance(each, SumRows)]
        kernels = program.kernels
        self.indexed = set() if kernels is None else {kernels.index_of(program, each) for each in sums}
        self.accumulates = [each for each in deferred if isinstance(each, Accumulate)]
        self.has_keys = any(isinstance(instruction, LoadKeys) for _, instruction in program)
        self.read_by_kernels = {
            numbers[argument.of]
            for kernel in self.kernels
            for argument in kernel.arguments
            if argument.kind == "once" and isinstance(argument.of, Var)
        }
        self.transposed = _transposed(program)

    @property
    def kernels(self) -> list[CKernel]:
        """The kernels in C that its functions launch."""
        return [kernel for region in self.regions.values() for kernel in region.kernels]


def _transposed(program: Program) -> frozenset[int]:
    """See `OperationCode.transposed`."""
    if program.kernels or all(operand.early for operand in program.operands):  # a component has one step then
        return frozenset()
    factors = {
        var
        for region in ("step", "step_back")
        for instruction in program.region(region)
        if is_product(instruction)
        for var in instruction.operands
    }
    return frozenset(
        number
        for number, each in enumerate(program.region("once"))
        if isinstance(each, Equation) and each.primitive.name == "transpose" and each.result in factors
    )


def _scatter_groups(operation: Operation, scatters: Sequence[Scatter]) -> tuple[ScatterGroup, ...]:
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
