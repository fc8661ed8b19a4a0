"""The streams of a wiring: flat lists, beside those of the nodes, that lowered examples append to.

There is one stream for each tensor type that is read, each metric, each tensor leaf of the result and of what
is tapped, each level of sequences in these, and each tap of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from arrows.combinators import Tap
from arrows.engine.lowering.sites import FlowGraph
from arrows.typesys import types as T

Show = Callable[[Any], object]
"""Shows a tapped value, such as `print`."""


@dataclass(frozen=True, slots=True)
class MetricStream:
    """A stream of side outputs: what reaches it, and whether labels go with it."""

    name: str
    type: T.Tensor
    place: int
    labelled: bool


@dataclass(frozen=True, slots=True)
class LeafStream:
    """A stream of value ids: of one tensor leaf of the result, or of what is tapped."""

    type: T.Tensor
    place: int


@dataclass(frozen=True, slots=True)
class ValueStreams:
    """The streams that values of one type go into: a result, or what is tapped under one name.

    Attributes:
        type: the values' type.
        leaves: the numbers of the leaf streams, one for each tensor leaf.
        levels: the numbers of the streams of lengths, one for each sequence in the type.
    """

    type: T.Type
    leaves: range
    levels: range


@dataclass(frozen=True, slots=True)
class TensorTap:
    """What is collected under one name, if it is made of tensors."""

    name: str
    values: ValueStreams


@dataclass(frozen=True, slots=True)
class ObjectTap:
    """What is collected under one name, if there are Python objects in it, and the number of its stream."""

    name: str
    stream: int


@dataclass(frozen=True, eq=False, slots=True)
class Taps:
    """The taps of a model.

    Attributes:
        streams: one for each name.
        sites: for each place where a tap stands, the number of its stream, and what shows its values.
    """

    streams: tuple[TensorTap | ObjectTap, ...]
    sites: tuple[tuple[int, Show | None], ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Streams:
    """The streams of a model.

    Attributes:
        reads: the tensor types that are read, one raw stream each.
        metrics: the metrics, in the order of their first place.
        leaves: the tensor leaves of the result, depth first, and of what is tapped.
        levels: how many levels of sequences the result and what is tapped have.
        result: which of the leaves and levels are the result's.
        taps: which are the taps'.
    """

    reads: tuple[T.Tensor, ...]
    metrics: tuple[MetricStream, ...]
    leaves: tuple[LeafStream, ...]
    levels: int
    result: ValueStreams
    taps: Taps


class StreamList:
    """The streams that lowering has met so far; the metrics `labelled` have labels somewhere."""

    def __init__(self, flow: FlowGraph, labelled: Container[str]) -> None:
        self._flow, self._labelled = flow, labelled
        self._reads: dict[T.Tensor, int] = {}
        self._metrics: dict[str, MetricStream] = {}
        self._leaves: list[LeafStream] = []
        self._levels = 0
        self._taps: dict[str, TensorTap | ObjectTap] = {}
        self._tap_sites: list[tuple[int, Show | None]] = []

    def read(self, type: T.Tensor) -> int:
        """Returns the number of the raw stream of a type."""
        return self._reads.setdefault(type, len(self._reads))

    def metric(self, name: str, type: T.Tensor, place: int) -> tuple[int, MetricStream]:
        """Lets what reaches ``place`` reach a metric; returns its number and its stream."""
        if name not in self._metrics:
            self._metrics[name] = MetricStream(name, type, self._flow.join(), name in self._labelled)
        stream = self._metrics[name]
        self._flow.link(stream.place, place)
        return list(self._metrics).index(name), stream

    def add_values(self, type: T.Type) -> ValueStreams:
        """Adds streams for values of a type."""
        leaves, first, level = T.leaves(type), len(self._leaves), self._levels
        self._leaves.extend(LeafStream(leaf, self._flow.join()) for leaf in leaves)
        self._levels += sum(isinstance(part, T.Sequence) for part in T.parts(type))
        return ValueStreams(type, range(first, first + len(leaves)), range(level, self._levels))

    def link_leaf(self, number: int, place: int) -> None:
        """Lets what reaches ``place`` reach a leaf stream."""
        self._flow.link(self._leaves[number].place, place)

    def tap(self, form: Tap, type: T.Type) -> tuple[int, TensorTap | ObjectTap]:
        """Adds a place where a tap stands; returns its number and its stream."""
        if form.tap not in self._taps:
            objects = sum(isinstance(stream, ObjectTap) for stream in self._taps.values())
            self._taps[form.tap] = (
                ObjectTap(form.tap, objects)
                if T.holds(type, T.Input)
                else TensorTap(form.tap, self.add_values(type))
            )
        self._tap_sites.append((list(self._taps).index(form.tap), form.show))
        return len(self._tap_sites) - 1, self._taps[form.tap]

    def finish(self, result: ValueStreams) -> Streams:
        """Returns all streams; ``result`` are those of the result."""
        return Streams(
            reads=tuple(self._reads),
            metrics=tuple(self._metrics.values()),
            leaves=tuple(self._leaves),
            levels=self._levels,
            result=result,
            taps=Taps(tuple(self._taps.values()), tuple(self._tap_sites)),
        )
