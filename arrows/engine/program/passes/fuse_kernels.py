"""Fuses what one kernel in C can do into one `RowMap`, for a device with kernels::

    %2: float32[5] row = add(%0, %1)                      map
    %3: float32[5] row = log_softmax(%2, axis=-1)           %2: float32[5] row = add(%0, %1)
    %4: float32 row = pick(%3, %5)                 ->       %3: float32[5] row = log_softmax(%2, axis=-1)
    result 0 = %4                                           %4: float32 row = pick(%3, %5)
                                                          -> %4
                                                          result 0 = %4

A launch costs some microseconds, whatever it computes.  So equations of one level join as soon as none of
them waits for a product, or for another level, that the others do not wait for: element-wise equations,
slices, joins, look-ups, what a sequence gives; and reductions over a row, whose numbers the lanes of a warp
share.  What loads (a gather) moves to the front; what only hands over (a store, a scatter) follows what it
hands over.  Views that are only handed over are written where they go by one kernel, which the gradients of
a join's parts are.

A launch takes 4 kB of words, which bounds the values of a kernel: a wider join is made of joins.

A training step of a binary Tree-LSTM cell is 5 launches, and without this pass 34
(`tests/training/test_launches.py` counts them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from arrows.engine.program.emitters.c import in_c, is_reduction
from arrows.engine.program.instructions import Instruction, Scatter, Store, attribute, is_join
from arrows.engine.program.passes.fuse import fused
from arrows.engine.program.program import Program
from arrows.ops import Equation, Var
from arrows.typesys import types as T

# A kernel of more equations takes its compiler long, and a thread more registers than it has.
_MOST = 200
_MOST_REDUCTIONS = 8  # for each of which what it reads is computed anew
MOST_VALUES = 120
"""So many values a kernel reads and makes at most: each takes up to 4 words of 8 bytes."""


def fuse_kernels(program: Program) -> Program:
    """Fuses instructions; see the head of this file."""
    readers: dict[Var, int] = {}
    kept: set[Var] = set()  # read by what does not only hand over
    for _, instruction in program:
        for var in set(instruction.reads):
            readers[var] = readers.get(var, 0) + 1
        if not isinstance(instruction, (Store, Scatter)):
            kept.update(instruction.reads)
    handed_over = readers.keys() - kept
    numbers = iter(range(program.next_number, 1 << 62))
    regions = {}
    for name in program.regions:
        if name != "once":
            instructions: list[Instruction] = []
            for run in _runs(_narrow_joins(program.region(name), numbers)):
                joining = [each for each in run if isinstance(each, Equation) and in_c(each)]
                together = len(joining) == len(run) > 1
                instructions += fused(joining, readers, numbers, handed_over) if together else run
            regions[name] = tuple(instructions)
    return program.with_regions(**regions)


def _narrow_joins(region: Sequence[Instruction], numbers: Iterator[int]) -> list[Instruction]:
    """A region without joins of more parts than a kernel can read."""
    narrow: list[Instruction] = []
    for instruction in region:
        while is_join(instruction) and len(instruction.operands) >= MOST_VALUES:
            whole, axis = instruction, attribute(instruction, "axis")
            groups: list[Var] = []
            for first in range(0, len(whole.operands), MOST_VALUES // 2):
                parts = whole.operands[first : first + MOST_VALUES // 2]
                shape = list(whole.result.type.shape)
                shape[axis] = sum(part.type.shape[axis] for part in parts)
                type = T.Tensor(tuple(shape), whole.result.type.dtype)
                groups.append(Var(next(numbers), type, whole.result.rows))
                narrow.append(replace(whole, operands=parts, result=groups[-1]))
            instruction = replace(whole, operands=tuple(groups))
        narrow.append(instruction)
    return narrow


class _Neighbours:
    """Neighbouring equations that join so far."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []

    def takes(self, equation: Equation) -> bool:
        """Whether an equation may join."""
        together = [*self.equations, equation]
        if len(together) > _MOST or equation.result.rows != together[0].result.rows:
            return False
        if len(values_of(together)) > MOST_VALUES:
            return False
        return sum(map(is_reduction, together)) <= _MOST_REDUCTIONS


def values_of(equations: Iterable[Equation]) -> set[Var]:
    """The values that equations read and make."""
    return {var for equation in equations for var in (equation.result, *equation.operands)}


def _runs(region: Sequence[Instruction]) -> Iterator[Sequence[Instruction]]:
    """A region's runs, and the instructions between them, in an order in which they can run."""
    equations = [each if isinstance(each, Equation) and in_c(each) else None for each in region]
    stages = _stages(region, equations)
    loads = [each for each in region if not each.reads]
    yield loads
    for stage in sorted(set(stages.values())):
        here = [number for number in stages if stages[number] == stage]
        joining = [equation for number in here if (equation := equations[number]) is not None]
        for level in dict.fromkeys(equation.result.rows for equation in joining):
            run = _Neighbours()
            for equation in joining:
                if equation.result.rows != level:
                    continue
                if not run.takes(equation):
                    yield run.equations
                    run = _Neighbours()
                run.equations.append(equation)
            yield run.equations
        yield [region[number] for number in here if equations[number] is None]


def _stages(region: Sequence[Instruction], equations: Sequence[Equation | None]) -> dict[int, int]:
    """The stage of each instruction that reads something, by its number.

    In a stage first run the kernels, then what needs them.  A kernel runs after what it needs, and otherwise
    in the stage of the first kernel that reads it.
    """
    made_by = {var: number for number, instruction in enumerate(region) for var in instruction.writes}

    def away(maker: int, reader: int) -> int:
        """How many stages lie between what makes a value and what reads it, at least."""
        first, second = equations[maker], equations[reader]
        if second is None:
            return 0
        return int(first is None or first.result.rows != second.result.rows)

    stages: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for number, instruction in enumerate(region):
        if not instruction.reads:
            continue
        makers = [made_by[var] for var in instruction.reads if made_by.get(var) in stages]
        for maker in makers:
            readers.setdefault(maker, []).append(number)
        stages[number] = max((stages[maker] + away(maker, number) for maker in makers), default=0)
    for number in reversed(stages):
        if equations[number] is not None:
            # What only hands a value over (a store, a scatter) waits for it.
            ends = [
                stages[reader] - away(number, reader)
                for reader in readers.get(number, ())
                if region[reader].writes
            ]
            stages[number] = max(stages[number], min(ends, default=stages[number]))
    for number, instruction in enumerate(region):
        if number in stages and not instruction.writes:
            makers = [made_by[var] for var in instruction.reads if made_by.get(var) in stages]
            stages[number] = max((stages[maker] for maker in makers), default=0)
    return stages
