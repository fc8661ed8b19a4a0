"""Merges the examples of a batch into a schedule by array operations: a sort of numbers, no loop over nodes.

Rows of a slab are ordered by operation, then step, whatever the order of execution. So a step writes one
range of its operation's rows, and all rows of an operation are one range: what is deferred runs on them at
once. A step reads each port as a range too where the rows are consecutive, else through an index array.

Each port has one index array a batch, and steps take slices of it. So all index arrays of a batch go to a
device in one copy.

A step runs one operation on one or more nodes. The schedules are those of `arrows.compile`:

* ``strata`` and ``depth``: nodes have a depth within their component, counted while the examples are read;
  the nodes of an operation at one depth are one step, and steps run by component, depth, operation. The
  plan numbers the components in topological order for ``strata``, and puts all into one for ``depth``;
* ``agenda``: steps are chosen one after another, among the operations that have ready nodes, by a rank of
  `RANKS`;
* ``none``: each node is a step of its own, in the order in which the examples were read.

Each node that has dropout has a key of 64 bits, from which its mask is hashed. A key is itself a hash of
(seed, step, example id, site, number of the node within its example). So a mask depends neither on the batch
that an example is in, nor on its place there, nor on the schedule.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Operation, Plan
from arrows.engine.reading import (
    Column,
    Outputs,
    Wirings,
    element_ids,
    joined_ranges,
    lengths_of,
    stable_order,
    starts_of_runs,
    with_stop,
)
from arrows.engine.reference import draw_keys, node_keys
from arrows.engine.scheduling.node_table import NodeKeys, NodeTable, WiredBatch, ordered_keys


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


Step = tuple[int, int]
"""An operation, and which of its steps."""

Span = tuple[int, int, int]
"""A component, the place of its first step among all, and the place after its last."""


def by_depth(
    plan: Plan,
    operation: HostArray,
    pair: HostArray,
    depth: HostArray,
    first_run: Sequence[int],
) -> tuple[list[Step], list[Span]]:
    """Orders steps by component, depth and operation.

    Components are numbered in topological order, so a step's operands are there when it runs.  The arrays are
    over runs of nodes with one key, in the order of the rows; ``first_run`` is by operation.
    """
    component = plan.pairs.component[pair]
    order = np.lexsort((operation, depth, component))
    order = order[plan.applies[operation[order]]]
    operations = operation[order].tolist()
    steps = [(o, run - first_run[o]) for o, run in zip(operations, order.tolist(), strict=True)]
    component = component[order]
    cuts = [*starts_of_runs(component).tolist(), len(steps)]
    return steps, [(int(component[start]), start, stop) for start, stop in pairwise(cuts)]


Rank = Callable[[int, float], tuple[float, ...]]
"""The place of an operation, from how many of its nodes are ready and how deep all lie on average."""

RANKS: Mapping[str, Rank] = {"agenda": lambda ready, depth: (depth,)}
"""The schedules that choose one step after another: of the operations with ready nodes, the least runs."""


def step_keys(plan: Plan, table: NodeTable, numbers: HostArray, index: HostArray) -> NodeKeys:
    """Keys of a batch's nodes by which their steps are their depths, for those of `RANKS` and ``none``.

    The rows that an operation gives for the elements of a sequence have the step of its node.  ``index`` is
    memory for a number by node of the table, and is overwritten.
    """
    nodes = len(numbers)
    order = np.argsort(table.place[numbers])  # a node comes before the rows of its sequences
    numbers = numbers[order]
    key = table.keys.key[numbers]
    pair, depth = table.keys.pair[key], table.keys.depth[key]
    operation = plan.pairs.operation[pair]
    is_element = np.array([each.kind == "element" for each in plan.operations])[operation]
    owner = np.maximum.accumulate(np.where(is_element, 0, np.arange(nodes)))
    runs = plan.applies[operation]
    steps = np.cumsum(runs) - 1
    if plan.schedule in RANKS:
        length = table.length[numbers]
        ids = table.sources[joined_ranges(table.first[numbers], length)]
        node = (ids >> plan.shift) - len(plan.lowered.constants)
        target = np.repeat(np.arange(nodes), length)[node >= 0]
        index[numbers] = np.arange(nodes)
        source = owner[index[node[node >= 0]]]
        edges = runs[source] & runs[target]
        source, target = steps[source[edges]], steps[target[edges]]
        rank = RANKS[plan.schedule]
        steps[runs] = agenda(rank, operation[runs], depth[runs], source, target, plan.heavy)
    steps[~runs] = 0
    back = np.empty(nodes, np.intp)
    back[order] = np.arange(nodes)
    return ordered_keys(plan, pair[back], steps[owner[back]])


def agenda(
    rank: Rank, operation: HostArray, depth: HostArray, source: HostArray, target: HostArray, heavy: HostArray
) -> HostArray:
    """Gives each node the step of the agenda that it runs in.

    At each step, of the operations that have ready nodes, the one of the least rank runs, on all that are
    ready. Of equals, cheap operations run before those that multiply matrices, so that more nodes of the
    latter may be ready by then. The loop is over steps, with a few array operations for each.

    Args:
        rank: chooses the operation of a step.
        operation: the operation of each node, ``[nodes]``; nodes of one operation may run at once.
        depth: the depth of each node, ``[nodes]``.
        source, target: for each edge, the node whose value is read and the node that reads it, ``[edges]``.
        heavy: for each operation, whether it multiplies matrices.

    Returns:
        Steps, from 0, ``[nodes]``.

    Source: Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017,
    section 3.2, for the loop and the rank of ``agenda``.

    >>> # three chains of a and b: a b / b / b
    >>> operation, depth = np.array([0, 1, 1, 1]), np.array([0, 1, 0, 0])
    >>> graph = operation, depth, np.array([0]), np.array([1]), np.array([0, 1])
    >>> agenda(RANKS["agenda"], *graph).tolist()
    [0, 1, 1, 1]
    >>> agenda(lambda ready, depth: (-ready,), *graph).tolist()  # the largest step first
    [1, 2, 0, 0]
    """
    nodes = len(operation)
    operations = len(heavy)
    costs: list[bool] = heavy.tolist()
    depths = np.bincount(operation, weights=depth, minlength=operations)
    mean: list[float] = (depths / np.maximum(np.bincount(operation, minlength=operations), 1)).tolist()
    readers = target[np.argsort(source, kind="stable")]
    first_reader = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=first_reader[1:])
    waiting = np.bincount(target, minlength=nodes)

    ready: list[list[HostArray]] = [[] for _ in range(operations)]
    sizes = [0] * operations
    active: set[int] = set()

    def release(free: HostArray) -> None:
        """Puts nodes whose operands are all computed on the agenda."""
        free = free[np.argsort(operation[free], kind="stable")]
        starts = starts_of_runs(operation[free])
        for start, stop in pairwise([*starts.tolist(), len(free)]):
            o = int(operation[free[start]])
            ready[o].append(free[start:stop])
            sizes[o] += stop - start
            active.add(o)

    release(np.flatnonzero(waiting == 0))
    steps = np.zeros(nodes, np.int64)
    step = 0
    while active:
        best = min(active, key=lambda o: (rank(sizes[o], mean[o]), costs[o], o))
        active.remove(best)
        batch = ready[best][0] if len(ready[best]) == 1 else np.concatenate(ready[best])
        ready[best], sizes[best] = [], 0
        steps[batch] = step
        step += 1
        lengths = first_reader[batch + 1] - first_reader[batch]
        read_by = readers[joined_ranges(first_reader[batch], lengths)]
        if not len(read_by):
            continue
        np.subtract.at(waiting, read_by, 1)
        free = read_by[waiting[read_by] == 0]
        if len(free):
            release(np.unique(free))
    return steps


@dataclass(frozen=True, slots=True)
class OperationRows:
    """One operation's part of a batch.

    Attributes:
        count: how many nodes.
        ports: for each of `Operation.ports`, the rows of its slab that it gathers, in the order of the
            operation's rows (of the sequence's elements).
        offsets: for each sequence domain, where each node's elements start (``count + 1`` entries).
        first_rows: for each output, its first row in its slab.
        bounds: where its steps start, ascending, and ``count`` at the end.
        parts: the first step of each component that the operation runs in, and the number of steps at the
            end.
        components: the numbers of these components.
        longest: the most rows of a step.
    """

    count: int
    ports: tuple[HostArray, ...]
    offsets: dict[int, HostArray]
    first_rows: tuple[int, ...]
    bounds: HostArray
    parts: HostArray
    components: HostArray
    longest: int

    def side_by_side(self, ports: Sequence[int]) -> HostArray:
        """The rows that several ports gather, those of each node next to one another."""
        if len(ports) == 1:
            return self.ports[ports[0]]
        rows = np.empty((len(self.ports[ports[0]]), len(ports)), np.intp)
        for column, port in enumerate(ports):
            rows[:, column] = self.ports[port]
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
    if plan.schedule in (*RANKS, "none"):
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
        ports=(np.zeros(0, np.intp),) * len(operation.ports),
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
) -> tuple[tuple[HostArray, ...], dict[int, HostArray]]:
    """Returns the rows that each port of an operation gathers, and where its sequences' elements start."""
    if not operation.ports:
        return (), {}
    single = len(operation.ports) - sum(operation.widths)
    rows = row_of.take(table.sources.take(first + np.arange(single)[:, None])).astype(np.intp)
    ports = list(rows)
    offsets: dict[int, HostArray] = {}
    first, first_count = first + single, table.first_count[numbers] if operation.domains else first
    for domain, ends, ids in element_ids(operation, table.sources, table.counts, first, first_count):
        offsets[domain] = ends
        ports.append(row_of[ids].astype(np.intp))
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


