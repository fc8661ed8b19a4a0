"""Makes the program of an operation as its function was traced: gathers, equations, results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arrows.engine.planning import Operation
from arrows.engine.program.in_range import in_range
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Store,
)
from arrows.engine.program.passes.tidy import prune
from arrows.engine.program.program import Operand, Program
from arrows.engine.reading import index_of
from arrows.ops import INVARIANT, Tracer, TraceRecorder, Var, segment_count


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
