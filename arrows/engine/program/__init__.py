"""What an operation does, as data: a `Program` of instructions.

Passes improve it (`make_program`; `pipeline.py` lists them), emitters turn it into code (`make_code`).  A
`Clock` between the instructions gives the `Profile` of a batch.  `print(program)` shows a program as text.
"""

from __future__ import annotations

from arrows.engine.program.elements import ELEMENT_FUNCTIONS as ELEMENT_FUNCTIONS
from arrows.engine.program.elements import are_in_c as are_in_c
from arrows.engine.program.elements import element_lines as element_lines
from arrows.engine.program.pipeline import ProgramTick as ProgramTick
from arrows.engine.program.pipeline import make_code as make_code
from arrows.engine.program.pipeline import make_program as make_program
from arrows.engine.program.profile import Clock as Clock
from arrows.engine.program.profile import Profile as Profile
from arrows.engine.program.profile import profile as profile
from arrows.engine.program.program import Program as Program
from arrows.engine.program.program import Programs as Programs
from arrows.engine.program.program import RowCounts as RowCounts
from arrows.engine.program.program import row_counts as row_counts
