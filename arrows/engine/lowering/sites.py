"""What lowering gives: the sites of an expression, what can flow from one to another, streams, and code.

A *site* is a place in the typed expression where an operation stands, an input is read, or a constant is
made. Each visit of a site while an example is lowered is one *node*, with a value id for each of its outputs.
A *port* is one tensor operand of a site.

A *producer* is an output of a site.  A *place* is anything a tensor passes through: a result, an element of a
sequence, the state of a fold, the result of a recursion.  Places form a graph whose edges say where a value
may come from; folds and recursion close cycles in it.  Once the whole expression is lowered, the graph is
solved as compilers solve *reaching definitions*.  Two things are read off it: which sites can feed a port
(their condensation orders the schedule), and which outputs can meet at one port (they share a slab, so that a
gather reads one array).

*Streams* are flat lists, beside those of the nodes, that lowered examples append to: one for each tensor type
that is read, each metric, each tensor leaf of the result and of what is tapped, each level of sequences in
these, and each tap of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import Tap
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T

Producer = tuple[int, int]
"""The number of a site, and of one of its outputs."""


Reaching: TypeAlias = "Sequence[Sequence[Producer]] | ReachingProducers"
"""For each place, the producers that can reach it."""


class ReachingProducers:
    """For each place of a solved flow graph, the producers that can reach it."""

    def __init__(self, producers: Sequence[Producer], bits: Sequence[int]) -> None:
        self._producers, self._bits = producers, bits

    def __getitem__(self, place: int) -> list[Producer]:
        bits = self._bits[place]
        reaching = []
        while bits:
            low = bits & -bits
            reaching.append(self._producers[low.bit_length() - 1])
            bits ^= low
        return reaching


class FlowGraph:
    """A growing graph of places; a place is a plain integer."""

    def __init__(self) -> None:
        self._sources: list[list[int]] = []
        self._producers: list[Producer] = []
        self._produced: list[int] = []  # the place that each producer fills

    def produce(self, producer: Producer) -> int:
        """Returns a new place that holds what ``producer`` makes."""
        self._producers.append(producer)
        self._produced.append(len(self._sources))
        return self.join()

    def join(self, sources: Iterable[int] = ()) -> int:
        """Returns a new place that holds whatever reaches one of ``sources``."""
        self._sources.append(list(sources))
        return len(self._sources) - 1

    def link(self, place: int, source: int) -> None:
        """Lets what reaches ``source`` reach ``place`` as well."""
        self._sources[place].append(source)

    def solve(self) -> ReachingProducers:
        """Returns which producers reach each place.

        The sets of producers are bit sets in Python integers: a union of two is one operation on machine
        words. They only ever grow, so a worklist ends.

        >>> flow = FlowGraph()
        >>> start, state, step = flow.produce((0, 0)), flow.join(), flow.produce((1, 0))
        >>> flow.link(state, start)
        >>> flow.link(state, step)
        >>> flow.solve()[state]
        [(0, 0), (1, 0)]
        """
        readers: list[list[int]] = [[] for _ in self._sources]
        for place, sources in enumerate(self._sources):
            for source in sources:
                readers[source].append(place)
        reaching = [0] * len(self._sources)
        for number, place in enumerate(self._produced):
            reaching[place] = 1 << number
        work = list(self._produced)
        while work:
            place = work.pop()
            bits = reaching[place]
            for reader in readers[place]:
                if bits & ~reaching[reader]:
                    reaching[reader] |= bits
                    work.append(reader)
        return ReachingProducers(self._producers, reaching)


@dataclass(frozen=True, slots=True)
class Port:
    """One tensor operand of a site.

    Attributes:
        leaf: which tensor leaf of the operation's input it is, depth first.
        place: the place of `FlowGraph` that feeds it.
        domain: None for one row a node; ``k`` for the elements of the k-th sequence of the operation's input.
    """

    leaf: int
    place: int
    domain: int | None = None


SiteKind: TypeAlias = Literal["apply", "read", "carried", "constant", "element"]
"""What stands at a site:

