"""Finds the row in a slab for the id of each value of a batch."""

from __future__ import annotations

import threading

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import lengths_of
from arrows.engine.scheduling.node_table import NodeTable


def first_rows_of(plan: Plan, count: HostArray) -> tuple[HostArray, tuple[int, ...]]:
    """The first row of each output (``[operations, outputs]``) and the number of rows of each slab."""
    table = np.zeros((len(plan.operations), plan.widest), np.int32)
    operation, output, constants, begins = plan.slab_columns
    ends = np.zeros(len(operation) + 1, np.intp)
    count[operation].cumsum(out=ends[1:])
    table[operation, output] = ends[:-1] + (constants - ends[begins[:-1]]).repeat(lengths_of(begins))
    return table, tuple((constants + lengths_of(ends[begins])).tolist())


def row_lookup(
    plan: Plan, table: NodeTable, numbers: HostArray, begins: HostArray, count: HostArray
) -> HostArray:
    """The row of each value of the batch, by its id; other ids have any number.

    ``numbers`` are by operation, in the order of its rows; ``begins`` has, for each operation and output, the
    first row less the operation's first place in ``numbers``; ``count`` its number of nodes.
    """
    constants, shift = len(plan.lowered.constants), plan.shift
    nodes = constants + len(table.place)
    places = np.arange(len(numbers), dtype=np.int32)
    first_rows = places + begins[:, 0].repeat(count)
    rows = scratch("rows", nodes << shift)
    rows[: constants << shift : 1 << shift] = plan.constant_rows
    ids = (numbers + constants) << shift
    rows[ids] = first_rows
    if plan.later_outputs:
        ends = [0, *count.cumsum().tolist()]
        for o, output in plan.later_outputs:
            if ends[o] < ends[o + 1]:
                nodes_of = slice(ends[o], ends[o + 1])
                rows[ids[nodes_of] + output] = places[nodes_of] + begins[o, output]
    return rows


_kept = threading.local()


def scratch(name: str, size: int) -> HostArray:
    """Returns an array that is reused from batch to batch; each thread has its own."""
    array: HostArray | None = getattr(_kept, name, None)
    if array is None or len(array) < size:
        array = np.empty(size, np.int32)
        setattr(_kept, name, array)
    return array
