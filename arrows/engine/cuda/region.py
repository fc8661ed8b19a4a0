"""Writes a region for a device with kernels: a loop over steps in which nearly every line is one launch.

The function is the same straight line as NumPy's (`program.region`).  A `RowMap`, a gather that is copied,
and what else a kernel in C can do is one launch; so is a matrix product.  What no kernel can do stays a call
of the array module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from arrows.engine.cuda.kernels import c_kernel
from arrows.engine.cuda.launches import RegionLaunches
from arrows.engine.cuda.products import step_product, summed_product, table_index, vectors
from arrows.engine.device import Device
from arrows.engine.program import (
    Accumulate,
    CKernel,
    Frame,
    Gather,
    Instruction,
    LoadKeys,
    Place,
    Program,
    Pull,
    RegionCode,
    RegionWriter,
    RowMap,
    Scatter,
    Store,
    SumRows,
    Tick,
    is_product,
    is_view,
    suffix,
)
from arrows.ops import INVARIANT, Equation, Var


def emit_kernels(
    program: Program, region: str, device: Device, precision: str, tick: Tick | None
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
        super().__init__(program, region, device.xp, tick)
        self._in_c: list[CKernel] = []
        self.calls.namespace["bind_launches"] = partial(RegionLaunches, program, region, precision)
        self.bound("launches", "bind_launches(arrays)")

    def code(self) -> RegionCode:
        """The whole function, and its kernels."""
        code = super().code()
        # A kernel knows the addresses of its arrays alone, so they live as long as what runs it.
        kernels = tuple(self._in_c)
        return RegionCode(lambda arrays: partial(_run, code.make(arrays), arrays), code.source, kernels)

    def _write(self, instruction: Instruction) -> None:
        match instruction:
            case Gather(var):
                if var in self.program.memory:  # where the rows do not lie together already
                    self._kernel(instruction, f"arrays.gathers[{self.gathers[var]}].first is not None")
            case Pull(var, number):
                if self.program.memory.get(var) == Place("gradient", number):
                    self._kernel(instruction, f"{number} in arrays.places")
            case Equation() if is_view(instruction):
                if instruction.result.rows == INVARIANT:
                    self._compute(instruction)  # of a sum over rows
                # Kernels look through others; what else reads one makes it (`_ready`).
            case LoadKeys():
                pass
            case Equation() if is_product(instruction):
                product = step_product(self.program, instruction)
                if product is None:
                    self._by_arrays(instruction)
                else:
                    self._launch(f"product({self._constant(product)})")
            case SumRows():
                factors = summed_product(self.program, instruction)
                if factors is None:
                    self._by_arrays(instruction)
                else:
                    operands = f"*{self._constant(factors)}, {instruction.result.type.shape}"
                    code = f"launches.sum({operands}, {self._targets(instruction)})"
                    self.assign(instruction.result, code)
            case Accumulate():
                self.name(instruction.operand)
            case Store(operand=var) | Scatter(operand=var) if self.program.memory.get(
                var
            ) == self.program.target(instruction):
                pass
            case _:
                if not self._kernel(instruction):
                    self._by_arrays(instruction)
        if self.tick is not None:
            self.bound("synchronize", "arrays.device.synchronize")
            self.body.append("synchronize()")

    # ------------------------------------------------------------------------------------------ launches

    def _kernel(self, instruction: Instruction, needed: str = "True") -> bool:
        """Writes a launch of a kernel for each step; returns whether there is a kernel.

        Args:
            instruction: what it does.
            needed: code for whether a batch needs it.
        """
        kernel = c_kernel(self.program, instruction)
        if kernel is not None:
            self._in_c.append(kernel)
            self._launch(f"kernel({self._constant(kernel)}, {needed})")
        return kernel is not None

    def _launch(self, planned: str) -> None:
        name = self.bound(f"launch{len(self.batch)}", f"launches.{planned}")
        self.body.append(f"{name}({'0' if self.whole else 'j'})")

    def _targets(self, instruction: SumRows) -> str:
        """Code for the ranges that a sum is written to, and may be added to; each an array or None."""
        number = self.target_number(instruction)
        return "None, None" if number is None else f"targets[{number}], added[{number}]"

    def summed(self, instruction: SumRows, otherwise: str) -> str:
        gather = table_index(self.program, instruction)
        rows = None if gather is None else vectors(self.program, instruction.reads[0])
        if rows is None:
            return otherwise
        operands = f"{gather}, {self._constant(rows)}, {instruction.result.type.shape}, {instruction.sparse}"
        return f"launches.sum_by_row({operands}, {self._targets(instruction)}, lambda: {otherwise})"

    def _constant(self, value: object) -> str:
        name = f"planned{len(self.calls.namespace)}"
        self.calls.namespace[name] = value
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
            self.made_by[equation.result] = equation
            super()._write(equation)

    def _ready(self, var: Var) -> None:
        """Sees to it that a value can be named: gathers it, looks through views, adds what readers left."""
        if var in self.names or var.rows == INVARIANT:
            return
        if var in self.program.memory:
            if var in self.gathers and self.program.memory[var] != Place("gathered", self.gathers[var]):
                self._lying_together(var)
            return
        match self.made_by.get(var):
            case Equation() as view if is_view(view):
                self._ready(view.operands[0])
                if self.rows(var) is None:
                    self._compute(view)
            case Gather(_, beside) if self.whole:  # an index, which nothing reads if the host has sorted it
                self.names[var] = f"launches.gathered({self.gathers[var]}, {len(beside)}, {var.type.shape})"
            case Gather() as gather:
                self._gather(gather)
            case Pull() as pull:
                raise AssertionError(f"{pull} is read by a call, and has no memory")

    def _lying_together(self, var: Var) -> None:
        """Names gathered rows that have memory: nothing copies them there where they lie together already."""
        number, copied, end = self.gathers[var], self.name(var), suffix(var.rows)
        self.levels.add(var.rows)
        rows = self.memory("gathered", number)
        self.assign(var, f"{copied} if {rows} is None else {rows}[a{end}:z{end}]")


def _run(run: Callable[..., Any], _arrays: Frame, *arguments: object) -> Any:
    return run(*arguments)
