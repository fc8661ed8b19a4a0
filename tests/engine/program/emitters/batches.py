"""Runs a program on a small batch: as emitted code, and plainly, each equation by its primitive's kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

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
from arrows.engine.program.program import Program
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
