"""Places the pieces of a parameter's gradient: each goes straight into its range of the gradient.

A cell at a leaf multiplies some rows of its matrix, at a pair others.  Their gradients are matrices of a part
of the parameter's size; padded with zeros and added up they would cost a pass over the whole parameter each.
So sums, joins and padded slices at the end of the region ``deferred`` are taken apart::

    %3: float32[5, 4] = pad_slice(%2, key=((0, 3, 1),), shape=(5, 4))
    gradient of FC_1/weight[0:5, 0:4] += %3                    ->  gradient of FC_1/weight[0:3, 0:4] += %2

A gradient that is made of nothing but rows of a table stays row-sparse.

Without it a training step takes 1.1 times as long (Tree-LSTM, state 128, batch 25: `python -m
benchmarks.passes`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from arrows.engine.program.boxes import whole
from arrows.engine.program.instructions import Accumulate, Instruction, LoadConstant, SumRows
from arrows.engine.program.passes.tidy import prune
from arrows.engine.program.program import Program
from arrows.ops import Equation, Var


def place(program: Program) -> Program:
    """Places the pieces of gradients; see the head of this file.

    Args:
        program: with backward regions.
    """
    deferred = program.region("deferred")
    zeros = {
        instruction.result
        for instruction in program.region("once")
        if isinstance(instruction, LoadConstant) and not instruction.array.any()
    }
    made_by = {each.result: each for each in deferred if isinstance(each, Equation)}
    rest: list[Instruction] = []
    pieces: list[Accumulate] = []
    for instruction in deferred:
        if isinstance(instruction, Accumulate):
            pieces += _pieces(instruction, made_by, zeros)
        else:
            rest.append(instruction)
    placed = prune(program.with_regions(deferred=(*rest, *pieces)))
    return _with_sparse(placed, pieces)


def _pieces(
    gradient: Accumulate, made_by: Mapping[Var, Equation], zeros: Collection[Var]
) -> list[Accumulate]:
    """The pieces that a gradient is made of."""
    pieces: list[Accumulate] = []
    pending = [(gradient.operand, (0,) * len(gradient.spec.shape))]
    while pending:
        var, start = pending.pop()
        equation = made_by.get(var)
        name = None if equation is None else equation.primitive.name
        if var in zeros:
            continue
        if equation is not None and name == "add" and all(v.type == var.type for v in equation.operands):
            pending.extend((operand, start) for operand in reversed(equation.operands))
        elif equation is not None and name == "concat":
            axis: Any = dict(equation.attributes)["axis"]
            place = list(start)
            for operand in equation.operands:
                pending.append((operand, tuple(place)))
                place[axis] += operand.type.shape[axis]
        elif equation is not None and name == "pad_slice" and _is_a_box(equation):
            key: Any = dict(equation.attributes)["key"]
            inner = [item[0] for item in key] + [0] * (len(start) - len(key))
            pending.append((equation.operands[0], tuple(s + i for s, i in zip(start, inner, strict=True))))
        else:
            region = tuple((s, s + size) for s, size in zip(start, var.type.shape, strict=True))
            pieces.append(replace(gradient, region=region, operand=var))
    return pieces


def _is_a_box(padded: Equation) -> bool:
    """Whether a padded slice is a range on every axis."""
    key: Any = dict(padded.attributes)["key"]
    return all(isinstance(item, tuple) and item[2] == 1 for item in key)


def _with_sparse(program: Program, pieces: Sequence[Accumulate]) -> Program:
    """The program with row-sparse gradients where a parameter gets nothing but rows that are looked up."""
    deferred = program.region("deferred")
    rows = {
        instruction.result
        for instruction in deferred
        if isinstance(instruction, SumRows) and instruction.is_of("scatter_row")
    }
    for instruction in deferred:
        if not isinstance(instruction, Accumulate):
            rows.difference_update(instruction.reads)  # an equation, which takes arrays alone
    dense = {
        (id(piece.owner), piece.spec.name)
        for piece in pieces
        if piece.operand not in rows or piece.region != whole(piece.spec.shape)
    }
    sparse = {piece.operand for piece in pieces if (id(piece.owner), piece.spec.name) not in dense}

    def marked(instruction: Instruction) -> Instruction:
        if isinstance(instruction, SumRows) and instruction.result in sparse:
            return replace(instruction, sparse=True)
        if isinstance(instruction, Accumulate) and instruction.operand in sparse:
            return replace(instruction, region=None)
        return instruction

    return program.with_regions(deferred=tuple(map(marked, deferred)))
