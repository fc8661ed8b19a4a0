"""Writes a region as straight-line Python over arrays: a loop over steps, `out=` throughout, no allocation.

A step of one row should cost little Python, so that deep chains run fast.  What holds for a batch is bound
once (`make`), also the views of the arrays that lie ready for all rows; what depends on the number of rows
alone, which is scratch and its views, is bound where that number changes; a step slices the rest.

A `Frame` is what the generated functions of a program are bound to: the arrays of one batch.  A kernel in C
(`arrows.engine.cuda`) names its words by an `Argument`; where a batch is bound, each becomes a column of the
table of launches.  `Calls` are the functions that generated code calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.engine.device import Device, KernelSource, Sent, compiled
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    attribute,
    in_range,
    is_join,
    is_view,
)
from arrows.engine.program.numbers import python_source
from arrows.engine.program.program import Place, Program, RangeOf
from arrows.ops import (
    INVARIANT,
    ROW,
    Equation,
    IndexOutOfRange,
    Parameter,
    RowSparse,
    Run,
    Segments,
    SumRun,
    Var,
    sum_rows,
)
from arrows.typesys import ArrowValueError, types as T

SegmentBounds = tuple[int, int, Segments]
"""Of one step: where the elements of a sequence start and stop, and the bounds of each row's elements."""


@dataclass(frozen=True, slots=True)
class DistinctIndices:
    """Indices that a gather reads from examples, which the host has sorted, on a device with kernels.

    Attributes:
        rows: the distinct indices, ascending.
        order: int32, the places of the indices among the gathered rows, sorted by index.
        starts: int32, where the places of each of ``rows`` start in ``order``, and where the last end.
    """

    rows: Sent
    order: Sent
    starts: Sent


@dataclass(frozen=True, slots=True)
class RowIndex:
    """Which rows of its slab one gather of a batch reads.

    Attributes:
        first: for each step, the first row if its rows are a range, else -1; None where later regions read
            the rows of all steps, and these are one range: there is nothing to copy.
        sent: the numbers of the rows, for all steps; None where every step reads a range.
        indices: the gathered numbers, if a table's gradient is summed by them and the host knows them.
    """

    first: Sequence[int] | None
    sent: Sent | None
    indices: DistinctIndices | None

    @property
    def index(self) -> Array | None:
        """The numbers of the rows on the device."""
        return None if self.sent is None else self.sent.array


@dataclass(frozen=True, slots=True)
class PlacesOfRows:
    """Where the rows of a result have places in another array, on a device with kernels.

    Attributes:
        offsets: int32, for each row where its places start, and where the last end.
        places: int32, the rows of ``values`` that are its places, row after row.
        values: the gradients that readers of the result's slab have left, which rows take.
    """

    offsets: Sent
    places: Sent
    values: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What all regions of one operation are bound to for one batch.

    Attributes:
        device: where the arrays are.
        once: the values of the region ``once``, in the order of its instructions' results.
        bounds: by region, where the rows of each step (of each component, in ``early`` and ``late``) start,
            and where the last end; ``[0, count]`` in ``deferred``.
        segments: by region and sequence, its bounds at each step.
        gathers: by number of the gather in the program.
        memory: arrays by kind and number.  For all rows: each ``result``, and its ``gradient``, if one comes
            in; what is ``kept``; where each ``scatter`` waits.  By region, its scratch arrays,
            for the longest step.  By gather, its ``slab``, and the ``gathered`` rows: all of them, if later
            regions read them, else memory for one step, with rows as those of the slab; where kernels read
            the slab, all of them if they are a range of it, else none.  ``spread``: what ``early`` makes of
            distinct rows, and ``sums``, by distinct row, as `Distinct` lists them.
        keys: the dropout keys of all rows.
        pulls: called with the number of a step before it runs backwards: they add to its rows of gradients
            what the readers of these rows have left.
        places: on a device with kernels, for each result what its rows take; ``pulls`` is empty there.
        ones: gives so many ones of an element type.
    """

    device: Device
    once: Sequence[Array]
    bounds: Mapping[str, Sequence[int]]
    segments: Mapping[str, Mapping[int, Sequence[SegmentBounds]]]
    gathers: Sequence[RowIndex]
    memory: Mapping[tuple[str, int], Array]
    keys: Array | None
    pulls: Sequence[Callable[[int], None]]
    places: Mapping[int, PlacesOfRows]
    ones: Callable[[int, str], Array]


class StepRefused(Exception):
    """A kernel refused the operands of a step."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


