"""Runs a program for kernels on a small batch: each instruction by its kernel in C, through the host's
compiler; what has none by NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrows.engine.device.host_compiler import HostLibrary
from arrows.engine.device.kernel import PRELUDE
from arrows.engine.program.emitters.arguments import (
    DropoutKeys,
    GradientRows,
    OnceValue,
    PullOffsets,
    PullPlaces,
    PullValues,
    ResultRowsOf,
    RowCount,
    RowsOf,
    ScatterRowsOf,
    SegmentOffsets,
    SegmentRows,
    SlabIndex,
    SlabRows,
)
from arrows.engine.program.emitters.c import CKernel, c_kernel
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    Join,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    View,
    equations_of,
)
from arrows.engine.program.program import (
    Program,
    PulledRows,
    RangeOf,
    ResultRows,
    ScatterRows,
    Scratch,
)
from arrows.ops import INVARIANT, ROW, Var
from tests.engine.program.emitters.batches import STEPWISE, Batch, Outcome, is_range, steps_of


def kernels_of(program: Program) -> dict[tuple[str, int], CKernel]:
    """The kernels of a program's instructions, by region and position."""
    found = {}
    for region in (*STEPWISE, "deferred"):
        for position, made in enumerate(program.region(region)):
            kernel = None if _nothing_to_do(program, made) else c_kernel(program, made)
            if kernel is not None:
                assert isinstance(kernel.arguments[0], RowCount)
                assert len(kernel.arguments) == kernel.source.words == len(set(kernel.arguments))
                found[region, position] = kernel
    return found


def _nothing_to_do(program: Program, made: Instruction) -> bool:
    """Whether all is there already, as the emitter of regions knows."""
    memory = program.memory
    match made:
        case Store(number, var):
            return memory.get(var) == ResultRows(number)
        case Scatter(_, var):
            number = next(n for n, (_, each) in enumerate(program.scatters) if each is made)
            return memory.get(var) == ScatterRows(number)
        case Gather(var) | Pull(var):
            return var not in memory
    return isinstance(made, (View, LoadKeys, Accumulate, SumRows))


def library_of(programs: Sequence[Program]) -> HostLibrary:
    """All their kernels, compiled at once."""
    kernels = [kernel for program in programs for kernel in kernels_of(program).values()]
    return HostLibrary(PRELUDE + "".join({each.source.name: each.source.text for each in kernels}.values()))


