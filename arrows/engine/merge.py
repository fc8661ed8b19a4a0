"""Merges the wirings of a batch into a schedule by array operations: a stable sort, no loop over nodes.

Rows of a slab are ordered by operation, then step, whatever the order of execution, so that a step writes one
contiguous range of its operation's rows and an operation's rows are one range.  A step reads each port
through a range too where the rows it wants are consecutive, else through an index array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from arrows.engine.agenda import agenda
from arrows.engine.extents import Extents, breaks_of, extents, lengths_of, starts_of_runs
from arrows.engine.plan import Operation, Plan
from arrows.engine.sharing import representatives
from arrows.engine.wiring import Column, Wirings


@dataclass(frozen=True, slots=True)
class PortRows:
    """The rows that one port of an operation gathers, for all nodes of the operation.

    Attributes:
        rows: rows of the port's slab, in the order of the operation's rows (of the sequence's elements).
        breaks: ``breaks[i]`` counts the places up to ``i`` where ``rows`` does not go on by one.
    """

    rows: np.ndarray
    breaks: np.ndarray

    def views(self, bounds: np.ndarray) -> list[int]:
        """For each step, the first row if its rows are a range, else -1; a step without rows reads none."""
        starts, last = bounds[:-1], bounds[1:] - 1
        if len(self.rows) == 0:
            return [0] * len(starts)
        empty = last < starts
        if empty.any():
            starts, last = np.where(empty, 0, starts), np.where(empty, 0, last)
        found = np.where(self.breaks[last] == self.breaks[starts], self.rows[starts], -1)
        found[empty] = 0
        first: list[int] = found.tolist()
        return first

    @property
    def whole(self) -> int:
        """The first row if all rows are one range, else -1."""
        if len(self.rows) == 0:
            return 0
        return int(self.rows[0]) if self.breaks[-1] == 0 else -1


@dataclass(frozen=True, slots=True)
class OperationRows:
    """One operation's part of a batch.

    Attributes:
        count: how many nodes.
        ports: as `Operation.ports`.
        offsets: for each sequence domain, where each node's elements start (``count + 1`` entries).
        first_rows: for each output, its first row in its slab.
        bounds: where its steps start, ascending, and ``count`` at the end.
        parts: the first step of each component that the operation runs in, and the number of steps at the
            end.
        components: the numbers of these components.
        longest: the most rows of a step.
    """

    count: int
    ports: tuple[PortRows, ...]
    offsets: dict[int, np.ndarray]
    first_rows: tuple[int, ...]
    bounds: np.ndarray
    parts: np.ndarray
    components: np.ndarray
    longest: int

    def side_by_side(self, ports: Sequence[int]) -> np.ndarray:
        """The rows that several ports gather, those of each node next to one another."""
        columns = [self.ports[port].rows for port in ports]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1).reshape(-1)


@dataclass(frozen=True, slots=True)
class Merged:
    """A batch, ready to be executed.

    Attributes:
        examples: how many.
        operations: as `Plan.operations`.
        steps: (operation, number of its step) in the order of execution.
        spans: (component, number of its first step in ``steps``, of the step after its last) in the order of
            execution.
        slab_rows: how many rows each slab has.
        raw: for each read type, its values, in the order of their rows.
        results: for each tensor leaf of the result, the slab rows, in the order of the examples.
        levels: for each nesting level of the result, the lengths, and where each example starts.
        metrics: for each metric stream, the slab rows and where each example starts.
        labels: for each metric stream, its labels by example, or None.
        order: the nodes of the batch by operation, then row; those that others stand for are not among them.
    """

    examples: int
    operations: tuple[OperationRows, ...]
    steps: list[tuple[int, int]]
    spans: list[tuple[int, int, int]]
    slab_rows: tuple[int, ...]
    raw: tuple[np.ndarray, ...]
    results: tuple[Column, ...]
    levels: tuple[Column, ...]
    metrics: tuple[Column, ...]
    labels: tuple[tuple[list[Any], ...] | None, ...]
    order: np.ndarray

    def nodes(self, operation: int) -> np.ndarray:
        """The nodes of an operation, in the order of its rows."""
        first = sum(rows.count for rows in self.operations[:operation])
        return self.order[first : first + self.operations[operation].count]


def merge(plan: Plan, wirings: Wirings, *, share: bool = True) -> Merged:
    """Merges the wirings of a batch.

    Args:
        plan: the model's plan.
        wirings: one wiring an example.
        share: let one node stand for all that compute the same, where the wirings know it.

    Returns:
        The schedule: steps in order, and for each operation the rows that its ports gather.
    """
    site, depth = wirings.site.values, wirings.depth.values
    operation = plan.site_operation[site]
    stands: np.ndarray | None = None
    kept = np.arange(len(site)) if plan.schedule == "none" else _largest_first(wirings.site.offsets)
    if share and wirings.same is not None:
        stands = representatives(wirings.same.values)
        kept = kept[stands[kept] == kept]
    row_of = Rows(plan, wirings, operation)
    layout = extents(plan, site, wirings.counts.values)
    if plan.schedule == "none":
        depth = np.zeros_like(depth)  # rows in the order in which they are computed
    elif plan.schedule == "agenda":
        depth = _agenda(plan, operation, depth, row_of.node(wirings.sources), layout, kept, stands)
    order, starts, run_pair, run_depth = _sort(plan, site[kept], depth[kept])
    order = kept[order]
    run_operation = plan.pair_operation[run_pair]

    count = np.bincount(operation[kept], minlength=len(plan.operations))
    first = np.cumsum(count) - count  # operations are numbered as they are sorted
    rank = np.empty(len(site), np.int32)
    rank[order] = np.arange(len(order)) - np.repeat(first, count)
    if stands is not None:
        rank = rank[stands]

    table, slab_rows = _row_table(plan, count)
    row_of.place(rank, table)
    source_rows = row_of(wirings.sources)

    operations = []
    runs_at = np.searchsorted(run_operation, np.arange(len(plan.operations) + 1)).tolist()
    first_row = table.tolist()
    for operation_plan in plan.operations:
        o = operation_plan.index
        mine = order[first[o] : first[o] + count[o]]
        runs_of = slice(runs_at[o], runs_at[o + 1])
        bounds, parts, components = _steps(plan, o, runs_of, starts, run_pair, int(first[o]), int(count[o]))
        ports, offsets = _ports(operation_plan, mine, layout, source_rows)
        first_rows = tuple(first_row[o][: len(operation_plan.outputs)])
        longest = len(mine) if len(bounds) == 2 else int(lengths_of(bounds).max(initial=0))
        operations.append(
            OperationRows(len(mine), ports, offsets, first_rows, bounds, parts, components, longest)
        )

    if plan.schedule == "none":
        at = np.flatnonzero(plan.applies[operation])
        steps = list(zip(operation[at].tolist(), rank[at].tolist(), strict=True))
        spans = [(0, 0, len(steps))]
    else:
        when = np.lexsort((run_operation, run_depth, plan.pair_component[run_pair]))
        when = when[plan.applies[run_operation[when]]]
        operations_run = run_operation[when].tolist()
        steps = [(o, run - runs_at[o]) for o, run in zip(operations_run, when.tolist(), strict=True)]
        component_of = plan.pair_component[run_pair[when]]
        cuts = [*starts_of_runs(component_of).tolist(), len(steps)]
        spans = [(int(component_of[a]), a, z) for a, z in pairwise(cuts)]
    return Merged(
        len(wirings),
        tuple(operations),
        steps,
        spans,
        slab_rows,
        _raw(plan, wirings, operation, order, first, count),
        tuple(Column(row_of(column), column.offsets) for column in wirings.results),
        wirings.levels,
        tuple(Column(row_of(column), column.offsets) for column in wirings.metrics),
        wirings.labels,
        order,
    )


def _steps(
    plan: Plan, o: int, runs: slice, starts: np.ndarray, run_pair: np.ndarray, first: int, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An operation's ``bounds``, ``parts`` and ``components``, as in `OperationRows`."""
    if plan.schedule == "none":
        return np.arange(count + 1), np.array([0, count]), np.zeros(1, np.int32)
    if count == 0:
        return np.zeros(1, np.intp), np.zeros(2, np.intp), np.zeros(1, np.int32)
    pairs = run_pair[runs]
    if len(pairs) == 1:  # what stands outside of recursion and folds
        return np.array([0, count]), np.array([0, 1]), plan.pair_component[pairs]
    bounds = np.append(starts[runs], first + count) - first
    begins = starts_of_runs(pairs)
    return bounds, np.append(begins, len(pairs)), plan.pair_component[pairs[begins]]


def _largest_first(offsets: np.ndarray) -> np.ndarray:
    """The nodes of a batch, those of the largest examples first.

    Rows of one step are in this order. So where sequences end at different steps, those that go on are the
    first rows of each, and what they read is a range: a view instead of a gather.
    """
    lengths = lengths_of(offsets)
    examples = np.argsort(-lengths, kind="stable")
    lengths = lengths[examples]
    ends = np.cumsum(lengths)
    nodes: np.ndarray = np.repeat(offsets[examples] - (ends - lengths), lengths)
    nodes += np.arange(len(nodes))
    return nodes


def _raw(
    plan: Plan,
    wirings: Wirings,
    operation: np.ndarray,
    order: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """The values that were read, in the order of their rows."""
    values = [column.values for column in wirings.raw]
    for known in plan.operations:
        if known.kind == "read":
            o = known.index
            nodes = order[first[o] : first[o] + count[o]]
            number = np.cumsum(operation == o) - 1
            values[known.stream] = values[known.stream][number[nodes]]
    return tuple(values)


def _sort(
    plan: Plan, site: np.ndarray, depth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sorts the nodes by operation, component and depth, stably: (order, first of each run, its pair, its
    depth)."""
    span = int(depth.max(initial=0)) + 1
    pair = plan.site_pair[site]
    largest = len(plan.pair_operation) * span
    # 16 bits: NumPy's stable sort is a radix sort.
    kind = np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64
    key = pair.astype(kind) * kind(span) + depth.astype(kind)
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = starts_of_runs(key)
    run_pair, run_depth = np.divmod(key[starts].astype(np.int64), span)
    return order, starts, run_pair, run_depth


def _row_table(plan: Plan, count: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """The first row of each output (``[operations, 1 << shift]``) and the number of rows of each slab."""
    table = np.zeros((len(plan.operations), 1 << plan.shift), np.int32)
    sizes = []
    for slab in plan.slabs:
        row = len(slab.constants)
        for o, k in slab.outputs:
            table[o, k] = row
            row += int(count[o])
        sizes.append(row)
    for operation in plan.operations:
        if operation.kind == "constant":
            table[operation.index, 0] = plan.slabs[operation.slabs[0]].constants.index(operation.stream)
    return table, tuple(sizes)


def _agenda(
    plan: Plan,
    operation: np.ndarray,
    depth: np.ndarray,
    from_node: np.ndarray,
    layout: Extents,
    kept: np.ndarray,
    stands: np.ndarray | None,
) -> np.ndarray:
    """The step of each node; rows of an operation's sequence have the step of their operation's node."""
    nodes = len(operation)
    kinds = np.array([known.kind for known in plan.operations])[operation]
    owner = np.maximum.accumulate(np.where(kinds == "element", 0, np.arange(nodes)))
    if stands is not None:
        owner = owner[stands]
    runs = kinds == "apply"
    there = np.zeros(nodes, bool)
    there[kept] = True
    runs &= there
    number = np.cumsum(runs) - 1
    target = np.repeat(np.arange(nodes), layout.length)
    source = owner[np.maximum(from_node, 0)]
    edges = (from_node >= 0) & runs[source] & runs[target]
    times = np.zeros(nodes, np.int64)
    times[runs] = agenda(
        operation[runs], depth[runs], number[source[edges]], number[target[edges]], len(plan.operations)
    )
    return times[owner]


class Rows:
    """Turns value ids into rows of slabs."""

    def __init__(self, plan: Plan, wirings: Wirings, operation: np.ndarray) -> None:
        self.shift = plan.shift
        self.constants = len(plan.constants)
        self.operation = np.concatenate([plan.constant_operation, operation.astype(np.int32, copy=False)])
        # From the node numbers of the wiring to those of the batch.
        self.move = (wirings.site.offsets[:-1] + self.constants - wirings.base).astype(np.int32) << self.shift

    def place(self, rank: np.ndarray, table: np.ndarray) -> None:
        """Takes in where the nodes' rows are: their rank among those of their operation, and where it
        begins."""
        self.rank = np.concatenate([np.zeros(self.constants, np.int32), rank])
        self.table = table.ravel()

    def _moved(self, ids: Column) -> np.ndarray:
        values = ids.values
        moved: np.ndarray = values + np.repeat(self.move, lengths_of(ids.offsets))
        if self.constants:
            moved = np.where(values < (self.constants << self.shift), values, moved)
        return moved

    def node(self, ids: Column) -> np.ndarray:
        """The nodes of the batch whose values these are; constants are negative."""
        node: np.ndarray = (self._moved(ids) >> self.shift) - self.constants
        return node

    def __call__(self, ids: Column) -> np.ndarray:
        moved = self._moved(ids)
        if self.shift == 0:
            rows = self.table[self.operation[moved]] + self.rank[moved]
        else:
            node = moved >> self.shift
            output = moved & ((1 << self.shift) - 1)
            rows = self.table[(self.operation[node] << self.shift) + output] + self.rank[node]
        result: np.ndarray = rows.astype(np.intp)
        return result


def _ports(
    operation: Operation, mine: np.ndarray, layout: Extents, source_rows: np.ndarray
) -> tuple[tuple[PortRows, ...], dict[int, np.ndarray]]:
    """What each port of an operation's nodes gathers, and where the elements of its sequences start."""
    if not operation.ports:
        return (), {}
    first = layout.first_source[mine]
    single = len(operation.ports) - sum(operation.widths)
    rows = source_rows[first + np.arange(single)[:, None]]
    ports = list(map(PortRows, rows, breaks_of(rows)))
    offsets: dict[int, np.ndarray] = {}
    start = first + single
    for number, domain in enumerate(operation.domains):
        counts = layout.counts[layout.first_count[mine] + number]
        ends = np.zeros(len(mine) + 1, np.intp)
        np.cumsum(counts, out=ends[1:])
        offsets[domain] = ends
        for port in operation.ports:
            if port.domain == domain:
                at = np.repeat(start - ends[:-1], counts) + np.arange(ends[-1])
                ports.append(port_rows(source_rows[at]))
                start = start + counts
    return tuple(ports), offsets


def port_rows(rows: np.ndarray) -> PortRows:
    """The rows, with their breaks counted."""
    return PortRows(rows, breaks_of(rows))
