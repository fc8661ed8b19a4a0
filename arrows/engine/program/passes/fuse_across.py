"""Computes inside a kernel what that kernel alone reads, across levels and sequences::

    %3: float32[4] elements 0 = multiply(%1, %2)            map
    %4: float32[4] row = segment_sum(%3)             ->       %3: float32[4] elements 0 = multiply(%1, %2)
    result 0 = %4                                             %4: float32[4] row = segment_sum(%3)
                                                            -> %4
                                                            result 0 = %4

`fuse_kernels` joins equations of one level.  What gives one row of a sequence computes the numbers of its
elements where it reads them.  What reads that row back at each element, or a softmax over the sequence, joins
where all are of one size: a thread then goes over the elements of its column twice, first for the sum, then
for what is made of it.

Attention pooling (`Attention`) takes 2 launches forwards and 2 back instead of 3 and 3
(`tests/training/test_launches.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from arrows.engine.program.emitters.c import in_columns, over_sequence
from arrows.engine.program.instructions import Compute, Instruction, RowMap, View, equations_of
from arrows.engine.program.passes.fuse_kernels import MOST_VALUES, values_of
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, Var

# As `fuse_kernels`: of more, a kernel takes its compiler long.
_MOST = 200


def fuse_across(program: Program) -> Program:
    """Fuses instructions of different levels; see the head of this file."""
    readers: dict[Var, set[int]] = {}
    for _, instruction in program:
        for var in instruction.reads:
            readers.setdefault(var, set()).add(id(instruction))
    regions = {name: _fused(program.region(name), readers) for name in program.regions if name != "once"}
    return program.with_regions(**regions)


def _fused(region: Sequence[Instruction], readers: dict[Var, set[int]]) -> tuple[Instruction, ...]:
    """A region whose kernels have taken in what they alone read, from the last to the first."""
    absorbed: set[int] = set()
    fused: list[Instruction] = []
    for position in reversed(range(len(region))):
        root = region[position]
        if id(root) in absorbed:
            continue
        group = _group(root, region[:position], readers)
        if any(not isinstance(each, View) for each in group[1:]):
            absorbed |= {id(each) for each in group}
            equations = [equation for each in reversed(group) for equation in equations_of(each)]
            fused.append(RowMap(tuple(equations), root.writes))
        else:
            fused.append(root)
    return tuple(reversed(fused))


def _group(
    root: Instruction, before: Sequence[Instruction], readers: dict[Var, set[int]]
) -> list[Instruction]:
    """An instruction and what can be computed inside its kernel, from the last to the first."""
    group = [root]
    if not _is_kernel(root):
        return group
    inside, equations = {id(root)}, list(equations_of(root))
    for instruction in reversed(before):
        read_here = all(readers.get(var, set()) <= inside for var in instruction.writes)
        if not read_here or not instruction.writes or not _is_kernel(instruction):
            continue
        together = [*equations, *equations_of(instruction)]
        small = len(together) <= _MOST and len(values_of(together)) <= MOST_VALUES
        if small and _fits(instruction, root):
            group.append(instruction)
            inside.add(id(instruction))
            equations = together
    return group


def _is_kernel(instruction: Instruction) -> bool:
    """Whether a kernel computes an instruction number by number, or goes over sequences for it."""
    if not isinstance(instruction, (Compute, RowMap)):
        return False
    equations = equations_of(instruction)
    return equations[0].result.rows != INVARIANT and all(
        in_columns(each) or _is_softmax(each) for each in equations
    )


def _is_softmax(equation: Equation) -> bool:
    return equation.primitive.name == "segment_softmax" and equation.operands[0].rows >= 0


def _fits(instruction: Instruction, root: Instruction) -> bool:
    """Whether the threads of the root's kernel go over no sequence more often than those of two kernels."""
    level = root.writes[0].rows
    taken = equations_of(instruction)
    sequences = [each for each in taken if over_sequence(each)]
    if level == ROW and not sequences and taken[0].result.rows != ROW:
        sequences = [each for each in equations_of(root) if over_sequence(each)]
    elif sequences and level == ROW:
        return False
    sizes = {var.type.size for var in (*root.writes, *(each.result for each in sequences))}
    return not sequences or len(sizes) == 1
