"""Reverse mode: derives an operation's backward program from its trace, split in two.

What gives the *inputs'* gradients runs step by step, in the reverse order of the schedule.  What gives the
gradients of *parameters* (of anything that is the same for all rows) runs once over all rows of the
operation: a sum over rows is pushed down through the additive equations to a primitive that knows how to sum
without making the rows, so that the gradient of a product's matrix is one matrix product a batch instead of
one a step.

Equations whose result is the same for all rows (weight normalisation, transposes of parameters) form the
*prologue*: it runs once a batch, and its gradient is pulled back once, at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from arrows import ops
from arrows.engine.program.assemble import assemble
from arrows.engine.program.narrow import narrow
from arrows.engine.program.pieces import Piece, pieces
from arrows.engine.program.simplify import emit
from arrows.ops import INVARIANT, ROW, Equation, Trace, Tracer, TraceRecorder, Var


@dataclass(frozen=True, slots=True)
class RowSum:
    """A sum over rows, to be computed once over all rows of an operation.

    Attributes:
        equation: with ``parts``: applied to the reduced parts, without rows.  Without: its
            `Primitive.sum_rows` is applied to the rows of its operands; None means a plain sum of ``var``.
        var: what is summed.
        parts: reductions that ``equation`` is applied to.
    """

    var: Var
    equation: Equation | None = None
    parts: tuple[RowSum, ...] = ()

    def rows(self) -> Iterable[Var]:
        """The variables with rows that the reduction reads."""
        if self.parts:
            for part in self.parts:
                yield from part.rows()
        elif self.equation is not None:
            yield from self.equation.operands
        else:
            yield self.var


@dataclass(frozen=True, slots=True)
class Backward:
    """The backward program of one operation.

    Its variables are numbered on their own; `forward` and `cotangents` say which of them stand for the
    forward program's values and for the gradients of its results.

    Attributes:
        forward: (backward variable, forward variable) for each forward value that is read.
        cotangents: (backward variable, number of the result).
        constants: (array, variable).
        hoisted: equations without rows, once a batch.
        step: equations run step by step.
        late: equations run when all steps have: what gives the gradients of early inputs (`fission`).
        inputs: for each input leaf of the trace, the variable of its gradient, or None.
        joined: the same for the values asked for besides.
        deferred: equations run once over all rows.
        saved: variables of ``step`` and ``late`` that later parts read: kept for all rows.
        boundary: (forward variable without rows, reduction that gives its gradient); of several reductions of
            one variable, each gives an addend.
        pullback: from the gradients of the boundary to those of parameters, or None where no parameter has
            one.
    """

    forward: tuple[tuple[Var, Var], ...]
    cotangents: tuple[tuple[Var, int], ...]
    constants: tuple[tuple[np.ndarray, Var], ...]
    hoisted: tuple[Equation, ...]
    step: tuple[Equation, ...]
    late: tuple[Equation, ...]
    inputs: tuple[Var | None, ...]
    joined: tuple[Var | None, ...]
    deferred: tuple[Equation, ...]
    saved: tuple[Var, ...]
    boundary: tuple[tuple[Var, RowSum], ...]
    pullback: Pullback | None


@dataclass(frozen=True, slots=True)
class Pullback:
    """The backward program of the prologue, without rows.

    Attributes:
        forward, constants, equations: as in `Backward`.
        seeds: for each entry of `Backward.boundary`, the backward variable that receives what it gives.
        parameters: (number of the trace's parameter, the pieces of its gradient).
    """

    forward: tuple[tuple[Var, Var], ...]
    constants: tuple[tuple[np.ndarray, Var], ...]
    equations: tuple[Equation, ...]
    seeds: tuple[Var, ...]
    parameters: tuple[tuple[int, tuple[Piece, ...]], ...]


def specialise(trace: Trace, constants: Sequence[tuple[int, np.ndarray]], *, training: bool = False) -> Trace:
    """Returns the trace with some inputs replaced by constants; what depends on these alone has no rows any
    more.  Dropout is left only where ``training``."""
    quiet = trace.dropout_key is not None and not training
    if not constants and not quiet:
        return trace
    recorder = TraceRecorder()
    known: dict[Var, Tracer] = {}
    bound = dict(constants)
    inputs = []
    for leaf, var in enumerate(trace.inputs):
        known[var] = recorder.constant(bound[leaf]) if leaf in bound else recorder.input(var.type, var.rows)
        inputs.append(known[var].var)
    for owner, spec, var in trace.parameters:
        known[var] = recorder.parameter(owner, spec)
    for array, var in trace.constants:
        known[var] = recorder.constant(array)
    chance = None
    if trace.dropout_key is not None and not quiet:
        known[trace.dropout_key] = recorder.dropout_key_input()
        chance = known[trace.dropout_key].var
    for equation in trace.equations:
        if quiet and equation.primitive.name == "dropout":
            known[equation.result] = known[equation.operands[0]]
            continue
        if quiet and any(operand not in known for operand in equation.operands):
            continue  # the key of a mask that is not made
        known[equation.result] = emit(recorder, equation, [known[operand] for operand in equation.operands])
    done = recorder.finish(tuple(known[var].var for var in trace.results), trace.output)
    bare = replace(done, inputs=tuple(inputs), dropout_key=chance)
    return narrow(bare)


def prologue(trace: Trace) -> tuple[tuple[Equation, ...], tuple[Equation, ...]]:
    """Splits the equations into those without rows and those with."""
    without = tuple(equation for equation in trace.equations if equation.result.rows == INVARIANT)
    return without, tuple(equation for equation in trace.equations if equation.result.rows != INVARIANT)


def active(trace: Trace, wanted: Sequence[bool]) -> set[Var]:
    """The variables that depend on a parameter or on an input whose gradient is wanted, through floats."""
    found = {var for var, want in zip(trace.inputs, wanted, strict=True) if want and _is_float(var)}
    found |= {var for _, spec, var in trace.parameters if spec.has_gradient}
    for equation in trace.equations:
        if _is_float(equation.result) and any(operand in found for operand in equation.operands):
            found.add(equation.result)
    return found


def differentiate(
    trace: Trace,
    wanted: Sequence[bool],
    seeded: Sequence[bool],
    early: Collection[int] = (),
    joined: Mapping[Var, Collection[int]] = MappingProxyType({}),
) -> Backward | None:
    """Derives the backward program of an operation.

    Args:
        trace: the operation, specialised.
        wanted: for each input leaf, whether its gradient is wanted.
        seeded: for each result, whether a gradient comes in.
        early: the input leaves whose gradients may wait until all steps have run.
        joined: values whose gradient is wanted instead of that of the input leaves they are made of.

    Returns:
        The program, or None where nothing that is wanted depends on anything seeded.
    """
    moving = active(trace, wanted)
    before, main = prologue(trace)
    recorder = _Derivation(trace)
    cotangents: list[tuple[Var, int]] = []
    gradient: dict[Var, Tracer] = {}
    for number, (var, seed) in enumerate(zip(trace.results, seeded, strict=True)):
        if seed and var in moving:
            g = recorder.input(var.type, max(var.rows, ROW))
            cotangents.append((g.var, number))
            recorder.add(gradient, var, g)
    recorder.walk(main, moving, gradient)
    instead = {leaf for leaves in joined.values() for leaf in leaves}
    inputs = [
        gradient.get(var) if want and leaf not in instead else None
        for leaf, (var, want) in enumerate(zip(trace.inputs, wanted, strict=True))
    ]
    others = [(gradient.get(var), set(leaves) <= set(early)) for var, leaves in joined.items()]
    boundary = [(var, g) for (var, _), g in recorder.summed.items() if var in moving]
    if not boundary and all(g is None for g in (*inputs, *(g for g, _ in others))):
        return None
    return _split(recorder, trace, before, cotangents, inputs, boundary, early, others)


class _Derivation(TraceRecorder):
    """A recorder in which forward values appear as inputs on first use, views of them as equations again.

    Attributes:
        forward: what stands for the forward values.
        summed: the gradients of values without rows that are sums over rows; by the level of these rows, for
            rows of the operation and elements of its sequences add up only once each is summed.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.forward: dict[Var, Tracer] = {}
        self.summed: dict[tuple[Var, int], Tracer] = {}
        self.made_by = {equation.result: equation for equation in trace.equations}
        self.constant_values = {var: array for array, var in trace.constants}

    def value(self, var: Var) -> Tracer:
        """The forward value ``var`` in this program."""
        if var not in self.forward:
            equation = self.made_by.get(var)
            if equation is not None and equation.primitive.view and var.rows != INVARIANT:
                operands = [self.value(operand) for operand in equation.operands]
                attributes: dict[str, Any] = dict(equation.attributes)
                made = self.bind(equation.primitive, *operands, **attributes)
                assert isinstance(made, Tracer)
                self.forward[var] = made
            elif var in self.constant_values:
                self.forward[var] = self.constant(self.constant_values[var])
            else:
                self.forward[var] = self.input(var.type, var.rows)
        return self.forward[var]

    def add(self, gradient: dict[Var, Tracer], var: Var, g: Tracer) -> None:
        """Adds ``g`` to the gradient of ``var``."""
        if var.rows == INVARIANT and g.var.rows != INVARIANT:
            level = var, g.var.rows
            self.summed[level] = _total(self.summed.get(level), g)
        else:
            gradient[var] = _total(gradient.get(var), g)

    def walk(self, equations: Sequence[Equation], moving: set[Var], gradient: dict[Var, Tracer]) -> None:
        """Pulls the gradients back through ``equations``."""
        with self:
            for equation in reversed(equations):
                g = gradient.get(equation.result)
                if g is None:
                    continue
                result = self.value(equation.result)
                operands = [self.value(operand) for operand in equation.operands]
                parts = equation.primitive.vjp(g, result, *operands, **dict(equation.attributes))
                for operand, part in zip(equation.operands, parts, strict=True):
                    if part is not None and operand in moving:
                        assert isinstance(part, Tracer)
                        self.add(gradient, operand, part)


def _total(gradient: Tracer | None, addend: Tracer) -> Tracer:
    total = addend if gradient is None else ops.add(gradient, addend)
    assert isinstance(total, Tracer)
    return total


def _split(
    recorder: _Derivation,
    trace: Trace,
    before: tuple[Equation, ...],
    cotangents: list[tuple[Var, int]],
    inputs: list[Tracer | None],
    boundary: list[tuple[Var, Tracer]],
    early: Collection[int],
    joined: list[tuple[Tracer | None, bool]],
) -> Backward:
    equations = assemble(recorder)
    made_by = {equation.result: equation for equation in equations}
    constants = {var for _, var in recorder.constants}
    first = [_reduce(g.var, made_by, set()) for _, g in boundary]
    # What the products over all rows read is there anyway: its plain sum needs nothing else to be saved.
    anyway = {var for found in first if not found.parts for var in found.rows()}
    reductions = [
        (var, addend) for var, g in boundary for addend in _addends(_reduce(g.var, made_by, anyway))
    ]
    hoisted = {equation.result for equation in equations if equation.result.rows == INVARIANT}

    wanted = [(g, leaf in early) for leaf, g in enumerate(inputs)] + joined
    at_once = [g.var for g, waits in wanted if g is not None and not waits]
    waiting = [g.var for g, waits in wanted if g is not None and waits]
    rows = [var for _, reduction in reductions for var in reduction.rows()]
    step = _closure(at_once, made_by) - hoisted
    late = _closure(waiting, made_by) - hoisted - step
    deferred = _closure(rows, made_by) - hoisted - step - late
    read_late, read_deferred = set(waiting), set(rows)
    used = {*rows, *at_once, *waiting}
    for equation in equations:
        if equation.result in late:
            read_late.update(equation.operands)
        if equation.result in deferred:
            read_deferred.update(equation.operands)
        if equation.result in step | late | deferred:
            used.update(equation.operands)
    saved = step & (read_late | read_deferred) | late & read_deferred
    needed_hoisted = _closure((var for var in used if var in hoisted), made_by)
    for equation in equations:
        if equation.result in needed_hoisted:
            used.update(equation.operands)
    for _, reduction in reductions:
        used.update(_invariant_operands(reduction))
    return Backward(
        tuple(
            (g.var, var)
            for var, g in recorder.forward.items()
            if g.var in used and g.var not in made_by and g.var not in constants
        ),
        tuple((var, number) for var, number in cotangents if var in used),
        tuple((array, var) for array, var in recorder.constants if var in used),
        tuple(equation for equation in equations if equation.result in needed_hoisted),
        tuple(equation for equation in equations if equation.result in step),
        tuple(equation for equation in equations if equation.result in late),
        tuple(g.var if g is not None else None for g in inputs),
        tuple(g.var if g is not None else None for g, _ in joined),
        tuple(equation for equation in equations if equation.result in deferred),
        tuple(equation.result for equation in equations if equation.result in saved),
        tuple(reductions),
        _pullback(trace, before, [var for var, _ in reductions]),
    )


def _invariant_operands(reduction: RowSum) -> set[Var]:
    found: set[Var] = set()
    if reduction.equation is not None:
        found.update(var for var in reduction.equation.operands if var.rows == INVARIANT)
    for part in reduction.parts:
        found |= _invariant_operands(part)
    return found


def _closure(roots: Iterable[Var], made_by: dict[Var, Equation]) -> set[Var]:
    """The results of all equations that ``roots`` need."""
    found: set[Var] = set()
    work = list(roots)
    while work:
        var = work.pop()
        if var in made_by and var not in found:
            found.add(var)
            work.extend(made_by[var].operands)
    return found


def _reduce(var: Var, made_by: dict[Var, Equation], anyway: set[Var]) -> RowSum:
    """Pushes the sum over the rows of ``var`` down as far as it goes, or to what is there ``anyway``."""
    equation = made_by.get(var)
    if equation is None or var.rows == INVARIANT or var in anyway:
        return RowSum(var)
    with_rows = [operand.rows == var.rows for operand in equation.operands]
    if equation.primitive.sum_rows is not None:
        has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
        types = tuple(operand.type for operand in equation.operands)
        attributes = equation.primitive.lift(dict(equation.attributes), has_rows, types)
        if equation.primitive.sum_rows(np, has_rows, types, **attributes) is not None:
            return RowSum(var, equation)
    if equation.primitive.additive and all(with_rows):
        return RowSum(
            var, equation, tuple(_reduce(operand, made_by, anyway) for operand in equation.operands)
        )
    return RowSum(var)


def _addends(reduction: RowSum) -> Iterable[RowSum]:
    """The reductions whose values add up to one's: each of them can be written in place, or stay sparse."""
    equation, parts = reduction.equation, reduction.parts
    adds = bool(parts) and equation is not None and equation.primitive.name == "add"
    if adds and all(part.var.type == reduction.var.type for part in parts):
        for part in parts:
            yield from _addends(part)
    else:
        yield reduction


def _pullback(trace: Trace, before: tuple[Equation, ...], boundary: list[Var]) -> Pullback | None:
    """The backward program of the prologue: from the boundary's gradients to the parameters'."""
    moving = active(trace, [False] * len(trace.inputs))
    recorder = _Derivation(trace)
    gradient: dict[Var, Tracer] = {}
    seeds = []
    for var in boundary:
        g = recorder.input(var.type, INVARIANT)
        seeds.append(g.var)
        with recorder:
            recorder.add(gradient, var, g)
    recorder.walk(before, moving, gradient)
    roots = [(n, gradient[var].var) for n, (_, _, var) in enumerate(trace.parameters) if var in gradient]
    if not roots:
        return None
    equations = assemble(recorder)
    made_by = {equation.result: equation for equation in equations}
    constants = {var for _, var in recorder.constants}
    zeros = {var for array, var in recorder.constants if not array.any()}
    parameters = [(n, pieces(var, made_by, zeros)) for n, var in roots]
    ends = {piece.var for _, some in parameters for piece in some}
    needed = _closure(ends, made_by)
    used = {operand for equation in equations if equation.result in needed for operand in equation.operands}
    used |= ends
    return Pullback(
        tuple(
            (g.var, var)
            for var, g in recorder.forward.items()
            if g.var in used and g.var not in made_by and g.var not in constants
        ),
        tuple((array, var) for array, var in recorder.constants if var in used),
        tuple(equation for equation in equations if equation.result in needed),
        tuple(seeds),
        tuple(parameters),
    )


def _is_float(var: Var) -> bool:
    return var.type.dtype.startswith("float")
