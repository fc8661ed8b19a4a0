"""The streams of a wiring: flat lists, beside those of the nodes, that lowered examples append to.

There is one stream for each tensor type that is read, each metric, each tensor leaf of the result and of what
is tapped, each level of sequences in these, and each tap of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from arrows.combinators import Tap
from arrows.engine.lowering.sites import FlowGraph
from arrows.typesys import types as T

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
