"""Writes the function that lowers one example: a typed expression becomes straight Python code over flat
lists.

The code is written once for a model.  It walks the example as the expression says and appends, for each visit
of a site, the site's number, the value ids that it reads and its depth key; no object is made for a node.  A
recursive block becomes a generator function that yields the calls it wants made (`arrows.engine.wiring.drive`
keeps the stack), so data may be as deep as memory allows.  The symbols of `arrows.engine.symbols` stand for
the values meanwhile, and the walk also records which site can feed which (`arrows.engine.flow`).

Names in the written code: ``x`` is a function's input, ``v3`` a value id, ``o3`` an object, ``l3`` a list,
``k3`` a depth key; ``S K SRC CNT`` are the streams of the wiring, ``RAW3 RES3 LEN3 MET3 LAB3`` those of
inputs, results and metrics.  ``@W`` (the shift from node to value id) and the depth keys are put in once all
sites are known.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass, field
from typing import Any

from arrows import combinators as core
from arrows.combinators.typed import Knot, Typed
from arrows.engine.sites import Port, Site, Sites
from arrows.engine.symbols import (
    VOID,
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    VoidSymbol,
    link,
    pack,
    template,
)
from arrows.engine.trampoline import trampoline
from arrows.ops.trace import Trace
from arrows.typesys import types as T

# Python allows 20 nested blocks and 100 indentations in one function; deeper bodies go to functions of their
# own.
_DEEPEST_NESTING = 8
_MOST_INLINE_CASES = 4

Walk = Generator[Any, Any, Symbol]


@dataclass(frozen=True, slots=True)
class KeyLine:
    """The line(s) that compute a node's depth key; written when the schedule is known."""

    indent: str
    name: str
    site: int
    rows: tuple[str, ...]  # expressions of value ids
    lists: tuple[str, ...]  # expressions of lists of value ids


@dataclass(eq=False, slots=True)
class Writer:
    """One function being written."""

    lines: list[str | KeyLine] = field(default_factory=list)
    nesting: int = 0
    is_generator: bool = False

    def put(self, line: str) -> None:
        """Appends a line at the current indentation."""
        self.lines.append("    " * (self.nesting + 1) + line)


@dataclass(eq=False, slots=True)
class Lowered:
    """What lowering a typed expression gives.

    Attributes:
        lines: the source of the module, key lines still open; ``main`` is its entry.
        main_yields: whether ``main`` is a generator function (it calls a recursive block).
        names: what the source refers to (users' functions, tables of cases, memos of shared blocks).
        sites: the sites and the flow between them.
        reads: the tensor types that are read, one raw stream each.
        metrics: the streams of side outputs.
        leaves: for each tensor leaf of the result, depth first, its place in the flow.
        leaf_types: their types.
        levels: how many nesting levels of sequences the result has, depth first.
    """

    lines: list[str | KeyLine]
    main_yields: bool
    names: dict[str, Any]
    sites: Sites
    reads: list[T.Tensor]
    metrics: list[MetricStream]
    leaves: list[int]
    leaf_types: list[T.Tensor]
    levels: int


@dataclass(frozen=True, slots=True)
class MetricStream:
    """A stream of side outputs: what reaches it, and whether labels go with it."""

    name: str
    type: T.Tensor
    place: int
    labelled: bool


def lower(root: Typed) -> Lowered:
    """Writes the lowering function of a typed expression."""
    return _Lowering().run(root)


