"""Simplifies equations, and tidies what passes leave.

`rewrite` applies a rule to each equation, wherever it stands.  `fold`, `narrow` and `widen` are such
passes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from arrows import ops
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    Pull,
    Store,
    attribute,
    box_of_slice,
    is_join,
    is_view,
    with_operands,
)
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, TensorLike, Tracer, TraceRecorder, Var

_LOADS = (Gather, LoadKeys, Pull)  # which read nothing, so they may stand before what does


def prune(program: Program) -> Program:
    """The program without instructions that nothing needs."""
    needed: set[Var] = set()
    kept: dict[str, list[Instruction]] = {name: [] for name in program.regions}
    for name, instruction in reversed(list(program)):
        if not instruction.writes or not needed.isdisjoint(instruction.writes):
            kept[name].append(instruction)
            needed.update(instruction.reads)
    return program.with_regions(**{name: tuple(reversed(region)) for name, region in kept.items()})


def with_views(program: Program) -> Program:
    """The program with views made again at the head of each region that reads them, of what they show.

    A view costs nothing to make, and what it shows lies in memory that both regions see.
    """
    number = program.next_number
    home = {var: name for name, instruction in program for var in instruction.writes}
    views = {each.result: each for name, each in program if is_view(each) and name != "once"}
    regions: dict[str, tuple[Instruction, ...]] = {}
    for name in program.regions:
        region = program.region(name)
        wanted = {var for each in region for var in each.reads if var in views and home[var] != name}
        for view in reversed(views):
            if view in wanted:
                wanted.update(var for var in views[view].reads if var in views and home[var] != name)
        copies: dict[Var, Var] = {}
        made_again: list[Instruction] = []
        for view, origin in views.items():
            if view in wanted:
                copies[view] = copy = Var(number, view.type, view.rows)
                number += 1
                operands = tuple(copies.get(var, var) for var in origin.operands)
                made_again.append(replace(origin, operands=operands, result=copy))
        loads = [each for each in region if isinstance(each, _LOADS)]
        rest = [with_operands(each, copies) for each in region if not isinstance(each, _LOADS)]
        regions[name] = (*loads, *made_again, *rest) if copies else region
    return prune(program.with_regions(**regions))


class Rewriter(TraceRecorder):
    """Records what rules put in the place of equations.

    Attributes:
        made_by: for each value so far, the equation that makes it.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._count = program.next_number
        self.made_by: dict[Var, Equation] = {}

    def again(self, equation: Equation, operands: Sequence[TensorLike]) -> TensorLike:
        """An equation, of other operands."""
        return self.apply(equation.primitive, tuple(operands), dict(equation.attributes))

    def parts(self, value: Tracer) -> list[Tracer]:
        """What is joined to a value along its last axis, joins of joins undone."""
        parts: list[Tracer] = []
        pending = [value.var]
        while pending:
            part = pending.pop()
            equation = self.made_by.get(part)
            if equation is not None and is_join(equation) and attribute(equation, "axis") == -1:
                pending.extend(reversed(equation.operands))
            else:
                parts.append(self.tracer(part))
        return parts

    def product(
        self, parts: Sequence[Tracer], matrix: Tracer, chosen: Callable[[Tracer], bool]
    ) -> TensorLike:
        """``concat(parts) @ matrix`` of chosen parts alone: by the rows of the matrix that these meet."""
        factors: list[Tracer] = []
        rows: list[tuple[int, int]] = []
        stop = 0
        for part in parts:
            start, stop = stop, stop + part.shape[-1]
            if chosen(part):
                factors.append(part)
                if rows and rows[-1][1] == start:  # neighbouring ranges are one slice of the matrix
                    start, _ = rows.pop()
                rows.append((start, stop))
        met = ops.concat([matrix[start:stop] for start, stop in rows])
        return ops.matmul(ops.concat(factors, axis=-1), met)


Rule: TypeAlias = Callable[[Rewriter, Equation, list[Tracer]], TensorLike | None]
"""Called inside the rewriter with an equation, and what stands for its operands now.  It records nothing and
returns None, or returns the value that takes the place of the result, of the same type."""


