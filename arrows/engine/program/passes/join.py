"""Joins gathers: what one `concat` puts side by side is gathered as one, straight into its place.

A cell that reads ``concat(h1, h2)`` has two operands whose rows lie in one slab.  Gathered one by one and
joined, every value is copied twice.  But the rows of a node's operands, one after another, already are the
rows of the joined value: one gather with interleaved row numbers makes it, and where these are a range of the
slab it is a view::

    %0: float32[3] row = gather 0
    %1: float32[3] row = gather 1          ->     %2: float32[6] row = gather 0, 1
    %2: float32[6] row = concat(%0, %1)

For a device with kernels, a training step of a binary Tree-LSTM cell is 5 launches; without this pass it is 6
(`tests/training/test_launches.py` counts them).  With NumPy a step of two bidirectional LSTMs of 256 takes
1.04 times as long without it (batch 16: `python -m benchmarks.passes`).
"""

from __future__ import annotations

from arrows.engine.program.instructions import Gather, Instruction, attribute, is_join
from arrows.engine.program.passes.tidy import prune
from arrows.engine.program.program import Program
from arrows.ops import ROW, Equation, Var


def join(program: Program) -> Program:
    """Joins gathers; see the head of this file.

    Args:
        program: a forward program.
    """
    return prune(program.with_regions(**{name: _joined(program, name) for name in ("early", "step")}))


def _joined(program: Program, name: str) -> tuple[Instruction, ...]:
    region = program.region(name)
    stored = {var for each in region if not each.writes for var in each.reads}
    gathered = {
        each.result: each.operands[0]
        for each in region
        if isinstance(each, Gather) and each.result.rows == ROW
    }
    gathers: list[Instruction] = []
    rest: list[Instruction] = []
    for each in region:
        if is_join(each) and each.result not in stored and _fits(program, each, gathered):
            gathers.append(Gather(each.result, tuple(gathered[var] for var in each.reads)))
        else:
            (gathers if isinstance(each, Gather) else rest).append(each)
    return (*gathers, *rest)


def _fits(program: Program, join: Equation, gathered: dict[Var, int]) -> bool:
    """Whether the parts of a join are operands of one slab and one type, joined along the first axis."""
    parts = join.reads
    if len(parts) < 2 or not gathered.keys() >= set(parts):
        return False
    slabs = {program.operands[gathered[var]].slab for var in parts}
    alike = all(var.type == parts[0].type for var in parts)
    return alike and len(slabs) == 1 and attribute(join, "axis") == -len(join.result.type.shape)
