"""Wirings hold examples as reading leaves them: flat integer arrays, one column for each stream.

A *node* is one visit of a site; its value ids are ``node << shift`` and the next ones.  Nodes of constants
come first and are shared by all examples.  A `Wirings` holds many examples column by column, without a Python
object for each node, so it is cheap to keep, to pickle and to send between processes.

The functions on index arrays (runs of equal numbers, ranges, offsets and stable orders) serve merging too, on
a few up to some ten thousand numbers. Where NumPy has the same function, the one here is faster at these
sizes; its docstring says how much.

An index of a table that an example holds, be it a number, in a vector or in a sequence, is checked here
against the number of rows there when the example is read. One that the model computes is known only when it
runs (`computed_indices`): NumPy's kernels check it themselves, and programs for other devices have
`in_range`, for which the host waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import Site
from arrows.engine.planning import Operation, Plan
from arrows.ops import Equation, IndexOutOfRange, Trace, Var

# Below, one sort of the whole numbers is faster than two of their halves.
_SHORT = 1024


def index_type(most: int) -> type[np.signedinteger]:
    """The element type for numbers below ``most``: 32 bits where that suffices."""
    return np.int32 if most < 2**31 else np.int64


def starts_of_runs(values: HostArray) -> HostArray:
    """Where runs of equal values start.

    >>> starts_of_runs(np.array([4, 4, 7, 4])).tolist(), starts_of_runs(np.array([])).tolist()
    ([0, 2, 3], [])
    """
    if len(values) == 0:
        return np.zeros(0, np.int64)
    (changes,) = (values[1:] != values[:-1]).nonzero()
    starts = np.zeros(len(changes) + 1, np.int64)
    np.add(changes, 1, out=starts[1:])
    return starts


def range_of(rows: HostArray) -> int:
    """The first number if the numbers are consecutive, else -1; 0 if there are none.

    What `ranges_of` gives for one piece, without its arrays.

    >>> range_of(np.array([3, 4, 5])), range_of(np.array([3, 5, 5])), range_of(np.array([], int))
    (3, -1, 0)
    """
    count = len(rows)
    if count == 0:
        return 0
    first = int(rows[0])
    if int(rows[-1]) - first != count - 1 or (count > 2 and (rows[1:] != rows[:-1] + 1).any()):
        return -1
    return first


def with_stop(starts: HostArray, stop: int) -> HostArray:
    """Appends the stop of the last piece to where the pieces start.

    `np.append`, three times as fast on a few numbers.

    >>> with_stop(np.array([0, 2]), 5).tolist()
    [0, 2, 5]
    """
    ends = np.empty(len(starts) + 1, starts.dtype)
    ends[:-1], ends[-1] = starts, stop
    return ends


def ranges_of(rows: HostArray, starts: HostArray, stops: HostArray) -> HostArray:
    """For each piece of an array, its first number if it is a range, else -1; 0 for an empty piece.

    A step reads consecutive rows as a range, a view of the slab; others cost a gather.

    >>> ranges_of(np.array([3, 4, 7, 8, 8]), np.array([0, 2, 2, 4]), np.array([2, 2, 4, 5])).tolist()
    [3, 0, 7, 8]
    >>> ranges_of(np.array([3, 5, 5]), np.array([0]), np.array([3])).tolist()
    [-1]
    """
    if len(rows) == 0:
        return np.zeros(len(starts), np.intp)
    steps = stops - starts - 1
    first: HostArray = rows.take(starts, mode="clip")  # an empty piece may start where the last one stops
    first[rows[stops - 1] - first != steps] = -1
    # Most pieces that are no range show it at their end; all numbers are compared only where one may be.
    if ((first >= 0) & (steps > 1)).any():
        breaks = np.zeros(len(rows), np.int32)
        np.cumsum(rows[1:] != rows[:-1] + 1, out=breaks[1:])
        first[breaks[stops - 1] != breaks[np.minimum(starts, len(rows) - 1)]] = -1
    first[steps < 0] = 0
    return first


def lengths_of(offsets: HostArray) -> HostArray:
    """The lengths of pieces, from where each starts and where the last one stops.

    `np.diff`, four times as fast on a few numbers.

    >>> lengths_of(np.array([0, 2, 2, 5])).tolist()
    [2, 0, 3]
    """
    lengths: HostArray = offsets[1:] - offsets[:-1]
    return lengths


def joined_ranges(starts: HostArray, lengths: HostArray) -> HostArray:
    """The numbers of ranges, one range after another.

    >>> joined_ranges(np.array([7, 0, 3]), np.array([2, 0, 3])).tolist()
    [7, 8, 3, 4, 5]
    """
    numbers: HostArray = (starts - lengths.cumsum() + lengths).repeat(lengths)
    numbers += np.arange(len(numbers))
    return numbers


def spliced(lengths: HostArray, owners: HostArray, *ranges: HostArray) -> tuple[HostArray, HostArray]:
    """Where the numbers of lists lie that have ranges of other numbers at their ends; and the list of each.

    Args:
        lengths: of the lists, without the ranges; they lie one after another.
        owners: the lists that ranges belong to.
        ranges: where these start, and how long they are.

    >>> for each in spliced(*(np.array(each) for each in ([2, 1], [0, 0], [7, 9], [1, 2]))):
    ...     print(each.tolist())
    [0, 1, 7, 9, 10, 2]
    [0, 0, 0, 0, 0, 1]
    """
    owners = np.append(np.arange(len(lengths)), owners)
    order = owners.argsort(kind="stable")
    starts = np.append(lengths.cumsum() - lengths, ranges[0])[order]
    sizes = np.append(lengths, ranges[1])[order]
    return joined_ranges(starts, sizes), owners[order].repeat(sizes)


def stable_order(values: HostArray, stop: int) -> HostArray:
    """What `np.argsort` gives with ``kind="stable"``, six times as fast on 20,000 numbers of 17 bits.

    NumPy sorts numbers of 16 bits by radix and wider ones by comparison. So wider ones are sorted by
    their low halves, then by their high halves.

    Args:
        values: integers from 0 on.
        stop: all are less.

    >>> stable_order(np.array([70000, 3, 3, 1]), 70001).tolist()
    [3, 1, 2, 0]
    """
    if stop <= 2**16:
        return values.astype(np.uint16).argsort(kind="stable")
    if stop > 2**32 or len(values) < _SHORT:
        return values.argsort(kind="stable")
    low = np.argsort(values.astype(np.uint16), kind="stable")
    order: HostArray = low[np.argsort((values >> 16).astype(np.uint16)[low], kind="stable")]
    return order


@dataclass(frozen=True, slots=True)
class Column:
    """Values of many examples, one after another; example ``i`` has ``values[offsets[i]:offsets[i + 1]]``."""

    values: HostArray
    offsets: HostArray

    def lists(self) -> list[list[Any]]:
        """For each example, the list of its values."""
        return [self.values[a:b].tolist() for a, b in pairwise(self.offsets.tolist())]

    def select(self, indices: HostArray) -> Column:
        """Returns the values of the examples ``indices``, in that order."""
        return Selection(self.offsets, indices).of(self.values)

    @staticmethod
    def joined(columns: Sequence[Column]) -> Column:
        """Returns the examples of all ``columns``, one after another."""
        lengths = np.concatenate([np.diff(column.offsets) for column in columns])
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Column(np.concatenate([column.values for column in columns]), offsets)


class Selection:
    """Selects some examples from columns with these offsets.

    >>> chosen = Selection(np.array([0, 1, 3, 4]), np.array([2, 0])).of(np.array([1, 2, 3, 4]))
    >>> chosen.values.tolist(), chosen.offsets.tolist()
    ([4, 1], [0, 1, 2])
    """

    places: HostArray | slice

    def __init__(self, offsets: HostArray, indices: HostArray) -> None:
        starts, ends = offsets[indices], offsets[indices + 1]
        count, self.places = len(starts), slice(0)
        if count == 1:
            self.offsets, self.places = np.array([0, ends[0] - starts[0]]), slice(starts[0], ends[0])
            return
        lengths = ends - starts
        self.offsets = np.zeros(count + 1, np.int64)
        lengths.cumsum(out=self.offsets[1:])  # `np.cumsum` takes four times as long
        if count and bool((ends[:-1] == starts[1:]).all()):
            self.places = slice(int(starts[0]), int(ends[-1]))
        elif count:
            self.places = np.repeat(starts - self.offsets[:-1], lengths) + np.arange(self.offsets[-1])

    def of(self, values: HostArray) -> Column:
        """The values of these examples."""
        return Column(values[self.places], self.offsets)


class Outputs(NamedTuple):
    """The outputs of several examples; each group has a column for each of its streams.

    Attributes:
        results: value ids (rows of slabs, once known) of the tensor leaves of the result and of taps.
        levels: lengths, for each nesting level of the result and of taps.
        metrics: for each metric stream, as in `results`.
        labels: for each metric with labels, these, which are Python objects.
        visits: the numbers of the places that are visited, if there are taps: one column, or none.
        objects: for each tap of Python objects, these.
    """

    results: tuple[Column, ...]
    levels: tuple[Column, ...] = ()
    metrics: tuple[Column, ...] = ()
    labels: tuple[Column, ...] = ()
    visits: tuple[Column, ...] = ()
    objects: tuple[Column, ...] = ()

    def select(self, indices: HostArray) -> Outputs:
        """Returns what comes out of the examples ``indices``, in that order."""
        chosen = _selected(chain(*self), indices)
        return Outputs(*(tuple(islice(chosen, len(group))) for group in self))


def _selected(columns: Iterable[Column], indices: HostArray) -> Iterator[Column]:
    """The examples ``indices`` of columns, of which those with the same offsets are selected at once."""
    selections: dict[int, Selection] = {}
    for column in columns:
        key = id(column.offsets)
        if key not in selections:
            selections[key] = Selection(column.offsets, indices)
        yield selections[key].of(column.values)


_ONE = ("site", "depth", "sources", "counts", "hashes")


@dataclass(frozen=True, slots=True)
class Wirings:
    """The wirings of several examples.

    Attributes:
        base: [examples], the node number from which each example's value ids count.
        site: the site of each node (int32).
        depth: the depth key of each node within its component (int32), with the offsets of ``site``.
        sources: value ids, node after node: one for each port of one row, then the elements of each sequence.
        counts: the length of each sequence a node takes.
        raw: for each tensor type that is read, its values (``[reads, *shape]``).
        outputs: what comes out.
        hashes: the structural hash of each node, ``uint64[nodes, 2]``; None where nodes share too little.
    """

    base: HostArray
    site: Column
    depth: Column
    sources: Column
    counts: Column
    raw: tuple[Column, ...]
    outputs: Outputs
    hashes: Column | None = None

    def __len__(self) -> int:
        return len(self.base)

    def moved(self, ids: Column, base: HostArray, plan: Plan) -> Column:
        """Value ids of these examples as they are if the nodes of each example count from another base."""
        constants = len(plan.lowered.constants) << plan.shift
        distance = (base - self.base).astype(base.dtype) << plan.shift
        if not distance.any():
            return ids
        values = ids.values + np.repeat(distance, lengths_of(ids.offsets))
        if constants:
            values = np.where(ids.values < constants, ids.values, values)
        return Column(values, ids.offsets)

    def own_hashes(self, place: int) -> Column:
        """The hashes; where there are none, some that no other nodes have: those of the part of a set at this
        place."""
        nodes = len(self.site.values)
        lanes = np.arange(nodes, dtype=np.uint64), np.full(nodes, place, np.uint64)
        return self.hashes or Column(np.stack(lanes, axis=1), self.site.offsets)

    def columns(self) -> dict[str, Column]:
        """All columns by name; those of a group are numbered: ``raw0``, ``results1``."""
        one = {name: getattr(self, name) for name in _ONE if getattr(self, name) is not None}
        groups = {"raw": self.raw, **self.outputs._asdict()}
        return one | {f"{name}{n}": each for name, group in groups.items() for n, each in enumerate(group)}

    @staticmethod
    def of(base: HostArray, columns: Mapping[str, Column]) -> Wirings:
        """The wirings of such columns."""
        groups: dict[str, list[Column]] = {name: [] for name in ("raw", *Outputs._fields)}
        for name, column in columns.items():
            groups.setdefault(name.rstrip("0123456789"), []).append(column)
        outputs = Outputs(*(tuple(groups.pop(name)) for name in Outputs._fields))
        raw = tuple(groups.pop("raw"))
        return Wirings(base=base, raw=raw, outputs=outputs, **{name: one for name, (one,) in groups.items()})

    def select(self, indices: HostArray) -> Wirings:
        """Returns the wirings of the examples ``indices``, in that order."""
        columns = self.columns()
        chosen = zip(columns, _selected(columns.values(), indices), strict=True)
        return Wirings.of(self.base[indices], dict(chosen))

    @staticmethod
    def joined(parts: Sequence[Wirings]) -> Wirings:
        """Returns the wirings of all ``parts``, one after another."""
        if len(parts) == 1:
            return parts[0]
        if any(part.hashes for part in parts):
            parts = [replace(part, hashes=part.own_hashes(place)) for place, part in enumerate(parts)]
        columns = [part.columns() for part in parts]
        joined = {name: Column.joined([each[name] for each in columns]) for name in columns[0]}
        return Wirings.of(np.concatenate([part.base for part in parts]), joined)


@dataclass(frozen=True, slots=True)
class SourceLayout:
    """Where in `Wirings.sources` the sources of each node are.

    Attributes:
        first_source: where each node's sources start, ``[nodes]``.
        length: how many each has.
        counts: the lengths of the sequences that nodes take, one after another.
        first_count: where each node's counts start.
    """

    first_source: HostArray
    length: HostArray
    counts: HostArray
    first_count: HostArray


def source_layout(plan: Plan, site: HostArray, counts: HostArray) -> SourceLayout:
    """Lays out the sources of nodes: those of one row, then the elements of each sequence, once a tensor
    leaf.

    Args:
        plan: the model's plan.
        site: the site of each node.
        counts: as in `Wirings`.
    """
    length = plan.sites.arity[site].astype(np.int32)
    first_count = np.zeros(len(site), np.int32)
    if len(counts):
        first_count = _starts(plan.sites.domains[site])
        operations = plan.sites.operation[site]
        for operation in plan.operations:
            if operation.domains:
                (nodes,) = (operations == operation.index).nonzero()
                for number, width in enumerate(operation.widths):
                    length[nodes] += counts[first_count[nodes] + number] * width
    return SourceLayout(first_source=_starts(length), length=length, counts=counts, first_count=first_count)


def element_ids(
    reader: Site | Operation,
    sources: HostArray,
    counts: HostArray,
    first: HostArray,
    first_count: HostArray,
) -> Iterator[tuple[int, HostArray, HostArray]]:
    """The elements that some nodes of a site or an operation read through each port that takes a sequence.

    Args:
        reader: the site or the operation.
        sources, counts: as in `Wirings`.
        first, first_count: where each node's elements start among the sources, and its counts.

    Yields:
        The domain; where the elements of each node start, and those of the last stop; their value ids.
    """
    for number, domain in enumerate(reader.domains):
        lengths = counts[first_count + number]
        ends = np.zeros(len(lengths) + 1, np.intp)
        lengths.cumsum(out=ends[1:])
        for port in reader.ports:
            if port.domain == domain:
                yield domain, ends, sources[joined_ranges(first, lengths)]
                first = first + lengths


def _starts(lengths: HostArray) -> HostArray:
    starts: HostArray = lengths.cumsum(dtype=index_type(int(lengths.sum())))
    starts -= lengths
    return starts


# Indices of tables


@dataclass(frozen=True, slots=True)
class IndexPort:
    """An operand that is an index.

    Attributes:
        site: the site that looks something up.
        place: the place of the port among the site's.
        stream: the number of the raw stream that may hold the index.
        size: the number of rows there.
        primitive: what looks up.
    """

    site: int
    place: int
    stream: int
    size: int
    primitive: str


def index_of(equation: Equation) -> tuple[Var, int | None] | None:
    """The operand of an equation that is an index, and the number of rows; None: those of the sequence."""
    operands, attributes = equation.operands, dict(equation.attributes)
    size: Any = attributes.get("size")
    match equation.primitive.name:
        case "lookup":
            return operands[1], operands[0].type.shape[0]
        case "scatter_row" | "one_hot":
            return operands[-1], size
        case "segment_take" if attributes["default"] is None:
            return operands[1], None
    return None


def index_limit(trace: Trace, leaf: int) -> tuple[int, str] | None:
    """The number of rows that an operand indexes, and what looks up there; None if it is no index."""
    uses = [(index_of(equation), equation.primitive.name) for equation in trace.equations]
    var = trace.inputs[leaf]
    return min(((use[1], name) for use, name in uses if use and use[0] == var and use[1]), default=None)


def index_ports(plan: Plan) -> list[IndexPort]:
    """The operands of a model that are indices, and may come from examples as they are."""
    streams = {type: number for number, type in enumerate(plan.lowered.streams.reads)}
    ports = []
    for site in _applied(plan):
        for place, port in enumerate(site.ports):
            limit, type = index_limit(site.trace, port.leaf), site.trace.inputs[port.leaf].type
            if limit is not None and type in streams:
                ports.append(IndexPort(site.index, place, streams[type], *limit))
    return ports


def _applied(plan: Plan) -> list[Site]:
    return [site for site in plan.lowered.sites if site.kind == "apply"]


def computed_indices(plan: Plan) -> dict[int, frozenset[int]]:
    """The equations whose index may depend on more than what is read: places in the trace, by operation."""
    found: dict[int, set[int]] = {}
    for site in _applied(plan):
        for number, equation in enumerate(site.trace.equations):
            use = index_of(equation)
            if use is not None and (use[1] is None or _bound(plan, site, use[0]) > use[1]):
                found.setdefault(int(plan.sites.operation[site.index]), set()).add(number)
    return {operation: frozenset(numbers) for operation, numbers in found.items()}


def _bound(plan: Plan, site: Site, var: Var) -> float:
    """A number that an index is below, and that it is not negative: 0 if it is what an example holds."""
    trace, constants = site.trace, [array for array, constant in site.trace.constants if constant == var]
    if var in trace.inputs:
        leaf = trace.inputs.index(var)
        places = [port.place for port in site.ports if port.leaf == leaf]
        makers = [plan.lowered.sites[maker] for place in places for maker, _ in plan.lowered.reaching[place]]
        if any(maker.kind not in ("read", "constant") for maker in makers):
            return inf
        numbers = [number for other, number in site.constants if other == leaf]
        numbers += [number for maker in makers for _, number in maker.constants]
        constants = [plan.lowered.constants[number] for number in numbers]
        return max(map(_limit_of, constants), default=0)
    if constants:
        return _limit_of(constants[0])
    for equation in trace.equations:
        if equation.result == var:
            match equation.primitive.name:
                case "argmax":
                    axis: Any = dict(equation.attributes)["axis"]
                    return int(equation.operands[0].type.shape[axis])
                case "index" | "reshape" | "transpose" | "broadcast_to":
                    inner = equation.operands[0]
                    return inf if inner in trace.inputs else _bound(plan, site, inner)
    return inf


def _limit_of(array: HostArray) -> float:
    """A number that all elements are below, if none is negative."""
    return int(array.max(initial=-1)) + 1 if array.min(initial=0) >= 0 else inf


def indices_out_of_range(
    plan: Plan,
    ports: Sequence[IndexPort],
    site: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: Sequence[HostArray],
) -> list[tuple[int, IndexOutOfRange]]:
    """The indices that are out of range: the nodes that look them up, ascending, and their errors.

    ``ports`` are those of `index_ports`; the arrays are those of `hashes.node_hashes`.
    """
    suspects = [port for port in ports if _limit_of(raw[port.stream]) > port.size]
    if not suspects:
        return []
    layout = source_layout(plan, site, counts)
    row = np.full(len(site), -1)  # by node that reads an input, the place of its value
    for operation in plan.operations:
        if operation.kind == "read":
            (nodes,) = (plan.sites.operation[site] == operation.index).nonzero()
            row[nodes] = np.arange(len(nodes))
    misfits = []
    for port in suspects:
        readers, ids = _read_by(plan, port, np.flatnonzero(site == port.site), layout, sources)
        rows = row[ids >> plan.shift]
        readers, values = readers[rows >= 0], raw[port.stream][rows[rows >= 0]]
        wrong = (values < 0) | (values >= port.size)
        for place in np.flatnonzero(wrong.any(axis=tuple(range(1, wrong.ndim)))).tolist():
            number = int(values[place][wrong[place]].flat[0])
            misfits.append((int(readers[place]), IndexOutOfRange(port.primitive, number, port.size, None)))
    return sorted(misfits, key=lambda misfit: misfit[0])


def _read_by(
    plan: Plan, port: IndexPort, nodes: HostArray, layout: SourceLayout, sources: HostArray
) -> tuple[HostArray, HostArray]:
    """What a port of a site's nodes reads: for each value, the node and the id."""
    site, first = plan.lowered.sites[port.site], layout.first_source[nodes]
    single = sum(other.domain is None for other in site.ports)
    if port.place < single:
        return nodes, sources[first + port.place]
    elements = element_ids(site, sources, layout.counts, first + single, layout.first_count[nodes])
    _, ends, ids = next(islice(elements, port.place - single, None))
    return nodes.repeat(lengths_of(ends)), ids
