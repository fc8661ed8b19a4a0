"""Writes the function that lowers one example: a typed expression becomes straight Python code over flat
lists.

The code is written once for a model.  It walks the example as the expression says and appends, for each visit
of a site, the site's number, the value ids that it reads and its depth key; no object is made for a node.  A
recursive block becomes a generator function that yields the calls it wants made (`drive` keeps their stack),
so data may be as deep as memory allows.  The symbols of `arrows.engine.lowering.symbols` stand for
the values meanwhile, and the walk also records which site can feed which (`arrows.engine.lowering.dataflow`).

Names in the written code: ``x`` is a function's input, ``v3`` a value id, ``n3`` the first value id of a
node, ``o3`` an object, ``l3`` a list, ``k3`` a depth key; ``S K SRC CNT`` are the streams of the wiring,
``RAW3 RES3 LEN3 MET3 LAB3 VISIT OBJ3`` those of inputs, results, metrics and taps; ``ITEMS`` goes over the
user's containers, ``ZIPPED`` over several at a time.
``@W`` (the shift from node to value id), ``@C3@`` (a constant's value id) and the depth keys are put in once
all sites are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arrows import combinators as core
from arrows.combinators import take
from arrows.engine.lowering.dataflow import ReachingProducers
from arrows.engine.lowering.lowering_sequences import SequenceWriter, Walk
from arrows.engine.lowering.merge_chains import Compositions
from arrows.engine.lowering.node_code import MetricStream
from arrows.engine.lowering.sites import Site
from arrows.engine.lowering.source_writer import DEEPEST_NESTING, KeyLine
from arrows.engine.lowering.symbols import (
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TupleSymbol,
    bare,
    link,
    template,
)
from arrows.engine.lowering.taps import Outlet, Taps
from arrows.engine.values import Recursion, trampoline
from arrows.inference import Knot, Typed
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T

# More cases than these are functions picked from a table: a long ``elif`` chain is slow, and nests in the
# compiler.
_MOST_INLINE_CASES = 4


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Lowered:
    """What lowering a typed expression gives.

    Attributes:
        lines: the source of the module, key lines still open; ``main`` is its entry.
        main_yields: whether ``main`` is a generator function (it calls a recursive block).
        names: what the source refers to (users' functions, tables of cases, memos of shared blocks).
        sites: the sites.
        constants: the values of the constants.
        reaching: which outputs of sites can reach each place of the flow graph.
        reads: the tensor types that are read, one raw stream each.
        metrics: the streams of side outputs.
        leaves: for each tensor leaf of the result, depth first, and of what is tapped, its place in the flow.
        leaf_types: their types.
        levels: how many nesting levels of sequences these have, depth first.
        result: which of these are the result's.
        taps: which are the taps'.
    """

    lines: list[str | KeyLine]
    main_yields: bool
    names: dict[str, Any]
    sites: Sequence[Site]
    constants: Sequence[HostArray]
    reaching: ReachingProducers
    reads: list[T.Tensor]
    metrics: list[MetricStream]
    leaves: list[int]
    leaf_types: list[T.Tensor]
    levels: int
    result: Outlet
    taps: Taps


def lower(root: Typed) -> Lowered:
    """Writes the lowering function of a typed expression."""
    return _Lowering().run(root)


class _Lowering(SequenceWriter):
    """The walk over the core forms."""

    def __init__(self) -> None:
        super().__init__()
        self.knots: dict[int, tuple[str, Symbol, Symbol]] = {}
        self.memos: dict[tuple[int, T.Type], tuple[str, Symbol]] = {}
        self.written: dict[int, Symbol] = {}  # by occurrence, where it stands at several places

    def run(self, root: Typed) -> Lowered:
        self.labelled = {
            typed.form.metric
            for typed in root.walk()
            if isinstance(typed.form, core.Metric) and isinstance(typed.input, T.Tuple)
        }
        self.compositions = Compositions(root)
        result = self.outlet(root.output)  # its streams come first
        self.let_out(trampoline(self.walk(root, ObjectSymbol("x"))), result)
        yields = self.body.is_generator
        self.finish("main", self.body, generator=False)
        return Lowered(
            lines=self.finished,
            main_yields=yields,
            names=self.names,
            sites=self.sites.sites,
            constants=self.sites.constants,
            reaching=self.sites.flow.solve(),
            reads=list(self.reads),
            metrics=list(self.metrics.values()),
            leaves=self.leaves,
            leaf_types=self.leaf_types,
            levels=self.levels,
            result=result,
            taps=Taps(tuple(self.taps.values()), tuple(self.tap_sites)),
        )

    def walk(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of ``typed`` on the value ``symbol``; returns the result's symbol.

        What stands at several places is written at the first of them, in the function and in the block of
        code where the others are too: what starts a block of its own stands at one place.
        """
        if typed.places > 1 and (written := self.written.get(id(typed))) is not None:
            return written
        if self.body.nesting > DEEPEST_NESTING:
            return (yield self.outlined(typed, symbol))
        if not isinstance(typed.form, core.Constant):
            symbol = self.coerced(symbol, typed.input)
        result = self.coerced((yield self.form(typed, symbol)), typed.output)
        if typed.places > 1:
            self.written[id(typed)] = result
        return result

    def form(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of one core form."""
        form = typed.form
        match form:
            case core.Pipe():
                for part in self.compositions.of(typed.parts):
                    symbol = yield self.walk(part, symbol)
                return symbol
            case core.Fan():
                items: list[Symbol] = []
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
            case core.Map() | core.Fold() | core.Scan() | core.Reduce():
                return (yield self.over_elements(typed, symbol))
            case core.Broadcast() | core.Length() | core.Nth() | core.Unroll() | core.Zip():
                return self.of_elements(typed, symbol)
            case core.Shared():
                return (yield self.shared(typed, symbol))
            case core.Constant():
                if form.trainable:
                    return self.apply(typed, TupleSymbol(()))
                return self.constant(typed.output, form.value)
            case core.Read():
                return self.read(typed, symbol)
            case core.Transform():
                return self.object(f"{self.name('FN', form.function)}({self.pack(symbol)})")
            case core.Item():
                return self.item(form.key, symbol)
            case core.Metric():
                return self.metric(form.metric, typed, symbol)
            case core.Tap():
                return self.tap(form, typed.input, symbol)
            case core.Apply():
                return self.apply(typed, symbol)
            case _:
                raise AssertionError(f"no lowering for the core form {type(form).__name__}")

    def object(self, code: str) -> ObjectSymbol:
        """A Python object, under a name of its own: nothing is evaluated twice."""
        return ObjectSymbol(self.assign("o", code))

    def outlined(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes ``typed`` as a function of its own and calls it: nesting stays shallow in deep
        expressions."""
        name = self.fresh("part")
        outer = self.begin()
        result = yield self.walk(typed, self.unpacked("x", bare(symbol)))
        self.put(f"return {self.pack(result)}")
        self.finish(name, outer)
        return self.call(f"{name}({self.pack(symbol)})", bare(result))

    def graph(self, form: core.Graph[Any, Any], typed: Typed, symbol: Symbol) -> Walk:
        wires = [symbol]

        def source(of: core.Source) -> Recursion[Symbol]:
            if isinstance(of, int):
                return wires[of]
            items: list[Symbol] = []
            for one in of:
                items.append((yield source(one)))
            return TupleSymbol(tuple(items))

        for node, part in zip(form.nodes, typed.parts, strict=True):
            wires.append((yield self.walk(part, trampoline(source(node.source)))))
        result: Symbol = trampoline(source(form.output))
        return result

    def choice(self, form: core.Choice[Any, Any], typed: Typed, symbol: Symbol) -> Walk:
        cases = list(typed.parts)
        if form.key is None:
            key = self.pack((yield self.walk(cases.pop(0), symbol)))
        else:
            key = f"{self.name('FN', form.key)}({self.pack(symbol)})"
        table = self.name("CASES", {value: number for number, value in enumerate(form.keys)})
        which = self.assign("c", f"{table}[{key}]")
        if len(cases) > _MOST_INLINE_CASES:
            return (yield self.table(which, cases, typed.output, symbol))
        branches: list[Symbol] = []
        blocks: list[list[str | KeyLine]] = []
        for case in cases:
            outer, self.body.lines = self.body.lines, []
            self.body.nesting += 1
            branches.append(self.coerced((yield self.walk(case, symbol)), typed.output))
            self.body.nesting -= 1
            blocks.append(self.body.lines)
            self.body.lines = outer
        merged = self.merged(branches)
        for number, (branch, block) in enumerate(zip(branches, blocks, strict=True)):
            if number and number == len(cases) - 1:
                self.put("else:")
            else:
                self.put(f"{'elif' if number else 'if'} {which} == {number}:")
            self.body.lines.extend(block)
            self.body.nesting += 1
            self.give(merged, branch)
            self.body.nesting -= 1
        return merged

    def table(self, which: str, cases: list[Typed], output: T.Type, symbol: Symbol) -> Walk:
        result = template(output, self.sites.flow)
        names = []
        for case in cases:
            names.append(self.fresh("case"))
            outer = self.begin()
            value = self.coerced((yield self.walk(case, self.unpacked("x", bare(symbol)))), output)
            link(result, value, self.sites.flow)
            self.put(f"return {self.pack(value)}")
            self.finish(names[-1], outer)
        listed = self.fresh("TABLE")
        self.finished.append(f"{listed} = ({', '.join(names)},)")
        return self.call(f"{listed}[{which}]({self.pack(symbol)})", result)

    def recursion(self, knot: Knot, symbol: Symbol) -> Walk:
        known = self.knots.get(id(knot))
        if known is None:
            name = self.fresh("knot")
            given = template(knot.input, self.sites.flow)
            result = template(knot.output, self.sites.flow)
            self.knots[id(knot)] = name, given, result
            outer = self.begin()
            value = self.coerced((yield self.walk(knot.body, self.unpacked("x", given))), knot.output)
            link(result, value, self.sites.flow)
            self.put(f"return {self.pack(value)}")
            self.finish(name, outer)
        else:
            name, given, result = known
        symbol = self.coerced(symbol, knot.input)
        link(given, symbol, self.sites.flow)
        return self.call(f"{name}({self.pack(symbol)})", result)

    def shared(self, typed: Typed, symbol: Symbol) -> Walk:
        """Memo by object identity, in a function of its own: the block may stand in several places.

        The object is kept with its result, so that its ``id`` stays its own during the example.
        """
        key = (id(typed.form), typed.output)
        if key not in self.memos:
            name, memo = self.fresh("shared"), self.name("MEMO", {})
            result = template(typed.output, self.sites.flow)
            self.memos[key] = name, result
            outer = self.begin()
            self.put(f"f = {memo}.get(id(x))")
            self.put("if f is None:")
            self.body.nesting += 1
            value = self.coerced((yield self.walk(typed.parts[0], ObjectSymbol("x"))), typed.output)
            link(result, value, self.sites.flow)
            self.put(f"f = {memo}[id(x)] = (x, {self.pack(value)})")
            self.body.nesting -= 1
            self.put("return f[1]")
            self.finish(name, outer)
        name, result = self.memos[key]
        return self.call(f"{name}({self.pack(symbol)})", result)

    def item(self, key: Any, symbol: Symbol) -> Symbol:
        if isinstance(symbol, TupleSymbol):
            items, labels = symbol.items, symbol.labels
            if isinstance(key, slice):
                return TupleSymbol(items[key], None if labels is None else labels[key])
            return items[labels.index(key)] if labels is not None and key in labels else items[key]
        literal = repr(key) if type(key) in (str, int) else self.name("KEY", key)
        if isinstance(symbol, EndlessSymbol):
            return symbol
        if isinstance(symbol, ListSymbol):
            name = self.assign("l" if isinstance(key, slice) else "e", f"{symbol.code}[{literal}]")
            return (
                ListSymbol(name, symbol.element)
                if isinstance(key, slice)
                else self.unpacked(name, symbol.element)
            )
        thing = self.pack(symbol)
        if type(key) is not str:
            return self.object(f"{thing}[{literal}]")
        # Most records are dicts; what else there is, is looked at more closely.
        self.names["TAKE"] = take
        return self.object(f"{thing}[{literal}] if type({thing}) is dict else TAKE({thing}, {literal})")
