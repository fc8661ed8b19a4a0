"""Writes a region for a device with kernels: a loop over steps in which nearly every line is one launch.

The function is the same straight line as NumPy's (`emitters.numpy`).  A `RowMap`, a gather that is copied,
and what else a kernel in C can do is one launch; so is a matrix product.  What no kernel can do stays a call
of the array module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from arrows.engine.device import Device
from arrows.engine.program.emitters.arrays import Frame
from arrows.engine.program.emitters.c import CKernel, c_kernel
from arrows.engine.program.emitters.launches import RegionLaunches
from arrows.engine.program.emitters.numpy import RegionCode, RegionWriter, Tick
from arrows.engine.program.emitters.products import step_product, summed_outer, summed_rows
from arrows.engine.program.emitters.row_matrix import RowMatrix, flat, row_matrix, table_index
from arrows.engine.program.emitters.values import suffix
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    is_product,
    is_view,
)
from arrows.engine.program.program import Place, Program
from arrows.ops import INVARIANT, Equation, Var


def emit_kernels(
    program: Program, region: str, device: Device, *, precision: str = "float32", tick: Tick | None = None
) -> RegionCode | None:
    """Writes a region; None where it has no instructions.

    Args:
        program: with memory, for kernels.
        region: any but ``once``.
        device: one that has kernels.
        precision: of matrix products; see `ProductLayout`.
        tick: called after each instruction, for a profile.
    """
    return _LaunchWriter(program, region, device, precision, tick).code() if program.region(region) else None


class _LaunchWriter(RegionWriter):
    def __init__(
        self, program: Program, region: str, device: Device, precision: str, tick: Tick | None
    ) -> None:
        super().__init__(program, region, device.xp, tick, jit=False)
        self._in_c: list[CKernel] = []
        self._once = program.once_numbers
        self.kernels.namespace["bind_launches"] = partial(RegionLaunches, program, region, precision)
        self.values.bound("launches", "bind_launches(arrays)")

    def code(self) -> RegionCode:
        """The whole function, and its kernels."""
        code = super().code()
        return RegionCode(partial(_keeping, code.make), code.source, tuple(self._in_c))

    def _write(self, instruction: Instruction) -> None:
        match instruction:
            case Gather(var):
                if var in self.program.memory:
                    self._launch(instruction, f"gather({self.gathers[var]}, ")
            case Pull(var, number):
                if self.program.memory.get(var) == Place("gradient", number):
                    self._launch(instruction, f"pull({number}, ")
            case Equation() if is_view(instruction):
                if instruction.result.rows == INVARIANT:
                    self._view(instruction)  # of a sum over rows
                # Kernels look through others; what else reads one makes it (`_ready`).
            case LoadKeys():
                pass
            case Equation() if is_product(instruction):
                if not self._product(instruction):
                    self._by_arrays(instruction)
            case SumRows():
                if not self._sum_in_product(instruction):
                    self._by_arrays(instruction)
            case Accumulate():
                self.values.name(instruction.operand)
            case Store(number, var) if self.program.memory.get(var) == Place("result", number):
                pass
            case Scatter(_, var) if self._waits_there(instruction, var):
                pass
            case _:
                if not self._launch(instruction, "kernel("):
                    self._by_arrays(instruction)
        if self.tick is not None:
            self.values.bound("synchronize", "arrays.device.synchronize")
            self.body.append("synchronize()")

    def _waits_there(self, scatter: Scatter, var: Var) -> bool:
        return self.program.memory.get(var) == Place("scatter", self.scatters[id(scatter)])

    # ------------------------------------------------------------------------------------------ launches

    def _launch(self, instruction: Instruction, how: str) -> bool:
        """Writes a launch of a kernel for each step; returns whether there is a kernel."""
        kernel = c_kernel(self.program, instruction)
        if kernel is None:
            return False
        name = f"launch{len(self._in_c)}"
        self.kernels.namespace[f"c_{name}"] = kernel
        self._in_c.append(kernel)
        self.values.bound(name, f"launches.{how}c_{name})")
        self.body.append(f"{name}({self._step})")
        return True

    @property
    def _step(self) -> str:
        return "0" if self.whole else "j"

    def _product(self, equation: Equation) -> bool:
        """Writes a product of rows and a matrix without rows; returns whether it is one."""
        product = step_product(self.program, equation)
        if product is None:
            return False
        name = f"product{len(self.kernels.namespace)}"
        self.kernels.namespace[f"c_{name}"] = product
        self.values.bound(name, f"launches.product(c_{name})")
        self.body.append(f"{name}({self._step})")
        return True

    def _sum_in_product(self, instruction: SumRows) -> bool:
        """Writes a sum over all rows as a matrix product, if it is one; returns whether it is."""
        var, out = instruction.result, self._targets(instruction)
        if (rows := summed_rows(self.program, instruction)) is not None:
            name = self._constant(rows)
            self.values.assign(var, f"launches.sum_rows({name}, {var.type.shape}, {out})")
            return True
        if (factors := summed_outer(self.program, instruction)) is not None:
            a, b = map(self._constant, factors)
            self.values.assign(var, f"launches.sum_outer({a}, {b}, {out})")
            return True
        return False

    def _targets(self, instruction: SumRows) -> str:
        """Code for the ranges that a sum is written to, and may be added to; each an array or None."""
        number = self.target_number(instruction)
        return "None, None" if number is None else f"targets[{number}], added[{number}]"

    def summed(self, instruction: SumRows, otherwise: str) -> str:
        gather = table_index(self.program, instruction)
        if gather is None:
            return otherwise
        x = instruction.reads[0]
        rows = row_matrix(self.program, x)
        vectors = None if rows is None else flat(rows, x.type.size)
        if vectors is None:
            return otherwise
        operands = f"{gather}, {self._constant(vectors)}, {instruction.result.type.shape}"
        if instruction.sparse:
            return f"launches.sum_by_row({operands}) or {otherwise}"
        return f"launches.add_by_row({operands}, {self._targets(instruction)}, lambda: {otherwise})"

    def _constant(self, rows: RowMatrix) -> str:
        name = f"rows{len(self.kernels.namespace)}"
        self.kernels.namespace[name] = rows
        return name

    # ---------------------------------------------------------------------------- calls of the array module

    def _by_arrays(self, instruction: Instruction) -> None:
        """Writes an instruction as calls of the array module."""
        for var in instruction.reads:
            self._ready(var)
        if not isinstance(instruction, RowMap):
            super()._write(instruction)
            return
        for equation in instruction.equations:
            self.values.made_by[equation.result] = equation
            super()._write(equation)

    def _ready(self, var: Var) -> None:
        """Sees to it that a value can be named: gathers it, looks through views, adds what readers left."""
        if var in self.values.names or var.rows == INVARIANT:
            return
        if var in self.program.memory:
            if var in self.gathers and self.program.memory[var] != Place("gathered", self.gathers[var]):
                self._lying_together(var)
            return
        match self.values.made_by.get(var):
            case Equation() as view if is_view(view):
                self._ready(view.operands[0])
                if self.values.rows(var) is None:
                    super()._view(view)
            case Gather() as gather:
                self._take(gather)
            case Pull() as pull:
                raise AssertionError(f"{pull} is read by a call, and has no memory")

    def _lying_together(self, var: Var) -> None:
        """Names gathered rows that have memory: nothing copies them there where they lie together already."""
        number, copied, end = self.gathers[var], self.values.name(var), suffix(var.rows)
        self.values.levels.add(var.rows)
        rows = self.values.memory("gathered", number)
        self.values.assign(var, f"{copied} if {rows} is None else {rows}[a{end}:z{end}]")

    def _take(self, gather: Gather) -> None:
        """Gathers the rows of the step into a new array."""
        number, var, width = self.gathers[gather.result], gather.result, len(gather.operands)
        end = suffix(var.rows)
        a, z = f"a{end}", f"z{end}"
        self.values.levels.add(var.rows)
        for part in ("slab", "index", "first"):
            self.values.bound(f"{part}{number}", f"arrays.gathers[{number}].{part}")
        self.values.bound("take", "arrays.device.take")
        taken = f"take(slab{number}, index{number}[{width} * {a}:{width} * {z}])"
        if width > 1:
            taken += f".reshape(({z} - {a}, {', '.join(map(str, var.type.shape))},))"
        whole = f"{self.values.memory('gathered', number)}[{a}:{z}]"
        self.values.assign(var, f"{whole} if first{number} is None else {taken}")


def _keeping(make: Callable[[Frame], Callable[..., Any]], arrays: Frame) -> Callable[..., Any]:
    """Binds a region to arrays, which then live as long: a kernel knows their addresses alone."""
    return partial(_run, make(arrays), arrays)


def _run(run: Callable[..., Any], _arrays: Frame, *arguments: object) -> Any:
    return run(*arguments)
