"""What is known of a value while the lowering function is being written: its Python code and where it may
come from.

At lowering a tensor is a *value id* (an integer), a tuple whose shape is known is kept apart in local
variables, a sequence is a Python list, and an ``Input`` is the object itself.  A symbol says which Python
expression holds the value; `pack` writes the expression of the whole value, `Template`-like symbols (those
without code) carry only the places of `Flow`, for what is stored in lists and handed between functions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from arrows.engine.flow import Flow
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
    """A sequence: ``code`` is a Python list whose elements look like ``element`` (a symbol without code)."""

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


def pack(symbol: Symbol) -> str:
    """Returns the Python expression of the whole value."""
    match symbol:
        case TensorSymbol(code=code) | ObjectSymbol(code=code) | ListSymbol(code=code):
            return code
        case TupleSymbol(items=items):
            return "(" + "".join(pack(item) + ", " for item in items) + ")"
        case EndlessSymbol(element=element):
            return pack(element)
        case VoidSymbol():
            return "None"


def template(of: T.Type, flow: Flow) -> Symbol:
    """Returns a symbol without code for values of type ``of``, with fresh places that nothing reaches yet."""
    match of:
        case T.Tensor():
            return TensorSymbol("", flow.join())
        case T.Tuple(items=items, labels=labels):
            return TupleSymbol(tuple(template(item, flow) for item in items), labels)
        case T.Sequence(element=element):
            return ListSymbol("", template(element, flow))
        case T.Broadcast(element=element):
            return EndlessSymbol(template(element, flow))
        case T.Void():
            return VOID
        case _:
            return ObjectSymbol("")


def link(to: Symbol, source: Symbol, flow: Flow) -> None:
    """Lets what reaches ``source`` reach ``to``, leaf by leaf (both have the same structure)."""
    for here, there in zip(places(to), places(source), strict=True):
        flow.link(here, there)


def places(symbol: Symbol) -> Iterator[int]:
    """Yields the places of the tensor leaves, depth first."""
    match symbol:
        case TensorSymbol(place=place):
            yield place
        case TupleSymbol(items=items):
            for item in items:
                yield from places(item)
        case ListSymbol(element=element) | EndlessSymbol(element=element):
            yield from places(element)
        case _:
            return
