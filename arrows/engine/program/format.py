"""Writes instructions as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from arrows.arrays import HostArray
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
)
from arrows.ops import INVARIANT, ROW, Equation, Var

MOST_NUMBERS = 64
"""Longer constants are written without their numbers."""

VarFormat: TypeAlias = Callable[[Var], str]
"""Writes a value where it is made, with its type and its memory."""

OwnerName: TypeAlias = Callable[[object], str]
"""The name of a layer."""


def level_text(level: int) -> str:
    """What follows a type: nothing for `INVARIANT`, `` row``, `` elements 0``."""
    return {INVARIANT: "", ROW: " row"}.get(level, f" elements {level}")


def names(values: Iterable[Var]) -> str:
    """Values that are read: ``%0, %1``."""
    return ", ".join(f"%{var.id}" for var in values)


def format_instruction(instruction: Instruction, var: VarFormat, owner: OwnerName) -> list[str]:
    """The lines of one instruction.

    Args:
        instruction: the instruction.
        var: writes the values that the instruction makes.
        owner: names the layers whose parameters it reads.
    """
    match instruction:
        case LoadConstant():
            return [f"{var(instruction.result)} = constant {_constant(instruction)}"]
        case LoadParameter():
            return [
                f"{var(instruction.result)} = parameter {owner(instruction.owner)}/{instruction.spec.name}"
            ]
        case LoadKeys():
            return [f"{var(instruction.result)} = dropout keys"]
        case Gather():
            return [f"{var(instruction.result)} = gather {_numbers(instruction.operands)}"]
        case RowMap():
            lines = [f"  {var(each.result)} = {each.call}" for each in instruction.equations]
            return ["map", *lines, f"-> {names(instruction.results)}"]
        case Equation():
            return [f"{var(instruction.result)} = {instruction.call}"]
        case SumRows(result, summed, sparse):
            of = names((summed,)) if isinstance(summed, Var) else summed.call
            return [f"{var(result)} = {'sum sparse' if sparse else 'sum'} {of}"]
        case Store():
            return [f"result {instruction.number} = {names(instruction.reads)}"]
        case Pull():
            return [f"{var(instruction.result)} = gradient {instruction.number}"]
        case Scatter():
            return [f"scatter {_numbers(instruction.operands)} += {names(instruction.reads)}"]
        case Accumulate():
            part = "sparse"
            if instruction.region is not None:
                part = ", ".join(f"{start}:{stop}" for start, stop in instruction.region)
            name = f"{owner(instruction.owner)}/{instruction.spec.name}"
            return [f"gradient of {name}[{part}] += {names(instruction.reads)}"]


def _numbers(operands: tuple[int, ...]) -> str:
    return ", ".join(map(str, operands))


def _constant(load: LoadConstant) -> str:
    """The numbers of a constant; one number where all are the same; the type where they are many."""
    array = load.array
    first = array.reshape(-1)[:1]
    if array.size > 1 and array.tobytes() == first.tobytes() * array.size:
        return str(first[0])  # of a number of NumPy the shortest that gives it again in its own precision
    return _nested(array) if array.size <= MOST_NUMBERS else str(load.result.type)


def _nested(array: HostArray) -> str:
    if not array.ndim:
        return str(array[()])
    return f"[{', '.join(map(_nested, array))}]"
