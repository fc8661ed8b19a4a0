"""How the rows of one operand come to an operation's steps: a view where they are a range, else a gather."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.engine.device import Device
from arrows.engine.reading import lengths_of
from arrows.engine.scheduling import PortRows
from arrows.typesys import types as T

Array = Any


class Gather:
    """One operand: where its rows are and how each step gets at them.

    Args:
        of: the operand's type; of a joint, that of all its ports together.
        slab: where its rows lie.
        found: the rows; of a joint, those of its ports in turn.
        bounds: where each step's operands start.
        width: how many rows make one operand.
    """

    def __init__(self, of: T.Tensor, slab: int, found: PortRows, bounds: np.ndarray, width: int = 1) -> None:
        self.type, self.slab, self.found, self.width = of, slab, found, width
        self.bounds: list[int] = bounds.tolist()
        # For each step, the first row of a range, or -1; and that of the rows of all steps.
        self.whole = found.whole
        if self.whole >= 0:
            self.views: list[int] = (bounds[:-1] * width + self.whole).tolist()
        else:
            self.views = [-1] if len(self.bounds) == 2 else found.views(bounds * width)
        self.longest = int(lengths_of(bounds).max(initial=0))
        self.rows: Array = None

    def view(self, slab: Array, first: int, count: int) -> Array:
        """`count` operands that are a range of the slab's rows."""
        rows = slab[first : first + count * self.width]
        return rows if self.width == 1 else rows.reshape(count, *self.type.shape)

    def take(self, device: Device, slab: Array, a: int, z: int, out: Array) -> Array:
        """The operands `a` to `z`, copied to `out`."""
        if self.width == 1:
            return device.take(slab, self.rows[a:z], out)
        flat = out.reshape((z - a) * self.width, *slab.shape[1:])
        device.take(slab, self.rows[a * self.width : z * self.width], flat)
        return out
