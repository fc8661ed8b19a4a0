"""Checks for those who extend the package: of gradients, primitives and programs.

`check_grads` compares the gradients of any function on tensors, layers included, with finite differences.
`check_primitive` checks that the parts of a primitive agree: on NumPy, or with `device="fake"` on the strict
fake device.  `verify_program` checks that what passes have made of an operation can be executed:
`checked_passes` has it do so after each pass, and `without_passes` leaves some out, with the same numbers.
`fake.py` has the devices of the tests, which are imported when they are asked for; nothing else in the
package imports this room.
"""

from arrows.engine.program.pipeline import checked_passes as checked_passes
from arrows.engine.program.pipeline import without_passes as without_passes
from arrows.engine.program.verify import ProgramError as ProgramError
from arrows.engine.program.verify import verify_program as verify_program
from arrows.testing.gradients import Elements, check_grads
from arrows.testing.gradients import check_close as check_close
from arrows.testing.primitives import check_primitive

__all__ = [
    "Elements",
    "check_grads",
    "check_primitive",
]
