"""Fission: what an operation computes of early operands alone runs once for all its rows, ahead of its steps.

The cell of a recurrent network reads a word, which is there before the first step, and the state of the step
before.  Of its product ``concat(x, h) @ W`` the part ``x @ Wx`` depends on the word alone: one large product
for all words instead of one small one in each step.  Backwards it is the same the other way round: the
gradients of the words are computed when all steps have run, in one product.

A function is split at its products: what depends on early operands and on no product of them is left in the
steps, where it costs nothing to speak of and needs no memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arrows import ops
from arrows.ops import INVARIANT, ROW, Equation, Trace, Tracer, TraceRecorder, Var


@dataclass(frozen=True, slots=True)
class Division:
    """The equations of an operation, in two parts.

    Attributes:
        early: run once for all rows, ahead.
        step: run step by step.
        held: what ``early`` makes and ``step`` or the operation's reader reads.
    """

    early: tuple[Equation, ...]
    step: tuple[Equation, ...]
    held: tuple[Var, ...]


def fission(trace: Trace, early: Collection[int]) -> Trace:
    """Returns the trace with products of joined vectors split where some of the parts are early.

    Args:
        trace: of one operation, specialised.
        early: the input leaves that are there before the operation's first step.

    Returns:
        The same trace if there is nothing to split.
    """
    if not early or not any(equation.primitive.name == "matmul" for equation in trace.equations):
        return trace
    return _Splitter(trace, early).split()


class _Splitter:
    def __init__(self, trace: Trace, early: Collection[int]) -> None:
        self.trace, self.recorder = trace, TraceRecorder()
        self.made_by = {equation.result: equation for equation in trace.equations}
        self.known: dict[Var, Tracer] = {}
        self.ahead: set[Var] = set()
        # Sums of an early and a late value, which more early values can be added to.
        self.sums: dict[Var, tuple[Tracer, Tracer]] = {}
        for leaf, var in enumerate(trace.inputs):
            self.known[var] = self.recorder.input(var.type, var.rows)
            if leaf in early:
                self.ahead.add(self.known[var].var)
        self.inputs = tuple(self.known[var].var for var in trace.inputs)
        for owner, spec, var in trace.parameters:
            self.known[var] = self.recorder.parameter(owner, spec)
        for array, var in trace.constants:
            self.known[var] = self.recorder.constant(array)
        if trace.dropout_key is not None:
            self.known[trace.dropout_key] = self.recorder.dropout_key_input()
            self.ahead.add(self.known[trace.dropout_key].var)

    def split(self) -> Trace:
        """The trace, recorded anew."""
        changed = False
        for equation in self.trace.equations:
            made = self._sum(equation) if equation.primitive.name == "add" else None
            if equation.primitive.name == "matmul":
                made = self._product(equation)
            changed |= made is not None
            if made is None:
                operands = [self.known[var] for var in equation.operands]
                made = self._bind(equation, operands)
                if equation.primitive.name == "add":
                    self._note(made, operands)
            self.known[equation.result] = made
        if not changed:
            return self.trace
        results = tuple(self.known[var].var for var in self.trace.results)
        return replace(self.recorder.finish(results, self.trace.output), inputs=self.inputs)

    def _bind(self, equation: Equation, operands: Sequence[Tracer]) -> Tracer:
        attributes: dict[str, Any] = dict(equation.attributes)
        made = self.recorder.bind(equation.primitive, *operands, **attributes)
        assert isinstance(made, Tracer)
        return self._place(made, operands)

    def _place(self, made: Tracer, operands: Sequence[Tracer]) -> Tracer:
        if made.rows == ROW and all(self._is_ahead(operand) for operand in operands):
            self.ahead.add(made.var)
        return made

    def _is_ahead(self, tracer: Tracer) -> bool:
        return tracer.rows == INVARIANT or tracer.var in self.ahead

    def _parts(self, var: Var) -> list[Tracer]:
        """What is joined to a vector, joins of joins undone."""
        found: list[Tracer] = []
        work = [var]
        while work:
            one = work.pop()
            made = self.made_by.get(one)
            if made is not None and made.primitive.name == "concat" and len(one.type.shape) == 1:
                work.extend(reversed(made.operands))
            else:
                found.append(self.known[one])
        return found

    def _product(self, equation: Equation) -> Tracer | None:
        """``concat(parts) @ W``, as the product of the early parts and that of the others."""
        left, right = equation.operands
        if len(left.type.shape) != 1 or left.rows != ROW or right.rows != INVARIANT:
            return None
        if len(right.type.shape) != 2:
            return None
        parts = self._parts(left)
        if len({self._is_ahead(part) for part in parts}) != 2:
            return None
        early, late = (self._some(parts, self.known[right], ahead) for ahead in (True, False))
        return self._add(early, late)

    def _some(self, parts: Sequence[Tracer], matrix: Tracer, ahead: bool) -> Tracer:
        """The product of some of the parts with the rows of the matrix that they meet."""
        ranges: list[list[int]] = []
        chosen: list[Tracer] = []
        stop = 0
        for part in parts:
            start, stop = stop, stop + part.shape[-1]
            if self._is_ahead(part) != ahead:
                continue
            chosen.append(part)
            # Neighbouring ranges of rows are one slice of the matrix.
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = stop
            else:
                ranges.append([start, stop])
        rows = ops.concat([matrix[a:z] for a, z in ranges]) if len(ranges) > 1 else matrix[slice(*ranges[0])]
        joined = ops.concat(chosen, axis=-1) if len(chosen) > 1 else chosen[0]
        assert isinstance(joined, Tracer)
        made = ops.matmul(self._place(joined, chosen), rows)
        assert isinstance(made, Tracer)
        return self._place(made, chosen)

    def _add(self, early: Tracer, late: Tracer) -> Tracer:
        made = ops.add(early, late)
        assert isinstance(made, Tracer)
        self.sums[made.var] = early, late
        return made

    def _note(self, made: Tracer, operands: Sequence[Tracer]) -> None:
        """Remembers a sum of an early and a late value."""
        for one, other in (operands, operands[::-1]):
            alike = one.type == other.type == made.type and one.rows == other.rows == ROW
            if alike and one.var in self.ahead and other.var not in self.ahead:
                self.sums[made.var] = one, other

    def _sum(self, equation: Equation) -> Tracer | None:
        """``(early + late) + b``, as ``(early + b) + late`` where ``b`` is early too: a bias is added
        ahead."""
        operands = [self.known[var] for var in equation.operands]
        for one, other in (operands, operands[::-1]):
            found = self.sums.get(one.var)
            if found is not None and self._is_ahead(other) and one.type == equation.result.type:
                early = ops.add(found[0], other)
                assert isinstance(early, Tracer)
                return self._add(self._place(early, [found[0], other]), found[1])
        return None


def divide(
    trace: Trace, equations: Sequence[Equation], early: Collection[Var], read: Collection[Var]
) -> Division:
    """Divides the equations with rows into those run ahead and those of the steps.

    Args:
        trace: of the operation, after `fission`.
        equations: those with rows, in order.
        early: the operands that are there before the first step.
        read: the variables that the backward part reads.
    """
    ahead = set(early)
    heavy: set[Var] = set()  # early, and made by a product
    for equation in equations:
        rows = [var for var in equation.operands if var.rows != INVARIANT]
        if equation.result.rows == ROW and all(var in ahead for var in rows):
            ahead.add(equation.result)
            if equation.primitive.name == "matmul" or any(var in heavy for var in rows):
                heavy.add(equation.result)
    made_by = {equation.result: equation for equation in equations}
    # A view of what was made ahead is a view in the step as well.
    made = {var for var in heavy if not made_by[var].primitive.view}
    if not made:
        return Division((), tuple(equations), ())
    needed = set(made)
    for equation in reversed(equations):
        if equation.result in needed:
            needed.update(equation.operands)
    wanted = {*trace.results, *read}
    step = []
    for equation in reversed(equations):
        if equation.result in wanted and equation.result not in made:
            step.append(equation)
            wanted.update(equation.operands)
    return Division(
        tuple(equation for equation in equations if equation.result in needed),
        tuple(reversed(step)),
        tuple(equation.result for equation in equations if equation.result in made & wanted),
    )
