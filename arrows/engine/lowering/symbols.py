"""Symbols: what is known of a value while the lowering function is being written.

In the written code a tensor is a *value id* (an integer), a tuple whose shape is known is kept apart in local
variables, a sequence is a Python list, and an ``Input`` is the object itself.  A symbol says which Python
expression holds the value, and which place of `FlowGraph` says where it may come from.  A symbol without code
(`bare`) is a *pattern*: it carries only the places, for what is stored in lists and handed between functions.

Types may nest as deep as expressions do, so every function here that follows their structure keeps a stack of
its own or is `recursive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat

from arrows.engine.lowering.sites import FlowGraph
from arrows.engine.values import Recursion, each, recursive
from arrows.typesys import types as T


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
