"""How an operation's program is made, and its code: as its function was traced, then by a list of passes.

`python -m benchmarks.passes` measures what a training step takes without each of them.  An `OperationCode`
is the program, its code, and what the runner asks of it, looked up once for all batches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from arrows.engine.device import Device, Kernels
from arrows.engine.planning import Operation
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Scatter,
    Store,
    SumRows,
    in_range,
    is_product,
)
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.passes.differentiate import differentiate
from arrows.engine.program.passes.fuse import fuse, join
from arrows.engine.program.passes.hoist import deduplicate, defer, push_sums, split
from arrows.engine.program.passes.simplify import fold, narrow, prune, widen
from arrows.engine.program.program import REGIONS, Operand, Place, Program, Slot
from arrows.engine.program.region import CKernel, RegionCode, emit, once
from arrows.engine.reading import index_of
from arrows.ops import INVARIANT, Equation, Tracer, TraceRecorder, Var, in_own_context, segment_count
from arrows.typesys import ArrowValueError, quoted


def build(
    operation: Operation,
    differentiated: Sequence[bool],
    *,
    training: bool,
    check: Collection[int] = (),
) -> Program:
    """Returns the forward program of an operation, with constants in place of the inputs bound to them.

    Args:
        operation: the operation.
        differentiated: for each port, whether its gradient is wanted.
        training: whether dropout acts; where it does not, it is left out.
        check: the equations whose index is checked when they run, by their place in the trace.
    """
    trace, recorder = operation.trace, TraceRecorder()
    new: dict[Var, Tracer] = {}
    loads: list[Instruction] = []
    constants = dict(operation.constants)
    number_of = {port.leaf: number for number, port in enumerate(operation.ports)}
    for leaf, var in enumerate(trace.inputs):
        if leaf in constants:
            new[var] = recorder.constant(constants[leaf])
        else:
            new[var] = recorder.input(var.type, var.rows)
            loads.append(Gather(new[var].var, (number_of[leaf],)))
    for owner, spec, var in trace.parameters:
        new[var] = recorder.parameter(owner, spec)
    for array, var in trace.constants:
        new[var] = recorder.constant(array)
    if trace.dropout_key is not None and (training or trace.draws):
        new[trace.dropout_key] = recorder.draw_key()
        loads.append(LoadKeys(new[trace.dropout_key].var))
    for number, equation in enumerate(trace.equations):
        use = index_of(equation) if number in check else None
        if use is not None:
            index, size = use
            lengths = (segment_count(new[equation.operands[0]], "int64"),) if size is None else ()
            words = {"name": equation.primitive.name, "size": size or 0}
            new[index] = recorder.apply(in_range, (new[index], *lengths), words)
        if equation.primitive.name == "dropout" and not training:
            new[equation.result] = new[equation.operands[0]]
        elif all(operand in new for operand in equation.operands):  # else it hashes keys that are not there
            reads = tuple([new[operand] for operand in equation.operands])
            new[equation.result] = recorder.apply(equation.primitive, reads, dict(equation.attributes))
    operands = [
        Operand(
            type=trace.inputs[port.leaf].type,
            level=trace.inputs[port.leaf].rows,
            slab=port.slab,
            early=number in operation.early,
            differentiated=wanted,
        )
        for number, (port, wanted) in enumerate(zip(operation.ports, differentiated, strict=True))
    ]
    results = tuple((var.type, var.rows) for var in trace.results)
    once: list[Instruction] = [LoadConstant(var, array) for array, var in recorder.constants]
    once += [LoadParameter(var, owner, spec) for owner, spec, var in recorder.parameters]
    step = [*loads, *(each for each in recorder.equations if each.result.rows != INVARIANT)]
    step += [Store(number, new[var].var) for number, var in enumerate(trace.results)]
    once += [each for each in recorder.equations if each.result.rows == INVARIANT]
    regions = {"once": tuple(once), "step": tuple(step)}
    return prune(Program(name=operation.name, operands=tuple(operands), results=results, regions=regions))


Pass = Callable[[Program], Program]

ProgramTick = Callable[[Program, str, int], None]
"""Called with a program, a region and the position of the instruction in it that has just run."""

# Each list in the order in which its passes run; `differentiate` runs between the first two. FORWARD sees the
# regions `once` and `step`, after `split` also `early`; BACKWARD those of gradients too, where there are any.
# LAST see the whole program; only `allocate` comes after.
FORWARD: tuple[Pass, ...] = (fold, narrow, widen, split, join)
BACKWARD: tuple[Pass, ...] = (push_sums, defer)
LAST: tuple[Pass, ...] = (deduplicate, fuse)

OPTIONAL = tuple(each.__name__ for each in (*FORWARD, *BACKWARD, *LAST))
"""The names of the passes that can be left out; `reuse`, of scratch memory by `allocate`, can be as well."""

_Value = TypeVar("_Value")
_left_out: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())
_checks: ContextVar[Callable[[Program, str], None] | None] = ContextVar("checks", default=None)


@contextmanager
def _set(variable: ContextVar[_Value], value: _Value) -> Iterator[None]:
    """Gives a variable a value inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def without_passes(*names: str) -> AbstractContextManager[None]:
    """Leaves passes out of all programs that are made inside: what they do changes no number.

    A model keeps the programs that it has made, so it has to be compiled inside, or not to have run before.

    Args:
        names: of functions in `arrows/engine/program/passes`; or ``"reuse"``, of scratch memory.
            Nothing runs without ``"differentiate"`` and ``"allocate"``.

    Raises:
        ArrowValueError: there is no such pass, or nothing runs without it.

    Example:
        >>> import arrows as ar
        >>> block = ar.Map(ar.Vector(2)) >> ar.RNN(ar.LSTMCell(2)) >> ar.GetItem(0) >> ar.Sum()
        >>> with without_passes("split"):
        ...     print("\\nearly\\n" in str(ar.compile(block).program()))
        False
        >>> print("\\nearly\\n" in str(ar.compile(block).program()))
        True
    """
    there = (*OPTIONAL, "reuse")
    for name in names:
        if name not in there:
            raise ArrowValueError(f"no pass {quoted(name)} can be left out; these can: {', '.join(there)}")
    return _set(_left_out, _left_out.get() | set(names))


