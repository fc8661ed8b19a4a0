"""Transposes of gathers, planned at merge: how a step's input gradients are added to the rows they came from.

Where a step reads consecutive rows it is an addition to a range; where no row is read twice it is ``+=`` on
an index; else the readers are sorted by the row they read, and each row gets the sum of its segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.engine.extents import lengths_of
from arrows.engine.merge import PortRows


@dataclass(frozen=True, slots=True)
class Scatter:
    """The plan of one port whose steps read some rows more than once.

    Attributes:
        order: positions within each step, sorted by the row read; step after step, as the port's rows.
        rows: the distinct rows of each step, step after step.
        starts: for each of ``rows``, where its readers start in its step's part of ``order``.
        bounds: where each step's rows start in ``rows``.
    """

    order: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    bounds: np.ndarray


def plan_scatter(port: PortRows, bounds: np.ndarray, constants: int, slab_rows: int) -> Scatter | None:
    """Plans the transpose of a port's gather.

    Args:
        port: the rows it reads.
        bounds: where each step's rows start in ``port.rows``.
        constants: the slab's first rows hold constants, whose gradients nobody reads: repeats do not matter
            there.
        slab_rows: how many rows the slab has.

    Returns:
        None where no step reads a row twice.
    """
    rows = port.rows
    if len(rows) == 0:
        return None
    often = np.bincount(rows, minlength=slab_rows)[constants:]
    if often.max(initial=0) <= 1:
        return None
    step = np.repeat(np.arange(len(bounds) - 1), lengths_of(bounds))
    key = step * np.int64(slab_rows) + rows
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.concatenate(([True], key[1:] != key[:-1]))
    at = np.flatnonzero(first)
    found_step = step[order[at]]
    per_step = np.zeros(len(bounds), np.intp)
    np.cumsum(np.bincount(found_step, minlength=len(bounds) - 1), out=per_step[1:])
    if per_step[-1] == len(rows):
        return None
    return Scatter(
        order - bounds[:-1][step[order]],
        rows[order[at]],
        at - bounds[found_step],
        per_step,
    )
