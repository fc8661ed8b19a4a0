"""What adds a primitive of one's own: the class, the table of all primitives, and what applies them.

>>> from arrows.ops import extend
>>> "softmax" in extend.primitives()
True
"""

from __future__ import annotations

from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Primitive, bind, get, primitives, register, unregister
from arrows.ops.segments import Segments

__all__ = ["Primitive", "Segments", "ShapeError", "bind", "get", "primitives", "register", "unregister"]