class Argument(NamedTuple):
    """A number, or an address, that differs from step to step.

    Attributes:
        kind: what, of the step:

            * ``count``: how many rows it has at a level: the operation's rows, or the elements of a sequence.
            * ``rows``: its rows of a value that has memory, but no range of another's; rows lie together.
            * ``result``, ``gradient``, ``scatter``: its rows of this `Place`.
            * ``once``: a value without rows, of the region ``once``; its numbers lie together.
            * ``slab``: the rows that a gather reads: row ``index[r]`` for row r of the step.
            * ``index``: its part of a gather's index, int32; for a gather of k operands side by side, k
              numbers for each row.  0 where the step reads a range: row r is then row r of ``slab``.
            * ``pull offsets``: int32: row r of a result takes ``places[offsets[r]:offsets[r + 1]]`` of the
              values besides.  0 where no row takes any.
            * ``pull places``: int32, the places of all steps: what the offsets count from 0.
            * ``pull values``: the gradients that places number; rows lie together.
            * ``segment offsets``: int32, rows + 1 of them: the elements of row r, counted from 0 in the step.
            * ``segment rows``: int32, each element's row, counted from 0 in the step.
            * ``keys``: its dropout keys, uint64.
        of: the value of ``rows`` and ``once``; else the number of the level, of the gather or scatter in the
            program, or of the result.
    """

    kind: str
    of: Var | int


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel of an instruction.

    Attributes:
        source: the kernel.
        arguments: what its words stand for; the first is how many rows it has.
    """

    source: KernelSource
    arguments: tuple[Argument, ...]


class Calls:
    """What a generated function calls, by name.

    Args:
        xp: the array module.

    Attributes:
        namespace: the functions; a name is a primitive's, and a number.
    """

    def __init__(self, xp: ArrayModule) -> None:
        self.xp = xp
        self.namespace: dict[str, object] = {}
        self._names: dict[int, str] = {}  # by identity of the function

    def add(self, function: Callable[..., Any], name: str) -> str:
        """The name of a function; one function has one name."""
        if id(function) not in self._names:
            self._names[id(function)] = unique = f"{name}_{len(self.namespace)}"
            self.namespace[unique] = function
        return self._names[id(function)]

    def kernel(self, equation: Equation) -> Run:
        """The kernel of an equation, for operands with rows where they have some."""
        _, _, attributes = _lifted(equation)
        return equation.primitive.kernel(self.xp, **attributes)

    def call(self, equation: Equation, operands: Sequence[str], out: str | None = None) -> str:
        """A call of an equation's kernel.

        Args:
            equation: what is computed.
            operands: code for its operands.
            out: code for the array to write to; None: a new one.
        """
        kernel = self.kernel(equation)
        arguments = list(operands)
        if equation.primitive.segmented:
            level = max(var.rows for var in (*equation.operands, equation.result))
            arguments.append(f"segments=g{level}")
        if equation.primitive is in_range:
            arguments.append("to_numpy=to_numpy")
        if out is not None:
            # NumPy's own functions take it faster without a keyword; of these two that is deprecated.
            by_place = isinstance(kernel, np.ufunc) and kernel not in (np.maximum, np.minimum)
            arguments.append(out if by_place else f"out={out}")
        return f"{self.add(kernel, equation.primitive.name)}({', '.join(arguments)})"

    def sum_rows(self, instruction: SumRows, operands: Sequence[str], out: str | None) -> str:
        """A call that sums over rows; arguments as of `call`."""
        arguments = [*operands] if out is None else [*operands, f"out={out}"]
        equation = instruction.summed
        if isinstance(equation, Var):
            return f"{self.add(sum_rows, 'sum_rows')}({', '.join(arguments)})"
        run = sum_run(self.xp, equation)
        assert run is not None
        if not instruction.sparse and equation.primitive.name == "scatter_row":
            run = _to_dense(self.xp, run)
        return f"{self.add(run, 'sum_' + equation.primitive.name)}({', '.join(arguments)})"

    def loops(self, loops: RowMap, arguments: Sequence[str]) -> str:
        """A call of a `RowMap` compiled into one loop, with code for what it reads and writes."""
        function = compiled(python_source(loops))
        return f"{self.add(function, 'loops')}({', '.join(arguments)})"


def sum_run(xp: ArrayModule, equation: Equation) -> SumRun | None:
    """What sums the rows of an equation without making them, if its primitive knows how."""
    if equation.primitive.sum_rows is None:
        return None
    has_rows, types, attributes = _lifted(equation)
    return equation.primitive.sum_rows(xp, has_rows, types, **attributes)


def _lifted(equation: Equation) -> tuple[tuple[bool, ...], tuple[T.Tensor, ...], dict[str, Any]]:
    """Which operands have rows, their types, and the attributes of a kernel for all rows."""
    has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
    types, attributes = tuple(operand.type for operand in equation.operands), dict(equation.attributes)
    return (
        has_rows,
        types,
        equation.primitive.lift(attributes, has_rows, types) if any(has_rows) else attributes,
    )


def _to_dense(xp: ArrayModule, run: SumRun) -> Run:
    """A sum over rows that never gives a row-sparse array: what reads it takes arrays alone."""

    def dense(*operands: Array, out: Array | None = None) -> Array:
        value = run(*operands, out=out)
        return value.to_dense(xp) if isinstance(value, RowSparse) else value

    return dense


Tick = Callable[[str, int], None]
"""Called with a region and the position of the instruction in it that has just run."""


@dataclass(frozen=True, slots=True)
class RegionCode:
    """A region as a function.

    Attributes:
        make: binds it to the arrays of a batch.  What it returns is called with the first step and the one
            after the last (in ``step_back`` they run in reverse), in ``deferred`` with the arrays to write
            the operands of the `Accumulate` instructions to (None: a new one) and gives these.
        source: the Python source, for people.
        kernels: those in C that it launches.
    """

    make: Callable[[Frame], Callable[..., Any]]
    source: str
    kernels: tuple[CKernel, ...] = ()


def emit(program: Program, region: str, xp: ArrayModule, *, tick: Tick | None = None) -> RegionCode | None:
    """Writes a region; None where it has no instructions.

    Args:
        program: with memory.
        region: any but ``once``.
        xp: the array module.
        tick: called after each instruction, for a profile.
    """
    return RegionWriter(program, region, xp, tick).code() if program.region(region) else None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that lie in an array of the batch, or in a view of it.

    Attributes:
        array: the name of what is bound for the batch.
        level: what counts the rows.
        contiguous: whether the array lies together in memory, so that a reshape is a view.
        scratch: whether the rows of a step are the first ones, else those of the step.
    """

    array: str
    level: int
    contiguous: bool
    scratch: bool


