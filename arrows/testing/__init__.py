"""Checks for those who extend the package: of gradients and of primitives.

`check_grads` compares the gradients of any function on tensors, layers included, with finite differences.
`check_primitive` checks that the parts of a primitive agree: on NumPy, or with `device="fake"` on the strict
fake device.  `fake.py` has the devices of the tests, which are imported when they are asked for; nothing else
in the package imports this room.
"""

from arrows.testing.gradients import Elements, check_close as check_close, check_grads
from arrows.testing.primitives import check_primitive

__all__ = [
    "Elements",
    "check_grads",
    "check_primitive",
]
