"""Checks indices where a device computes them: what is known when examples are read is checked there.

The host waits for the indices.  It has to: what is looked up is wrong otherwise, and nobody would know.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put
from arrows.ops import Primitive, Run, check_index, check_places, lift_each


def _kernel(xp: ArrayModule, name: str, size: int, rows: tuple[bool, ...] = (False, False)) -> Run:
    def run(
        index: Array,
        *lengths: Array,
        to_numpy: Callable[[object], HostArray],
        out: Array | None = None,
    ) -> Array:
        if lengths:
            check_places(to_numpy(index), to_numpy(lengths[0]), any(rows))
            index = xp.broadcast_to(index, lengths[0].shape)
        else:
            check_index(np, name, to_numpy(index), size, rows[0])
        return index.copy() if out is None else put(index, out)

    return run


in_range = Primitive("in_range", lambda index, *lengths, **attributes: index, _kernel, lift=lift_each)
"""The index as it is; with a second operand it is a place, and that the lengths of sequences.

It raises `IndexOutOfRange`.  Programs alone have it, so it is not registered; its kernel is given
`Device.to_numpy`.
"""
