"""Runs of element-wise equations that may be cut by rows, for several threads.

What a kernel does to one row does not depend on the other rows.  So the lines of neighbouring element-wise
equations can be put into a function of a range of rows, which threads call side by side; slices of the
arrays take the place of the arrays inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from arrows.engine.fuse import Chain
from arrows.engine.threads import SMALLEST
from arrows.ops.primitive import ROW
from arrows.ops.trace import Equation

_WORD = re.compile(r"\b[A-Za-z]+\d+\b")


@dataclass(frozen=True, slots=True)
class Written:
    """An equation, or a fused run of them, and the lines written for it."""

    unit: Equation | Chain
    lines: tuple[str, ...]


def cut_by_rows(
    written: Sequence[Written],
    fixed: Collection[str],
    tick: Callable[[Equation | Chain], str] | None = None,
) -> list[str]:
    """The lines of a part, where runs of element-wise equations go to several threads if rows are many.

    Args:
        written: the equations in order.
        fixed: the names in their lines that are no arrays with rows: kernels, values without rows.
        tick: the code that notes the time an equation took.
    """
    lines: list[str] = []
    start = 0
    while start < len(written):
        stop = start
        while stop < len(written) and _by_rows(written[stop].unit):
            stop += 1
        run = [line for one in written[start:stop] for line in one.lines]
        cost = sum(_cost(one.unit) for one in written[start:stop])
        lines += _either(run, fixed, cost) if cost else run
        if run and tick is not None:
            lines.append(tick(written[start].unit))
        if stop < len(written):
            lines += written[stop].lines
            lines += [tick(written[stop].unit)] if tick is not None else []
        start = stop + 1
    return lines


def _by_rows(unit: Equation | Chain) -> bool:
    if isinstance(unit, Chain):  # so much faster than what it replaces that threads would not pay
        return False
    primitive = unit.primitive
    kind = primitive.elementwise or primitive.view or primitive.name == "concat"
    return kind and not primitive.segmented and unit.result.rows == ROW


def _cost(unit: Equation | Chain) -> int:
    """Elements a row that are computed or copied."""
    return 0 if isinstance(unit, Chain) or unit.primitive.view else math.prod(unit.result.type.shape)


def _either(run: list[str], fixed: Collection[str], cost: int) -> list[str]:
    """The lines as they are for few rows, and as a function of a range of rows for many."""
    named: dict[str, str] = {}  # by name: the line that gives it
    arrays: dict[str, None] = {}  # what comes from outside
    for line in run:
        left, _, right = line.partition(" = ")
        names_value = left.isidentifier()
        for word in _WORD.findall(right if names_value else line):
            if word not in named and word not in fixed:
                arrays[word] = None
        if names_value:
            named[left] = line
    return [
        f"if z - a < {-(-SMALLEST // cost)}:",
        *("    " + line for line in run),
        "else:",
        f"    def chain(b, e, {', '.join(f'{word}={word}' for word in arrays)}):",
        f"        {', '.join(arrays)} = {', '.join(f'{word}[b:e]' for word in arrays)}",
        *("        " + line for line in run),
        "    run_rows(chain, z - a)",
        # What comes after goes by its names, too.
        *("    " + line for line in named.values()),
    ]