class _Lowering:
    """The state of one run of `lower`: all functions written so far and the one being written."""

    def __init__(self) -> None:
        self.sites = Sites()
        self.names: dict[str, Any] = {}
        self.finished: list[str | KeyLine] = []
        self.writer = Writer()
        self.counter = 0
        self.reads: dict[T.Tensor, int] = {}
        self.metrics: dict[str, MetricStream] = {}
        self.labelled: set[str] = set()  # the metrics that have labels somewhere
        self.knots: dict[int, tuple[str, Symbol, Symbol]] = {}
        self.leaves: list[int] = []
        self.leaf_types: list[T.Tensor] = []
        self.levels = 0

    # ---------------------------------------------------------------------------------------------- functions

    def run(self, root: Typed) -> Lowered:
        self.labelled = {
            typed.form.metric
            for typed in root.walk()
            if isinstance(typed.form, core.Metric) and isinstance(typed.input, T.Tuple)
        }
        symbol = trampoline(self.walk(root, ObjectSymbol("x")))
        self.result(self.coerced(symbol, root.output), root.output)
        self.finish("main", self.writer)
        return Lowered(
            self.finished,
            self.writer.is_generator,
            self.names,
            self.sites,
            list(self.reads),
            list(self.metrics.values()),
            self.leaves,
            self.leaf_types,
            self.levels,
        )

    def finish(self, name: str, writer: Writer) -> None:
        self.finished.append(f"def {name}(x):")
        self.finished.extend(writer.lines)

    def fresh(self, letter: str) -> str:
        self.counter += 1
        return f"{letter}{self.counter}"

    def name(self, prefix: str, value: Any) -> str:
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    def outlined(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes ``typed`` as a function of its own and calls it: nesting stays shallow however deep the
        expression."""
        name = self.fresh("part")
        given = _bare(symbol)
        outer, self.writer = self.writer, Writer()
        inside = self.unpacked("x", given)
        result = yield self.walk(typed, inside)
        self.writer.put(f"return {pack(result)}")
        self.writer.lines.append("    yield")  # makes it a generator, whatever is inside
        self.finish(name, self.writer)
        self.writer = outer
        return self.call(f"{name}({pack(symbol)})", _bare(result))

    def call(self, code: str, result: Symbol) -> Symbol:
        """Writes a call of a generator function; ``result`` is what it returns, without code."""
        self.writer.is_generator = True
        name = self.fresh("r")
        self.writer.put(f"{name} = yield {code}")
        return self.unpacked(name, result)

    def unpacked(self, code: str, like: Symbol) -> Symbol:
        """Takes the value ``code`` apart into local names, as far as ``like`` says that it is made of
        tuples."""
        match like:
            case TupleSymbol(items=items, labels=labels):
                if not items:
                    return like
                names = [self.fresh("t") for _ in items]
                self.writer.put(f"{', '.join(names)}, = {code}")
                return TupleSymbol(tuple(map(self.unpacked, names, items)), labels)
            case TensorSymbol(place=place, constant=constant):
                return TensorSymbol(like.code if constant is not None else code, place, constant)
            case ListSymbol(element=element):
                return ListSymbol(code, element)
            case EndlessSymbol(element=element):
                return EndlessSymbol(self.unpacked(code, element))
            case ObjectSymbol():
                return ObjectSymbol(code)
            case VoidSymbol():
                return VOID

    # ---------------------------------------------------------------------------------------------- the forms

    def walk(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of ``typed`` on the value ``symbol``; returns the result's symbol."""
        if self.writer.nesting > _DEEPEST_NESTING:
            return (yield self.outlined(typed, symbol))
        if not isinstance(typed.form, core.Constant):
            symbol = self.coerced(symbol, typed.input)
        return self.coerced((yield self.form(typed, symbol)), typed.output)

    def form(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of one core form."""
        form = typed.form
        match form:
            case core.Pipe():
                for part in typed.parts:
                    symbol = yield self.walk(part, symbol)
                return symbol
            case core.Fan():
                items = []
                for part in typed.parts:
                    items.append((yield self.walk(part, symbol)))
                return TupleSymbol(tuple(items), form.labels)
            case core.Graph():
                return (yield self.graph(form, typed, symbol))
            case core.Choice():
                return (yield self.choice(form, typed, symbol))
            case core.Fix() | core.Reference():
                assert typed.knot is not None
                return (yield self.recursion(typed.knot, symbol))
            case core.Map():
                return (yield self.map(typed, symbol))
            case core.Fold():
                return (yield self.fold(typed, symbol))
            case core.Shared():
                return (yield self.shared(typed, symbol))
            case core.Constant():
                return self.constant(typed.output, form.value)
            case core.Read():
                return self.read(typed, symbol)
            case core.Transform():
                return self.object(f"{self.name('FN', form.function)}({pack(symbol)})")
            case core.Item():
                return self.item(form.key, symbol)
            case core.Metric():
                return self.metric(form.metric, typed, symbol)
            case core.Apply():
                return self.apply(typed, symbol)
            case _:
                raise AssertionError(f"no lowering for the core form {type(form).__name__}")

    def coerced(self, symbol: Symbol, wanted: T.Type) -> Symbol:
        """A tuple or list of the user's objects where one object is wanted is that tuple or list."""
        match wanted, symbol:
            case T.Input(), TupleSymbol() | ListSymbol():
                return self.object(pack(symbol))
            case T.Tuple(items=items), TupleSymbol(items=symbols, labels=labels):
                return TupleSymbol(tuple(map(self.coerced, symbols, items)), labels)
            case T.Sequence(element=element), ListSymbol(code=code, element=inner):
                return ListSymbol(code, _viewed(inner, element))
            case _:
                return symbol

    def object(self, code: str) -> ObjectSymbol:
        name = self.fresh("o")
        self.writer.put(f"{name} = {code}")
        return ObjectSymbol(name)

    def graph(self, form: core.Graph, typed: Typed, symbol: Symbol) -> Walk:
        wires = [symbol]

        def source(of: core.Source) -> Symbol:
            if isinstance(of, int):
                return wires[of]
            return TupleSymbol(tuple(map(source, of)))

        for node, part in zip(form.nodes, typed.parts, strict=True):
            wires.append((yield self.walk(part, source(node.source))))
        return source(form.output)

    def choice(self, form: core.Choice, typed: Typed, symbol: Symbol) -> Walk:
        cases = list(typed.parts)
        if form.key is None:
            key: Symbol = yield self.walk(cases.pop(0), symbol)
            key_code = pack(key)
        else:
            key_code = f"{self.name('FN', form.key)}({pack(symbol)})"
        numbers: dict[Hashable, int] = {}
        for number, value in enumerate(form.keys):
            numbers[value] = number
        table = self.name("CASES", numbers)
        which = self.fresh("c")
        self.writer.put(f"{which} = {table}[{key_code}]")
        if len(cases) > _MOST_INLINE_CASES:
            return (yield self.table(which, cases, typed.output, symbol))
        branches: list[Symbol] = []
        blocks: list[list[str | KeyLine]] = []
        for case in cases:
            outer = self.writer.lines
            self.writer.lines = []
            self.writer.nesting += 1
            branches.append(self.coerced((yield self.walk(case, symbol)), typed.output))
            self.writer.nesting -= 1
            blocks.append(self.writer.lines)
            self.writer.lines = outer
        merged = self.merged(branches)
        for number, (branch, block) in enumerate(zip(branches, blocks, strict=True)):
            word = (
                "else:"
                if number and number == len(cases) - 1
                else f"{'elif' if number else 'if'} {which} == {number}:"
            )
            self.writer.put(word)
            self.writer.lines.extend(block)
            self.writer.nesting += 1
            codes = self.assigned(branch, merged)
            if codes:
                self.writer.put(
                    f"{', '.join(name for name, _ in codes)} = {', '.join(code for _, code in codes)}"
                )
            else:
                self.writer.put("pass")
            self.writer.nesting -= 1
        return merged

    def merged(self, branches: list[Symbol]) -> Symbol:
        """The symbol that stands for whichever branch was taken."""
        first = branches[0]
        match first:
            case TensorSymbol(constant=constant):
                if constant is not None and all(getattr(b, "constant", None) == constant for b in branches):
                    return first
                place = self.sites.flow.join(b.place for b in branches)  # type: ignore[union-attr]
                return TensorSymbol(self.fresh("v"), place)
            case TupleSymbol(items=items):
                columns = zip(*(b.items for b in branches), strict=True)  # type: ignore[union-attr]
                labels = first.labels
                if any(b.labels != labels for b in branches):  # type: ignore[union-attr]
                    labels = None
                return TupleSymbol(tuple(self.merged(list(column)) for column in columns), labels)
            case ListSymbol():
                element = self.merged([b.element for b in branches])  # type: ignore[union-attr]
                return ListSymbol(self.fresh("l"), _bare(element))
            case EndlessSymbol():
                return EndlessSymbol(self.merged([b.element for b in branches]))  # type: ignore[union-attr]
            case ObjectSymbol():
                return ObjectSymbol(self.fresh("o"))
            case _:
                return VOID

    def assigned(self, branch: Symbol, merged: Symbol) -> list[tuple[str, str]]:
        """The (name, code) pairs that make ``merged`` hold ``branch``."""
        match merged, branch:
            case TensorSymbol(code=name, constant=None), TensorSymbol(code=code):
                return [(name, code)]
            case TupleSymbol(items=names), TupleSymbol(items=items):
                return [
                    pair
                    for name, item in zip(names, items, strict=True)
                    for pair in self.assigned(item, name)
                ]
            case ListSymbol(code=name), ListSymbol(code=code):
                return [(name, code)]
            case EndlessSymbol(element=name), EndlessSymbol(element=item):
                return self.assigned(item, name)
            case ObjectSymbol(code=name), _:
                return [(name, pack(branch))]
            case _:
                return []

    def table(self, which: str, cases: list[Typed], output: T.Type, symbol: Symbol) -> Walk:
        """Many cases: each is a function, picked from a table (a long ``elif`` chain is slow and nests)."""
        result = template(output, self.sites.flow)
        names = []
        for case in cases:
            name = self.fresh("case")
            names.append(name)
            outer, self.writer = self.writer, Writer()
            inside = self.unpacked("x", _bare(symbol))
            value = yield self.walk(case, inside)
            value = self.coerced(value, output)
            link(result, value, self.sites.flow)
            self.writer.put(f"return {pack(value)}")
            self.writer.lines.append("    yield")
            self.finish(name, self.writer)
            self.writer = outer
        listed = self.fresh("TABLE")
        self.finished.append(f"{listed} = ({', '.join(names)},)")
        return self.call(f"{listed}[{which}]({pack(symbol)})", result)

    def recursion(self, knot: Knot, symbol: Symbol) -> Walk:
        known = self.knots.get(id(knot))
        if known is None:
            name = self.fresh("knot")
            given = template(knot.input, self.sites.flow)
            result = template(knot.output, self.sites.flow)
            self.knots[id(knot)] = name, given, result
            outer, self.writer = self.writer, Writer()
            inside = self.unpacked("x", given)
            value = self.coerced((yield self.walk(knot.body, inside)), knot.output)
            link(result, value, self.sites.flow)
            self.writer.put(f"return {pack(value)}")
            if not self.writer.is_generator:
                self.writer.lines.append("    yield")
            self.finish(name, self.writer)
            self.writer = outer
        else:
            name, given, result = known
        symbol = self.coerced(symbol, knot.input)
        link(given, symbol, self.sites.flow)
        return self.call(f"{name}({pack(symbol)})", result)

    # ---------------------------------------------------------------------------------------------- sequences

    def elements(self, symbol: Symbol) -> tuple[str, Symbol]:
        """The Python iterable of a sequence and what its elements look like."""
        match symbol:
            case ListSymbol(code=code, element=element):
                return code, element
            case TupleSymbol(items=items):
                return pack(symbol), _bare(self.merged(list(items)))
            case _:
                return pack(symbol), ObjectSymbol("")

    def map(self, typed: Typed, symbol: Symbol) -> Walk:
        (element,) = typed.parts
        if isinstance(symbol, EndlessSymbol):
            return EndlessSymbol((yield self.walk(element, symbol.element)))
        code, like = self.elements(symbol)
        out, item = self.fresh("l"), self.fresh("e")
        self.writer.put(f"{out} = []")
        self.writer.put(f"for {item} in {code}:")
        self.writer.nesting += 1
        value = yield self.walk(element, self.unpacked(item, like))
        self.writer.put(f"{out}.append({pack(value)})")
        self.writer.nesting -= 1
        return self.coerced(ListSymbol(out, _bare(value)), typed.output)

    def fold(self, typed: Typed, symbol: Symbol) -> Walk:
        step, start = typed.parts
        first = yield self.walk(start, VOID)
        first = self.coerced(first, typed.output)
        state = self.merged([first, template(typed.output, self.sites.flow)])
        self.assign(first, state)
        code, like = self.elements(symbol)
        item = self.fresh("e")
        self.writer.put(f"for {item} in {code}:")
        self.writer.nesting += 1
        value = yield self.walk(step, TupleSymbol((state, self.unpacked(item, like))))
        value = self.coerced(value, typed.output)
        link(state, value, self.sites.flow)
        if not self.assign(value, state):
            self.writer.put("pass")
        self.writer.nesting -= 1
        return state

    def assign(self, value: Symbol, to: Symbol) -> bool:
        codes = [(name, code) for name, code in self.assigned(value, to) if name != code]
        if codes:
            self.writer.put(
                f"{', '.join(name for name, _ in codes)} = {', '.join(code for _, code in codes)}"
            )
        return bool(codes)

    def shared(self, typed: Typed, symbol: Symbol) -> Walk:
        """Memo by object identity; the object is kept so that its ``id`` stays its own during the example."""
        (part,) = typed.parts
        memo = self.fresh("MEMO")
        self.names[memo] = {}
        found = self.fresh("f")
        thing = pack(symbol)
        self.writer.put(f"{found} = {memo}.get(id({thing}))")
        self.writer.put(f"if {found} is None:")
        self.writer.nesting += 1
        value = yield self.walk(part, symbol)
        value = self.coerced(value, typed.output)
        self.writer.put(f"{found} = {memo}[id({thing})] = ({thing}, {pack(value)})")
        self.writer.nesting -= 1
        return self.unpacked(f"{found}[1]", _bare(value))

    def item(self, key: Any, symbol: Symbol) -> Symbol:
        literal = repr(key) if isinstance(key, (str, int)) else self.name("KEY", key)
        match symbol:
            case TupleSymbol(items=items, labels=labels):
                if isinstance(key, slice):
                    return TupleSymbol(items[key], labels and labels[key])
                if labels is not None and key in labels:
                    return items[labels.index(key)]
                return items[key]
            case ListSymbol(code=code, element=element):
                if isinstance(key, slice):
                    name = self.fresh("l")
                    self.writer.put(f"{name} = {code}[{literal}]")
                    return ListSymbol(name, element)
                name = self.fresh("e")
                self.writer.put(f"{name} = {code}[{literal}]")
                return self.unpacked(name, element)
            case _:
                return self.object(f"{pack(symbol)}[{literal}]")

    # ---------------------------------------------------------------------------------------------- nodes

    def constant(self, of: T.Type, value: Any) -> Symbol:
        match of:
            case T.Tensor():
                number, place = self.sites.constant(of, value)
                return TensorSymbol(f"@C{number}@", place, number)
            case T.Tuple(items=items, labels=labels):
                return TupleSymbol(tuple(self.constant(item, None) for item in items), labels)
            case T.Sequence(element=element):
                return ListSymbol("[]", template(element, self.sites.flow))
            case _:
                return VOID

    def read(self, typed: Typed, symbol: Symbol) -> Symbol:
        of = typed.output
        assert isinstance(of, T.Tensor)
        stream = self.reads.setdefault(of, len(self.reads))
        site = self.sites.add("read", (of,), typed=typed)
        thing = pack(symbol)
        if of.shape == () and of.dtype.startswith(("int", "uint", "float")):
            plain = "float" if of.dtype.startswith("float") else "int"
            self.writer.put(f"RAW{stream}({thing} if type({thing}) is {plain} else CONVERT{stream}({thing}))")
        else:
            self.writer.put(f"RAW{stream}(CONVERT{stream}({thing}))")
        value = self.node(site, (), ())
        return TensorSymbol(value, self.sites.place(site, 0))

    def metric(self, name: str, typed: Typed, symbol: Symbol) -> Symbol:
        label = "None"
        of = typed.input
        if isinstance(symbol, TupleSymbol) and isinstance(of, T.Tuple):
            symbol, labelling = symbol.items
            label = pack(labelling)
            of = of.items[0]
        assert isinstance(symbol, TensorSymbol) and isinstance(of, T.Tensor)
        if name not in self.metrics:
            self.metrics[name] = MetricStream(name, of, self.sites.flow.join(), name in self.labelled)
        self.sites.flow.link(self.metrics[name].place, symbol.place)
        number = list(self.metrics).index(name)
        self.writer.put(f"MET{number}({symbol.code})")
        if name in self.labelled:
            self.writer.put(f"LAB{number}({label})")
        return VOID

    def node(self, site: Site, rows: tuple[str, ...], lists: tuple[str, ...]) -> str:
        """Writes one node of ``site``; returns the expression of its first value id."""
        number = self.fresh("n")
        key = self.fresh("k")
        put = self.writer.put
        self.writer.lines.append(KeyLine("    " * (self.writer.nesting + 1), key, site.index, rows, lists))
        put(f"{number} = len(S) << @W")
        put(f"S_append({site.index})")
        put(f"K_append({key})")
        return number

    def apply(self, typed: Typed, symbol: Symbol) -> Symbol:
        trace = typed.trace
        assert trace is not None
        rows: list[str] = []
        ports: list[Port] = []
        constants: list[tuple[int, int]] = []
        by_domain: list[tuple[str, list[tuple[int, int, str]]]] = []
        bindable = _bindable(trace)
        leaf = 0
        pending = [symbol]
        while pending:
            value = pending.pop()
            match value:
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
                    columns = []
                    for path, place in _columns(element):
                        ids = code if not path else f"[e{path} for e in {code}]"
                        columns.append((leaf, place, ids))
                        leaf += 1
                    by_domain.append((code, columns))
                case _:
                    raise AssertionError("an operation takes tensors")
        lists: list[str] = []
        for domain, (code, columns) in enumerate(by_domain):
            for number, place, ids in columns:
                name = self.fresh("l")
                self.writer.put(f"{name} = {ids}")
                lists.append(name)
                ports.append(Port(number, place, domain))
        plain = tuple(var.type for var in trace.results if var.rows < 0)
        site = self.sites.add("apply", plain, typed=typed, ports=tuple(ports), constants=tuple(constants))
        number = self.node(site, tuple(rows), tuple(lists))
        if len(rows) == 1:
            self.writer.put(f"SRC_append({rows[0]})")
        elif rows:
            self.writer.put(f"SRC_extend(({', '.join(rows)}))")
        for domain, (code, _) in enumerate(by_domain):
            self.writer.put(f"CNT_append(len({code}))")
        for name in lists:
            self.writer.put(f"SRC_extend({name})")
        return self.results(typed, site, number, [code for code, _ in by_domain])

    def results(self, typed: Typed, site: Site, number: str, lengths: list[str]) -> Symbol:
        """The symbol of what an operation returns: rows are value ids, sequences are nodes of their own."""
        trace = typed.trace
        assert trace is not None
        ragged: dict[int, tuple[Site, str]] = {}
        for domain in sorted({var.rows for var in trace.results if var.rows >= 0}):
            types = tuple(var.type for var in trace.results if var.rows == domain)
            element = self.sites.add("element", types, parent=site.index, domain=domain)
            first = self.fresh("n")
            count = f"len({lengths[domain]})"
            self.writer.put(f"{first} = len(S)")
            self.writer.put(f"S_extend([{element.index}] * {count})")
            self.writer.put(f"K_extend([K[-1]] * {count})")
            ragged[domain] = element, first
        plain_seen = 0
        ragged_seen = dict.fromkeys(ragged, 0)
        leaves = iter(trace.results)

        def build(of: T.Type, path: str = "") -> Symbol:
            nonlocal plain_seen
            match of:
                case T.Tensor():
                    next(leaves)
                    place = self.sites.place(site, plain_seen)
                    code = number if plain_seen == 0 else f"({number} + {plain_seen})"
                    plain_seen += 1
                    return TensorSymbol(code, place)
                case T.Tuple(items=items, labels=labels):
                    return TupleSymbol(tuple(build(item) for item in items), labels)
                case T.Sequence(element=inner):
                    return rows_of(inner)
                case _:
                    raise AssertionError("an operation gives tensors")

        def rows_of(inner: T.Type) -> Symbol:
            domain = -1

            def element_of(of: T.Type) -> Symbol:
                nonlocal domain
                if isinstance(of, T.Tuple):
                    return TupleSymbol(tuple(element_of(item) for item in of.items), of.labels)
                var = next(leaves)
                domain = var.rows
                site_of, first = ragged[domain]
                output = ragged_seen[domain]
                ragged_seen[domain] += 1
                return TensorSymbol(f"(j << @W) + {output}", self.sites.place(site_of, output))

            like = element_of(inner)
            _, first = ragged[domain]
            name = self.fresh("l")
            self.writer.put(
                f"{name} = [{pack(like)} for j in range({first}, {first} + len({lengths[domain]}))]"
            )
            return ListSymbol(name, _bare(like))

        return build(typed.output)

    # ---------------------------------------------------------------------------------------------- the
    # result

    def result(self, symbol: Symbol, of: T.Type) -> None:
        """Writes the streams of the result: one of value ids for each tensor leaf, one of lengths for each
        level."""
        match of, symbol:
            case T.Tensor(), TensorSymbol(code=code, place=place):
                self.writer.put(f"RES{len(self.leaves)}({code})")
                self.leaves.append(place)
                self.leaf_types.append(of)
            case T.Tuple(items=items), TupleSymbol(items=symbols):
                for item, value in zip(items, symbols, strict=True):
                    self.result(value, item)
            case T.Sequence(element=element), ListSymbol(code=code, element=like):
                self.writer.put(f"LEN{self.levels}(len({code}))")
                self.levels += 1
                item = self.fresh("e")
                self.writer.put(f"for {item} in {code}:")
                self.writer.nesting += 1
                self.result(self.unpacked(item, like), element)
                self.writer.put("pass")
                self.writer.nesting -= 1
            case _:
                return


def _bare(symbol: Symbol) -> Symbol:
    """The symbol without code (but for constants, whose code is a literal)."""
    match symbol:
        case TensorSymbol(place=place, constant=constant):
            return symbol if constant is not None else TensorSymbol("", place)
        case TupleSymbol(items=items, labels=labels):
            return TupleSymbol(tuple(map(_bare, items)), labels)
        case ListSymbol(element=element):
            return ListSymbol("", element)
        case EndlessSymbol(element=element):
            return EndlessSymbol(_bare(element))
        case ObjectSymbol():
            return ObjectSymbol("")
        case _:
            return VOID


def _viewed(symbol: Symbol, wanted: T.Type) -> Symbol:
    """A code-less symbol seen as ``wanted``: at run time a tuple of objects already is one object."""
    match wanted, symbol:
        case T.Input(), _:
            return ObjectSymbol("")
        case T.Tuple(items=items), TupleSymbol(items=symbols, labels=labels):
            return TupleSymbol(tuple(map(_viewed, symbols, items)), labels)
        case T.Sequence(element=element), ListSymbol(element=inner):
            return ListSymbol("", _viewed(inner, element))
        case _:
            return symbol


def _columns(element: Symbol, path: str = "") -> list[tuple[str, int]]:
    """The tensor leaves of a sequence's element: the subscripts that lead there, and the leaf's place."""
    match element:
        case TensorSymbol(place=place):
            return [(path, place)]
        case TupleSymbol(items=items):
            return [leaf for i, item in enumerate(items) for leaf in _columns(item, f"{path}[{i}]")]
        case _:
            raise AssertionError("an operation takes tensors")


def _bindable(trace: Trace) -> set[int]:
    """The input leaves that may become constants of the operation: all that are not spread over a
    sequence."""
    spread = {
        var for equation in trace.equations if equation.primitive.segmented for var in equation.operands
    }
    return {leaf for leaf, var in enumerate(trace.inputs) if var.rows < 0 and var not in spread}