def rewrite(program: Program, rule: Rule) -> Program:
    """Applies a rule to each equation of a program, in every region.

    This is the one place that a simplification needs: programs of all devices go through it, and stand before
    memory is allocated and equations are fused.

    Args:
        program: before `fuse`.
        rule: what it records without rows is computed once a batch.  In place of what has rows it may give
            what has none in a forward program alone.
    """
    recorder = Rewriter(program)
    regions: dict[str, list[Instruction]] = {"once": []}
    deferred: set[Var] = set()
    new: dict[Var, Var] = {}
    for region, instruction in program:
        made: list[Instruction] = [with_operands(instruction, new)]
        if isinstance(instruction, Equation):
            first = len(recorder.equations)
            reads = [new.get(var, var) for var in instruction.operands]
            with recorder:
                value = rule(recorder, instruction, list(map(recorder.tracer, reads)))
            if value is None and [var.rows for var in reads] != [var.rows for var in instruction.operands]:
                value = recorder.again(instruction, list(map(recorder.tracer, reads)))
            if value is not None:
                assert isinstance(value, Tracer)
                new[instruction.result] = value.var
                made = [*recorder.equations[first:]]
        for each in made:
            once = isinstance(each, Equation) and each.result.rows == INVARIANT
            once = once and deferred.isdisjoint(each.reads)
            regions.setdefault("once" if once else region, []).append(each)
            if isinstance(each, Equation):
                recorder.made_by[each.result] = each
            if region == "deferred" and not once:
                deferred.update(each.writes)
    constants = [LoadConstant(var, array) for array, var in recorder.constants]
    regions["once"][:0] = constants
    return with_views(program.with_regions(**{name: tuple(region) for name, region in regions.items()}))


def fold(program: Program) -> Program:
    """Folds constant zeros away: what need not be computed at a site that feeds an operation zeros.

    A leaf of a tree has no children, and the cell that serves leaves and pairs alike is fed zeros there.
    Once these are in the program, ``x + 0`` is ``x``, ``x * 0`` is 0, and of ``concat(x, 0) @ W`` only the
    rows of ``W`` that meet ``x`` are left::

        %0: float32[2] = constant [0.0, 0.0]           %1: float32[5, 4] = parameter W
        %1: float32[5, 4] = parameter W                %5: float32[3, 4] = index(%1, key=((0, 3, 1),))
        %2: float32[3] row = gather 0             ->   %2: float32[3] row = gather 0
        %3: float32[5] row = concat(%2, %0)            %6: float32[4] row = matmul(%2, %5)
        %4: float32[4] row = matmul(%3, %1)

    What is folded is known from the site, before any data, never decided by values.  One thing is given up
    for it: where ``x`` is infinite or not a number, ``x * 0`` is not a number in the reference and 0 here.

    Without it a training step takes 1.7 times as long (Tree-LSTM, state 300, batch 64: `python -m
    benchmarks.passes`).

    Args:
        program: a forward program.
    """
    loads = [each for each in program.region("once") if isinstance(each, LoadConstant)]
    zeros = {load.result for load in loads if not load.array.any()}

    def is_zero(value: Tracer) -> bool:
        return value.var in zeros

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        name, result = equation.primitive.name, equation.result
        value: TensorLike | None = None
        if name == "multiply" and any(map(is_zero, operands)):
            value = zero = recorder.constant(np.zeros(result.type.shape, result.type.dtype))
            zeros.add(zero.var)
        elif name in ("add", "subtract") and is_zero(operands[1]):
            value = operands[0]
        elif name == "add" and is_zero(operands[0]):
            value = operands[1]
        elif name == "matmul" and operands[1].rows == INVARIANT and operands[1].ndim == 2:
            parts = recorder.parts(operands[0])
            if len(set(map(is_zero, parts))) == 2:
                value = recorder.product(parts, operands[1], lambda part: not is_zero(part))
        return value if value is not None and value.type == result.type else None

    return rewrite(program, rule) if zeros else program


Columns = tuple[int, int]


