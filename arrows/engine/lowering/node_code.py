"""Writes the code that makes nodes: inputs that are read, operations, what they return; and the streams of
metrics, taps and the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from arrows.combinators import Apply, Tap
from arrows.engine.lowering.sites import ApplySite, ElementSite, Port, Site
from arrows.engine.lowering.source_writer import DEEPEST_NESTING, KeyLine, SourceWriter
from arrows.engine.lowering.symbols import (
    VOID,
    ListSymbol,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    bare,
    columns,
    template,
)
from arrows.engine.lowering.taps import Outlet, Show, TapStream, holds_objects, levels
from arrows.engine.values import Recursion, trampoline
from arrows.inference import Typed
from arrows.ops import Trace, Var
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class MetricStream:
    """A stream of side outputs: what reaches it, and whether labels go with it."""

    name: str
    type: T.Tensor
    place: int
    labelled: bool


class NodeWriter(SourceWriter):
    """Writes nodes and streams.

    Attributes:
        reads: for each tensor type that is read, the number of its raw stream.
        metrics: the metric streams by name, in the order of their first place.
        labelled: the names of the metrics that have labels somewhere.
        leaves, leaf_types: place and type of each tensor leaf of the result, then of what is tapped.
        levels: how many nesting levels of sequences these have.
        taps: the streams of taps by name, in the order of their first place.
        tap_sites: for each place where a tap stands, its stream, and what shows its values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reads: dict[T.Tensor, int] = {}
        self.metrics: dict[str, MetricStream] = {}
        self.labelled: set[str] = set()
        self.leaves: list[int] = []
        self.leaf_types: list[T.Tensor] = []
        self.levels = 0
        self.taps: dict[str, TapStream] = {}
        self.tap_sites: list[tuple[int, Show | None]] = []

    def constant(self, of: T.Type, value: Any) -> Symbol:
        """A constant of the expression; ``value`` None means zeros."""
        made: Symbol = trampoline(self._constant(of, value))
        return made

    def _constant(self, of: T.Type, value: Any) -> Recursion[Symbol]:
        match of:
            case T.Tensor():
                number, place = self.sites.constant(of, value)
                return TensorSymbol(f"@C{number}@", place, number)
            case T.Tuple(items=items, labels=labels):
                made: list[Any] = []
                for item in items:
                    made.append((yield self._constant(item, None)))
                return TupleSymbol(tuple(made), labels)
            case T.Sequence(element=element):
                return ListSymbol("[]", template(element, self.sites.flow))
            case _:
                return VOID

    def read(self, typed: Typed, symbol: Symbol) -> Symbol:
        """One Python object becomes a tensor."""
        of = typed.output
        assert isinstance(of, T.Tensor)
        stream = self.reads.setdefault(of, len(self.reads))
        site = self.sites.read(typed, of)
        thing = self.pack(symbol)
        if of.shape == () and of.dtype.startswith(("int", "uint", "float")):
            # Most leaves are plain numbers; their range is checked when the stream becomes an array.
            plain = "float" if of.dtype.startswith("float") else "int"
            self.put(f"RAW{stream}({thing} if type({thing}) is {plain} else CONVERT{stream}({thing}))")
        else:
            self.put(f"RAW{stream}(CONVERT{stream}({thing}))")
        return TensorSymbol(self.node(site, (), ()), self.sites.place(site, 0))

    def metric(self, name: str, typed: Typed, symbol: Symbol) -> Symbol:
        """A value goes into a metric stream."""
        label = "None"
        of = typed.input
        if isinstance(symbol, TupleSymbol) and isinstance(of, T.Tuple):
            symbol, labelling = symbol.items
            label = self.pack(labelling)
            of = of.items[0]
        assert isinstance(symbol, TensorSymbol) and isinstance(of, T.Tensor)
        if name not in self.metrics:
            self.metrics[name] = MetricStream(name, of, self.sites.flow.join(), name in self.labelled)
        self.sites.flow.link(self.metrics[name].place, symbol.place)
        number = list(self.metrics).index(name)
        self.put(f"MET{number}({symbol.code})")
        if name in self.labelled:
            self.put(f"LAB{number}({label})")
        return VOID

    def node(self, site: Site, rows: tuple[str, ...], lists: tuple[str, ...]) -> str:
        """Writes one node of ``site``; returns the name of its first value id."""
        key = self.fresh("k")
        self.body.lines.append(KeyLine("    " * (self.body.nesting + 1), key, site.index, rows, lists))
        number = self.assign("n", "len(S) << @W")
        self.put(f"S_append({site.index})")
        self.put(f"K_append({key})")
        return number

    def apply(self, typed: Typed, symbol: Symbol) -> Symbol:
        """An operation on tensors and sequences of tensors."""
        trace = typed.trace
        assert trace is not None
        bindable = _bindable(trace)
        rows: list[str] = []
        ports: list[Port] = []
        constants: list[tuple[int, int]] = []
        sequences: list[tuple[str, list[tuple[int, int, str]]]] = []
        leaf = 0
        pending = [symbol]
        while pending:
            match pending.pop():
                case TensorSymbol(code=code, place=place, constant=constant):
                    if constant is not None and leaf in bindable:
                        constants.append((leaf, constant))
                    else:
                        rows.append(code)
                        ports.append(Port(leaf, place))
                    leaf += 1
                case TupleSymbol(items=items):
                    pending.extend(reversed(items))
                case ListSymbol(code=code, element=element):
                    found = []
                    for path, place in columns(element):
                        found.append((leaf, place, f"[e{path} for e in {code}]" if path else code))
                        leaf += 1
                    sequences.append((code, found))
                case _:
                    raise AssertionError("an operation takes tensors")
        least, most = typed.form.counts if isinstance(typed.form, Apply) else (0, None)
        for code, _ in sequences:
            if least or most is not None:
                above = "" if most is None else f" <= {most}"
                self.put(f"if not {least} <= len({code}){above}: raise ValueError")
        lists: list[str] = []
        for domain, (_, leaves) in enumerate(sequences):
            for number, place, ids in leaves:
                lists.append(self.assign("l", ids))
                ports.append(Port(number, place, domain))
        plain = tuple(var.type for var in trace.results if var.rows < 0)
        site = self.sites.apply(typed, plain, tuple(ports), tuple(constants))
        first = self.node(site, tuple(rows), tuple(lists))
        if len(rows) == 1:
            self.put(f"SRC_append({rows[0]})")
        elif rows:
            self.put(f"SRC_extend(({', '.join(rows)}))")
        for code, _ in sequences:
            self.put(f"CNT_append(len({code}))")
        for name in lists:
            self.put(f"SRC_extend({name})")
        return self.returned(typed, trace, site, first, [code for code, _ in sequences])

    def returned(
        self, typed: Typed, trace: Trace, site: ApplySite, first: str, sequences: list[str]
    ) -> Symbol:
        """What an operation returns: rows are value ids of its node, sequences are nodes of their own.

        The nodes of a sequence's elements have the key of the operation's node, so that sorting keeps them in
        the order of its rows.
        """
        elements: dict[int, tuple[ElementSite, str]] = {}
        for domain in sorted({var.rows for var in trace.results if var.rows >= 0}):
            types = tuple(var.type for var in trace.results if var.rows == domain)
            element = self.sites.element(site, domain, types)
            count = f"len({sequences[domain]})"
            start = self.assign("n", "len(S)")
            self.put(f"S_extend([{element.index}] * {count})")
            self.put(f"K_extend([K[-1]] * {count})")
            elements[domain] = element, start
        leaves = iter(trace.results)
        outputs = _Counter()

        def build(of: T.Type) -> Recursion[Symbol]:
            match of:
                case T.Tensor():
                    next(leaves)
                    output = outputs.next(site)
                    code = first if output == 0 else f"({first} + {output})"
                    return TensorSymbol(code, self.sites.place(site, output))
                case T.Tuple(items=items, labels=labels):
                    made: list[Any] = []
                    for item in items:
                        made.append((yield build(item)))
                    return TupleSymbol(tuple(made), labels)
                case T.Sequence(element=inner):
                    domain, like = trampoline(_element(inner, leaves, elements, outputs, self))
                    _, start = elements[domain]
                    stop = f"{start} + len({sequences[domain]})"
                    name = self.assign("l", f"[{self.pack(like)} for j in range({start}, {stop})]")
                    return ListSymbol(name, bare(like))
                case _:
                    raise AssertionError("an operation gives tensors")

        made: Symbol = trampoline(build(typed.output))
        return made

    def outlet(self, of: T.Type) -> Outlet:
        """New streams for values of type ``of``: a result, or what is tapped."""
        leaves = T.leaves(of)
        made = Outlet(of, len(self.leaves), len(leaves), self.levels, levels(of))
        self.leaves.extend(self.sites.flow.join() for _ in leaves)
        self.leaf_types.extend(leaves)
        self.levels += made.levels
        return made

    def let_out(self, symbol: Symbol, outlet: Outlet) -> None:
        """Writes value ids for each tensor leaf, and lengths for each level of nesting."""
        trampoline(self._let_out(symbol, outlet.type, count(outlet.leaf), count(outlet.level)))

    def _let_out(
        self, symbol: Symbol, of: T.Type, leaf: Iterator[int], level: Iterator[int]
    ) -> Recursion[None]:
        match of, symbol:
            case T.Tensor(), TensorSymbol(code=code, place=place):
                number = next(leaf)
                self.put(f"RES{number}({code})")
                self.sites.flow.link(self.leaves[number], place)
            case T.Tuple(items=items), TupleSymbol(items=symbols):
                for item, value in zip(items, symbols, strict=True):
                    yield self._let_out(value, item, leaf, level)
            case T.Sequence(element=element), ListSymbol(code=code, element=like):
                yield self._let_out_sequence(code, like, element, leaf, level)
            case _:
                return

    def _let_out_sequence(
        self, code: str, like: Symbol, element: T.Type, leaf: Iterator[int], level: Iterator[int]
    ) -> Recursion[None]:
        if self.body.nesting > DEEPEST_NESTING:
            name = self.fresh("part")
            outer = self.begin()
            yield self._let_out_sequence("x", like, element, leaf, level)
            self.put("return")
            self.finish(name, outer)
            self.call(f"{name}({code})", VOID)
            return
        self.put(f"LEN{next(level)}(len({code}))")
        item = self.fresh("e")
        self.put(f"for {item} in {code}:")
        self.body.nesting += 1
        yield self._let_out(self.unpacked(item, like), element, leaf, level)
        self.put("pass")
        self.body.nesting -= 1

    def tap(self, form: Tap, of: T.Type, symbol: Symbol) -> Symbol:
        """A value on its way goes into the streams of a tap as well."""
        if form.tap not in self.taps:
            objects = sum(stream.outlet is None for stream in self.taps.values())
            self.taps[form.tap] = (
                TapStream(form.tap, None, objects)
                if holds_objects(of)
                else TapStream(form.tap, self.outlet(of))
            )
        stream = self.taps[form.tap]
        self.put(f"VISIT({len(self.tap_sites)})")
        self.tap_sites.append((list(self.taps).index(form.tap), form.show))
        if stream.outlet is None:
            self.put(f"OBJ{stream.objects}({self.pack(symbol)})")
        else:
            self.let_out(symbol, stream.outlet)
        return symbol