class RegionWriter:
    """Writes the function of one region; arguments as of `emit`.

    Values are bound to arrays three times: for the batch, for a number of rows, for a step.  What lies ready
    for all rows is bound once, with its views; a step slices the rows that it reads.  Scratch, and its views,
    depend on how many rows there are.

    Attributes:
        batch: what is bound for the batch: code, by name.
        sized: what is bound for a number of rows: code, by name.
        body: the lines of a step.
        names: of values.
        levels: those whose bounds are read: ``a``, ``z`` and ``n`` of rows, ``a0``, ``z0``, ``n0`` and the
            segments ``g0`` of the elements of sequence 0.
        sized_levels: those whose number of rows ``sized`` depends on.
        made_by: the instructions with rows, by what they make.
    """

    def __init__(self, program: Program, region: str, xp: ArrayModule, tick: Tick | None) -> None:
        self.program, self.region, self.xp, self.tick = program, region, xp, tick
        self.whole = region == "deferred"
        self.calls = Calls(xp)
        self.batch: dict[str, str] = {}
        self.sized: dict[str, str] = {}
        self.body: list[str] = []
        self.names: dict[Var, str] = {}
        self.levels: set[int] = set()
        self.sized_levels: set[int] = set()
        self.made_by = {var: each for name, each in program if name != "once" for var in each.writes}
        self.gathers = program.gather_numbers
        instructions = program.region(region)
        self.accumulates = [each for each in instructions if isinstance(each, Accumulate)]
        self.reads = Counter(var for instruction in instructions for var in instruction.reads)
        self._rows: dict[Var, Rows | None] = {}
        self._slices: dict[str, str] = {}  # the names of rows of a step, by that of their array

    # ------------------------------------------------------------------------------------- the function

    def code(self) -> RegionCode:
        """The whole function."""
        for position, instruction in enumerate(self.program.region(self.region)):
            self._write(instruction)
            if self.tick is not None:
                self.body.append(f"tick({self.region!r}, {position})")
        lines = ["def make(arrays):"]
        run = self._deferred() if self.whole else self._steps()
        lines += [f"    {name} = {code}" for name, code in self.batch.items()]
        lines += ["    " + line for line in run]
        lines.append("    return run")
        source = "\n".join(lines) + "\n"
        namespace: dict[str, Any] = dict(self.calls.namespace)
        namespace |= {"StepRefused": StepRefused, "refusals": (IndexOutOfRange, ArrowValueError)}
        namespace["tick"] = self.tick
        exec(compile(source, f"<arrows {self.region} of {self.program.name}>", "exec"), namespace)
        return RegionCode(namespace["make"], source)

    def _steps(self) -> list[str]:
        """The function of a region that runs step by step."""
        head = self._bounds("j")
        sizes = {f"size{suffix(level)}": f"n{suffix(level)}" for level in sorted(self.sized_levels)}
        if sizes:
            head.append(f"if {' or '.join(f'{n} != {size}' for size, n in sizes.items())}:")
            head += [f"    {size} = {n}" for size, n in sizes.items()]
            head += [f"    {name} = {code}" for name, code in self.sized.items()]
        backward = self.region == "step_back"
        if backward:
            self.bound("pulls", "arrays.pulls")
            head = ["for pull in pulls:", "    pull(j)", *head]
        return [
            "def run(first, stop):",
            *(f"    {size} = None" for size in sizes),
            "    try:",
            f"        for j in range({'stop - 1, first - 1, -1' if backward else 'first, stop'}):",
            *("            " + line for line in ([*head, *self.body] or ["pass"])),
            "    except refusals as error:",
            "        raise StepRefused(j) from error",
        ]

    def _deferred(self) -> list[str]:
        """The function of the region that runs once over all rows."""
        sized = [f"{name} = {code}" for name, code in self.sized.items()]
        lines = [*self._bounds("0"), *sized, *self.body]
        values = []
        for number, instruction in enumerate(self.accumulates):
            value = self.name(instruction.operand)
            values.append(value)
            if instruction.region is not None:
                target = f"targets[{number}]"
                lines.append(f"if {target} is not None and {value} is not {target}:")
                lines.append(f"    {target}[...] = {value}")
        lines.append(f"return ({''.join(value + ', ' for value in values)})")
        return ["def run(targets, added):", *("    " + line for line in lines)]

    def _bounds(self, step: str) -> list[str]:
        """Where the rows of a step start and stop, and how many there are."""
        words = set(re.findall(r"\w+", " ".join([*self.body, *self.sized.values()])))
        lines = []
        for level in sorted(self.levels):
            end = suffix(level)
            if level == ROW:
                self.bound("bounds", f"arrays.bounds[{self.region!r}]")
                lines += [f"a = bounds[{step}]", f"z = bounds[{step} + 1]"]
            else:
                self.bound(f"segments{end}", f"arrays.segments[{self.region!r}][{level}]")
                lines.append(f"a{end}, z{end}, g{end} = segments{end}[{step}]")
            if f"n{end}" in words:
                lines.append(f"n{end} = z{end} - a{end}")
        return lines

    # ------------------------------------------------------------------------------------------- values

    def bound(self, name: str, code: str) -> str:
        """The name of what is bound for the batch."""
        self.batch[name] = code
        return name

    def assign(self, var: Var, code: str) -> None:
        """Gives a value that has no memory a name."""
        self.names[var] = f"v{var.id}"
        self.body.append(f"v{var.id} = {code}")

    def name(self, var: Var) -> str:
        """The name of a value; its rows of the step are sliced where it is first named."""
        if var not in self.names:
            if var in self.program.once_numbers:
                number = self.program.once_numbers[var]
                return self.bound(f"i{number}", f"arrays.once[{number}]")
            rows = self.rows(var)
            assert rows is not None, var
            self.names[var] = self.sliced(rows)
        return self.names[var]

    def number(self, var: Var) -> str:
        """The name of a value, without axes if it is a single number of ``once``: NumPy's functions of
        elements take 0.3 us longer where it has axes of length 1."""
        if var not in self.program.once_numbers or not var.type.shape or var.type.size != 1:
            return self.name(var)
        return self.bound(f"{self.name(var)}n", f"{self.name(var)}.reshape(())")

    def sliced(self, rows: Rows) -> str:
        """The name of the rows of a step."""
        if rows.array in self._slices:
            return self._slices[rows.array]
        end = suffix(rows.level)
        if rows.scratch:
            self.levels.add(rows.level)
            self.sized_levels.add(rows.level)
            name = f"{rows.array}n"
            self.sized[name] = f"{rows.array}[:n{end}]"
        elif self.whole:
            name = rows.array
        else:
            self.levels.add(rows.level)
            name = f"{rows.array}s"
            self.body.append(f"{name} = {rows.array}[a{end}:z{end}]")
        self._slices[rows.array] = name
        return name

    def rows(self, var: Var) -> Rows | None:
        """Where the rows of a value lie, if in an array of the batch."""
        if var not in self._rows:
            self._rows[var] = self._find_rows(var)
        return self._rows[var]

    def _find_rows(self, var: Var) -> Rows | None:
        scratch = False
        match self.program.memory.get(var):
            case Place(kind, number) as place:
                scratch = kind == "scratch"
                array = self.memory(self.region, number) if scratch else self.memory(*self._array_of(place))
            case RangeOf(whole, axis, start, stop):
                return self.range(whole, axis, start, stop)
            case None:
                match self.made_by.get(var):
                    case Pull(_, number):
                        array = self.memory("gradient", number)
                    case LoadKeys():
                        array = self.bound("keys", "arrays.keys")
                    case Equation() as view if is_view(view):
                        return self._rows_of_view(view)
                    case _:
                        return None
        return Rows(array, var.rows, contiguous=True, scratch=scratch)

    def memory(self, kind: str, number: int) -> str:
        """The name of an array of `Frame.memory`."""
        return self.bound(f"{kind}{number}", f"arrays.memory.get(({kind!r}, {number}))")

    def _array_of(self, place: Place) -> tuple[str, int]:
        """The array of `Frame.memory`: that of distinct rows where the region runs over these."""
        kind = {"early": "spread", "late": "sums"}.get(self.region)
        for key, of_all in self.program.distinct_places.items():
            if key[0] == kind and of_all == place:
                return key
        return place.kind, place.number

    def range(self, whole: Var, axis: int, start: int, stop: int) -> Rows:
        """A range of a value along a negative axis."""
        rows = self.rows(whole)
        assert rows is not None
        before = ":, " * (len(whole.type.shape) + axis + 1)
        return self._view(rows, f"{rows.array}[{before}{start}:{stop}]", contiguous=False)

    def _rows_of_view(self, equation: Equation) -> Rows | None:
        """Where the rows of a view lie, if it can be made of all rows at once."""
        (shown,), reshape = equation.operands, equation.primitive.name == "reshape"
        rows = self.rows(shown)
        if rows is None or (reshape and not rows.contiguous):  # which may be a copy
            return None
        if shown in self.gathers and rows.scratch:  # where nothing is copied to if it lies together already
            return None
        return self._view(rows, self.calls.call(equation, [rows.array]), contiguous=reshape)

    def _view(self, rows: Rows, code: str, *, contiguous: bool) -> Rows:
        """A view of rows, bound for the batch."""
        name = next((name for name, other in self.batch.items() if other == code), None)
        if name is None:
            name = self.bound(f"{rows.array}v{len(self.batch)}", code)
        return Rows(name, rows.level, contiguous, rows.scratch)

    # -------------------------------------------------------------------------------------- instructions

    def _write(self, instruction: Instruction) -> None:
        """Writes one instruction."""
        match instruction:
            case Gather():
                self._gather(instruction)
            case LoadKeys() | Pull():
                pass  # they lie ready
            case Store(operand=var) | Scatter(operand=var):
                target = self.program.target(instruction)
                if self.program.memory.get(var) != target:
                    self._copy(var, target)
            case Accumulate():
                self.name(instruction.operand)
            case SumRows():
                self._sum_rows(instruction)
            case RowMap(_, results):
                arguments = [self.name(var) for var in (*instruction.reads, *results)]
                self.body.append(self.calls.loops(instruction, arguments))
            case Equation() if is_view(instruction) and self.rows(instruction.result) is not None:
                pass  # it is bound before the step
            case Equation(operands=operands) if is_join(instruction) and any(
                self._lies_in(var, instruction.result) for var in operands
            ):
                self._rest_of_join(instruction)
            case Equation():
                self._compute(instruction)
            case _:
                raise AssertionError(instruction)

    def _compute(self, equation: Equation) -> None:
        bare = equation.result.rows != INVARIANT and isinstance(self.calls.kernel(equation), np.ufunc)
        operands = [self.number(v) if bare else self.name(v) for v in equation.operands]
        if equation.primitive.segmented:
            self.levels.add(max(var.rows for var in (*equation.operands, equation.result)))
        if equation.primitive is in_range:
            self.bound("to_numpy", "arrays.device.to_numpy")
        if equation.result in self.program.memory:
            self.body.append(self.calls.call(equation, operands, self.name(equation.result)))
        else:
            self.assign(equation.result, self.calls.call(equation, operands))

    def _copy(self, var: Var, target: Place) -> None:
        """Copies a value to where it goes; as a result it may be the same for all rows."""
        array = self.memory(target.kind, target.number)
        level = max(self.program.results[target.number][1], ROW) if var.rows == INVARIANT else var.rows
        end = suffix(level)
        self.levels.add(level)
        value = self.name(var)
        self.body.append(f"{array}[a{end}:z{end}] = {value}")

    def _gather(self, gather: Gather) -> None:
        """Fetches rows: to memory for all rows, or where they are wanted for the step alone."""
        var, number, width = gather.result, self.gathers[gather.result], len(gather.operands)
        self.levels.add(var.rows)
        slab, gathered, end = self.memory("slab", number), self.memory("gathered", number), suffix(var.rows)
        first = self.bound(f"first{number}", f"arrays.gathers[{number}].first")
        index = self.bound(f"index{number}", f"arrays.gathers[{number}].index")
        times = apart = joined = ""
        if width > 1:  # so many rows of the slab lie side by side
            times, (numbers, *rest) = f"{width} * ", var.type.shape
            joined = f".reshape((n{end}, {', '.join(map(str, (numbers, *rest)))}))"
            apart = f".reshape(({width} * n{end}, {', '.join(map(str, (numbers // width, *rest)))}))"
        held = var in self.program.memory
        target = f"{self.name(var)}{apart}" if held else f"{gathered}[:{times}n{end}]"
        take = f"{slab}.take({index}[{times}a{end}:{times}z{end}], 0, {target}, 'clip')"
        if self.xp is not np:  # whose `take` is called as `NumpyDevice` would: a step of one row costs little
            self.bound("device", "arrays.device")
            take = f"device.take({slab}, {index}[{times}a{end}:{times}z{end}]{held * f', {target}'})"
        in_range = f"{slab}[f:f + {times}n{end}]"
        if not held:
            self.assign(var, f"({in_range} if (f := {first}[j]) >= 0 else {take}){joined}")
            return
        self.body += [f"if {first} is not None:", f"    f = {first}[j]"]
        self.body += [f"    if f >= 0: {self.name(var)}[...] = {in_range}{joined}", f"    else: {take}"]

    def _lies_in(self, var: Var, whole: Var) -> bool:
        """Whether a value is computed in its range of another."""
        memory = self.program.memory.get(var)
        return isinstance(memory, RangeOf) and memory.whole == whole

    def _rest_of_join(self, equation: Equation) -> None:
        """Copies the parts that do not lie in their range already."""
        axis: int = attribute(equation, "axis")
        start = 0
        for var in equation.operands:
            stop = start + var.type.shape[axis]
            if not self._lies_in(var, equation.result):
                rows = self.range(equation.result, axis, start, stop)
                value = self.name(var)
                self.body.append(f"{self.sliced(rows)}[...] = {value}")
            start = stop

    def _sum_rows(self, instruction: SumRows) -> None:
        distinct = self.program.distinct
        operands = []
        for var in instruction.reads:
            if distinct is not None and instruction.result in distinct.products and var in distinct.summed:
                operands.append(self.memory("sums", distinct.summed.index(var)))
            else:
                operands.append(self.name(var))
        number = self.target_number(instruction)
        target = None if number is None else f"targets[{number}]"
        summed = self.calls.sum_rows(instruction, operands, target)
        self.assign(instruction.result, self.summed(instruction, summed))

    def summed(self, instruction: SumRows, otherwise: str) -> str:
        """Code for a sum over rows, which may be quicker than that of the array module, ``otherwise``."""
        return otherwise

    def target_number(self, instruction: SumRows) -> int | None:
        """The number of the `Accumulate` that alone reads a sum, if one does."""
        var = instruction.result
        targets = [number for number, each in enumerate(self.accumulates) if each.operand == var]
        return targets[0] if targets and self.reads[var] == 1 and not instruction.sparse else None


def once(program: Program, device: Device) -> Callable[[Callable[[object, Parameter], Array]], list[Array]]:
    """The region ``once`` as a function, which gets the array of a layer's parameter by a function.

    It gives all values of the region, in order.
    """
    calls, numbers = Calls(device.xp), program.once_numbers
    steps: list[tuple[Callable[..., Array] | None, Sequence[Any]]] = []
    for instruction in program.region("once"):
        match instruction:
            case LoadConstant(_, array):
                steps.append((partial(put, device.to_device(np.asarray(array))), ()))
            case LoadParameter(_, owner, spec):
                steps.append((None, (owner, spec)))
            case Equation(primitive, operands):
                kernel = calls.kernel(instruction)
                if primitive is in_range:
                    kernel = partial(kernel, to_numpy=device.to_numpy)
                steps.append((kernel, [numbers[operand] for operand in operands]))

    def compute(parameter: Callable[[object, Parameter], Array]) -> list[Array]:
        values: list[Array] = []
        for kernel, reads in steps:
            values.append(parameter(*reads) if kernel is None else kernel(*[values[n] for n in reads]))
        return values

    return compute


def suffix(level: int) -> str:
    """How the names of a level's bounds end."""
    return "" if level == ROW else str(level)
