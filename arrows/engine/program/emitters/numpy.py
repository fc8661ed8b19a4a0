"""Writes a region as straight-line Python over arrays: a loop over steps, `out=` throughout, no allocation.

A step of one row should cost little Python, so that deep chains run fast.  What holds for a batch is bound
once (`make`), also the views of the arrays that lie ready for all rows; what depends on the number of rows
alone, which is scratch and its views, is bound where that number changes; a step slices the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.program.contiguous_transpose import ContiguousTranspose
from arrows.engine.program.emitters.arrays import RegionArrays, StepRefused
from arrows.engine.program.emitters.kernels import Kernels
from arrows.engine.program.instructions import (
    Accumulate,
    Compute,
    Copy,
    Gather,
    Instruction,
    Join,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Map,
    Pull,
    Scatter,
    Store,
    SumRows,
    View,
    instruction_of,
)
from arrows.engine.program.ir import (
    GatheredRows,
    Held,
    Program,
    RangeOf,
    ResultRows,
    ScatterRows,
    Scratch,
)
from arrows.ops import INVARIANT, ROW, Equation, IndexOutOfRange, Var
from arrows.ops.arrays import Array, ArrayModule, HostArray
from arrows.typesys import ArrowValueError

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
    """

    make: Callable[[RegionArrays], Callable[..., Any]]
    source: str


@dataclass(frozen=True, slots=True)
class OnceCode:
    """The region ``once`` as a function.

    Attributes:
        compute: ``compute(constants, parameters, steps)`` gives all values of the region, in order; ``steps``
            counts the steps of more than a few rows (`ContiguousTranspose`).
        constants: what to hand to it.
    """

    compute: Callable[..., tuple[Array, ...]]
    constants: tuple[HostArray, ...]


def emit(
    program: Program, region: str, xp: ArrayModule, *, tick: Tick | None = None, jit: bool = False
) -> RegionCode | None:
    """Writes a region; None where it has no instructions.

    Args:
        program: with memory.
        region: any but ``once``.
        xp: the array module.
        tick: called after each instruction, for a profile.
        jit: a `Map` of several equations is compiled into one loop; else its equations run one by one.
    """
    return _RegionWriter(program, region, xp, tick, jit).code() if program.region(region) else None


def emit_once(program: Program, xp: ArrayModule) -> OnceCode:
    """Writes the region ``once``."""
    kernels = Kernels(xp)
    constants: list[HostArray] = []
    parameters = 0
    lines = ["def compute(constants, parameters, steps):"]
    for instruction in program.region("once"):
        (var,) = instruction.writes
        operands = [f"v{read.id}" for read in instruction.reads]
        match instruction:
            case LoadConstant(_, array):
                value = f"constants[{len(constants)}]"
                constants.append(array)
            case LoadParameter():
                value = f"parameters[{parameters}]"
                parameters += 1
            case Copy(equation):
                copy = kernels.add(ContiguousTranspose(kernels.kernel(equation)), "copy_transpose")
                value = f"{copy}({operands[0]}, steps)"
            case Compute(equation) | Map((equation,)):
                value = kernels.call(equation, operands)
            case _:
                raise AssertionError(instruction)
        lines.append(f"    v{var.id} = {value}")
    values = "".join(f"v{var.id}, " for made in program.region("once") for var in made.writes)
    lines.append(f"    return ({values})")
    namespace: dict[str, Any] = dict(kernels.namespace)
    exec(compile("\n".join(lines), f"<arrows once of {program.name}>", "exec"), namespace)
    return OnceCode(namespace["compute"], tuple(constants))


@dataclass(frozen=True, slots=True)
class _Rows:
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


