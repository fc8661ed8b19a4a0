"""Writes the region ``once``: values without rows, once a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arrows.engine.device import Device
from arrows.engine.program.emitters.calls import Calls
from arrows.engine.program.instructions import LoadConstant, LoadParameter
from arrows.engine.program.program import Program
from arrows.ops import Equation
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, slots=True)
class OnceCode:
    """The region ``once`` as a function.

    Attributes:
        compute: ``compute(constants, parameters)`` gives all values of the region, in order.
        constants: what to hand to it.
    """

    compute: Callable[..., tuple[Array, ...]]
    constants: tuple[HostArray, ...]


def emit_once(program: Program, device: Device) -> OnceCode:
    """Writes the region ``once``."""
    calls = Calls(device.xp)
    constants: list[HostArray] = []
    parameters = 0
    lines = ["def compute(constants, parameters):"]
    for instruction in program.region("once"):
        (var,) = instruction.writes
        match instruction:
            case LoadConstant(_, array):
                value = f"constants[{len(constants)}]"
                constants.append(array)
            case LoadParameter():
                value = f"parameters[{parameters}]"
                parameters += 1
            case Equation(operands=operands):
                value = calls.call(instruction, [f"v{operand.id}" for operand in operands])
            case _:
                raise AssertionError(instruction)
        lines.append(f"    v{var.id} = {value}")
    values = "".join(f"v{var.id}, " for instruction in program.region("once") for var in instruction.writes)
    lines.append(f"    return ({values})")
    namespace: dict[str, Any] = {**calls.namespace, "to_numpy": device.to_numpy}
    exec(compile("\n".join(lines), f"<arrows once of {program.name}>", "exec"), namespace)
    return OnceCode(namespace["compute"], tuple(constants))