* ``apply``: an operation.
* ``read``: a Python object becomes a tensor.
* ``carried``: values that an earlier run computed come back; one site for each type of tensor.
* ``constant``: a constant of the expression; all equal constants have one site.
* ``element``: the rows that an operation gives for the elements of a sequence, as nodes that others can read.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """One place that makes nodes.

    Attributes:
        index: the site's number, in the order of the expression.
        kind: what stands there.
        outputs: the types of the tensors that one node gives.
        occurrence: of an operation, or of what is read.
        ports: of an operation, the operands that vary; those of one row first, then those of each sequence.
        constants: of an operation, the operands that are the same constant at every visit, as (leaf,
            constant); of a constant, (0, its number).
        parent: of elements, the site of the operation.
        domain: of elements, the sequence whose length the rows have.
    """

    index: int
    kind: SiteKind
    outputs: tuple[T.Tensor, ...]
    occurrence: Typed | None = None
    ports: tuple[Port, ...] = ()
    constants: tuple[tuple[int, int], ...] = ()
    parent: int = 0
    domain: int = 0

    @property
    def typed(self) -> Typed:
        """The occurrence, where there is one."""
        assert self.occurrence is not None
        return self.occurrence

    @property
    def trace(self) -> Trace:
        """The trace of the operation."""
        assert self.typed.trace is not None
        return self.typed.trace

    @property
    def domains(self) -> tuple[int, ...]:
        """The sequences among the varying operands, ascending."""
        return tuple(sorted({port.domain for port in self.ports if port.domain is not None}))


class SiteList:
    """The sites that lowering has met so far, with the flow between them.

    Attributes:
        flow: the flow graph.
        sites: the sites.
        constants: the values of the constants.
    """

    def __init__(self) -> None:
        self.flow = FlowGraph()
        self.sites: list[Site] = []
        self.constants: list[HostArray] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], tuple[int, int]] = {}

    def add(self, kind: SiteKind, outputs: tuple[T.Tensor, ...], **more: Any) -> Site:
        """Adds a site; ``more`` are further attributes of `Site`."""
        self.sites.append(Site(len(self.sites), kind, outputs, **more))
        return self.sites[-1]

    def constant(self, type: T.Tensor, value: HostArray | None) -> tuple[int, int]:
        """Returns the number and the place of a constant; equal constants are one, None means zeros."""
        array = np.zeros(type.shape, type.dtype) if value is None else np.asarray(value, type.dtype)
        key = (type.dtype, type.shape, array.tobytes())
        if key not in self._constants:
            number = len(self.constants)
            site = self.add("constant", (type,), constants=((0, number),))
            self.constants.append(array)
            self._constants[key] = number, self.place(site, 0)
        return self._constants[key]

    def place(self, site: Site, output: int) -> int:
        """Returns a new place that holds output ``output`` of ``site``."""
        return self.flow.produce((site.index, output))


# Streams

Show = Callable[[Any], object]
"""Shows a tapped value, such as `print`."""


class MetricStream(NamedTuple):
    """A stream of side outputs: what reaches it, and whether labels go with it."""

    name: str
    type: T.Tensor
    place: int
    labelled: bool


class LeafStream(NamedTuple):
    """A stream of value ids: of one tensor leaf of the result, or of what is tapped."""

    type: T.Tensor
    place: int


class ValueStreams(NamedTuple):
    """The streams that values of one type go into: a result, or what is tapped under one name.

    Attributes:
        type: the values' type.
        leaves: the numbers of the leaf streams, one for each tensor leaf.
        levels: the numbers of the streams of lengths, one for each sequence in the type.
    """

    type: T.Type
    leaves: range
    levels: range


class TapStream(NamedTuple):
    """What is collected under one name.

    Attributes:
        name: the name.
        values: the streams of what is made of tensors; of Python objects, the number of theirs.
    """

    name: str
    values: ValueStreams | int


