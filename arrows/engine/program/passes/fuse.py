"""Fuses runs of neighbouring element-wise equations into one `RowMap`, which a compiler turns into one loop::

    %2: float32[8] row = sigmoid(%0)                    map
    %3: float32[4] row = index(%2, key=((0, 4, 1),))      %2: float32[8] row = sigmoid(%0)
    %4: float32[4] row = index(%2, key=((4, 8, 1),))      %3: float32[4] row = index(%2, key=((0, 4, 1),))
    %5: float32[4] row = multiply(%3, %4)          ->     %4: float32[4] row = index(%2, key=((4, 8, 1),))
    result 0 = %5                                         %5: float32[4] row = multiply(%3, %4)
                                                        -> %5
                                                        result 0 = %5

NumPy passes over memory once for each equation; a fused run reads its operands once and writes what others
read.  Slices, reshapes and joins of vectors may stand in a run.  A view that others read as well follows the
run, made of what it gives.  What loads (a gather) or only reads (a store, a scatter) does not end a run: it
moves before or behind it.

Compiled by numba, a training step takes 0.90 of the time (Tree-LSTM, state 300, batch 64), 0.88 (state 128,
batch 25) and 0.73 (an LSTM along one chain, state 100): `python -m benchmarks.passes`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from arrows.engine.program.emitters.loops import can_write, python_source
from arrows.engine.program.instructions import (
    Instruction,
    RowMap,
    closure,
)
from arrows.engine.program.program import Program
from arrows.ops import Equation, Var

# The compiler's time grows faster than the source: 3 seconds for 400 lines, 12 for 800, minutes for 2,000.
# A longer loop is left to NumPy.
_MOST_LINES = 400
# What an equation reads is written by calls within its own, and Python has a limit for these.
_MOST_EQUATIONS = 120


def fuse(program: Program, *, dtype: str = "float32") -> Program:
    """Fuses element-wise equations; see the head of this file.

    Args:
        program: any.
        dtype: the element type that is fused.
    """
    readers: dict[Var, int] = {}
    for _, instruction in program:
        for var in set(instruction.reads):
            readers[var] = readers.get(var, 0) + 1
    numbers = iter(range(program.next_number, 1 << 62))
    regions = {}
    for name in program.regions:
        if name == "once":
            continue
        instructions: list[Instruction] = []
        for run in _runs(program.region(name), dtype):
            equations = [each for each in run if isinstance(each, Equation)]
            fits = len(equations) == len(run) > 1 and can_write(equations[0], dtype)
            together = fused(equations, readers, numbers) if fits else run
            loops = [each for each in together if isinstance(each, RowMap)]
            too_long = any(python_source(each).count("\n") > _MOST_LINES for each in loops)
            instructions += run if too_long else together
        regions[name] = tuple(instructions)
    return program.with_regions(**regions)


def _runs(region: Sequence[Instruction], dtype: str) -> Iterator[list[Instruction]]:
    """A region's runs, and the instructions between them; those of one run are neighbours but for what may
    move before or behind it."""
    run: list[Instruction] = []
    behind: list[Instruction] = []
    for instruction in region:
        if isinstance(instruction, Equation) and can_write(instruction, dtype):
            if len(run) == _MOST_EQUATIONS:
                yield run
                yield behind
                run, behind = [], []
            run.append(instruction)
        elif run and not instruction.writes:
            behind.append(instruction)
        elif not instruction.reads:
            yield [instruction]
        else:
            if run:
                yield run
            yield [*behind, instruction]
            run, behind = [], []
    if run:
        yield run
    yield behind


def fused(
    equations: Sequence[Equation],
    readers: dict[Var, int],
    numbers: Iterator[int],
    copied: Collection[Var] = (),
) -> Sequence[Instruction]:
    """A run of equations as one `RowMap`, and the views that others read behind it.

    Args:
        equations: neighbours.
        readers: how many instructions of the program read each value.
        numbers: those that no value has.
        copied: views whose numbers the loop is to write.
    """
    views_alone = {e.result for e in equations if e.primitive.view and e.result not in copied}
    if len(equations) - len(views_alone) < 2:
        return equations
    inside = {equation.result: equation for equation in equations}
    read_inside: dict[Var, int] = {}
    for equation in equations:
        for var in set(equation.operands):
            read_inside[var] = read_inside.get(var, 0) + 1
    needed = {var for var in inside if readers.get(var, 0) > read_inside.get(var, 0)}
    views: list[Instruction] = []
    for equation in reversed(equations):
        if equation.result in views_alone and equation.result in needed:
            needed.remove(equation.result)
            needed.update(var for var in equation.operands if var in inside)
            views.append(equation)
    results = tuple(var for var in inside if var in needed)
    if not results:  # views of what is made elsewhere
        return equations
    # A view that others read keeps its number behind the run; within, it gets another.
    renamed = {
        var: Var(next(numbers), var.type, var.rows)
        for view in views
        for var in view.writes
        if read_inside.get(var, 0)
    }
    kept = closure(results, equations)
    inner = [
        replace(
            equation,
            operands=tuple(renamed.get(var, var) for var in equation.operands),
            result=renamed.get(equation.result, equation.result),
        )
        for equation in equations
        if equation.result in kept
    ]
    return [RowMap(tuple(inner), results), *reversed(views)]
