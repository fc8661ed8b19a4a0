"""Checks for those who extend the package: of gradients, primitives, schedules and programs.

`check_grads` compares the gradients of any function on tensors, layers included, with finite differences.
`check_primitive` checks that the parts of a primitive agree: on NumPy, or with `device="fake"` on the strict
fake device.  `verify` checks that the schedule of a batch can be executed, `verify_program` that what passes
have made of an operation can: `checked_passes` has it do so after each pass, and `without_passes` leaves some
out, with the same numbers.  Nothing else in the package imports this room.
"""

from arrows.engine.program.pipeline import checked_passes, without_passes
from arrows.engine.program.verify import ProgramError, verify_program
from arrows.testing.gradients import Elements, check_close, check_grads, run_lifted
from arrows.testing.primitives import check_primitive
from arrows.testing.schedules import ScheduleError, verify

__all__ = [
    "Elements",
    "ProgramError",
    "ScheduleError",
    "check_close",
    "check_grads",
    "check_primitive",
    "checked_passes",
    "run_lifted",
    "verify",
    "verify_program",
    "without_passes",
]