class Streams:
    """The streams of a model, which grow while an expression is lowered.

    Args:
        flow: the flow graph.
        output: the type of the result, whose streams come first.
        labelled: the metrics that have labels somewhere.

    Attributes:
        reads: the tensor types that are read, one raw stream each.
        metrics: the metrics, in the order of their first place.
        leaves: the tensor leaves of the result, depth first, and of what is tapped.
        levels: how many levels of sequences the result and what is tapped have.
        taps: one for each name.
        tap_sites: for each place where a tap stands, the number of its stream, and what shows its values.
        result: which of the leaves and levels are the result's.
    """

    def __init__(self, flow: FlowGraph, output: T.Type, labelled: Collection[str] = ()) -> None:
        self._flow, self._labelled = flow, labelled
        self.reads: list[T.Tensor] = []
        self.metrics: list[MetricStream] = []
        self.leaves: list[LeafStream] = []
        self.levels = 0
        self.taps: list[TapStream] = []
        self.tap_sites: list[tuple[int, Show | None]] = []
        self.result = self._add_values(output)

    def read(self, type: T.Tensor) -> int:
        """Returns the number of the raw stream of a type."""
        if type not in self.reads:
            self.reads.append(type)
        return self.reads.index(type)

    def metric(self, name: str, type: T.Tensor, place: int) -> tuple[int, MetricStream]:
        """Lets what reaches ``place`` reach a metric; returns its number and its stream."""
        numbers = {stream.name: number for number, stream in enumerate(self.metrics)}
        if (number := numbers.get(name, len(numbers))) == len(numbers):
            self.metrics.append(MetricStream(name, type, self._flow.join(), name in self._labelled))
        self._flow.link(self.metrics[number].place, place)
        return number, self.metrics[number]

    def link_leaf(self, number: int, place: int) -> None:
        """Lets what reaches ``place`` reach a leaf stream."""
        self._flow.link(self.leaves[number].place, place)

    def tap(self, form: Tap, type: T.Type) -> tuple[int, TapStream]:
        """Adds a place where a tap stands; returns its number and its stream."""
        numbers = {stream.name: number for number, stream in enumerate(self.taps)}
        if (number := numbers.get(form.key, len(numbers))) == len(numbers):
            objects = sum(isinstance(stream.values, int) for stream in self.taps)
            values = objects if T.holds(type, T.Input) else self._add_values(type)
            self.taps.append(TapStream(form.key, values))
        self.tap_sites.append((number, form.show))
        return len(self.tap_sites) - 1, self.taps[number]

    def _add_values(self, type: T.Type) -> ValueStreams:
        leaves, first, level = T.leaves(type), len(self.leaves), self.levels
        self.leaves.extend(LeafStream(leaf, self._flow.join()) for leaf in leaves)
        self.levels += sum(isinstance(part, T.Sequence) for part in T.parts(type))
        return ValueStreams(type, range(first, first + len(leaves)), range(level, self.levels))


# The whole


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLine:
    """The lines that compute a node's depth key.  The schedule decides them, so they are written later.

    Attributes:
        indent: what stands in front of each line.
        name: the variable that gets the key.
        site: the node's site.
        rows: expressions of the value ids that the node reads.
        lists: expressions of the lists of value ids that the node reads.
    """

    indent: str
    name: str
    site: int
    rows: tuple[str, ...]
    lists: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Lowered:
    """What lowering a typed expression gives.

    Attributes:
        lines: the source of the lowering function: the lines of its module, key lines still open; ``main`` is
            its entry.
        main_yields: whether ``main`` is a generator function: it calls one.
        names: what the source refers to (users' functions, tables of cases, memos of shared blocks).
        streams: the streams that it appends to.
        sites: the sites.
        constants: the values of the constants.
        reaching: which outputs of sites can reach each place of the flow graph.
        draws: by site, the number of its occurrence among those that draw random numbers.
    """

    lines: Sequence[str | KeyLine] = ()
    main_yields: bool = False
    names: Mapping[str, object] = field(default_factory=dict)
    streams: Streams
    sites: Sequence[Site]
    constants: Sequence[HostArray]
    reaching: Reaching
    draws: Mapping[int, int] = field(default_factory=dict)


def observed_sites(
    sites: Sequence[Site], constants: Sequence[HostArray], reads: Sequence[T.Tensor], flow: Reaching
) -> Lowered:
    """What was observed of a program that runs on the fly, in the form of a lowered expression.

    There is no source that reads examples, since the program itself makes the nodes, and no stream of
    results, since any value may be asked for.

    Args:
        sites: the call sites.
        constants: the constants that operations are specialised to.
        reads: the types of the values that come in.
        flow: for each place, which outputs reached it.
    """
    streams = Streams(FlowGraph(), T.Tuple(()))
    streams.reads += reads
    return Lowered(streams=streams, sites=sites, constants=constants, reaching=flow)
