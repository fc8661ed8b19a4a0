"""Runs a program on a small batch: as emitted code, and plainly, each equation by its primitive's kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from arrows.engine.device import get_device
from arrows.engine.program.emitters.arrays import GatherArrays, RegionArrays
from arrows.engine.program.emitters.numpy import emit, emit_once
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    Scatter,
    Store,
    SumRows,
    equations_of,
)
from arrows.engine.program.program import GatheredRows, Held, Program
from arrows.ops import INVARIANT, ROW, Segments, Var
from arrows.ops.rowsparse import RowSparse

STEPWISE = ("early", "step", "step_back", "late")


@dataclass
class Batch:
    """The data of one operation of one batch, on the host.

    Attributes:
        bounds: where the rows of each step start, and where the last end.
        slabs: by number.
        rows: for each operand of the program, the rows of its slab.
        parameters: in the order of `LoadParameter`.
        components: where the rows of each component start, and where the last end.
        offsets: for each sequence, where the elements of each row start, and where the last end.
        gradients: for each result.
        keys: of dropout.
        ranges: whether rows that are a range of their slab are taken as one.
        outputs: for results that lie in a slab that is read, their slab and first row.
    """

    bounds: Sequence[int]
    slabs: Mapping[int, Any]
    rows: Sequence[Sequence[int]]
    parameters: Sequence[Any] = ()
    components: Sequence[int] | None = None
    offsets: Mapping[int, Sequence[int]] = field(default_factory=dict)
    gradients: Sequence[Any] = ()
    keys: Any = None
    ranges: bool = True
    outputs: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return self.bounds[-1]

    def total(self, level: int) -> int:
        return self.count if level == ROW else self.offsets[level][-1]

    def bounds_of(self, region: str) -> list[int]:
        if region == "deferred":
            return [0, self.count]
        if region in ("early", "late"):
            return list(self.components or (0, self.count))
        return list(self.bounds)

    def span(self, region: str, level: int, step: int) -> tuple[int, int]:
        """Where the rows of a level start and stop in a step."""
        a, z = self.bounds_of(region)[step : step + 2]
        return (a, z) if level == ROW else (self.offsets[level][a], self.offsets[level][z])

    def segments(self, region: str, level: int, step: int, up: Any = np.asarray) -> Segments:
        a, z = self.bounds_of(region)[step : step + 2]
        offsets = np.asarray(self.offsets[level][a : z + 1])
        segments = Segments.of(np, offsets - offsets[0])
        return replace(segments, offsets=up(segments.offsets), ids=up(segments.ids))


@dataclass
class Outcome:
    """What a program has computed: results, the gradients to scatter, and those of parameters, in order."""

    results: list[Any]
    scatters: list[Any]
    accumulated: list[Any]

    def arrays(self) -> list[Any]:
        dense = [value.to_dense(np) if isinstance(value, RowSparse) else value for value in self.accumulated]
        return [*self.results, *self.scatters, *dense]


def is_range(index: Any) -> bool:
    return len(index) > 0 and np.array_equal(index, np.arange(index[0], index[0] + len(index)))


def steps_of(batch: Batch, region: str) -> range:
    steps = range(len(batch.bounds_of(region)) - 1)
    return steps[::-1] if region == "step_back" else steps


# --------------------------------------------------------------------------------------------- plainly


def plainly(program: Program, batch: Batch) -> Outcome:
    """The program without its memory, each equation by the kernel of its primitive."""
    return _Plain(program, batch).run()


class _Plain:
    def __init__(self, program: Program, batch: Batch) -> None:
        self.program, self.batch = program, batch
        self.values: dict[Var, Any] = {}
        self.slabs = {number: slab.copy() for number, slab in batch.slabs.items()}
        self.results = [
            np.zeros((batch.total(max(level, ROW)), *type.shape), type.dtype)
            for type, level in program.results
        ]
        for number, (slab, first) in batch.outputs.items():
            self.results[number] = self.slabs[slab][first : first + batch.count]
        self.scatters: list[Any] = [
            np.zeros((batch.total(made.operand.rows), *made.operand.type.shape), made.operand.type.dtype)
            for _, made in program.scatters
        ]
        self.accumulated: list[Any] = []

    def run(self) -> Outcome:
        parameters = iter(self.batch.parameters)
        for made in self.program.region("once"):
            if isinstance(made, LoadConstant):
                self.values[made.result] = made.array
            elif isinstance(made, LoadParameter):
                self.values[made.result] = next(parameters)
            else:
                for equation in equations_of(made):
                    run = equation.primitive.kernel(np, **dict(equation.attributes))
                    self.values[equation.result] = run(*(self.values[v] for v in equation.operands))
        for region in (*STEPWISE, "deferred"):
            for step in steps_of(self.batch, region):
                for made in self.program.region(region):
                    self._instruction(region, step, made)
        return Outcome(self.results, self.scatters, self.accumulated)

    def _read(self, region: str, step: int, var: Var) -> Any:
        if var.rows == INVARIANT:
            return self.values[var]
        return self.values[var][slice(*self.batch.span(region, var.rows, step))]

    def _write(self, region: str, step: int, var: Var, value: Any) -> None:
        if var.rows == INVARIANT:
            self.values[var] = value
            return
        if var not in self.values:
            shape = (self.batch.total(var.rows), *var.type.shape)
            self.values[var] = np.full(shape, 77, var.type.dtype)
        a, z = self.batch.span(region, var.rows, step)
        assert np.shape(value) == (z - a, *var.type.shape), var
        self.values[var][a:z] = value

    def _instruction(self, region: str, step: int, made: Any) -> None:
        batch = self.batch
        if isinstance(made, Gather):
            a, z = batch.span(region, made.result.rows, step)
            parts = [
                self.slabs[self.program.operands[n].slab][np.asarray(batch.rows[n][a:z], np.intp)]
                for n in made.operands
            ]
            self._write(region, step, made.result, np.concatenate(parts, 1) if len(parts) > 1 else parts[0])
        elif isinstance(made, LoadKeys):
            self.values[made.result] = batch.keys
        elif isinstance(made, Pull):
            self.values[made.result] = batch.gradients[made.number]
        elif isinstance(made, Store):
            target = self.results[made.number]
            a, z = batch.span(region, max(self.program.results[made.number][1], ROW), step)
            target[a:z] = self._read(region, step, made.operand)
        elif isinstance(made, Scatter):
            number = [other for _, other in self.program.scatters].index(made)
            a, z = batch.span(region, made.operand.rows, step)
            self.scatters[number][a:z] = self._read(region, step, made.operand)
        elif isinstance(made, Accumulate):
            self.accumulated.append(self._read(region, step, made.operand))
        elif isinstance(made, SumRows) and made.equation is None:
            self.values[made.result] = self._read(region, step, made.operand).sum(axis=0)
        else:
            for equation in equations_of(made):
                value = self._equation(region, step, equation)
                if isinstance(made, SumRows):
                    self.values[made.result] = value.sum(axis=0)
                else:
                    self._write(region, step, equation.result, value)

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


# ------------------------------------------------------------------------------------------ as emitted


def emitted(
    program: Program,
    batch: Batch,
    device: str = "cpu",
    *,
    jit: bool = False,
    tick: Any = None,
    targets: bool = True,
    one_by_one: bool = False,
) -> Outcome:
    """The program as emitted code.

    Args:
        program: with memory.
        batch: the data.
        device: `cpu` or `fake`.
        jit: whether several equations are one loop.
        tick: as of `emit`.
        targets: whether gradients of parameters are written to arrays that are handed in.
        one_by_one: whether each step is a call of its own.
    """
    bound = Bound(program, batch, device)
    for region in (*STEPWISE, "deferred"):
        code = emit(program, region, bound.device.xp, jit=jit, tick=tick)
        if code is None:
            continue
        run = code.make(bound.arrays(region))
        if region == "deferred":
            bound.accumulate(run, targets)
        elif one_by_one:
            for step in steps_of(batch, region):
                run(step, step + 1)
        else:
            run(0, len(steps_of(batch, region)))
    return bound.outcome()


class Bound:
    """The arrays of one batch."""

    def __init__(self, program: Program, batch: Batch, device: str = "cpu") -> None:
        self.program, self.batch, self.device = program, batch, get_device(device)
        up = self.device.to_device
        once = emit_once(program, self.device)
        constants = [up(np.asarray(array)) for array in once.constants]
        steps = sum(z - a > 8 for a, z in pairwise(batch.bounds))
        self.once = once.compute(constants, [up(array) for array in batch.parameters], steps)
        self.slabs = {number: up(np.array(slab)) for number, slab in batch.slabs.items()}
        self.results = [
            self._filled((batch.total(max(level, ROW)), *type.shape), type.dtype)
            for type, level in program.results
        ]
        for number, (slab, first) in batch.outputs.items():
            self.results[number] = self.slabs[slab][first : first + batch.count]
        self.scatters = [
            self._filled((batch.total(made.operand.rows), *made.operand.type.shape), made.operand.type.dtype)
            for _, made in program.scatters
        ]
        held: dict[bool, dict[int, Any]] = {False: {}, True: {}}
        for var, place in program.memory.items():
            if isinstance(place, Held):
                held[place.backward][place.number] = self._filled(
                    (batch.total(var.rows), *var.type.shape), var.type.dtype
                )
        self.kept, self.saved = (
            [held[backward][n] for n in range(len(held[backward]))] for backward in (False, True)
        )
        self.gathers = {
            number: self._gather(region, made) for number, (region, made) in enumerate(program.gathers)
        }
        self.pulled: list[int] = []
        self.accumulated: list[Any] = []

    def _filled(self, shape: tuple[int, ...], dtype: str) -> Any:
        """An array of what nothing should read."""
        return self.device.to_device(np.full(shape, 55, dtype))

    def _gather(self, region: str, made: Gather) -> GatherArrays:
        batch, width, var = self.batch, len(made.operands), made.result
        operand = self.program.operands[made.operands[0]]
        slab = self.slabs[operand.slab]
        index = np.stack([np.asarray(batch.rows[n], np.intp) for n in made.operands], 1).reshape(-1)
        total = len(index) // width
        spans = [batch.span(region, var.rows, step) for step in steps_of(batch, region)]
        held = self.program.memory.get(var)
        assert held is None or isinstance(held, GatheredRows)
        uploaded = self.device.to_device(index.astype(self.device.index_dtype))
        if batch.ranges and is_range(index):
            rows = slab[int(index[0]) : int(index[0]) + len(index)].reshape((total, *var.type.shape))
            return GatherArrays(slab=slab, index=None, first=None, rows=rows, buffer=None)
        first = []
        for a, z in spans:
            step = index[width * a : width * z]
            a_range = (
                batch.ranges and len(step) and np.array_equal(step, np.arange(step[0], step[0] + len(step)))
            )
            first.append(int(step[0]) if a_range else -1)
        longest = max((z - a for a, z in spans), default=0)
        return GatherArrays(
            slab=slab,
            index=uploaded if -1 in first else None,
            first=first,
            rows=self._filled((total, *var.type.shape), var.type.dtype) if held else None,
            buffer=None if held else self._filled((longest, *var.type.shape), var.type.dtype),
        )

    def arrays(self, region: str) -> RegionArrays:
        batch, steps = self.batch, sorted(steps_of(self.batch, region))
        scratch = []
        for slot in self.program.scratch.get(region, ()):
            lengths = [z - a for a, z in (batch.span(region, slot.level, step) for step in steps)]
            scratch.append(self._filled((max(lengths, default=0), *slot.shape), slot.dtype))
        segments = {
            level: [
                (*batch.span(region, level, step), batch.segments(region, level, step, self.device.to_device))
                for step in steps
            ]
            for level in batch.offsets
        }
        return RegionArrays(
            once=self.once,
            bounds=batch.bounds_of(region),
            segments=segments,
            gathers=self.gathers,
            results=self.results,
            gradients=[self.device.to_device(array) for array in batch.gradients],
            kept=self.kept,
            saved=self.saved,
            scatters=self.scatters,
            keys=None if batch.keys is None else self.device.to_device(batch.keys),
            scratch=scratch,
            pulls=[self.pulled.append],
            device=self.device,
        )

    def accumulate(self, run: Any, targets: bool) -> None:
        made = [made for made in self.program.region("deferred") if isinstance(made, Accumulate)]
        arrays = [
            self._filled(one.operand.type.shape, one.operand.type.dtype)
            if targets and one.region is not None
            else None
            for one in made
        ]
        values = run(arrays, [None] * len(arrays))  # no other operation has begun these gradients
        self.accumulated = [
            value if array is None else array for value, array in zip(values, arrays, strict=True)
        ]

    def outcome(self) -> Outcome:
        down = self.device.to_numpy

        def fetched(value: Any) -> Any:
            if isinstance(value, RowSparse):
                return RowSparse(down(value.rows), down(value.values), value.shape)
            return down(value) if self.device.is_array(value) else np.asarray(value)

        return Outcome(
            [down(array) for array in self.results],
            [down(array) for array in self.scatters],
            [fetched(value) for value in self.accumulated],
        )


def agree(actual: Outcome, expected: Outcome, tolerance: float = 0.0) -> None:
    """All arrays are alike."""
    left, right = actual.arrays(), expected.arrays()
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        if tolerance:
            assert np.abs(a - b).max(initial=0) <= tolerance * (1 + np.abs(b).max(initial=0))
        else:
            assert np.array_equal(a, b, equal_nan=True), (a, b)
