"""Writes Python functions that lower examples: lines, local names, and values taken apart and put
together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arrows.engine.lowering.sites import SiteList
from arrows.engine.lowering.symbols import (
    VOID,
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    VoidSymbol,
    assignments,
    bare,
    viewed,
)
from arrows.engine.values import Recursion, trampoline
from arrows.typesys import types as T

# Python's parser takes about 200 nested parentheses; deeper tuples are put together piece by piece.
_DEEPEST_LITERAL = 20
# Python allows 20 nested blocks and 100 indentations in a function; deeper bodies get functions of their own.
DEEPEST_NESTING = 8


@dataclass(frozen=True, slots=True)
class KeyLine:
    """The line(s) that compute a node's depth key; written when the schedule is known."""

    indent: str
    name: str
    site: int
    rows: tuple[str, ...]  # expressions of value ids
    lists: tuple[str, ...]  # expressions of lists of value ids


@dataclass(eq=False, slots=True)
class Body:
    """One function being written."""

    lines: list[str | KeyLine] = field(default_factory=list)
    nesting: int = 0
    is_generator: bool = False


class SourceWriter:
    """All functions written so far, and the one being written.

    Attributes:
        sites: the sites that the code makes nodes of.
        names: what the code refers to (users' functions, tables of cases, memos).
        finished: the lines of the functions that are done.
        body: the function being written.
    """

    def __init__(self) -> None:
        self.sites = SiteList()
        self.names: dict[str, Any] = {}
        self.finished: list[str | KeyLine] = []
        self.body = Body()
        self._count = 0
        self._objects: dict[T.Type, bool] = {}

    def put(self, line: str) -> None:
        """Appends a line at the current indentation."""
        self.body.lines.append("    " * (self.body.nesting + 1) + line)

    def fresh(self, letter: str) -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"{letter}{self._count}"

    def name(self, prefix: str, value: Any) -> str:
        """A name for something that the code refers to."""
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    def assign(self, letter: str, code: str) -> str:
        """Writes ``name = code`` with a fresh name; returns it."""
        name = self.fresh(letter)
        self.put(f"{name} = {code}")
        return name

    def begin(self) -> Body:
        """Begins a new function; returns the one that was being written."""
        outer, self.body = self.body, Body()
        return outer

    def finish(self, name: str, outer: Body, *, generator: bool = True) -> None:
        """Ends the function being written, calls it ``name`` and goes back to ``outer``."""
        if generator and not self.body.is_generator:
            self.body.lines.append("    yield")  # never reached; it makes the function a generator
        self.finished.append(f"def {name}(x):")
        self.finished.extend(self.body.lines or ["    pass"])
        self.body = outer

    def call(self, code: str, result: Symbol) -> Symbol:
        """Writes a call of a generator function; ``result`` is the pattern of what it returns."""
        self.body.is_generator = True
        return self.unpacked(self.assign("r", f"yield {code}"), result)

    # ------------------------------------------------------------------------------------- putting together

    def pack(self, symbol: Symbol) -> str:
        """The Python expression of the whole value."""
        code: str
        code, _ = trampoline(self._pack(symbol))
        return code

    def _pack(self, symbol: Symbol) -> Recursion[tuple[str, int]]:
        match symbol:
            case TensorSymbol(code=code) | ObjectSymbol(code=code) | ListSymbol(code=code):
                return code, 0
            case TupleSymbol(items=items):
                parts, deepest = [], 0
                for item in items:
                    part, depth = yield self._pack(item)
                    parts.append(part)
                    deepest = max(deepest, depth + 1)
                code = "(" + "".join(part + ", " for part in parts) + ")"
                return (code, deepest) if deepest < _DEEPEST_LITERAL else (self.assign("t", code), 0)
            case EndlessSymbol(element=element):
                code, deepest = yield self._pack(element)
                return code, deepest
            case _:
                return "None", 0

    def unpacked(self, code: str, like: Symbol) -> Symbol:
        """Takes the value ``code`` apart into local names, as far as the pattern ``like`` says that it is
        tuples."""
        symbol: Symbol = trampoline(self._unpacked(code, like))
        return symbol

    def _unpacked(self, code: str, like: Symbol) -> Recursion[Symbol]:
        match like:
            case TupleSymbol(items=items, labels=labels):
                if not items:
                    return like
                names = [self.fresh("t") for _ in items]
                self.put(f"{', '.join(names)}, = {code}")
                made: list[Any] = []
                for name, item in zip(names, items, strict=True):
                    made.append((yield self._unpacked(name, item)))
                return TupleSymbol(tuple(made), labels)
            case TensorSymbol(place=place, constant=constant):
                return TensorSymbol(like.code if constant is not None else code, place, constant)
            case ListSymbol(element=element):
                return ListSymbol(code, element)
            case EndlessSymbol(element=element):
                return EndlessSymbol((yield self._unpacked(code, element)))
            case ObjectSymbol():
                return ObjectSymbol(code)
            case VoidSymbol():
                return VOID

    def coerced(self, symbol: Symbol, wanted: T.Type) -> Symbol:
        """A tuple or list of the user's objects where one object is wanted is that tuple or list."""
        if not self._holds_objects(wanted):
            return symbol
        made: Symbol = trampoline(self._coerced(symbol, wanted))
        return made

    def _holds_objects(self, of: T.Type) -> bool:
        """Whether there is an ``Input`` in a type; remembered, types of deep expressions hold one another."""
        pending = [of]
        while pending:
            one = pending[-1]
            unknown = [child for child in one.children if child not in self._objects]
            if unknown:
                pending.extend(unknown)
            else:
                held = isinstance(one, T.Input) or any(self._objects[child] for child in one.children)
                self._objects[pending.pop()] = held
        return self._objects[of]

    def _coerced(self, symbol: Symbol, wanted: T.Type) -> Recursion[Symbol]:
        match wanted, symbol:
            case T.Input(), TupleSymbol() | ListSymbol():
                return ObjectSymbol(self.assign("o", self.pack(symbol)))
            case T.Tuple(items=items), TupleSymbol(items=symbols, labels=labels):
                made: list[Any] = []
                for part, item in zip(symbols, items, strict=True):
                    made.append((yield self._coerced(part, item)))
                return TupleSymbol(tuple(made), labels)
            case T.Sequence(element=element), ListSymbol(code=code, element=inner):
                return ListSymbol(code, viewed(inner, element))
            case _:
                return symbol

    # ------------------------------------------------------------------------------------- one of several

    def merged(self, branches: list[Symbol]) -> Symbol:
        """The symbol, with fresh names, of whichever of ``branches`` was taken."""
        made: Symbol = trampoline(self._merged(branches))
        return made

    def _merged(self, branches: list[Any]) -> Recursion[Symbol]:
        first = branches[0]
        match first:
            case TensorSymbol(constant=constant):
                if constant is not None and all(branch.constant == constant for branch in branches):
                    return first
                return TensorSymbol(
                    self.fresh("v"), self.sites.flow.join(branch.place for branch in branches)
                )
            case TupleSymbol(labels=labels):
                if any(branch.labels != labels for branch in branches):
                    labels = None
                made: list[Any] = []
                for column in zip(*(branch.items for branch in branches), strict=True):
                    made.append((yield self._merged(list(column))))
                return TupleSymbol(tuple(made), labels)
            case ListSymbol():
                element = yield self._merged([branch.element for branch in branches])
                return ListSymbol(self.fresh("l"), bare(element))
            case EndlessSymbol():
                return EndlessSymbol((yield self._merged([branch.element for branch in branches])))
            case ObjectSymbol():
                return ObjectSymbol(self.fresh("o"))
            case _:
                return VOID

    def give(self, to: Symbol, value: Symbol) -> None:
        """Writes the assignment that makes the names of ``to`` hold ``value``; ``pass`` if there are none."""
        pairs = [(name, self.pack(part)) for name, part in assignments(to, value)]
        pairs = [(name, code) for name, code in pairs if name != code]
        if pairs:
            self.put(f"{', '.join(name for name, _ in pairs)} = {', '.join(code for _, code in pairs)}")
        else:
            self.put("pass")
