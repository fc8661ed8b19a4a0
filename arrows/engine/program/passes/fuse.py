"""Runs together what can: gathers side by side, equations in one loop or kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from arrows.engine.device import Kernels
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    RowMap,
    Scatter,
    Store,
    attribute,
    closure,
    is_join,
)
from arrows.engine.program.numbers import can_write, python_source
from arrows.engine.program.passes.simplify import prune
from arrows.engine.program.program import Program
from arrows.ops import ROW, Equation, Var
from arrows.typesys import types as T


def join(program: Program) -> Program:
    """Joins gathers: what one `concat` puts side by side is gathered as one, straight into its place.

    A cell that reads ``concat(h1, h2)`` has two operands whose rows lie in one slab.  Gathered one by one and
    joined, every value is copied twice.  But the rows of a node's operands, one after another, already are
    the rows of the joined value: one gather with interleaved row numbers makes it, and where these are a
    range of the slab it is a view::

        %0: float32[3] row = gather 0
        %1: float32[3] row = gather 1          ->     %2: float32[6] row = gather 0, 1
        %2: float32[6] row = concat(%0, %1)

    For a device with kernels, a training step of a binary Tree-LSTM cell is 5 launches; without this pass it
    is 6 (`tests/training/test_launches.py` counts them).  With NumPy a step of two bidirectional LSTMs of 256
    takes 1.04 times as long without it (batch 16: `python -m benchmarks.passes`).

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


# Of a loop.  What an equation reads is written by calls within its own, and Python has a limit for these.
_MOST_EQUATIONS = 120
# The compiler's time grows faster than the source: 3 seconds for 400 lines, 12 for 800, minutes for 2,000.
# A longer loop is left to NumPy.
_MOST_LINES = 400
_MOST_REDUCTIONS = 8  # for each of which what it reads is computed anew
MOST_VALUES = 120
"""So many values a kernel reads and makes at most: each takes up to 4 words of 8 bytes."""


def fuse(program: Program) -> Program:
    """Fuses what can run as one loop, or as one kernel, into one `RowMap`::

        %2: float32[8] row = sigmoid(%0)                    map
        %3: float32[4] row = index(%2, key=((0, 4, 1),))      %2: float32[8] row = sigmoid(%0)
        %4: float32[4] row = index(%2, key=((4, 8, 1),))      %3: float32[4] row = index(%2, key=((0, 4, 1),))
        %5: float32[4] row = multiply(%3, %4)          ->     %4: float32[4] row = index(%2, key=((4, 8, 1),))
        result 0 = %5                                         %5: float32[4] row = multiply(%3, %4)
                                                            -> %5
                                                            result 0 = %5

    NumPy passes over memory once for each equation; a loop that a compiler has made reads its operands once
    and writes what others read.  Slices, reshapes and joins of vectors may stand in it.  A view that others
    read as well follows the loop, made of what it gives.

    On a device with kernels a launch costs some microseconds, whatever it computes.  There a map is a kernel
    in C, which takes look-ups too, what a sequence gives, and reductions over a row, whose numbers the lanes
    of a warp share.  Views that are only handed over are written where they go by one kernel, which the
    gradients of a join's parts are.  A launch takes 4 kB of words, which bounds the values of a kernel: a
    wider join is made of joins.

    Equations of one level join as soon as none of them waits for a product, or for another level, that the
    others do not wait for.  What loads (a gather) moves to the front; what only hands over (a store, a
    scatter) follows what it hands over.

    Compiled by numba, a training step takes 0.90 of the time (Tree-LSTM, state 300, batch 64), 0.88 (state
    128, batch 25) and 0.73 (an LSTM along one chain, state 100): `python -m benchmarks.passes`.  On a device
    with kernels, a training step of a binary Tree-LSTM cell is 5 launches, and without this pass 34
    (`tests/training/test_launches.py` counts them).

    Args:
        program: any.
    """
    kernels = program.kernels
    readers = Counter(var for _, instruction in program for var in set(instruction.reads))
    hands_over = (Store, Scatter) if kernels else ()
    kept = {var for _, each in program if not isinstance(each, hands_over) for var in each.reads}
    numbers = iter(range(program.next_number, 1 << 62))

    def joins(instruction: Instruction) -> bool:
        if not isinstance(instruction, Equation):
            return False
        return kernels.compute(instruction) if kernels else can_write(instruction)

    fit = partial(_one_kernel, kernels) if kernels else lambda equations: len(equations) <= _MOST_EQUATIONS
    regions = {}
    for name in program.regions:
        if name != "once":
            region: Sequence[Instruction] = program.region(name)
            if kernels:
                region = _narrow_joins(region, numbers)
            instructions: list[Instruction] = []
            for run in _runs(region, joins, fit):
                equations = [each for each in run if isinstance(each, Equation) and joins(each)]
                together = _fused(equations, readers, numbers, readers.keys() - kept)
                fits = len(equations) == len(run) and (kernels or all(map(_is_compiled, together)))
                instructions += together if fits else run
            regions[name] = tuple(instructions)
    return program.with_regions(**regions)


def _is_compiled(instruction: Instruction) -> bool:
    return not isinstance(instruction, RowMap) or python_source(instruction).count("\n") <= _MOST_LINES


def _one_kernel(kernels: Kernels, equations: Sequence[Equation]) -> bool:
    """Whether equations of one level may be a kernel."""
    few = len(values_of(equations)) <= MOST_VALUES
    return few and sum(map(kernels.reduce, equations)) <= _MOST_REDUCTIONS


def values_of(equations: Iterable[Equation]) -> set[Var]:
    """The values that equations read and make."""
    return {var for equation in equations for var in (equation.result, *equation.operands)}


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


def _runs(
    region: Sequence[Instruction],
    joins: Callable[[Instruction], bool],
    fit: Callable[[Sequence[Equation]], bool],
) -> Iterator[Sequence[Instruction]]:
    """A region's runs, and the instructions between them, in an order in which they can run.

    Args:
        region: the instructions.
        joins: whether one is an equation that may join others.
        fit: whether equations of one level may join.
    """
    equations = [each if isinstance(each, Equation) and joins(each) else None for each in region]
    stages = _stages(region, equations)
    yield [each for each in region if not each.reads]
    for stage in sorted(set(stages.values())):
        here = [number for number in stages if stages[number] == stage]
        joining = [equation for number in here if (equation := equations[number]) is not None]
        for level in dict.fromkeys(equation.result.rows for equation in joining):
            run: list[Equation] = []
            for equation in joining:
                if equation.result.rows == level:
                    if not fit([*run, equation]):
                        yield run
                        run = []
                    run.append(equation)
            yield run
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


def _fused(
    equations: Sequence[Equation],
    readers: Mapping[Var, int],
    numbers: Iterator[int],
    copied: Collection[Var],
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
