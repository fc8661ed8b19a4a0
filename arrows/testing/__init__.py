"""For those who extend the package: gradient checks, and what a primitive and a schedule must fulfil.

Nothing else in the package imports this room.
"""

from arrows.testing.gradients import HOST, Elements, KernelDevice, check_close, check_grads, run_lifted
from arrows.testing.primitives import check_primitive
from arrows.testing.schedules import ScheduleError, verify

__all__ = [
    "HOST",
    "Elements",
    "KernelDevice",
    "ScheduleError",
    "check_close",
    "check_grads",
    "check_primitive",
    "run_lifted",
    "verify",
]
