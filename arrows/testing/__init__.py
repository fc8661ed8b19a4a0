"""For those who extend the package: gradient checks, and what a primitive and a schedule must fulfil.

`check_grads` holds the gradients of any function on tensors, layers included, against finite differences.
`check_primitive` holds the parts of a primitive against each other: on NumPy, or with `device="fake"` on the
strict fake device.  `verify` says whether the schedule of a batch can be executed.  Nothing else in the
package imports this room.
"""

from arrows.testing.gradients import Elements, check_close, check_grads, run_lifted
from arrows.testing.primitives import check_primitive
from arrows.testing.schedules import ScheduleError, verify

__all__ = [
    "Elements",
    "ScheduleError",
    "check_close",
    "check_grads",
    "check_primitive",
    "run_lifted",
    "verify",
]
