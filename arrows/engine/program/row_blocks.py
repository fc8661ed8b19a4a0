"""Runs of row-wise equations, in blocks of rows where a step has many: from one equation to the next the
rows stay in the cache.

A product wants all rows at once. The dozen element-wise functions that follow it in a cell would each read
all of them from memory, and write them back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from arrows.engine.program.fuse import Chain
from arrows.ops.primitive import INVARIANT, ROW
from arrows.ops.trace import Equation, Var

# Steps whose widest array has 8 MB or more gain by it, smaller ones do not (measured: docs/results.md).
_BLOCK_BYTES = 2**20
_FEWEST_BLOCKS = 8
_FEWEST_EQUATIONS = 3


@dataclass(frozen=True, slots=True)
class Unit:
    """An equation, or a fused chain of them, and the lines that were written for it."""

    of: Equation | Chain
    lines: Sequence[str]

    @property
    def operands(self) -> tuple[Var, ...]:
        """What it reads."""
        return self.of.inputs if isinstance(self.of, Chain) else self.of.operands

    @property
    def results(self) -> tuple[Var, ...]:
        """What it makes."""
        return self.of.outputs if isinstance(self.of, Chain) else (self.of.result,)

    @property
    def view(self) -> bool:
        """Whether it only shows what there is."""
        return isinstance(self.of, Equation) and self.of.primitive.view

    @property
    def row_wise(self) -> bool:
        """Whether each row of what comes out depends on the same row of what goes in alone."""
        if any(var.rows not in (ROW, INVARIANT) for var in (*self.operands, *self.results)):
            return False
        if isinstance(self.of, Chain):
            return True
        primitive = self.of.primitive
        joins = primitive.elementwise or primitive.view or primitive.name == "concat"
        return joins and self.of.result.rows == ROW


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a part has its variables.

    Attributes:
        names: what they are called.
        arrays: for those that it makes, the name of the array that they are in; that of a view is where what
            it shows is.
        destinations: for those that must be written to a given array, its name.
    """

    names: Mapping[Var, str]
    arrays: Mapping[Var, str]
    destinations: Mapping[Var, str]

    def written(self, unit: Unit) -> list[str]:
        """The arrays that a unit writes to."""
        if not unit.view:
            return [self.arrays[var] for var in unit.results]
        return [self.destinations[var] for var in unit.results if var in self.destinations]


def in_blocks(
    units: Sequence[Unit], memory: Memory, kept: Collection[Var], first: int
) -> tuple[list[str], list[str]]:
    """Rewrites a part, so that its row-wise runs go in blocks.

    Args:
        units: in order.
        memory: where the variables are.
        kept: those that are read after all units.
        first: the number of the first function.

    Returns:
        The lines of the part, and those of the functions that they call.
    """
    runs: list[list[Unit]] = []
    for unit in units:
        if not runs or not unit.row_wise or not runs[-1][-1].row_wise:
            runs.append([])
        runs[-1].append(unit)
    made: list[list[str]] = []
    functions: list[str] = []
    after = set(kept)
    for number, run in enumerate(reversed(runs), first):
        if not run[0].row_wise or sum(not unit.view for unit in run) < _FEWEST_EQUATIONS:
            made.append([line for unit in run for line in unit.lines])
        else:
            lines, function = _written(run, memory, after, f"run{number}")
            made.append(lines)
            functions += function
        after.update(var for unit in run for var in unit.operands)
    return [line for lines in reversed(made) for line in lines], functions


def _written(
    run: Sequence[Unit], memory: Memory, after: Collection[Var], called: str
) -> tuple[list[str], list[str]]:
    """One run: its lines in the part, and those of its function."""
    made = {var: unit for unit in run for var in unit.results}
    read = dict.fromkeys(var for unit in run for var in unit.operands if var not in made)
    # What a scratch array holds before the run or after it is there for all rows, all else for a block.
    lasting = {memory.arrays.get(var) for var in (*read, *after)}
    arguments = {memory.names[var]: "" if var.rows == INVARIANT else "[b:e]" for var in read}
    for array in (array for unit in run for array in memory.written(unit)):
        arguments[array] = "[: e - b]" if array[0] == "s" and array not in lasting else "[b:e]"
    width = max(prod(var.type.shape) * np.dtype(var.type.dtype).itemsize for var in made)
    block = _rows(width)
    inner = [line for unit in run for line in unit.lines]
    lines = [
        f"if z - a >= {_FEWEST_BLOCKS * block}:",
        f"    for b in range(0, z - a, {block}):",
        f"        e = min(b + {block}, z - a)",
        f"        {called}({', '.join(name + rows for name, rows in arguments.items())})",
        *(f"    {line}" for line in _naming(run, made, memory.names, after)),
        "else:",
        *(f"    {line}" for line in inner),
    ]
    return lines, [f"def {called}({', '.join(arguments)}):", *(f"    {line}" for line in inner)]


def _rows(width: int) -> int:
    """How many rows of so many bytes a block has."""
    return max(1, _BLOCK_BYTES // max(width, 1))


def _naming(
    run: Sequence[Unit], made: Mapping[Var, Unit], names: Mapping[Var, str], after: Collection[Var]
) -> list[str]:
    """The lines that give what is read after a run its name."""
    needed: set[Var] = set()
    waiting = [var for var in made if var in after]
    while waiting:
        var = waiting.pop()
        needed.add(var)
        if made[var].view:
            waiting += [operand for operand in made[var].operands if operand in made]
    return [
        line
        for unit in run
        for var in unit.results
        if var in needed
        for line in unit.lines
        if line.startswith(f"{names[var]} = ")
    ]