class KernelRun:
    """A run of a program.

    Args:
        program: for kernels, with memory.
        batch: the data.
        library: with the program's kernels.
        pulled: for results, what their rows take besides: offsets, places and values.

    Attributes:
        launches: for each instruction that has run, whether by a kernel.
    """

    def __init__(
        self,
        program: Program,
        batch: Batch,
        library: HostLibrary | None,
        pulled: dict[int, tuple[Any, Any, Any]] | None = None,
    ) -> None:
        self.program, self.batch, self.library, self.pulled = program, batch, library, pulled or {}
        self.kernels = kernels_of(program)
        self.once: dict[Var, Any] = {}
        self.slabs = {number: np.array(slab) for number, slab in batch.slabs.items()}
        self.results = [
            _filled(batch.total(max(level, ROW)), type.shape, type.dtype) for type, level in program.results
        ]
        for number, (slab, first) in batch.outputs.items():
            self.results[number] = self.slabs[slab][first : first + batch.count]
        self.scatters = [
            _filled(batch.total(made.operand.rows), made.operand.type.shape, made.operand.type.dtype)
            for _, made in program.scatters
        ]
        self.gradients = [np.array(each) for each in batch.gradients]
        self.memory: dict[Any, Any] = {}
        for var, place in program.memory.items():
            if not isinstance(place, (Scratch, RangeOf, ResultRows, ScatterRows, PulledRows)):
                self.memory[place] = _filled(batch.total(var.rows), var.type.shape, var.type.dtype)
        self.home = {var: (region, made) for region, made in program for var in made.writes}
        self.accumulated: list[Any] = []
        self.late: dict[Var, Any] = {}  # without rows, of the deferred region
        self.alive: list[Any] = []
        self.launches: dict[tuple[str, int], bool] = {}

    def run(self) -> Outcome:
        program, batch = self.program, self.batch
        parameters = iter(batch.parameters)
        for made in program.region("once"):
            if isinstance(made, LoadConstant):
                self.once[made.result] = made.array
            elif isinstance(made, LoadParameter):
                self.once[made.result] = next(parameters)
            else:
                for equation in equations_of(made):
                    run = equation.primitive.kernel(np, **dict(equation.attributes))
                    value = run(*(self.once[var] for var in equation.operands))
                    self.once[equation.result] = np.ascontiguousarray(value).reshape(np.shape(value))
        for region in (*STEPWISE, "deferred"):
            self.scratch = {
                number: _filled(
                    max(
                        (self._count(region, step, slot.level) for step in steps_of(batch, region)), default=0
                    ),
                    slot.shape,
                    slot.dtype,
                )
                for number, slot in enumerate(program.scratch.get(region, ()))
            }
            for step in steps_of(batch, region):
                for position, made in enumerate(program.region(region)):
                    self._instruction(region, step, position, made)
        return Outcome(self.results, self.scatters, self.accumulated)

    def _count(self, region: str, step: int, level: int) -> int:
        a, z = self.batch.span(region, level, step)
        return z - a

    # by kernels

    def _instruction(self, region: str, step: int, position: int, made: Instruction) -> None:
        kernel = self.kernels.get((region, position))
        if kernel is not None:
            self.launches[region, position] = True
            if self.library is not None:
                words = np.array([self._word(region, step, each) for each in kernel.arguments], np.int64)
                if words[0]:
                    self.library.function(kernel.source.name)(ctypes.c_void_p(words.ctypes.data))
            return
        self._plainly(region, step, made)
        computes = isinstance(made, (SumRows, RowMap)) or (
            equations_of(made) and not isinstance(made, (View, Join))
        )
        if computes:
            self.launches[region, position] = False

    def _word(self, region: str, step: int, argument: Any) -> int:
        batch, program = self.batch, self.program
        match argument:
            case RowCount(level):
                return self._count(region, step, level)
            case RowsOf(var):
                return self._address(self._root(region, step, var))
            case OnceValue(var):
                return self._address(self.once[var])
            case SlabRows(number) | SlabIndex(number):
                _, gather = program.gathers[number]
                a, z = batch.span(region, gather.result.rows, step)
                index = np.stack([np.asarray(batch.rows[n][a:z], np.int32) for n in gather.operands], 1)
                index = index.reshape(-1)
                slab = self.slabs[program.operands[gather.operands[0]].slab]
                ranged = batch.ranges and is_range(index)
                if isinstance(argument, SlabIndex):
                    return 0 if ranged else self._address(index)
                return self._address(slab[int(index[0]) :] if ranged else slab)
            case GradientRows(number):
                a, _ = batch.span(region, max(program.results[number][1], ROW), step)
                return self._address(self.gradients[number][a:])
            case PullOffsets(number):
                if number not in self.pulled:
                    return 0
                a, _ = batch.span(region, max(program.results[number][1], ROW), step)
                return self._address(np.asarray(self.pulled[number][0], np.int32)[a:])
            case PullPlaces(number):
                return (
                    self._address(np.asarray(self.pulled[number][1], np.int32))
                    if number in self.pulled
                    else 0
                )
            case PullValues(number):
                return self._address(self.pulled[number][2]) if number in self.pulled else 0
            case SegmentOffsets(level):
                return self._address(np.asarray(batch.segments(region, level, step).offsets, np.int32))
            case SegmentRows(level):
                return self._address(np.asarray(batch.segments(region, level, step).ids, np.int32))
            case DropoutKeys():
                a, _ = batch.span(region, ROW, step)
                return self._address(batch.keys[a:])
            case ScatterRowsOf(number):
                a, _ = batch.span(region, program.scatters[number][1].operand.rows, step)
                return self._address(self.scatters[number][a:])
            case ResultRowsOf(number):
                a, _ = batch.span(region, max(program.results[number][1], ROW), step)
                return self._address(self.results[number][a:])
        raise AssertionError(argument)

    def _address(self, array: Any) -> int:
        assert array.flags.c_contiguous
        self.alive.append(array)
        return int(array.ctypes.data)

    # where values lie

    def _root(self, region: str, step: int, var: Var) -> Any:
        """The step's rows of a value that has memory of its own."""
        place = self.program.memory[var]
        assert not isinstance(place, RangeOf)
        a, z = self.batch.span(region, var.rows, step)
        match place:
            case Scratch(number):
                return self.scratch[number][: z - a]
            case ResultRows(number):
                return self.results[number][a:z]
            case ScatterRows(number):
                return self.scatters[number][a:z]
            case PulledRows(number):
                return self.gradients[number][a:z]
        return self.memory[place][a:z]

    def _rows(self, region: str, step: int, var: Var) -> Any:
        place = self.program.memory[var]
        if not isinstance(place, RangeOf):
            return self._root(region, step, var)
        whole = self._rows(region, step, place.whole)
        return whole[(..., slice(place.start, place.stop), *(slice(None),) * (-1 - place.axis))]

    def _read(self, region: str, step: int, var: Var) -> Any:
        if var.rows == INVARIANT:
            return self.once[var] if var in self.once else self.late[var]
        if var in self.program.memory:
            return self._rows(region, step, var)
        _, made = self.home[var]
        a, z = self.batch.span(region, var.rows, step)
        match made:
            case Gather():
                return self._gathered(made, a, z)
            case Pull(_, number):
                return self._pulled(number, a, z)
            case LoadKeys():
                return self.batch.keys[a:z]
            case View(equation):
                return self._equation(region, step, equation)
        raise AssertionError(made)

    def _gathered(self, made: Gather, a: int, z: int) -> Any:
        slab = self.slabs[self.program.operands[made.operands[0]].slab]
        parts = [slab[np.asarray(self.batch.rows[n][a:z], np.intp)] for n in made.operands]
        return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]

    def _pulled(self, number: int, a: int, z: int) -> Any:
        value = self.gradients[number][a:z].copy()
        if number in self.pulled:
            offsets, places, values = self.pulled[number]
            for row in range(a, z):
                for place in places[offsets[row] : offsets[row + 1]]:
                    value[row - a] += values[place]
        return value

    # by NumPy

    def _plainly(self, region: str, step: int, made: Instruction) -> None:
        match made:
            case Accumulate():
                self.accumulated.append(self._read(region, step, made.operand))
            case SumRows(result, operand, equation):
                if equation is None:
                    assert operand is not None
                    value = self._read(region, step, operand)
                else:
                    value = self._equation(region, step, equation)
                self.late[result] = value.sum(axis=0)
            case Gather() | Pull() | LoadKeys() | View() | Store() | Scatter():
                pass
            case Join(equation) if equation.result in self.program.memory:
                pass
            case _:
                for equation in equations_of(made):
                    value = self._equation(region, step, equation)
                    if equation.result in self.program.memory:
                        self._rows(region, step, equation.result)[...] = value
                    else:
                        assert equation.result.rows == INVARIANT, made
                        self.late[equation.result] = value

    def _equation(self, region: str, step: int, equation: Any) -> Any:
        primitive, attributes = equation.primitive, dict(equation.attributes)
        has_rows = tuple(var.rows != INVARIANT for var in equation.operands)
        if any(has_rows):
            attributes = primitive.lift(attributes, has_rows, tuple(v.type for v in equation.operands))
        more = {}
        if primitive.segmented:
            level = max(var.rows for var in (*equation.operands, equation.result))
            more["segments"] = self.batch.segments(region, level, step)
        run = primitive.kernel(np, **attributes)
        return run(*(self._read(region, step, v) for v in equation.operands), **more)


