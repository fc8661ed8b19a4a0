"""Turns sums of padded slices into one ``concat``: how the gradient of a sliced value comes together.

The gradient of ``x[a:b]`` is the slice's gradient among zeros; the gates of an LSTM would make four arrays of
zeros and add them up.  Where the slices do not overlap, they are written side by side::

    %3: float32[4] row = pad_slice(%1, key=((0, 2, 1),), shape=(4,))
    %4: float32[4] row = pad_slice(%2, key=((2, 4, 1),), shape=(4,))   ->  %5: float32[4] row = concat(%1, %2)
    %5: float32[4] row = add(%3, %4)

Without it a training step of an LSTM along one chain, state 100, takes 1.1 times as long (`python -m
benchmarks.passes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows import ops
from arrows.engine.program.instructions import Instruction, LoadConstant
from arrows.engine.program.passes.tidy import prune
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, Equation, Var
from arrows.typesys import types as T

_CONCAT = ops.get("concat")


def join_slices(program: Program) -> Program:
    """Joins padded slices; see the head of this file.

    Args:
        program: with backward regions.
    """
    constants: list[Instruction] = []
    number = program.next_number
    regions = {}
    for name in ("step_back", "deferred"):
        region = program.region(name)
        made_by = {each.result: each for each in region if isinstance(each, Equation)}
        uses: dict[Var, int] = {}
        for instruction in region:
            for var in instruction.reads:
                uses[var] = uses.get(var, 0) + 1
        joined: list[Instruction] = []
        for instruction in region:
            slices = _side_by_side(instruction, made_by, uses)
            if slices is None:
                joined.append(instruction)
                continue
            (result,) = instruction.writes
            operands: list[Var] = []
            for operand in slices.operands:
                if isinstance(operand, Var):
                    operands.append(operand)
                    continue
                gap = Var(number, operand, INVARIANT)
                number += 1
                constants.append(LoadConstant(gap, np.zeros(operand.shape, operand.dtype)))
                operands.append(gap)
            joined.append(Equation(_CONCAT, tuple(operands), (("axis", slices.axis),), result))
        regions[name] = tuple(joined)
    return prune(program.with_regions(once=(*program.region("once"), *constants), **regions))


@dataclass(frozen=True, slots=True)
class _Slices:
    """Slices that lie side by side: what is joined, with the types of gaps of zeros, and the axis."""

    operands: list[Var | T.Tensor]
    axis: int


def _side_by_side(
    instruction: Instruction, made_by: dict[Var, Equation], uses: dict[Var, int]
) -> _Slices | None:
    """The slices that an addition adds up, if they lie side by side along one axis."""
    if not isinstance(instruction, Equation) or instruction.primitive.name != "add":
        return None
    total = instruction.result
    addends: list[Equation | None] = []
    pending = [total]
    while pending:
        var = pending.pop()
        equation = made_by.get(var)
        alone = var is total or uses.get(var, 0) == 1
        if equation is not None and alone and equation.primitive.name == "add" and total.type == var.type:
            pending.extend(reversed(equation.operands))
        else:
            addends.append(equation)
    axes: set[int] = set()
    ranges: list[tuple[int, int, Var]] = []
    for addend in addends:
        if addend is None or addend.primitive.name != "pad_slice":
            return None
        if addend.result.type != total.type or addend.result.rows != total.rows:
            return None
        attributes: dict[str, Any] = dict(addend.attributes)
        shape = attributes["shape"]
        full = [(0, size, 1) for size in shape]
        key = [*attributes["key"], *full[len(attributes["key"]) :]]
        sliced = [axis for axis, item in enumerate(key) if item != full[axis]]
        if len(sliced) != 1 or not isinstance(key[sliced[0]], tuple) or key[sliced[0]][2] != 1:
            return None
        axes.add(sliced[0] - len(shape))
        ranges.append((key[sliced[0]][0], key[sliced[0]][1], addend.operands[0]))
    if len(axes) != 1:
        return None
    (axis,) = axes
    size = total.type.shape[axis]
    operands: list[Var | T.Tensor] = []
    end = 0
    for start, stop, var in sorted(ranges, key=lambda part: part[0]):
        if start < end:
            return None  # they overlap
        if start > end:
            operands.append(_gap(total.type, axis, start - end))
        operands.append(var)
        end = stop
    if end < size:
        operands.append(_gap(total.type, axis, size - end))
    return _Slices(operands, axis)


def _gap(type: T.Tensor, axis: int, size: int) -> T.Tensor:
    """The type of zeros between slices."""
    shape = list(type.shape)
    shape[axis] = size
    return T.Tensor(tuple(shape), type.dtype)
