"""What is known of a value while the lowering function is being written: its Python code and where it may
come from.

At lowering a tensor is a *value id* (an integer), a tuple whose shape is known is kept apart in local
variables, a sequence is a Python list, and an ``Input`` is the object itself.  A symbol says which Python
expression holds the value.  A symbol without code (`bare`) is a pattern: it carries only the places of
`FlowGraph`, for what is stored in lists and handed between functions.

Types may nest as deep as expressions do, so every function here that follows their structure is a generator
run by `trampoline`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from arrows.engine.lowering.dataflow import FlowGraph
from arrows.engine.values import Recursion, trampoline
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class TensorSymbol:
    """A value id: ``code`` evaluates to it, ``place`` says what may reach it, ``constant`` names a known
    constant."""

    code: str
    place: int
    constant: int | None = None


@dataclass(frozen=True, slots=True)
class TupleSymbol:
    """A tuple taken apart: one symbol an item."""

    items: tuple[Symbol, ...]
    labels: tuple[Hashable, ...] | None = None


@dataclass(frozen=True, slots=True)
class ObjectSymbol:
    """A Python object of the user's (type ``Input``)."""

    code: str


@dataclass(frozen=True, slots=True)
class ListSymbol:
    """A sequence: ``code`` is a Python list whose elements look like ``element`` (a pattern)."""

    code: str
    element: Symbol


@dataclass(frozen=True, slots=True)
class EndlessSymbol:
    """An endless sequence: its one element."""

    element: Symbol


@dataclass(frozen=True, slots=True)
class VoidSymbol:
    """Nothing."""


Symbol = TensorSymbol | TupleSymbol | ObjectSymbol | ListSymbol | EndlessSymbol | VoidSymbol
VOID = VoidSymbol()


def template(of: T.Type, flow: FlowGraph) -> Symbol:
    """A pattern for values of type ``of``, with fresh places that nothing reaches yet."""
    made: Symbol = trampoline(_template(of, flow))
    return made


def bare(symbol: Symbol) -> Symbol:
    """The pattern of a symbol: without code, but for constants, whose code is a literal."""
    made: Symbol = trampoline(_bare(symbol))
    return made


def viewed(pattern: Symbol, wanted: T.Type) -> Symbol:
    """A pattern seen as ``wanted``: at run time a tuple of objects already is one object."""
    made: Symbol = trampoline(_viewed(pattern, wanted))
    return made


def places(symbol: Symbol) -> Iterator[int]:
    """Yields the places of the tensor leaves, depth first."""
    pending = [symbol]
    while pending:
        match pending.pop():
            case TensorSymbol(place=place):
                yield place
            case TupleSymbol(items=items):
                pending.extend(reversed(items))
            case ListSymbol(element=element) | EndlessSymbol(element=element):
                pending.append(element)


def link(to: Symbol, source: Symbol, flow: FlowGraph) -> None:
    """Lets what reaches ``source`` reach ``to``, leaf by leaf (both have the same structure)."""
    for here, there in zip(places(to), places(source), strict=True):
        flow.link(here, there)


def columns(element: Symbol) -> list[tuple[str, int]]:
    """The tensor leaves of a sequence's element: the subscripts that lead there, and the leaf's place."""
    found = []
    pending: list[tuple[Symbol, str]] = [(element, "")]
    while pending:
        symbol, path = pending.pop()
        if isinstance(symbol, TensorSymbol):
            found.append((path, symbol.place))
        elif isinstance(symbol, TupleSymbol):
            pending.extend((item, f"{path}[{i}]") for i, item in reversed(list(enumerate(symbol.items))))
        else:
            raise AssertionError("an operation takes tensors")
    return found


def assignments(to: Symbol, value: Symbol) -> list[tuple[str, Symbol]]:
    """The names inside ``to`` and what each must be given so that ``to`` holds ``value``."""
    found: list[tuple[str, Symbol]] = []
    pending = [(to, value)]
    while pending:
        match pending.pop():
            case TensorSymbol(code=name, constant=None), part:
                found.append((name, part))
            case TupleSymbol(items=names), TupleSymbol(items=items):
                pending.extend(reversed(list(zip(names, items, strict=True))))
            case ListSymbol(code=name), part:
                found.append((name, part))
            case EndlessSymbol(element=name_of), EndlessSymbol(element=item):
                pending.append((name_of, item))
            case ObjectSymbol(code=name), part:
                found.append((name, part))
    return found


def _template(of: T.Type, flow: FlowGraph) -> Recursion[Symbol]:
    match of:
        case T.Tensor():
            return TensorSymbol("", flow.join())
        case T.Tuple(items=items, labels=labels):
            made: list[Any] = []
            for item in items:
                made.append((yield _template(item, flow)))
            return TupleSymbol(tuple(made), labels)
        case T.Sequence(element=element):
            return ListSymbol("", (yield _template(element, flow)))
        case T.Broadcast(element=element):
            return EndlessSymbol((yield _template(element, flow)))
        case T.Void():
            return VOID
        case _:
            return ObjectSymbol("")


def _bare(symbol: Symbol) -> Recursion[Symbol]:
    match symbol:
        case TensorSymbol(place=place, constant=constant):
            return symbol if constant is not None else TensorSymbol("", place)
        case TupleSymbol(items=items, labels=labels):
            made: list[Any] = []
            for item in items:
                made.append((yield _bare(item)))
            return TupleSymbol(tuple(made), labels)
        case ListSymbol(element=element):
            return ListSymbol("", element)
        case EndlessSymbol(element=element):
            return EndlessSymbol((yield _bare(element)))
        case ObjectSymbol():
            return ObjectSymbol("")
        case _:
            return VOID


def _viewed(pattern: Symbol, wanted: T.Type) -> Recursion[Symbol]:
    match wanted, pattern:
        case T.Input(), _:
            return ObjectSymbol("")
        case T.Tuple(items=items), TupleSymbol(items=symbols, labels=labels):
            made: list[Any] = []
            for symbol, item in zip(symbols, items, strict=True):
                made.append((yield _viewed(symbol, item)))
            return TupleSymbol(tuple(made), labels)
        case T.Sequence(element=element), ListSymbol(element=inner):
            return ListSymbol("", (yield _viewed(inner, element)))
        case _:
            return pattern
