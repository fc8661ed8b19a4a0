"""Writes a region as straight-line Python over arrays: a loop over steps, `out=` throughout, no allocation.

A step of one row should cost little Python, so that deep chains run fast.  What holds for a batch is bound
once (`make`), also the views of the arrays that lie ready for all rows; what depends on the number of rows
alone, which is scratch and its views, is bound where that number changes; a step slices the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule
from arrows.engine.device import Device
from arrows.engine.program.emitters.arrays import CKernel, Frame, StepRefused
from arrows.engine.program.emitters.calls import Calls
from arrows.engine.program.emitters.values import Values, suffix
from arrows.engine.program.in_range import in_range
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
    is_join,
    is_view,
)
from arrows.engine.program.program import Place, Program, RangeOf
from arrows.ops import INVARIANT, ROW, Equation, IndexOutOfRange, Parameter, Var
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


class RegionWriter:
    """Writes the function of one region; arguments as of `emit`."""

    def __init__(self, program: Program, region: str, xp: ArrayModule, tick: Tick | None) -> None:
        self.program, self.region, self.xp, self.tick = program, region, xp, tick
        self.whole = region == "deferred"
        self.calls = Calls(xp)
        self.values = Values(program, region, self.calls)
        self.body = self.values.body
        self.gathers = program.gather_numbers
        instructions = program.region(region)
        self.accumulates = [each for each in instructions if isinstance(each, Accumulate)]
        self.reads = Counter(var for instruction in instructions for var in instruction.reads)

    # ------------------------------------------------------------------------------------- the function

    def code(self) -> RegionCode:
        """The whole function."""
        for position, instruction in enumerate(self.program.region(self.region)):
            self._write(instruction)
            if self.tick is not None:
                self.body.append(f"tick({self.region!r}, {position})")
        lines = ["def make(arrays):"]
        run = self._deferred() if self.whole else self._steps()
        lines += [f"    {name} = {code}" for name, code in self.values.batch.items()]
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
        values, head = self.values, self._bounds("j")
        sizes = {f"size{suffix(level)}": f"n{suffix(level)}" for level in sorted(values.sized_levels)}
        if sizes:
            head.append(f"if {' or '.join(f'{n} != {size}' for size, n in sizes.items())}:")
            head += [f"    {size} = {n}" for size, n in sizes.items()]
            head += [f"    {name} = {code}" for name, code in values.sized.items()]
        backward = self.region == "step_back"
        if backward:
            values.bound("pulls", "arrays.pulls")
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
        sized = [f"{name} = {code}" for name, code in self.values.sized.items()]
        lines = [*self._bounds("0"), *sized, *self.body]
        values = []
        for number, instruction in enumerate(self.accumulates):
            value = self.values.name(instruction.operand)
            values.append(value)
            if instruction.region is not None:
                target = f"targets[{number}]"
                lines.append(f"if {target} is not None and {value} is not {target}:")
                lines.append(f"    {target}[...] = {value}")
        lines.append(f"return ({''.join(value + ', ' for value in values)})")
        return ["def run(targets, added):", *("    " + line for line in lines)]

    def _bounds(self, step: str) -> list[str]:
        """Where the rows of a step start and stop, and how many there are."""
        words = set(re.findall(r"\w+", " ".join([*self.body, *self.values.sized.values()])))
        lines = []
        for level in sorted(self.values.levels):
            end = suffix(level)
            if level == ROW:
                self.values.bound("bounds", f"arrays.bounds[{self.region!r}]")
                lines += [f"a = bounds[{step}]", f"z = bounds[{step} + 1]"]
            else:
                self.values.bound(f"segments{end}", f"arrays.segments[{self.region!r}][{level}]")
                lines.append(f"a{end}, z{end}, g{end} = segments{end}[{step}]")
            if f"n{end}" in words:
                lines.append(f"n{end} = z{end} - a{end}")
        return lines

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
                self.values.name(instruction.operand)
            case SumRows():
                self._sum_rows(instruction)
            case RowMap(_, results):
                arguments = [self.values.name(var) for var in (*instruction.reads, *results)]
                self.body.append(self.calls.loops(instruction, arguments))
            case Equation() if is_view(instruction) and self.values.rows(instruction.result) is not None:
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
        operands = [self.values.number(v) if bare else self.values.name(v) for v in equation.operands]
        if equation.primitive.segmented:
            self.values.levels.add(max(var.rows for var in (*equation.operands, equation.result)))
        if equation.primitive is in_range:
            self.values.bound("to_numpy", "arrays.device.to_numpy")
        if equation.result in self.program.memory:
            self.body.append(self.calls.call(equation, operands, self.values.name(equation.result)))
        else:
            self.values.assign(equation.result, self.calls.call(equation, operands))

    def _copy(self, var: Var, target: Place) -> None:
        """Copies a value to where it goes; as a result it may be the same for all rows."""
        array = self.values.memory(target.kind, target.number)
        level = max(self.program.results[target.number][1], ROW) if var.rows == INVARIANT else var.rows
        end = suffix(level)
        self.values.levels.add(level)
        value = self.values.name(var)
        self.body.append(f"{array}[a{end}:z{end}] = {value}")

    def _gather(self, gather: Gather) -> None:
        """Fetches rows: to memory for all rows, or where they are wanted for the step alone."""
        number, var, end = self.gathers[gather.result], gather.result, suffix(gather.result.rows)
        self.values.levels.add(var.rows)
        fetch = self.values.bound(f"fetch{number}", f"arrays.fetch({number}, {len(gather.operands)})")
        if var in self.program.memory:
            target = self.values.name(var)
            self.body.append(f"if {fetch} is not None: {fetch}(j, a{end}, z{end}, {target})")
        else:
            rows = f"{self.values.memory('gathered', number)}[a{end}:z{end}]"
            self.values.assign(var, f"{rows} if {fetch} is None else {fetch}(j, a{end}, z{end})")

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
                rows = self.values.range(equation.result, axis, start, stop)
                value = self.values.name(var)
                self.body.append(f"{self.values.sliced(rows)}[...] = {value}")
            start = stop

    def _sum_rows(self, instruction: SumRows) -> None:
        distinct = self.program.distinct
        operands = []
        for var in instruction.reads:
            if distinct is not None and instruction.result in distinct.products and var in distinct.summed:
                number = distinct.summed.index(var)
                operands.append(self.values.memory("sums", number))
            else:
                operands.append(self.values.name(var))
        summed = self.calls.sum_rows(instruction, operands, self.target_of(instruction))
        self.values.assign(instruction.result, self.summed(instruction, summed))

    def summed(self, instruction: SumRows, otherwise: str) -> str:
        """Code for a sum over rows, which may be quicker than that of the array module, ``otherwise``."""
        return otherwise

    def target_of(self, instruction: SumRows) -> str | None:
        """Code for the part of a gradient that a sum is written to, if it is one: an array or None."""
        number = self.target_number(instruction)
        return None if number is None else f"targets[{number}]"

    def target_number(self, instruction: SumRows) -> int | None:
        """The number of the `Accumulate` that alone reads a sum, if one does."""
        var = instruction.result
        targets = [number for number, each in enumerate(self.accumulates) if each.operand == var]
        return targets[0] if targets and self.reads[var] == 1 and not instruction.sparse else None


def once(program: Program, device: Device) -> Callable[[Callable[[object, Parameter], Array]], list[Array]]:
    """The region ``once`` as a function, which gets the array of a layer's parameter by a function.

    It gives all values of the region, in order.
    """
    calls, number_of = Calls(device.xp), program.once_numbers
    # With the numbers of what each reads; without a function, the parameter.
    steps: list[tuple[Callable[..., Array] | None, tuple[Any, ...]]] = []
    for instruction in program.region("once"):
        match instruction:
            case LoadConstant(_, array):
                steps.append((partial(_same, device.to_device(np.asarray(array))), ()))
            case LoadParameter(_, owner, spec):
                steps.append((None, (owner, spec)))
            case Equation(primitive, operands):
                kernel = calls.kernel(instruction)
                own = partial(kernel, to_numpy=device.to_numpy) if primitive is in_range else kernel
                steps.append((own, tuple(number_of[operand] for operand in operands)))

    def compute(parameter: Callable[[object, Parameter], Array]) -> list[Array]:
        values: list[Array] = []
        for kernel, of in steps:
            values.append(parameter(*of) if kernel is None else kernel(*[values[n] for n in of]))
        return values

    return compute


def _same(array: Array) -> Array:
    return array
