"""Writes the code of a typed expression, occurrence by occurrence.

This file holds what all core forms share: the walk over the expression, the functions written so far with
their lines and local names, and how values are taken apart and put together.  The code of each form is
written by its function in the table of `arrows.engine.lowering.lower`.

*Symbols* are what is known of a value while the code is being written.  In it a tensor is a *value id* (an
integer), a tuple whose shape is known is kept apart in local variables, a sequence is a Python list, and an
``Input`` is the object itself.  A symbol says which Python expression holds the value, and which place of
`FlowGraph` says where it may come from.  A symbol without code (`bare`) is a *pattern*: it carries only the
places, for what is stored in lists and handed between functions.

Types may nest as deep as expressions do, so every function here that follows their structure keeps a stack of
its own or is `recursive`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TypeAlias

from arrows.combinators import AnyBlock, Constant, Metric, core_form
from arrows.engine.lowering.merge_chains import Compositions
from arrows.engine.lowering.sites import FlowGraph, KeyLine, SiteList, Streams
from arrows.engine.values import Recursion, each, recursive, trampoline
from arrows.inference import Typed
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


# The writer

# Python's parser takes about 200 nested parentheses; deeper tuples are put together piece by piece.
_DEEPEST_LITERAL = 20

# Python compiles only 20 nested blocks in a function.  A form opens at most two before it walks its parts, so
# a body that starts a function of its own beyond this depth stays well under the limit.
_DEEPEST_NESTING = 8

Walk: TypeAlias = Recursion[Symbol]
"""Writes code and returns the symbol of the result; the walks of its parts are what it yields."""


@dataclass(eq=False, slots=True)
class Body:
    """One function that is being written.

    Attributes:
        lines: its lines so far.
        nesting: how many blocks are open.
        is_generator: whether it calls generator functions, and so is one.
    """

    lines: list[str | KeyLine] = field(default_factory=list)
    nesting: int = 0
    is_generator: bool = False


class ExpressionWriter:
    """What has been written of an expression.

    Args:
        emitters: for each core form, the function that writes its code.
        root: the expression.

    Attributes:
        sites: the sites that the code makes nodes of.
        flow: the flow graph, in which values that meet are joined.
        streams: the streams that the code appends to.
        compositions: which functions of the expression become one operation.
        functions: of recursions and of shared blocks, with the patterns of what they take and give.
        names: what the code refers to (users' functions, tables of cases, memos).
        finished: the lines of the functions that are done.
        body: the function that is being written.
    """

    def __init__(self, emitters: Mapping[type[AnyBlock], Emitter], root: Typed) -> None:
        labelled = {
            typed.form.key
            for typed in root.walk()
            if isinstance(typed.form, Metric) and isinstance(typed.input, T.Tuple)
        }
        self.sites = SiteList()
        self.flow = self.sites.flow
        self.streams = Streams(self.flow, root.output, labelled)
        self.compositions = Compositions(root)
        self.functions: dict[Hashable, tuple[str, Symbol, Symbol]] = {}
        self.names: dict[str, object] = {}
        self.finished: list[str | KeyLine] = []
        self.body = Body()
        self._emitters = emitters
        self._written: dict[int, Symbol] = {}  # by occurrence, where it stands at several places
        self._name_count = 0

    def walk(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of ``typed`` on the value ``symbol``; returns the result's symbol.

        What stands at several places is written at the first of them, in the function and in the block of
        code where the others are too: what starts a block of its own stands at one place.
        """
        if typed.places > 1 and (written := self._written.get(id(typed))) is not None:
            return written
        if self.body.nesting > _DEEPEST_NESTING:
            outlined: Symbol = yield self._outlined(typed, symbol)
            return outlined
        if not isinstance(typed.form, Constant):
            symbol = self.coerced(symbol, typed.input)
        emitted = self._emitters[core_form(typed.form)](self, typed, symbol)
        result = (yield emitted) if isinstance(emitted, Generator) else emitted
        result = self.coerced(result, typed.output)
        if typed.places > 1:
            self._written[id(typed)] = result
        return result

    def _outlined(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes ``typed`` as a function of its own and calls it, so that nesting stays shallow."""
        name = self.fresh("part")
        with self.function(name):
            result = yield self.walk(typed, self.unpacked("x", bare(symbol)))
            self.put(f"return {self.pack(result)}")
        return self.call(f"{name}({self.pack(symbol)})", bare(result))

    def put(self, line: str) -> None:
        """Appends a line at the current indentation."""
        self.body.lines.append(self.indent + line)

    @property
    def indent(self) -> str:
        """What stands in front of a line of the body."""
        return "    " * (self.body.nesting + 1)

    def fresh(self, letter: str) -> str:
        """Returns a name that is not used yet."""
        self._name_count += 1
        return f"{letter}{self._name_count}"

    def refer(self, prefix: str, value: object) -> str:
        """Returns a name under which the code finds an object."""
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    def assign(self, letter: str, code: str) -> str:
        """Writes ``name = code`` with a fresh name; returns the name."""
        name = self.fresh(letter)
        self.put(f"{name} = {code}")
        return name

    def assign_object(self, code: str) -> ObjectSymbol:
        """Gives a Python object a name of its own, so that its code runs once."""
        return ObjectSymbol(self.assign("o", code))

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Writes a block of code under a line such as ``for x in xs:``."""
        self.put(header)
        self.body.nesting += 1
        yield
        self.body.nesting -= 1

    @contextmanager
    def function(self, name: str, *, generator: bool = True) -> Iterator[Body]:
        """Writes a function of one argument, ``x``, beside the one that is being written.

        Args:
            name: the function's name.
            generator: whether it is a generator function even if it calls none.
        """
        outer, self.body = self.body, Body()
        yield self.body
        if generator and not self.body.is_generator:
            self.body.lines.append("    yield")  # never reached; it makes the function a generator function
        self.finished.append(f"def {name}(x):")
        self.finished.extend(self.body.lines or ["    pass"])
        self.body = outer

    def call(self, code: str, result: Symbol) -> Symbol:
        """Writes the call of a generator function; ``result`` is the pattern of what the function returns.

        The caller yields the call instead of making it: a driver keeps the stack, so the data may be deeper
        than the interpreter's stack.
        """
        self.body.is_generator = True
        return self.unpacked(self.assign("r", f"yield {code}"), result)

    def pack(self, symbol: Symbol) -> str:
        """Returns the Python expression of the whole value."""
        code, _ = trampoline(self._pack(symbol))
        return code

    def _pack(self, symbol: Symbol) -> Recursion[tuple[str, int]]:
        """The expression, and how deep its parentheses nest."""
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

    def unpacked(self, code: str, pattern: Symbol) -> Symbol:
        """Takes the value ``code`` apart into local names, as far as ``pattern`` says that it is tuples."""
        return trampoline(self._unpacked(code, pattern))

    def _unpacked(self, code: str, pattern: Symbol) -> Recursion[Symbol]:
        match pattern:
            case TupleSymbol(items=items):
                if not items:
                    return pattern
                names = [self.fresh("t") for _ in items]
                self.put(f"{', '.join(names)}, = {code}")
                return replace(pattern, items=tuple((yield each(map(self._unpacked, names, items)))))
            case TensorSymbol(constant=int()):
                return pattern
            case _:
                return replace(pattern, code=code)

    def coerced(self, symbol: Symbol, wanted: T.Type) -> Symbol:
        """Returns a value as ``wanted``: a tuple or list of objects is one object where one is wanted."""
        if isinstance(symbol, ObjectSymbol) or not wanted.has_input:
            return symbol
        return viewed(symbol, wanted, lambda part: self.assign_object(self.pack(part)))

    def merged(self, branches: Sequence[Symbol]) -> Symbol:
        """Returns the symbol, with fresh names, of whichever of ``branches`` is taken."""
        return trampoline(self._merged(branches))

    def _merged(self, branches: Sequence[Symbol]) -> Recursion[Symbol]:
        # All branches have one structure, since they have one type.
        match branches[0]:
            case TensorSymbol(constant=constant) as first:
                tensors = [branch for branch in branches if isinstance(branch, TensorSymbol)]
                if constant is not None and all(tensor.constant == constant for tensor in tensors):
                    return first
                return TensorSymbol(self.fresh("v"), self.flow.join(tensor.place for tensor in tensors))
            case TupleSymbol():
                tuples = [branch for branch in branches if isinstance(branch, TupleSymbol)]
                columns = zip(*(branch.items for branch in tuples), strict=True)
                return replace(tuples[0], items=tuple((yield each(map(self._merged, columns)))))
            case ListSymbol():
                lists = [branch for branch in branches if isinstance(branch, ListSymbol)]
                element: Symbol = yield self._merged([branch.element for branch in lists])
                return ListSymbol(self.fresh("l"), bare(element))
            case ObjectSymbol():
                return ObjectSymbol(self.fresh("o"))

    def assign_parts(self, target: Symbol, value: Symbol) -> None:
        """Writes the assignment that gives the names of ``target`` their parts of ``value``."""
        pairs = [(name, self.pack(part)) for name, part in assignments(target, value)]
        pairs = [(name, code) for name, code in pairs if name != code]
        if pairs:
            self.put(f"{', '.join(name for name, _ in pairs)} = {', '.join(code for _, code in pairs)}")
        else:
            self.put("pass")


Emitter: TypeAlias = Callable[[ExpressionWriter, Typed, Symbol], Symbol | Walk]
"""Writes the code of one form on a value: at once, or as a walk over its parts."""
