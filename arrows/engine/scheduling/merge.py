"""Merges the examples of a batch into a schedule by array operations: a sort of numbers, no loop over nodes.

Rows of a slab are ordered by operation, then step, whatever the order of execution, so that a step writes one
contiguous range of its operation's rows and an operation's rows are one range.  A step reads each port
through a range too where the rows it wants are consecutive, else through an index array.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from arrows.engine.planning import ApplyOperation, ElementOperation, Operation, Plan, ReadOperation
from arrows.engine.reading.source_layout import ended, lengths_of, range_of, ranges_of, starts_of_runs
from arrows.engine.reading.wiring import Column, Outputs, Wirings
from arrows.engine.scheduling.agenda import agenda
from arrows.engine.scheduling.node_table import NodeTable, ordered_keys
from arrows.engine.scheduling.prepared_set import WiredBatch
from arrows.engine.scheduling.sorting import stable_order


@dataclass(frozen=True, slots=True)
class PortRows:
    """The rows that one port of an operation gathers, for all nodes of the operation.

    Attributes:
        rows: rows of the port's slab, in the order of the operation's rows (of the sequence's elements).
    """

    rows: np.ndarray

    def views(self, bounds: np.ndarray) -> list[int]:
        """For each step, the first row if its rows are a range, else -1; a step without rows reads none."""
        first: list[int] = ranges_of(self.rows, bounds[:-1], bounds[1:]).tolist()
        return first

    @property
    def whole(self) -> int:
        """The first row if all rows are one range, else -1: `views` of one step, without its arrays."""
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
    offsets: dict[int, np.ndarray]
    first_rows: tuple[int, ...]
    bounds: np.ndarray
    parts: np.ndarray
    components: np.ndarray
    longest: int

    def side_by_side(self, ports: Sequence[int]) -> np.ndarray:
        """The rows that several ports gather, those of each node next to one another."""
        if len(ports) == 1:
            return self.ports[ports[0]].rows
        rows = np.empty((len(self.ports[ports[0]].rows), len(ports)), np.intp)
        for column, port in enumerate(ports):
            rows[:, column] = self.ports[port].rows
        return rows.reshape(-1)


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
        outputs: what comes out of the examples, in their order; of results and metrics, rows of slabs.
        numbers: those of the nodes that run, by operation, then row.
        of: the column that they were taken from.
    """

    examples: int
    operations: tuple[OperationRows, ...]
    steps: list[tuple[int, int]]
    spans: list[tuple[int, int, int]]
    slab_rows: tuple[int, ...]
    raw: tuple[np.ndarray, ...]
    outputs: Outputs
    numbers: np.ndarray
    of: Column

    def nodes(self, operation: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of an operation, in the order of its rows: the number of the example, and of the node in
        it.  Of nodes that one stands for, it is the first."""
        begin = sum(rows.count for rows in self.operations[:operation])
        numbers = self.numbers[begin : begin + self.operations[operation].count]
        all_numbers = self.of.values
        first = _scratch("first", int(all_numbers.max(initial=-1)) + 1)
        first[all_numbers[::-1]] = np.arange(len(all_numbers))[::-1]
        at = first[numbers]
        example = np.searchsorted(self.of.offsets, at, side="right") - 1
        return example, at - self.of.offsets[example]


def merge(plan: Plan, batch: WiredBatch, *, share: bool = True) -> Merged:
    """Merges the wirings of a batch.

    Args:
        plan: the model's plan.
        batch: the examples.
        share: let one node stand for all that compute the same, where the wirings know it.

    Returns:
        The schedule: steps in order, and for each operation the rows that its ports gather.
    """
    share = share and plan.shares
    if not share:
        batch = batch.apart()
    table = batch.table(plan, share)
    of = table.numbers.select(batch.indices)
    numbers = np.sort(of.values)
    if share:
        numbers = numbers[starts_of_runs(numbers)]
    numbers = numbers.astype(np.intp)  # NumPy takes and puts twice as fast by these
    if plan.schedule != "agenda":
        key, key_pair, key_depth = table.key.take(numbers), table.key_pair, table.key_depth
    else:
        key, key_pair, key_depth = _agenda(plan, table, numbers)
        order = stable_order(key, len(key_pair))
        numbers, key = numbers[order], key[order]
    starts = starts_of_runs(key)
    run_pair, run_depth = key_pair[key[starts]], key_depth[key[starts]]
    run_operation = plan.pairs.operation[run_pair]
    # Operations are numbered as they are sorted.
    runs_at = np.searchsorted(run_operation, np.arange(len(plan.operations) + 1))
    ends = ended(starts, len(numbers))[runs_at]
    first, count = ends[:-1], lengths_of(ends)

    begins, slab_rows = _row_table(plan, count.tolist())
    row_of = _rows(plan, table, numbers, begins - first[:, None], count)
    sources_at = table.first.take(numbers)
    operations = []
    bounds_at, runs, first_row = ends.tolist(), runs_at.tolist(), begins.tolist()
    for operation, (a, z), (b, y) in zip(plan.operations, pairwise(bounds_at), pairwise(runs), strict=True):
        bounds, parts, components = _steps(plan, starts[b:y] - a, run_pair[b:y], z - a)
        ports, offsets = _ports(operation, table, numbers[a:z], sources_at[a:z], row_of)
        first_rows = tuple(first_row[operation.index][: len(operation.outputs)])
        longest = z - a if len(bounds) == 2 else int(lengths_of(bounds).max(initial=0))
        operations.append(
            OperationRows(z - a, ports, offsets, first_rows, bounds, parts, components, longest)
        )

    if plan.schedule == "none":
        steps, spans = _one_by_one(plan, table.place[numbers], np.repeat(np.arange(len(count)), count), first)
    else:
        steps, spans = _in_order(plan, run_operation, run_pair, run_depth, runs)
    outputs = table.outputs.select(batch.indices)
    return Merged(
        len(batch),
        tuple(operations),
        steps,
        spans,
        slab_rows,
        _raw(plan, batch.wirings, sources_at, bounds_at),
        replace(
            outputs,
            results=tuple(Column(row_of[ids.values].astype(np.intp), ids.offsets) for ids in outputs.results),
            metrics=tuple(Column(row_of[ids.values].astype(np.intp), ids.offsets) for ids in outputs.metrics),
        ),
        numbers,
        of,
    )


class _FarRows:
    """The row of each value by its id, where a table of all ids would be too large: what a node with many
    outputs takes, each node would."""

    def __init__(self, first: np.ndarray, operation: np.ndarray, further: np.ndarray, shift: int) -> None:
        self.first = first  # by node, that of its first output
        self.operation = operation  # by node
        self.further = further  # by operation and output, how much further on its row is
        self.shift = shift

    def take(self, ids: np.ndarray) -> np.ndarray:
        """The rows of values."""
        node, output = ids >> self.shift, ids & ((1 << self.shift) - 1)
        rows: np.ndarray = self.first[node] + self.further[self.operation[node], output]
        return rows

    __getitem__ = take


# A table of the rows of all ids may have so many entries; beyond, rows are computed.
_MOST_IDS = 2**27


def _rows(
    plan: Plan, table: NodeTable, numbers: np.ndarray, begins: np.ndarray, count: np.ndarray
) -> np.ndarray | _FarRows:
    """The row of each value of the batch, by its id; what stands under other ids is left over.

    Args:
        plan: the model's plan.
        table: of the nodes.
        numbers: those of the batch, by operation, in the order of its rows.
        begins: for each operation and output, the first row less the operation's first place in ``numbers``.
        count: how many nodes each operation has.
    """
    constants, shift = len(plan.lowered.constants), plan.shift
    nodes = constants + len(table.place)
    if nodes << shift > _MOST_IDS:
        known, operation = _scratch("rows", nodes), np.zeros(nodes, np.int32)
        known[:constants] = plan.constant_rows
        known[numbers + constants] = np.arange(len(numbers), dtype=np.int32) + np.repeat(begins[:, 0], count)
        operation[numbers + constants] = np.repeat(np.arange(len(count)), count)
        return _FarRows(known, operation, begins - begins[:, :1], shift)
    rows = _scratch("rows", nodes << shift)
    rows[: constants << shift : 1 << shift] = plan.constant_rows
    places = np.arange(len(numbers), dtype=np.int32)
    ids = (numbers + constants) << shift
    rows[ids] = places + np.repeat(begins[:, 0], count)
    if plan.further:
        ends = np.cumsum(count).tolist()
        for o, output in plan.further:
            mine = slice(ends[o] - int(count[o]), ends[o])
            rows[ids[mine] + output] = places[mine] + begins[o, output]
    return rows


_ONE_STEP = np.array([0, 1])

_kept = threading.local()


def _scratch(name: str, size: int) -> np.ndarray:
    """An array that is kept from batch to batch (a thread has its own): what it holds is left over."""
    known: np.ndarray | None = getattr(_kept, name, None)
    if known is None or len(known) < size:
        known = np.empty(size, np.int32)
        setattr(_kept, name, known)
    return known


def _steps(
    plan: Plan, starts: np.ndarray, pairs: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An operation's ``bounds``, ``parts`` and ``components``, as in `OperationRows`.

    Args:
        plan: the model's plan.
        starts: where the runs of its nodes with one key start.
        pairs: for each run, its (operation, component).
        count: how many nodes it has.
    """
    if plan.schedule == "none":
        return np.arange(count + 1), np.array([0, count]), np.zeros(1, np.int32)
    if count == 0:
        return np.zeros(1, np.intp), np.zeros(2, np.intp), np.zeros(1, np.int32)
    if len(pairs) == 1:  # what stands outside of recursion and folds
        return np.array([0, count]), _ONE_STEP, plan.pairs.component[pairs]
    begins = starts_of_runs(pairs)
    return ended(starts, count), ended(begins, len(pairs)), plan.pairs.component[pairs[begins]]


def _ports(
    operation: Operation,
    table: NodeTable,
    numbers: np.ndarray,
    first: np.ndarray,
    row_of: np.ndarray | _FarRows,
) -> tuple[tuple[PortRows, ...], dict[int, np.ndarray]]:
    """What each port of an operation's nodes gathers, and where the elements of its sequences start."""
    if not isinstance(operation, ApplyOperation) or not operation.ports:
        return (), {}
    single = len(operation.ports) - sum(operation.widths)
    rows = row_of.take(table.sources.take(first + np.arange(single)[:, None])).astype(np.intp)
    ports = list(map(PortRows, rows))
    offsets: dict[int, np.ndarray] = {}
    start = first + single
    for number, domain in enumerate(operation.domains):
        counts = table.counts[table.first_count[numbers] + number]
        ends = np.zeros(len(numbers) + 1, np.intp)
        np.cumsum(counts, out=ends[1:])
        offsets[domain] = ends
        for port in operation.ports:
            if port.domain == domain:
                at = np.repeat(start - ends[:-1], counts) + np.arange(ends[-1])
                ports.append(PortRows(row_of[table.sources[at]].astype(np.intp)))
                start = start + counts
    return tuple(ports), offsets


def _raw(plan: Plan, wirings: Wirings, places: np.ndarray, bounds: Sequence[int]) -> tuple[np.ndarray, ...]:
    """The values that were read, in the order of their rows; ``places``: where they are in the set."""
    values = [column.values[:0] for column in wirings.raw]
    for operation in plan.operations:
        if isinstance(operation, ReadOperation):
            a, z = bounds[operation.index : operation.index + 2]
            values[operation.stream] = wirings.raw[operation.stream].values[places[a:z]]
    return tuple(values)


def _row_table(plan: Plan, count: Sequence[int]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The first row of each output (``[operations, outputs]``) and the number of rows of each slab."""
    table = np.zeros((len(plan.operations), plan.widest), np.int32)
    sizes = []
    for slab in plan.slabs:
        row = len(slab.constants)
        for o, k in slab.outputs:
            table[o, k] = row
            row += count[o]
        sizes.append(row)
    return table, tuple(sizes)


def _in_order(
    plan: Plan,
    run_operation: np.ndarray,
    run_pair: np.ndarray,
    run_depth: np.ndarray,
    first_run: Sequence[int],
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """``steps`` and ``spans``, as in `Merged`: by component, depth and operation."""
    component = plan.pairs.component[run_pair]
    when = np.lexsort((run_operation, run_depth, component))
    when = when[plan.applies[run_operation[when]]]
    operations = run_operation[when].tolist()
    steps = [(o, run - first_run[o]) for o, run in zip(operations, when.tolist(), strict=True)]
    component = component[when]
    cuts = [*starts_of_runs(component).tolist(), len(steps)]
    return steps, [(int(component[a]), a, z) for a, z in pairwise(cuts)]


def _one_by_one(
    plan: Plan, place: np.ndarray, operation: np.ndarray, first: np.ndarray
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """``steps`` and ``spans`` of one node a step.

    Args:
        plan: the model's plan.
        place: what puts the nodes in order.
        operation: the operation of each.
        first: where the nodes of each operation start.
    """
    order = np.argsort(place, kind="stable")
    order = order[plan.applies[operation[order]]]
    of = operation[order]
    steps = list(zip(of.tolist(), (order - first[of]).tolist(), strict=True))
    return steps, [(0, 0, len(steps))]


def _agenda(plan: Plan, table: NodeTable, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys by the step of each node; rows of an operation's sequence have the step of their operation's
    node."""
    nodes = len(numbers)
    at = np.argsort(table.place[numbers])  # nodes before the rows of their sequences
    numbers = numbers[at]
    pair, depth = table.key_pair[table.key[numbers]], table.key_depth[table.key[numbers]]
    operation = plan.pairs.operation[pair]
    is_element = np.array([isinstance(known, ElementOperation) for known in plan.operations])[operation]
    owner = np.maximum.accumulate(np.where(is_element, 0, np.arange(nodes)))
    runs = plan.applies[operation]
    length = table.length[numbers]
    begins = table.first[numbers] - (np.cumsum(length) - length)
    ids = table.sources[np.repeat(begins, length) + np.arange(length.sum())]
    node = (ids >> plan.shift) - len(plan.lowered.constants)
    target = np.repeat(np.arange(nodes), length)[node >= 0]
    place = _scratch("first", len(table.place))
    place[numbers] = np.arange(nodes)
    source = owner[place[node[node >= 0]]]
    edges = runs[source] & runs[target]
    number = np.cumsum(runs) - 1
    times = np.zeros(nodes, np.int64)
    times[runs] = agenda(
        operation[runs], depth[runs], number[source[edges]], number[target[edges]], len(plan.operations)
    )
    back = np.empty(nodes, np.intp)
    back[at] = np.arange(nodes)
    return ordered_keys(plan, pair[back], times[owner[back]])
