"""What an operation does, as code: specialised, differentiated, fused and written for one array module.

`make_program` turns an operation into a `Program`: the functions that run its steps forward and backward.  A
`Clock` between their lines gives the `Profile` of a batch.
"""

from __future__ import annotations

from arrows.engine.program.profile import Clock, Profile, profile
from arrows.engine.program.program import Program
from arrows.engine.program.program_writer import make_program

__all__ = ["Clock", "Profile", "Program", "make_program", "profile"]