class _RegionWriter:
    def __init__(self, program: Program, region: str, xp: ArrayModule, tick: Tick | None, jit: bool) -> None:
        self.program, self.region, self.xp, self.tick, self.jit = program, region, xp, tick, jit
        self.whole = region == "deferred"
        self.kernels = Kernels(xp)
        self.batch: dict[str, str] = {}  # what is bound for a batch, by name
        self.sized: dict[str, str] = {}  # what is bound for a number of rows, by name
        self.body: list[str] = []
        self.names: dict[Var, str] = {}
        self.slices: dict[str, str] = {}  # the names of rows of a step, by that of their array
        self.levels: set[int] = set()  # whose bounds are read
        self.loads = {var: made for name, made in program if name != "once" for var in made.writes}
        self.once = {
            var: number
            for number, var in enumerate(var for made in program.region("once") for var in made.writes)
        }
        self.gathers = {made.result: number for number, (_, made) in enumerate(program.gathers)}
        self.scatters = {id(made): number for number, (_, made) in enumerate(program.scatters)}
        accumulated = [made.operand for made in program.region(region) if isinstance(made, Accumulate)]
        self.accumulated = {var: number for number, var in enumerate(accumulated)}
        self.reads = Counter(var for made in program.region(region) for var in made.reads)

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
        namespace: dict[str, Any] = dict(self.kernels.namespace)
        namespace |= {"StepRefused": StepRefused, "refusals": (IndexOutOfRange, ArrowValueError)}
        namespace["tick"] = self.tick
        exec(compile(source, f"<arrows {self.region} of {self.program.name}>", "exec"), namespace)
        return RegionCode(namespace["make"], source)

    def _steps(self) -> list[str]:
        """The function of a region that runs step by step."""
        head = self._bounds("j")
        sizes = {f"size{_of(level)}": f"n{_of(level)}" for level in sorted(self.levels)} if self.sized else {}
        if sizes:
            head.append(f"if {' or '.join(f'{n} != {size}' for size, n in sizes.items())}:")
            head += [f"    {size} = {n}" for size, n in sizes.items()]
            head += [f"    {name} = {code}" for name, code in self.sized.items()]
        backward = self.region == "step_back"
        if backward:
            self.batch["pulls"] = "arrays.pulls"
            head = ["for pull in pulls:", "    pull(j)", *head]
        return [
            "def run(first, stop):",
            *(f"    {size} = None" for size in sizes),
            "    try:",
            f"        for j in range({'stop - 1, first - 1, -1' if backward else 'first, stop'}):",
            *("            " + line for line in (*head, *self.body)),
            "    except refusals as error:",
            "        raise StepRefused(j) from error",
        ]

    def _deferred(self) -> list[str]:
        """The function of the region that runs once over all rows."""
        lines = [*self._bounds("0"), *(f"{name} = {code}" for name, code in self.sized.items()), *self.body]
        values = []
        for number, made in enumerate(
            made for made in self.program.region(self.region) if isinstance(made, Accumulate)
        ):
            value = self.names[made.operand]
            values.append(value)
            if made.region is not None:
                target = f"targets[{number}]"
                lines.append(f"if {target} is not None and {value} is not {target}:")
                lines.append(f"    {target}[...] = {value}")
        lines.append(f"return ({''.join(value + ', ' for value in values)})")
        return ["def run(targets):", *("    " + line for line in lines)]

    def _bounds(self, step: str) -> list[str]:
        """Where the rows of a step start and stop, and how many there are."""
        lines = []
        for level in sorted(self.levels):
            of = _of(level)
            if level == ROW:
                self.batch["bounds"] = "arrays.bounds"
                lines += [f"a = bounds[{step}]", f"z = bounds[{step} + 1]"]
            else:
                self.batch[f"segments{of}"] = f"arrays.segments[{level}]"
                lines.append(f"a{of}, z{of}, g{of} = segments{of}[{step}]")
            lines.append(f"n{of} = z{of} - a{of}")
        return lines

    # -------------------------------------------------------------------------------------- instructions

    def _write(self, instruction: Instruction) -> None:
        """Writes one instruction."""
        match instruction:
            case Gather():
                self._gather(instruction)
            case LoadKeys() | Pull():
                pass  # they lie ready
            case Store(number, var):
                if self.program.memory.get(var) != ResultRows(number):
                    level = max(self.program.results[number][1], ROW)
                    self._copy(var, self._bound(f"results{number}", f"arrays.results[{number}]"), level)
            case Scatter(operands, var):
                number = self.scatters[id(instruction)]
                if self.program.memory.get(var) != ScatterRows(number):
                    level = self.program.operands[operands[0]].level
                    self._copy(var, self._bound(f"scatters{number}", f"arrays.scatters[{number}]"), level)
            case Accumulate():
                self._name(instruction.operand)
            case SumRows():
                self._sum_rows(instruction)
            case Map(equations, results) if self.jit and len(equations) > 1:
                arguments = [self._name(var) for var in (*instruction.reads, *results)]
                self.body.append(self.kernels.loops(instruction, arguments))
            case Map(equations, _) if len(equations) > 1:
                for equation in equations:
                    self.loads[equation.result] = inner = instruction_of(equation)
                    self._write(inner)
            case View(equation):
                self._view(equation)
            case Join(equation) if any(self._lies_in(var, equation.result) for var in equation.operands):
                self._rest_of_join(equation)
            case Compute(equation) | Map((equation,), _):
                self._compute(equation)
            case _:
                raise AssertionError(instruction)

    def _compute(self, equation: Equation) -> None:
        operands = [self._name(var) for var in equation.operands]
        if equation.primitive.segmented:
            self.levels.add(max(var.rows for var in (*equation.operands, equation.result)))
        if equation.result in self.program.memory:
            self.body.append(self.kernels.call(equation, operands, self._name(equation.result)))
        else:
            self._assign(equation.result, self.kernels.call(equation, operands))

    def _assign(self, var: Var, code: str) -> None:
        self.names[var] = f"v{var.id}"
        self.body.append(f"v{var.id} = {code}")

    def _copy(self, var: Var, array: str, level: int) -> None:
        """Copies a value to where it goes."""
        value = self._name(var)
        of = _of(level)
        self.levels.add(level)
        self.body.append(f"{array}[a{of}:z{of}] = {value}")

    def _gather(self, gather: Gather) -> None:
        """Fetches rows: as a range of the slab, or one by one."""
        number, var, width = self.gathers[gather.result], gather.result, len(gather.operands)
        shape = self.program.operands[gather.operands[0]].type.shape
        of = _of(var.rows)
        a, z, n = f"a{of}", f"z{of}", f"n{of}"
        self.levels.add(var.rows)
        held = var in self.program.memory
        self._bound(f"gather{number}", f"arrays.gathers[{number}]")
        for part in (
            ("slab", "index", "first", "rows") if held else ("slab", "index", "first", "rows", "buffer")
        ):
            self._bound(f"{part}{number}", f"gather{number}.{part}")
        if width > 1:
            row_range = f"slab{number}[f:f + {width} * {n}].reshape({_tuple(n, var.type.shape)})"
            index = f"index{number}[{width} * {a}:{width} * {z}]"
        else:
            row_range, index = f"slab{number}[f:f + {n}]", f"index{number}[{a}:{z}]"

        def taken(out: str) -> str:
            if width > 1:
                out = f"{out}.reshape({_tuple(f'{width} * {n}', shape)})"
            if self.xp is np:  # as its `Device.take`
                return f'slab{number}.take({index}, 0, {out}, "clip")'
            return f"take(slab{number}, {index}, {out})"

        if self.xp is not np:
            self._bound("take", "arrays.take")
        if held:
            target = self._name(var)
            self.body += [
                f"if first{number} is not None:",
                f"    f = first{number}[j]",
                "    if f >= 0:",
                f"        {target}[...] = {row_range}",
                "    else:",
                f"        {taken(target)}",
            ]
            return
        value = self.names[var] = f"v{var.id}"
        self.body += [
            f"if first{number} is None:",
            f"    {value} = rows{number}[{a}:{z}]",
            "else:",
            f"    f = first{number}[j]",
            "    if f >= 0:",
            f"        {value} = {row_range}",
            "    else:",
            f"        {value} = buffer{number}[:{n}]",
            f"        {taken(value)}",
        ]

    def _view(self, equation: Equation) -> None:
        """A view, unless it is bound before the step."""
        if self._rows(equation.result) is not None:
            return
        (operand,) = (self._name(var) for var in equation.operands)
        shown = _shown(equation)
        if shown is None:
            self._compute(equation)
            return
        if equation.primitive.name == "reshape":
            self.levels.add(equation.result.rows)
            shown = f".reshape({_tuple(f'n{_of(equation.result.rows)}', equation.result.type.shape)})"
        self._assign(equation.result, operand + shown)

    def _lies_in(self, var: Var, whole: Var) -> bool:
        """Whether a value is computed in its range of another."""
        memory = self.program.memory.get(var)
        return isinstance(memory, RangeOf) and memory.whole == whole

    def _rest_of_join(self, equation: Equation) -> None:
        """Copies the parts that do not lie in their range already."""
        axis: Any = dict(equation.attributes)["axis"]
        start = 0
        for var in equation.operands:
            stop = start + var.type.shape[axis]
            if not self._lies_in(var, equation.result):
                rows = self._range(equation.result, axis, start, stop)
                value = self._name(var)
                self.body.append(f"{self._sliced(rows)}[...] = {value}")
            start = stop

    def _sum_rows(self, instruction: SumRows) -> None:
        distinct = self.program.distinct
        operands = []
        for var in instruction.reads:
            if distinct is not None and instruction.result in distinct.products and var in distinct.summed:
                number = distinct.summed.index(var)
                operands.append(self._bound(f"sums{number}", f"arrays.sums[{number}]"))
            else:
                operands.append(self._name(var))
        var, out = instruction.result, None
        if var in self.accumulated and self.reads[var] == 1 and not instruction.sparse:
            out = f"targets[{self.accumulated[var]}]"
        self._assign(var, self.kernels.sum_rows(instruction, operands, out))

    # ---------------------------------------------------------------------------------------- values

    def _bound(self, name: str, code: str) -> str:
        """The name of what is bound for the batch."""
        self.batch[name] = code
        return name

    def _name(self, var: Var) -> str:
        """The name of a value in the function; its rows of the step are sliced where it is first named."""
        if var in self.names:
            return self.names[var]
        if var in self.once:
            number = self.once[var]
            return self._bound(f"i{number}", f"arrays.once[{number}]")
        rows = self._rows(var)
        assert rows is not None, var
        self.names[var] = name = self._sliced(rows)
        return name

    def _sliced(self, rows: _Rows) -> str:
        """The name of the rows of a step."""
        if rows.array in self.slices:
            return self.slices[rows.array]
        of = _of(rows.level)
        if rows.scratch:
            self.levels.add(rows.level)
            name = rows.array.replace("scratch", "s")
            self.sized[name] = f"{rows.array}[:n{of}]"
        elif self.whole:
            name = rows.array
        else:
            self.levels.add(rows.level)
            name = f"{rows.array}s"
            self.body.append(f"{name} = {rows.array}[a{of}:z{of}]")
        self.slices[rows.array] = name
        return name

    def _rows(self, var: Var) -> _Rows | None:
        """Where the rows of a value lie, if in an array of the batch."""
        match self.program.memory.get(var):
            case Scratch(number):
                array = self._bound(f"scratch{number}", f"arrays.scratch[{number}]")
                return _Rows(array, var.rows, contiguous=True, scratch=True)
            case RangeOf(whole, axis, start, stop):
                return self._range(whole, axis, start, stop)
            case ResultRows(number):
                array = self._bound(f"results{number}", f"arrays.results[{number}]")
            case Held(number, backward):
                kind = "saved" if backward else "kept"
                array = self._bound(f"{kind}{number}", f"arrays.{kind}[{number}]")
            case ScatterRows(number):
                array = self._bound(f"scatters{number}", f"arrays.scatters[{number}]")
            case GatheredRows(number):
                self._bound(f"gather{number}", f"arrays.gathers[{number}]")
                array = self._bound(f"rows{number}", f"gather{number}.rows")
            case None:
                match self.loads.get(var):
                    case Pull(_, number):
                        array = self._bound(f"gradients{number}", f"arrays.gradients[{number}]")
                    case LoadKeys():
                        array = self._bound("keys", "arrays.keys")
                    case View(equation):
                        return self._rows_of_view(equation)
                    case _:
                        return None
        return _Rows(array, var.rows, contiguous=True, scratch=False)

    def _rows_of_view(self, equation: Equation) -> _Rows | None:
        """Where the rows of a view lie, if it can be made of all rows at once."""
        var = equation.operands[0]
        shown = _shown(equation)
        if shown is None or var in self.once or equation.result.rows != var.rows:
            return None
        rows = self._rows(var)
        if rows is None:
            return None
        reshape = equation.primitive.name == "reshape"
        if reshape:
            if not rows.contiguous:
                return None  # it may be a copy
            shown = f".reshape({_tuple(f'{rows.array}.shape[0]', equation.result.type.shape)})"
        return self._part(rows, shown, contiguous=reshape)

    def _range(self, whole: Var, axis: int, start: int, stop: int) -> _Rows:
        """A range of a value along a negative axis."""
        rows = self._rows(whole)
        assert rows is not None
        before = ":, " * (len(whole.type.shape) + axis + 1)
        return self._part(rows, f"[{before}{start}:{stop}]", contiguous=False)

    def _part(self, rows: _Rows, shown: str, *, contiguous: bool) -> _Rows:
        """A view of rows, bound for the batch."""
        code = rows.array + shown
        name = next((name for name, other in self.batch.items() if other == code), None)
        if name is None:
            name = self._bound(f"{rows.array}v{len(self.batch)}", code)
        return _Rows(name, rows.level, contiguous, rows.scratch)


def _of(level: int) -> str:
    """How the names of a level's bounds end."""
    return "" if level == ROW else str(level)


def _tuple(first: str, rest: tuple[int, ...]) -> str:
    return f"({', '.join([first, *map(str, rest)])},)"


def _shown(equation: Equation) -> str | None:
    """How a view of rows is written: a subscript or a method, which cost a call less than the kernel; of a
    reshape only that it can be.  None where it cannot, or where there are no rows."""
    if equation.operands[0].rows == INVARIANT:
        return None
    attributes: dict[str, Any] = dict(equation.attributes)
    match equation.primitive.name:
        case "index":
            items = [str(item) if isinstance(item, int) else _slice(item) for item in attributes["key"]]
            return f"[{', '.join([':', *items])}]"
        case "transpose":
            return f".transpose({_tuple('0', attributes['axes'])})"
        case "reshape":
            return ".reshape"
    return None


def _slice(bounds: tuple[int | None, ...]) -> str:
    """``0:4`` for (0, 4, 1), ``3::-1`` for (3, None, -1)."""
    start, stop, step = ("" if number is None else str(number) for number in bounds)
    return f"{start}:{stop}" if step == "1" else f"{start}:{stop}:{step}"
