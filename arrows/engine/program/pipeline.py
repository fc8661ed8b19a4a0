"""How an operation's program is made, and its code: as its function was traced, then by a list of passes.

`python -m benchmarks.passes` measures what a training step takes without each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TypeVar

from arrows.engine.device import Device, Kernels
from arrows.engine.planning import Operation
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Store,
    in_range,
)
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.passes.differentiate import differentiate
from arrows.engine.program.passes.fuse import fuse, join
from arrows.engine.program.passes.hoist import deduplicate, defer, push_sums, split
from arrows.engine.program.passes.simplify import fold, narrow, prune
from arrows.engine.program.program import REGIONS, Operand, Program
from arrows.engine.program.region import RegionCode, emit
from arrows.engine.reading import index_of
from arrows.ops import INVARIANT, Tracer, TraceRecorder, Var, in_own_context, segment_count
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
FORWARD: tuple[Pass, ...] = (fold, narrow, split, join)
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
        ...     _ = ar.compile(ar.Vector(2) >> ar.FC(3)).program()
        build narrow split join deduplicate allocate
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
