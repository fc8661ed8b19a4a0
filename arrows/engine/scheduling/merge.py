"""Merges the examples of a batch into a schedule by array operations: a sort of numbers, no loop over nodes.

Rows of a slab are ordered by operation, then step, whatever the order of execution. So a step writes one
range of its operation's rows, and all rows of an operation are one range: what is deferred runs on them at
once. A step reads each port as a range too where the rows are consecutive, else through an index array.

Each port has one index array a batch, and steps take slices of it. So all index arrays of a batch go to a
device in one copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Operation, Plan
from arrows.engine.reading import (
    Column,
    Outputs,
    Wirings,
    element_ids,
    lengths_of,
    range_of,
    ranges_of,
    stable_order,
    starts_of_runs,
    with_stop,
)
from arrows.engine.scheduling.node_table import NodeKeys, NodeTable
from arrows.engine.scheduling.prepared_set import WiredBatch
from arrows.engine.scheduling.row_lookup import first_rows_of, row_lookup, scratch
from arrows.engine.scheduling.step_order import Span, Step, by_depth, step_keys


@dataclass(frozen=True, slots=True)
class PortRows:
    """The rows that one port of an operation gathers, for all nodes of the operation.

    Attributes:
        rows: rows of the port's slab, in the order of the operation's rows (of the sequence's elements).
    """

    rows: HostArray

    def views(self, bounds: HostArray) -> list[int]:
        """For each step, its first row if its rows are a range, else -1; 0 for a step without rows."""
        first_rows: list[int] = ranges_of(self.rows, bounds[:-1], bounds[1:]).tolist()
        return first_rows

    @property
    def whole(self) -> int:
        """The first row if all rows are one range, else -1."""
        return range_of(self.rows)


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
    offsets: dict[int, HostArray]
    first_rows: tuple[int, ...]
    bounds: HostArray
    parts: HostArray
    components: HostArray
    longest: int

    def side_by_side(self, ports: Sequence[int]) -> HostArray:
        """The rows that several ports gather, those of each node next to one another."""
        if len(ports) == 1:
            return self.ports[ports[0]].rows
        rows = np.empty((len(self.ports[ports[0]].rows), len(ports)), np.intp)
        for column, port in enumerate(ports):
            rows[:, column] = self.ports[port].rows
        return rows.reshape(-1)


@dataclass(frozen=True, slots=True)
class Merged:
    """A batch that is ready to run.

    Attributes:
        examples: how many.
        operations: as `Plan.operations`.
        steps: (operation, number of its step) in the order of execution.
        spans: (component, number of its first step in ``steps``, of the step after its last) in the order of
            execution.
        first_rows: by operation and output, its first row in its slab.
        slab_rows: how many rows each slab has.
        raw: for each read type, its values, in the order of their rows.
        outputs: what comes out of the examples, in their order; of results and metrics, rows of slabs.
        numbers: of the nodes that run, by operation, then row; see `NodeTable`.
        all_numbers: by example, those of all its nodes: of nodes that are shared, one alone runs.
    """

    examples: int
    operations: tuple[OperationRows, ...]
    steps: list[Step]
    spans: list[Span]
    first_rows: HostArray
    slab_rows: tuple[int, ...]
    raw: tuple[HostArray, ...]
    outputs: Outputs
    numbers: HostArray
    all_numbers: Column

    def nodes(self, operation: int) -> tuple[HostArray, HostArray]:
        """The nodes of an operation, in the order of its rows; of nodes that share one row, the first.

        Returns:
            The place of each node's example in the batch, and the number of the node in the example.
        """
        begin = sum(rows.count for rows in self.operations[:operation])
        numbers = self.numbers[begin : begin + self.operations[operation].count]
        values, offsets = self.all_numbers.values, self.all_numbers.offsets
        first = scratch("first", int(values.max(initial=-1)) + 1)
        first[values[::-1]] = np.arange(len(values))[::-1]
        places = first[numbers]
        example = np.searchsorted(offsets, places, side="right") - 1
        return example, places - offsets[example]


# The most ids of a set in the table of rows (512 MB); the nodes of larger sets are numbered batch by batch.
_MOST_IDS = 2**27


def merge(plan: Plan, batch: WiredBatch, *, share: bool = True) -> Merged:
    """Makes a schedule of a batch's wirings; ``share``: compute equal nodes once, where they are known."""
    share = share and plan.shares
    if len(batch.wirings.site.values) << plan.shift > _MOST_IDS:
        batch = batch.alone()
    if not share:
        batch = batch.apart()
    table = batch.table(plan, share)
    all_numbers = table.numbers.select(batch.indices)
    numbers = np.sort(all_numbers.values)
    if share:
        numbers = numbers[starts_of_runs(numbers)]
    numbers = numbers.astype(np.intp)  # NumPy takes and puts twice as fast with indices of this type
    keys = NodeKeys(table.keys.key.take(numbers), table.keys.pair, table.keys.depth)
    if plan.schedule in ("agenda", "none"):
        keys = step_keys(plan, table, numbers, scratch("first", len(table.place)))
        order = stable_order(keys.key, len(keys.pair))
        numbers, keys = numbers[order], NodeKeys(keys.key[order], keys.pair, keys.depth)
    starts = starts_of_runs(keys.key)
    run_key = keys.key[starts]
    run_pair, run_depth = keys.pair[run_key], keys.depth[run_key]
    run_operation = plan.pairs.operation[run_pair]
    # Keys ascend by operation, so the runs of each operation, and its nodes, are a range.
    run_bounds = run_operation.searchsorted(np.arange(len(plan.operations) + 1))
    node_bounds = with_stop(starts, len(numbers))[run_bounds]
    first, count = node_bounds[:-1], lengths_of(node_bounds)

    first_rows, slab_rows = first_rows_of(plan, count)
    row_of = row_lookup(plan, table, numbers, first_rows - first[:, None], count)
    first_source = table.first.take(numbers)
    operations = _without_nodes(plan)
    node_cuts, run_cuts = node_bounds.tolist(), run_bounds.tolist()
    for o in count.nonzero()[0].tolist():  # a run on the fly may have nodes of few operations
        operation, a, z = plan.operations[o], node_cuts[o], node_cuts[o + 1]
        runs = slice(run_cuts[o], run_cuts[o + 1])
        bounds, parts, components = _steps(plan, starts[runs] - a, run_pair[runs], z - a)
        ports, offsets = _ports(operation, table, numbers[a:z], first_source[a:z], row_of)
        operations[o] = OperationRows(
            count=z - a,
            ports=ports,
            offsets=offsets,
            first_rows=tuple(first_rows[o, : len(operation.outputs)].tolist()),
            bounds=bounds,
            parts=parts,
            components=components,
            longest=z - a if len(bounds) == 2 else int(lengths_of(bounds).max(initial=0)),
        )

    steps, spans = by_depth(plan, run_operation, run_pair, run_depth, run_cuts)

    def rows(ids: Column) -> Column:
        return Column(row_of[ids.values].astype(np.intp), ids.offsets)

    outputs = table.outputs.select(batch.indices)
    return Merged(
        examples=len(batch),
        operations=tuple(operations),
        steps=steps,
        spans=spans,
        first_rows=first_rows,
        slab_rows=slab_rows,
        raw=_raw(plan, batch.wirings, first_source, node_cuts),
        outputs=outputs._replace(
            results=tuple(map(rows, outputs.results)), metrics=tuple(map(rows, outputs.metrics))
        ),
        numbers=numbers,
        all_numbers=all_numbers,
    )


_ONE_STEP = np.array([0, 1])


def _steps(
    plan: Plan, starts: HostArray, pairs: HostArray, count: int
) -> tuple[HostArray, HostArray, HostArray]:
    """The ``bounds``, ``parts`` and ``components`` of an operation of ``count`` nodes; see `OperationRows`.

    Its runs of nodes with one key start at ``starts``; ``pairs`` has the (operation, component) of each.
    """
    if len(pairs) == 1:  # sites outside of recursion and folds
        return np.array([0, count]), _ONE_STEP, plan.pairs.component[pairs]
    parts = starts_of_runs(pairs)
    return with_stop(starts, count), with_stop(parts, len(pairs)), plan.pairs.component[pairs[parts]]


_without: WeakKeyDictionary[Plan, tuple[OperationRows, ...]] = WeakKeyDictionary()


def _without_nodes(plan: Plan) -> list[OperationRows]:
    """The rows of each operation where it has no nodes, which are the same in all batches."""
    if plan not in _without:
        _without[plan] = tuple(map(_no_rows, plan.operations))
    return list(_without[plan])


def _no_rows(operation: Operation) -> OperationRows:
    return OperationRows(
        count=0,
        ports=(PortRows(np.zeros(0, np.intp)),) * len(operation.ports),
        offsets=dict.fromkeys(operation.domains, np.zeros(1, np.intp)),
        first_rows=(0,) * len(operation.outputs),
        bounds=np.zeros(1, np.intp),
        parts=np.zeros(2, np.intp),
        components=np.zeros(1, np.int32),
        longest=0,
    )


def _ports(
    operation: Operation,
    table: NodeTable,
    numbers: HostArray,
    first: HostArray,
    row_of: HostArray,
) -> tuple[tuple[PortRows, ...], dict[int, HostArray]]:
    """Returns the rows that each port of an operation gathers, and where its sequences' elements start."""
    if not operation.ports:
        return (), {}
    single = len(operation.ports) - sum(operation.widths)
    rows = row_of.take(table.sources.take(first + np.arange(single)[:, None])).astype(np.intp)
    ports = list(map(PortRows, rows))
    offsets: dict[int, HostArray] = {}
    first, first_count = first + single, table.first_count[numbers]
    for domain, ends, ids in element_ids(operation, table.sources, table.counts, first, first_count):
        offsets[domain] = ends
        ports.append(PortRows(row_of[ids].astype(np.intp)))
    return tuple(ports), offsets


def _raw(plan: Plan, wirings: Wirings, places: HostArray, bounds: Sequence[int]) -> tuple[HostArray, ...]:
    """The values that were read, in the order of their rows; ``places``: where they are in the set."""
    values = [column.values[:0] for column in wirings.raw]
    for operation in plan.streams:
        a, z = bounds[operation.index : operation.index + 2]
        if a < z:
            values[operation.stream] = wirings.raw[operation.stream].values[places[a:z]]
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A batch's schedule: printed, a drawing; in a notebook, a picture.

    Attributes:
        schedule: its name, such as `strata`.
        examples: how many examples are in the batch; None of a program on the fly, which has none.
        operations: the names of the operations, in the order in which they first run.
        steps: for each step, the operation (by its place in `operations`) and the number of rows.
    """

    schedule: str
    examples: int | None
    operations: tuple[str, ...]
    steps: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """How many rows run in all."""
        return sum(rows for _, rows in self.steps)

    def __str__(self) -> str:
        from arrows import drawing  # a room beside this one: only a reader asks for it

        return drawing.draw_timeline(self).rstrip("\n")

    def _repr_svg_(self) -> str:
        from arrows import drawing

        return drawing.draw_timeline(self, "svg")


def timeline(plan: Plan, merged: Merged) -> Timeline:
    """The timeline of a merged batch; `Model.timeline` makes that of a batch of examples."""
    places: dict[int, int] = {}
    steps = []
    for o, step in merged.steps:
        bounds = merged.operations[o].bounds
        steps.append((places.setdefault(o, len(places)), int(bounds[step + 1] - bounds[step])))
    names = tuple(plan.operations[o].name for o in places)
    return Timeline(plan.schedule, merged.examples, names, tuple(steps))