def narrow(program: Program) -> Program:
    """Narrows products: columns that nobody reads are not computed.

    A leaf of a tree has no children to forget, and once their zeros are folded away nothing reads its forget
    gates.  For each vector that is only ever read through slices, the range that covers these slices is
    pushed back through element-wise equations to the product that made it, whose matrix is sliced, once a
    batch::

        %1: float32[3, 8] = parameter W             %1: float32[3, 8] = parameter W
        %2: float32[3] row = gather 0               %5: float32[3, 4] = index(%1, key=((0, 3, 1), (2, 6, 1)))
        %3: float32[8] row = matmul(%2, %1)    ->   %2: float32[3] row = gather 0
        %4: float32[4] row = index(%3, ((2, 6),))   %4: float32[4] row = matmul(%2, %5)

    Without it a training step takes 1.08 times as long (Tree-LSTM, state 300, batch 64: `python -m
    benchmarks.passes`).

    Args:
        program: a forward program.
    """
    stored = [each.operand for each in program.region("step") if isinstance(each, Store)]
    columns = _columns_read(list(program.equations()), stored)

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        if equation.result not in columns and columns.keys().isdisjoint(equation.operands):
            return None
        wanted = columns.get(equation.result, _whole(equation.result))
        for place, var in enumerate(equation.operands):
            if (read := _read_for(equation, place, wanted)) is not None:
                operands[place] = _slice(operands[place], read, columns.get(var))
        return operands[0] if _slices(equation) else recorder.again(equation, operands)

    return rewrite(program, rule) if columns else program


def _slice(value: Tracer, wanted: Columns, there: Columns | None) -> Tracer:
    """The columns ``wanted`` of a value of which only the columns ``there`` may be left."""
    first = there[0] if there is not None else 0
    start, stop = wanted[0] - first, wanted[1] - first
    if (start, stop) == (0, value.shape[-1]):
        return value
    columns = value[..., start:stop]
    assert isinstance(columns, Tracer)
    return columns


def _columns_read(equations: Sequence[Equation], results: Sequence[Var]) -> Mapping[Var, Columns]:
    """For each vector that can be narrowed, the columns that are read; from the results back."""
    read = {var: _whole(var) for var in results}
    narrowed: dict[Var, Columns] = {}
    for equation in reversed(equations):
        whole = _whole(equation.result)
        columns = read.get(equation.result, whole)
        if columns != whole and _passes_columns(equation):
            narrowed[equation.result] = columns
        else:
            columns = whole
        for place, var in enumerate(equation.operands):
            start, stop = _read_for(equation, place, columns) or _whole(var)
            known = read.get(var, (start, stop))
            read[var] = min(start, known[0]), max(stop, known[1])
    return narrowed


def _whole(var: Var) -> Columns:
    return 0, var.type.shape[-1] if var.type.shape else 0


def _passes_columns(equation: Equation) -> bool:
    """Whether some columns of the result need only these columns of the operands."""
    result = equation.result
    # Parameters and constants are sliced where they are read; only what is computed for each row is narrowed.
    if result.rows == INVARIANT or len(result.type.shape) != 1:
        return False
    return equation.primitive.elementwise or _slices(equation) or is_layer(equation)


def _read_for(equation: Equation, place: int, columns: Columns) -> Columns | None:
    """The columns of an operand that are read for some of the result's; None where that is not known."""
    if _slices(equation):
        ((first, _),) = box_of_slice(equation) or ()
        return first + columns[0], first + columns[1]
    (_, size), (_, width) = _whole(equation.operands[place]), _whole(equation.result)
    alike = equation.primitive.elementwise or (equation.primitive.name == "matmul" and place == 1)
    return columns if alike and size == width > 1 else None


def _slices(equation: Equation) -> bool:
    """Whether the result is some columns of a vector, all of a range."""
    return len(equation.operands[0].type.shape) == 1 and box_of_slice(equation) is not None


# Numbers of a matrix: a larger one keeps BLAS busy by itself.  An LSTM written gate by gate took 1.05 to 1.19
# times as long where its matrices, of 131,000 and of 320,000 numbers, were joined; kernels save launches.
_LARGEST, _LARGEST_OF_KERNELS = 1 << 16, 1 << 19


