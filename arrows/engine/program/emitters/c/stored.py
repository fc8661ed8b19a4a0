"""Numbers that lie in another type than their own, in C: loaded as float32, rounded where they are stored."""

from __future__ import annotations

from arrows.engine.device import STORED_TYPES
from arrows.engine.program.emitters.c.functions import FUNCTIONS, c_type
from arrows.engine.program.program import Program
from arrows.ops import Var


def array_type(var: Var, stored: str | None) -> str:
    """The C type of the array in which a value lies, of its own type or of another one."""
    return c_type(var) if stored is None else STORED_TYPES[stored].c_type


def loading(number: str, stored: str | None) -> str:
    """An expression for a number of a value; ``number`` is one for what lies in the array."""
    return number if stored is None else f"load_{stored}({number})"


def storing(number: str, stored: str | None) -> str:
    """An expression for what is written to the array."""
    return number if stored is None else f"store_{stored}({number})"


def functions_of(program: Program) -> str:
    """What stands before each kernel of a program."""
    stored = {*program.stored.values(), *([] if program.delivered is None else [program.delivered])}
    return FUNCTIONS + "".join(STORED_TYPES[name].functions for name in sorted(stored))
