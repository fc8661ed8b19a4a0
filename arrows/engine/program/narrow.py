"""Columns that nobody reads are not computed: a product of which only some columns are used becomes a
smaller one.

A leaf of a tree has no children to forget, and once their zeros are folded away nothing reads its forget
gates.  For each vector that is only ever read through slices, the range that covers these slices is pushed
back through sums and element-wise functions to the product that made it, whose matrix is sliced, once a
batch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arrows.ops import INVARIANT, Equation, Trace, Tracer, TraceRecorder, Var

Range = tuple[int, int]


def narrow(trace: Trace) -> Trace:
    """Returns the trace with narrower products; the same trace if there is nothing to narrow."""
    ranges = _ranges(trace)
    if not ranges:
        return trace
    recorder = TraceRecorder()
    known: dict[Var, Tracer] = {var: recorder.input(var.type, var.rows) for var in trace.inputs}
    inputs = tuple(known[var].var for var in trace.inputs)
    for owner, spec, var in trace.parameters:
        known[var] = recorder.parameter(owner, spec)
    for array, var in trace.constants:
        known[var] = recorder.constant(array)

    def part(var: Var, wanted: Range) -> Tracer:
        """The columns ``wanted`` of a value, which may have been narrowed already."""
        first = ranges[var][0] if var in ranges else 0
        start, stop = wanted[0] - first, wanted[1] - first
        tracer = known[var]
        if (start, stop) == (0, tracer.shape[-1]):
            return tracer
        columns = tracer[..., start:stop]
        assert isinstance(columns, Tracer)
        return columns

    if trace.dropout_key is not None:
        known[trace.dropout_key] = recorder.dropout_key_input()

    for equation in trace.equations:
        result = equation.result
        if _slices(equation) and (result in ranges or equation.operands[0] in ranges):
            known[result] = part(equation.operands[0], _read(equation, ranges.get(result)))
            continue
        if result in ranges:
            operands = [
                part(var, ranges[result]) if _wide(var, result) else known[var] for var in equation.operands
            ]
            if equation.primitive.name == "matmul":
                left, right = equation.operands
                operands = [known[left], part(right, ranges[result])]
        else:
            operands = [known[var] for var in equation.operands]
        attributes: dict[str, Any] = dict(equation.attributes)
        made = recorder.bind(equation.primitive, *operands, **attributes)
        assert isinstance(made, Tracer)
        known[result] = made
    done = recorder.finish(tuple(known[var].var for var in trace.results), trace.output)
    return replace(done, inputs=inputs)


def _ranges(trace: Trace) -> dict[Var, Range]:
    """For each vector that can be narrowed, the columns that are read; found from the results back."""
    wanted: dict[Var, Range] = {var: (0, var.type.shape[-1]) for var in trace.results if var.type.shape}

    def want(var: Var, found: Range) -> None:
        known = wanted.get(var, found)
        wanted[var] = min(known[0], found[0]), max(known[1], found[1])

    narrowed: dict[Var, Range] = {}
    for equation in reversed(trace.equations):
        result = equation.result
        whole = (0, result.type.shape[-1]) if result.type.shape else (0, 0)
        found = wanted.get(result, whole)
        passes = _passes(equation) and found != whole
        if passes:
            narrowed[result] = found
        if _slices(equation):
            want(equation.operands[0], _read(equation, found if passes else None))
            continue
        for place, var in enumerate(equation.operands):
            if not var.type.shape:
                continue
            if passes and (place == 1 if equation.primitive.name == "matmul" else _wide(var, result)):
                want(var, found)
            else:
                want(var, (0, var.type.shape[-1]))
    # Parameters and constants are sliced where they are read; only what is computed for each row is narrowed.
    return {var: found for var, found in narrowed.items() if var.rows != INVARIANT}


def _passes(equation: Equation) -> bool:
    """Whether some columns of the result need only these columns of the operands."""
    result = equation.result
    if result.rows == INVARIANT or len(result.type.shape) != 1:
        return False
    if equation.primitive.name == "matmul":
        left, right = equation.operands
        return right.rows == INVARIANT and len(left.type.shape) == 1 and len(right.type.shape) == 2
    return equation.primitive.elementwise or _slices(equation)


def _wide(var: Var, result: Var) -> bool:
    return bool(var.type.shape) and var.type.shape[-1] == result.type.shape[-1] and result.type.shape[-1] != 1


def _slices(equation: Equation) -> bool:
    """Whether the result is some columns of a vector, all of a range."""
    if equation.primitive.name != "index":
        return False
    key: Any = dict(equation.attributes)["key"]
    shape = equation.operands[0].type.shape
    return len(shape) == 1 and len(key) == 1 and isinstance(key[0], tuple) and key[0][2] == 1


def _read(equation: Equation, wanted: Range | None) -> Range:
    """The columns that a slice reads, if only some of its own are wanted."""
    key: Any = dict(equation.attributes)["key"]
    start, stop = int(key[0][0]), int(key[0][1])
    return (start, stop) if wanted is None else (start + wanted[0], start + wanted[1])
