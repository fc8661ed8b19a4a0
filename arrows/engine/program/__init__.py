"""What an operation does, as data: a `Program` of instructions.

Passes improve it (`make_program`; `pipeline.py` lists them), emitters turn it into code (`make_code`).  A
`Clock` between the instructions gives the `Profile` of a batch.  `print(program)` shows a program as text.
"""

from __future__ import annotations

from arrows.engine.program.elements import ELEMENT_FUNCTIONS, are_in_c, element_lines
from arrows.engine.program.pipeline import ProgramTick, make_code, make_program
from arrows.engine.program.profile import Clock, Profile, profile
from arrows.engine.program.program import Kernels, Program, Programs, RowCounts, row_counts

__all__ = [
    "ELEMENT_FUNCTIONS",
    "Clock",
    "Kernels",
    "Profile",
    "Program",
    "ProgramTick",
    "Programs",
    "RowCounts",
    "are_in_c",
    "element_lines",
    "make_code",
    "make_program",
    "profile",
    "row_counts",
]
