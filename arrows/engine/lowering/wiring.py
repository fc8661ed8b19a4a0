"""`Pipe`, `Fan` and `Graph`: how the results of blocks pass to other blocks."""

from __future__ import annotations

from arrows.combinators import Fan, Graph, Source
from arrows.engine.lowering.expression_writer import ExpressionWriter, Walk
from arrows.engine.lowering.symbols import Symbol, TupleSymbol
from arrows.engine.values import Recursion, trampoline
from arrows.inference import Typed


def emit_pipe(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    for part in writer.compositions.steps(typed.parts):
        symbol = yield writer.walk(part, symbol)
    return symbol


def emit_fan(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    assert isinstance(typed.form, Fan)
    items: list[Symbol] = []
    for part in typed.parts:
        items.append((yield writer.walk(part, symbol)))
    return TupleSymbol(tuple(items), typed.form.labels)


def emit_graph(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    assert isinstance(typed.form, Graph)
    wires = [symbol]
    for node, part in zip(typed.form.nodes, typed.parts, strict=True):
        wires.append((yield writer.walk(part, trampoline(_source(wires, node.source)))))
    return trampoline(_source(wires, typed.form.output))


def _source(wires: list[Symbol], source: Source) -> Recursion[Symbol]:
    """What a node reads: a wire, or a tuple of wires."""
    if isinstance(source, int):
        return wires[source]
    items: list[Symbol] = []
    for item in source:
        items.append((yield _source(wires, item)))
    return TupleSymbol(tuple(items))
