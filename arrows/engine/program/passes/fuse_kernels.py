"""Fuses what one kernel in C can do into one `Map`, for a device with kernels::

    %2: float32[5] row = add(%0, %1)                      map
    %3: float32[5] row = log_softmax(%2, axis=-1)           %2: float32[5] row = add(%0, %1)
    %4: float32 row = pick(%3, %5)                 ->       %3: float32[5] row = log_softmax(%2, axis=-1)
    result 0 = %4                                           %4: float32 row = pick(%3, %5)
                                                          -> %4
                                                          result 0 = %4

A launch costs some microseconds, whatever it computes.  Neighbours of one level join: element-wise
equations, slices, joins, look-ups; and reductions over a row, where the rows of all are so short that a
thread keeps them to itself, or where each reduces all of a row, whose numbers the lanes of a warp then share.
What loads (a gather) or only hands over (a store, a scatter) moves before or
behind.

A training step of a binary Tree-LSTM cell is five launches; without this pass it is 31
(`tests/training/test_launches.py` counts them).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arrows.engine.program.emitters.c import in_c, in_columns, is_reduction, is_shared, is_short
from arrows.engine.program.instructions import Instruction, SumRows, equations_of
from arrows.engine.program.passes.fuse import fused
from arrows.engine.program.program import Program
from arrows.ops import Equation, Var

# A kernel of more equations takes its compiler long, and a thread more registers than it has.
_MOST = 200
_MOST_SHARED = 8


def fuse_kernels(program: Program) -> Program:
    """Fuses instructions; see the head of this file."""
    readers: dict[Var, int] = {}
    for _, instruction in program:
        for var in set(instruction.reads):
            readers[var] = readers.get(var, 0) + 1
    numbers = iter(range(program.next_number, 1 << 62))
    regions = {}
    for name in program.regions:
        if name != "once":
            instructions: list[Instruction] = []
            for run in _runs(program.region(name)):
                instructions += fused(run, readers, numbers) if len(run) > 1 else run
            regions[name] = tuple(instructions)
    return program.with_regions(**regions)


class _Neighbours:
    """Neighbouring equations that join so far."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.equations: list[Equation] = []

    def takes(self, equation: Equation) -> bool:
        """Whether an equation may join."""
        together = [*self.equations, equation]
        if len(together) > _MOST or equation.result.rows != together[0].result.rows:
            return False
        reductions = [each for each in together if is_reduction(each)]
        if not reductions or all(map(is_short, together)):
            return True
        # Lanes compute what they read anew for each reduction.
        return all(map(is_shared, reductions)) and len(reductions) <= _MOST_SHARED

    def add(self, instruction: Instruction, equation: Equation) -> None:
        """Lets an equation join."""
        self.instructions.append(instruction)
        self.equations.append(equation)


def _joins(instruction: Instruction) -> Equation | None:
    """The equation of an instruction that others may join."""
    equations = equations_of(instruction)
    if len(equations) != 1 or isinstance(instruction, SumRows) or not in_c(equations[0]):
        return None
    (equation,) = equations
    if in_columns(equation):
        return equation
    has_rows = any(var.rows == equation.result.rows for var in equation.operands)
    fits = is_reduction(equation) and (is_short(equation) or is_shared(equation))
    return equation if fits and has_rows else None


def _runs(region: Sequence[Instruction]) -> Iterator[list[Instruction]]:
    """A region's runs, and the instructions between them."""
    run = _Neighbours()
    behind: list[Instruction] = []
    for instruction in region:
        equation = _joins(instruction)
        if equation is not None and run.takes(equation):
            run.add(instruction, equation)
        elif equation is None and not instruction.writes and run.instructions:
            behind.append(instruction)
        elif equation is None and not instruction.reads:
            yield [instruction]
        else:
            yield from _ended(run)
            yield behind
            run, behind = _Neighbours(), []
            if equation is None:
                yield [instruction]
            else:
                run.add(instruction, equation)
    yield from _ended(run)
    yield behind


def _ended(run: _Neighbours) -> Iterator[list[Instruction]]:
    if run.instructions:
        yield run.instructions
