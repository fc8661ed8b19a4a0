"""The sites of an expression, which make the nodes of examples, and what can flow from one to another.

A *site* is a place in the typed expression where an operation stands, an input is read, or a constant is
made. Each visit of a site while an example is lowered is one *node*, with a value id for each of its outputs.
A *port* is one tensor operand of a site.

A *producer* is an output of a site.  A *place* is anything a tensor passes through: a result, an element of a
sequence, the state of a fold, the result of a recursion.  Places form a graph whose edges say where a value
may come from; folds and recursion close cycles in it.  Once the whole expression is lowered, the graph is
solved as compilers solve *reaching definitions*.  Two things are read off it: which sites can feed a port
(their condensation orders the schedule), and which outputs can meet at one port (they share a slab, so that a
gather reads one array).

Symbols: what is known of a value while the lowering function is being written.

In the written code a tensor is a *value id* (an integer), a tuple whose shape is known is kept apart in local
variables, a sequence is a Python list, and an ``Input`` is the object itself.  A symbol says which Python
expression holds the value, and which place of `FlowGraph` says where it may come from.  A symbol without code
(`bare`) is a *pattern*: it carries only the places, for what is stored in lists and handed between functions.

Types may nest as deep as expressions do, so every function here that follows their structure keeps a stack of
its own or is `recursive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Literal, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.values import Recursion, each, recursive
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


@dataclass(frozen=True, slots=True)
class TensorSymbol:
    """A tensor.

    Attributes:
        code: evaluates to its value id.
        place: what may reach it.
        constant: its number, if it is always the same constant.
    """

    code: str
    place: int
    constant: int | None = None


@dataclass(frozen=True, slots=True)
class TupleSymbol:
    """A tuple taken apart: one symbol an item."""

    items: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class ObjectSymbol:
    """A Python object: of the user's (type ``Input``), or None (``Void``)."""

    code: str


@dataclass(frozen=True, slots=True)
class ListSymbol:
    """A sequence: ``code`` is a Python list whose elements look like ``element`` (a pattern)."""

    code: str
    element: Symbol


@dataclass(frozen=True, slots=True)
class EndlessSymbol(TupleSymbol):
    """An endless sequence: a tuple of its one element."""

    @property
    def element(self) -> Symbol:
        """What it repeats."""
        return self.items[0]


Symbol = TensorSymbol | TupleSymbol | ObjectSymbol | ListSymbol
VOID = ObjectSymbol("None")


@recursive
def template(type: T.Type, flow: FlowGraph) -> Recursion[Symbol]:
    """Returns a pattern for values of a type, with fresh places that nothing reaches yet."""
    match type:
        case T.Tensor():
            return TensorSymbol("", flow.join())
        case T.Tuple(items=items):
            return TupleSymbol(tuple((yield each(template.call(item, flow) for item in items))))
        case T.Sequence(element=element):
            return ListSymbol("", (yield template.call(element, flow)))
        case T.Broadcast(element=element):
            return EndlessSymbol(((yield template.call(element, flow)),))
        case _:
            return ObjectSymbol("")


@recursive
def bare(symbol: Symbol) -> Recursion[Symbol]:
    """Returns the pattern of a symbol: without code, but for constants, whose code is a literal."""
    match symbol:
        case TupleSymbol(items=items):
            return replace(symbol, items=tuple((yield each(map(bare.call, items)))))
        case TensorSymbol(constant=int()):
            return symbol
        case _:
            return replace(symbol, code="")


@recursive
def viewed(
    symbol: Symbol, wanted: T.Type, whole: Callable[[Symbol], Symbol] = lambda _: ObjectSymbol("")
) -> Recursion[Symbol]:
    """Returns a symbol as ``wanted``: where one object is, ``whole`` makes it of a tuple or list of objects.

    By default the symbol is a pattern: in the written code a tuple of objects already is one object.
    """
    match wanted, symbol:
        case T.Input(), TupleSymbol() | ListSymbol():
            return whole(symbol)
        case T.Tuple(items=items), TupleSymbol(items=symbols):
            return TupleSymbol(tuple((yield each(map(viewed.call, symbols, items, repeat(whole))))))
        case T.Sequence(element=element), ListSymbol(code=code, element=inner):
            return ListSymbol(code, (yield viewed.call(inner, element)))
        case _:
            return symbol


def link(target: Symbol, source: Symbol, flow: FlowGraph) -> None:
    """Lets what reaches ``source`` reach ``target``, leaf by leaf (both have the same structure)."""
    for (_, target_place), (_, source_place) in zip(columns(target), columns(source), strict=True):
        flow.link(target_place, source_place)


def columns(symbol: Symbol) -> Iterator[tuple[str, int]]:
    """Yields the tensor leaves, depth first: the subscripts that lead there, and the leaf's place."""
    pending = [(symbol, "")]
    while pending:
        match pending.pop():
            case TensorSymbol(place=place), path:
                yield path, place
            case TupleSymbol(items=items), path:
                pending.extend((item, f"{path}[{i}]") for i, item in reversed(list(enumerate(items))))
            case ListSymbol(element=element), path:
                pending.append((element, path))


def assignments(target: Symbol, value: Symbol) -> list[tuple[str, Symbol]]:
    """The names inside ``target``, and what each is assigned so that ``target`` holds ``value``."""
    pairs: list[tuple[str, Symbol]] = []
    pending = [(target, value)]
    while pending:
        match pending.pop():
            case (TensorSymbol(constant=None) | ListSymbol() | ObjectSymbol()) as variable, part:
                pairs.append((variable.code, part))
            case TupleSymbol(items=names), TupleSymbol(items=items):
                pending.extend(reversed(list(zip(names, items, strict=True))))
    return pairs
