"""Numbers that lie in another type than their own, in C: loaded as float32, rounded where they are stored."""

from __future__ import annotations

from arrows.engine.device import STORED_TYPES
from arrows.engine.program.emitters.c.functions import FUNCTIONS, c_type
from arrows.engine.program.program import Program
from arrows.ops import Var


def array_type(program: Program, root: Var) -> str:
    """The C type of the array in which a value lies that has memory of its own."""
    stored = program.stored.get(root)
    return c_type(root) if stored is None else STORED_TYPES[stored].c_type


def loading(program: Program, root: Var, number: str) -> str:
    """An expression for a number of the value; ``number`` is one for what lies in the array."""
    stored = program.stored.get(root)
    return number if stored is None else f"load_{stored}({number})"


def storing(program: Program, root: Var, number: str) -> str:
    """An expression for what is written to the array."""
    stored = program.stored.get(root)
    return number if stored is None else f"store_{stored}({number})"


def functions_of(program: Program) -> str:
    """What stands before each kernel of a program."""
    stored = sorted(set(program.stored.values()))
    return FUNCTIONS + "".join(STORED_TYPES[name].functions for name in stored)