def widen(program: Program) -> Program:
    """Widens products: those of one vector by several matrices are one, by the matrices side by side.

    A cell that is written gate by gate has a layer for each gate, and all of them read the same vector.  The
    matrices are joined once a batch, and so are the biases; what reads a layer reads its columns::

        %1: float32[3, 4] = parameter i/weight      %1: float32[3, 4] = parameter i/weight
        %2: float32[3, 4] = parameter o/weight      %2: float32[3, 4] = parameter o/weight
        %0: float32[3] row = gather 0               %5: float32[3, 8] = concat(%1, %2, axis=-1)
        %3: float32[4] row = matmul(%0, %1)    ->   %0: float32[3] row = gather 0
        %4: float32[4] row = matmul(%0, %2)         %6: float32[8] row = matmul(%0, %5)
                                                    %7: float32[4] row = index(%6, key=((0, 4, 1),))
                                                    %8: float32[4] row = index(%6, key=((4, 8, 1),))

    Backwards the gradients of the columns are computed side by side, and make one product, too.  A layer that
    is a result is left alone: it is computed where it goes, and its columns would be copied there.

    So is an operation that runs in one step.  Its products are large anyway, and NumPy takes longer over
    columns: widened, 4 layers of 200 on 4,000 rows took 1.20 times as long, and 16 layers 1.6 times the
    memory (in inference 9 times).

    Without it a training step takes 1.03 times as long, compiled by numba 1.04 (a Tree-LSTM on the fly with a
    layer for each gate and a `Function` for each node, state 150, batch 100).

    Args:
        program: a forward program.
    """
    if all(operand.early for operand in program.operands):
        return program
    uses = Counter(var for _, instruction in program for var in instruction.reads)
    layers = {each.result: _Layer(each, None, each.result) for each in program.equations() if is_layer(each)}
    for each in program.equations():
        if each.primitive.name == "add":
            for product, bias in (each.operands, each.operands[::-1]):
                added = bias.rows == INVARIANT and bias.type == product.type
                if product in layers and added and uses[product] == 1:
                    layers[product] = layers[product]._replace(bias=bias, result=each.result)
    stored = {each.operand for each in program.region("step") if isinstance(each, Store)}
    largest = _LARGEST_OF_KERNELS if program.kernels else _LARGEST
    groups: defaultdict[tuple[Var, bool], list[_Layer]] = defaultdict(list)
    for layer in layers.values():
        if layer.product.operands[1].type.size <= largest and layer.result not in stored:
            groups[layer.product.operands[0], layer.bias is None].append(layer)
    grouped = {layer.result: group for group in groups.values() if len(group) > 1 for layer in group}
    made: dict[Var, TensorLike] = {}

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        if equation.result in grouped and equation.result not in made:
            group = grouped[equation.result]
            vector = group[0].product.operands[0]
            matrices = [recorder.tracer(layer.product.operands[1]) for layer in group]
            wide = made.get(vector, recorder.tracer(vector)) @ ops.concat(matrices, axis=-1)
            if biases := [recorder.tracer(layer.bias) for layer in group if layer.bias is not None]:
                wide = wide + ops.concat(biases)
            stop = 0
            for layer in group:
                start, stop = stop, stop + layer.result.type.shape[0]
                made[layer.result] = wide[..., start:stop]
        return made.get(equation.result)

    return rewrite(program, rule) if grouped else program


class _Layer(NamedTuple):
    """A product of a vector by a matrix, and a bias that is added to it; None where none is."""

    product: Equation
    bias: Var | None
    result: Var


def is_layer(equation: Equation) -> bool:
    """Whether an equation multiplies a row's vector by a matrix that is the same for all rows."""
    if equation.primitive.name != "matmul" or equation.result.rows == INVARIANT:
        return False
    vector, matrix = equation.operands
    return matrix.rows == INVARIANT and (len(vector.type.shape), len(matrix.type.shape)) == (1, 2)
