"""Sums of padded slices become one ``concat``: how the gradient of a sliced value is put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows import ops
from arrows.ops import Equation, TraceRecorder, Var

_CONCAT = ops.get("concat")


def assemble(recorder: TraceRecorder) -> list[Equation]:
    """The recorded equations, with sums of slices that were padded to one shape turned into one ``concat``.

    The gradient of ``x[:, a:b]`` is the slice's gradient among zeros; the gates of an LSTM would make four
    arrays of zeros and add them up.  Where the slices do not overlap, they are written side by side.
    """
    made_by = {equation.result: equation for equation in recorder.equations}
    uses: dict[Var, int] = {}
    for equation in recorder.equations:
        for operand in equation.operands:
            uses[operand] = uses.get(operand, 0) + 1
    out: list[Equation] = []
    for equation in recorder.equations:
        leaves: list[Var] = []
        work = [equation.result] if equation.primitive.name == "add" else []
        while work:
            var = work.pop()
            made = made_by.get(var)
            inner = var is equation.result or uses.get(var, 0) == 1
            if made is not None and inner and made.primitive.name == "add" and made.result.type == var.type:
                work.extend(reversed(made.operands))
            else:
                leaves.append(var)
        joined = _side_by_side(recorder, [made_by.get(leaf) for leaf in leaves])
        out.append(equation if joined is None else Equation(_CONCAT, joined[0], joined[1], equation.result))
    return out


def _side_by_side(
    recorder: TraceRecorder, parts: list[Equation | None]
) -> tuple[tuple[Var, ...], tuple[tuple[str, int], ...]] | None:
    """The operands and attributes of the ``concat`` that sums padded slices, if they lie side by side on one
    axis."""
    if len(parts) < 2:
        return None
    ranges = []
    kinds: set[tuple[Any, Any]] = set()
    for part in parts:
        if part is None or part.primitive.name != "pad_slice":
            return None
        attributes: dict[str, Any] = dict(part.attributes)
        shape = attributes["shape"]
        kinds.add((part.result.type, part.result.rows))
        full = [(0, size, 1) for size in shape]
        key = [*attributes["key"], *full[len(attributes["key"]) :]]
        axes = [axis for axis, item in enumerate(key) if item != full[axis]]
        if len(axes) != 1 or not isinstance(key[axes[0]], tuple) or key[axes[0]][2] != 1:
            return None
        kinds.add(("axis", axes[0] - len(shape)))
        ranges.append((key[axes[0]][0], key[axes[0]][1], part.operands[0]))
    if len(kinds) != 2:
        return None
    (axis,) = (kind[1] for kind in kinds if kind[0] == "axis")
    of = next(kind[0] for kind in kinds if kind[0] != "axis")
    operands: list[Var] = []
    at = 0
    for start, stop, var in [
        *sorted(ranges, key=lambda found: found[0]),
        (of.shape[axis], of.shape[axis], None),
    ]:
        if start < at:
            return None
        if start > at:
            gap = list(of.shape)
            gap[axis] = start - at
            operands.append(recorder.constant(np.zeros(gap, of.dtype)).var)
        if var is not None:
            operands.append(var)
        at = stop
    return tuple(operands), (("axis", axis),)