def _filled(count: int, shape: tuple[int, ...], dtype: str) -> Any:
    return np.full((count, *shape), 55, dtype)


def a_batch(program: Program, seed: int = 0, ranges: bool = False) -> Batch:
    """Six rows in three steps; a sequence has up to three elements for each."""
    rng = np.random.default_rng(seed)
    levels = {operand.level for operand in program.operands}
    offsets = {level: [0, *np.cumsum(rng.integers(0, 4, 6)).tolist()] for level in levels if level >= 0}
    totals = {ROW: 6} | {level: bounds[-1] for level, bounds in offsets.items()}

    def numbers(count: int, type: Any) -> Any:
        if type.dtype.startswith("float"):
            return rng.normal(size=(count, *type.shape)).astype(type.dtype)
        return rng.integers(0, 3, (count, *type.shape)).astype(type.dtype)

    slabs = {operand.slab: numbers(30, operand.type) for operand in program.operands}
    return Batch(
        [0, 1, 4, 6],
        slabs,
        [
            list(range(n, n + totals[operand.level]))
            if ranges
            else rng.integers(0, 30, totals[operand.level]).tolist()
            for n, operand in enumerate(program.operands)
        ],
        parameters=[
            numbers(1, made.result.type)[0]
            for made in program.region("once")
            if isinstance(made, LoadParameter)
        ],
        offsets=offsets,
        gradients=[numbers(totals.get(level, 6), type) for type, level in program.results],
        keys=rng.integers(0, 2**63, 6).astype("uint64"),
    )


def close(actual: Outcome, expected: Outcome, tolerance: float = 2e-6) -> None:
    """All numbers are alike."""
    for a, b in zip(actual.arrays(), expected.arrays(), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, tolerance, tolerance * max(1, np.abs(b).max(initial=0)))