@dataclass(frozen=True, slots=True)
class DropoutSeed:
    """The numbers that the dropout masks of a call depend on, beside the nodes.

    Attributes:
        seed: the model's.
        step: how many training calls the model has had.
        ids: a number for each example, ``[examples]``.
    """

    seed: int
    step: int
    ids: HostArray

    def part(self, first: int, count: int) -> DropoutSeed:
        """The same for ``count`` examples, from the ``first`` on."""
        return DropoutSeed(self.seed, self.step, self.ids[first : first + count])


def dropout_keys(
    batch: WiredBatch,
    merged: Merged,
    operation: int,
    dropout: DropoutSeed,
    draws: Mapping[int, int] = MappingProxyType({}),
) -> HostArray:
    """The dropout keys of an operation's nodes, in the order of its rows (uint64).

    Args:
        batch, merged: the batch.
        operation: the operation.
        dropout: what the keys depend on beside the nodes.
        draws: where the operation draws random numbers: by site, the number of its occurrence among those
            that draw.  Its keys are then those that the reference makes.
    """
    example, number = merged.nodes(operation)
    sites = batch.wirings.site
    site = sites.values[sites.offsets[batch.indices[example]] + number]
    if draws:
        occurrences = np.zeros(max(draws) + 1, np.int64)
        occurrences[list(draws)] = list(draws.values())
        visits = _visits(example, site, number)
        return draw_keys(dropout.seed, dropout.step, dropout.ids[example], occurrences[site], visits)
    return node_keys(dropout.seed, dropout.step, dropout.ids[example], site, number)


def _visits(example: HostArray, site: HostArray, number: HostArray) -> HostArray:
    """How often each node's site was visited before in the example."""
    order = np.lexsort((number, site, example))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(example[order]) != 0) | (np.diff(site[order]) != 0)
    places = np.arange(len(order))
    visits = np.empty_like(places)
    visits[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return visits