def checked_passes(check: Callable[[Program, str], None]) -> AbstractContextManager[None]:
    """Calls ``check(program, name of the pass)`` after each pass of all programs that are made inside.

    Example:
        >>> import arrows as ar
        >>> with checked_passes(lambda program, name: print(name, end=" ")):
        ...     _ = ar.compile(ar.Vector(2) >> ar.FC(3), jit=False).program()
        build narrow widen split join deduplicate allocate
    """
    return _set(_checks, check)


@in_own_context
def make_program(
    operation: Operation,
    differentiated: Sequence[bool],
    seeded: Sequence[bool],
    *,
    training: bool = False,
    jit: bool = False,
    kernels: Kernels | None = None,
    check_indices: Collection[int] = (),
) -> Program:
    """Makes the program of an operation.

    Args:
        operation: what the program does.
        differentiated: for each port, whether its gradient is wanted.
        seeded: for each result, whether a gradient comes in; for none of them in inference.
        training: whether dropout acts.
        jit: whether element-wise equations are fused into loops that are compiled; kernels always are.
        kernels: of the device that the program is for; None if it has none.
        check_indices: the equations whose index is checked when they run, by their place in the trace.
    """
    left_out: Collection[str] = _left_out.get()
    if not operation.constants:
        left_out = {*left_out, "fold"}  # zeros that a user has written are computed with as they stand
    if not (jit or kernels):
        left_out = {*left_out, "fuse"}
    if kernels:
        left_out = {*left_out, "deduplicate"}
    check = _checks.get() or (lambda program, name: None)

    def run(passes: Sequence[Pass], program: Program) -> Program:
        for each in passes:
            if each.__name__ not in left_out:
                program = each(program)
                check(program, each.__name__)
        return program

    program = replace(
        build(operation, differentiated, training=training, check=check_indices), kernels=kernels
    )
    check(program, "build")
    program = run(FORWARD, program)
    if any(seeded):
        program = differentiate(program, seeded)
        check(program, "differentiate")
        program = run(BACKWARD, program)
    program = run(LAST, program)
    program = allocate(program, reuse="reuse" not in left_out)
    check(program, "allocate")
    return program


def make_code(
    program: Program, device: Device, *, precision: str = "float32", tick: ProgramTick | None = None
) -> dict[str, RegionCode]:
    """Makes the functions of the regions of a program that have instructions, but for ``once``.

    Args:
        program: of `make_program`.
        device: what it runs on.
        precision: of matrix products on a device with kernels.
        tick: called as ``tick(program, region, position)`` after each instruction, for a profile.
    """
    own_tick = None if tick is None else partial(tick, program)
    emitted = {
        name: program.kernels.emit(program, name, device, precision, own_tick)
        if program.kernels
        else emit(program, name, device.xp, tick=own_tick)
        for name in REGIONS
        if name != "once"
    }
    return {name: code for name, code in emitted.items() if code is not None}


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