class _Counter:
    """Numbers the outputs of sites as they are handed out."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def next(self, site: Site) -> int:
        number = self._next.get(site.index, 0)
        self._next[site.index] = number + 1
        return number


def _element(
    of: T.Type,
    leaves: Iterator[Var],
    elements: dict[int, tuple[ElementSite, str]],
    outputs: _Counter,
    writer: NodeWriter,
) -> Recursion[tuple[int, Symbol]]:
    """The sequence that a returned row belongs to, and the code of its element number ``j``."""
    if isinstance(of, T.Tuple):
        domain = -1
        made: list[Any] = []
        for item in of.items:
            domain, part = yield _element(item, leaves, elements, outputs, writer)
            made.append(part)
        return domain, TupleSymbol(tuple(made), of.labels)
    var = next(leaves)
    site, _ = elements[var.rows]
    output = outputs.next(site)
    return var.rows, TensorSymbol(f"(j << @W) + {output}", writer.sites.place(site, output))


def _bindable(trace: Trace) -> set[int]:
    """The input leaves that may become constants of the operation: all that are not spread over a
    sequence."""
    spread = {
        var for equation in trace.equations if equation.primitive.segmented for var in equation.operands
    }
    return {leaf for leaf, var in enumerate(trace.inputs) if var.rows < 0 and var not in spread}
