"""Writes the region ``once``: values without rows, once a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.device import STORED_TYPES, Device, KernelSource, kernel_source
from arrows.engine.program.emitters.contiguous_transpose import ContiguousTranspose
from arrows.engine.program.emitters.kernels import Kernels
from arrows.engine.program.instructions import Compute, Copy, Downcast, LoadConstant, LoadParameter, RowMap
from arrows.engine.program.program import Program
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, slots=True)
class OnceCode:
    """The region ``once`` as a function.

    Attributes:
        compute: ``compute(constants, parameters, steps)`` gives all values of the region, in order; ``steps``
            counts the steps of more than a few rows (`ContiguousTranspose`).
        constants: what to hand to it.
        kernels: those in C that it launches.
    """

    compute: Callable[..., tuple[Array, ...]]
    constants: tuple[HostArray, ...]
    kernels: tuple[KernelSource, ...] = ()


def emit_once(program: Program, device: Device) -> OnceCode:
    """Writes the region ``once``."""
    kernels = Kernels(device.xp)
    rounding = {name: _Rounding(device, name, round_kernel(name)) for name in set(program.stored.values())}
    constants: list[HostArray] = []
    parameters = 0
    lines = ["def compute(constants, parameters, steps):"]
    for instruction in program.region("once"):
        (var,) = instruction.writes
        match instruction:
            case LoadConstant(_, array):
                value = f"constants[{len(constants)}]"
                constants.append(array)
            case LoadParameter():
                value = f"parameters[{parameters}]"
                parameters += 1
            case Downcast(_, operand):
                value = f"{kernels.add(rounding[program.stored[var]], 'round')}(v{operand.id})"
            case Copy(equation):
                copy = kernels.add(ContiguousTranspose(kernels.kernel(equation)), "copy_transpose")
                value = f"{copy}(v{equation.operands[0].id}, steps)"
            case Compute(equation) | RowMap((equation,)):
                value = kernels.call(equation, [f"v{operand.id}" for operand in equation.operands])
            case _:
                raise AssertionError(instruction)
        lines.append(f"    v{var.id} = {value}")
    values = "".join(f"v{var.id}, " for instruction in program.region("once") for var in instruction.writes)
    lines.append(f"    return ({values})")
    namespace: dict[str, Any] = dict(kernels.namespace)
    exec(compile("\n".join(lines), f"<arrows once of {program.name}>", "exec"), namespace)
    return OnceCode(namespace["compute"], tuple(constants), tuple(each.source for each in rounding.values()))


def round_kernel(stored: str) -> KernelSource:
    """The kernel that stores numbers of float32 in another type; its words: how many, from where, to where.

    Args:
        stored: one of `STORED_TYPES`.
    """
    type = STORED_TYPES[stored]
    body = f"""\
  const float* numbers = (const float*)WORD(1);
  {type.c_type}* to = ({type.c_type}*)WORD(2);
  ITEMS(i, WORD(0)) to[i] = store_{stored}(numbers[i]);"""
    return kernel_source(body, words=3, columns=1, functions=type.functions)


@dataclass(frozen=True, slots=True)
class _Rounding:
    """Stores an array in another type."""

    device: Device
    stored: str
    source: KernelSource

    def __call__(self, array: Array) -> Array:
        array = array if array.flags.c_contiguous else array.copy()
        result = self.device.empty(array.shape, STORED_TYPES[self.stored].dtype)
        address = self.device.address
        words = np.array([[array.size, address(array), address(result)]], np.int64)
        self.device.compile([self.source])[self.source.name].bind(words)(0)
        return result
