"""`Pipe`, `Fan`, `Graph`, `Choice`, `Reference` and `Shared`: which blocks run, and on what."""

from __future__ import annotations

from collections.abc import Hashable

from arrows.combinators import Choice, Graph, Source
from arrows.engine.lowering.expression_writer import ExpressionWriter, KeyLine, Walk
from arrows.engine.lowering.sites import ObjectSymbol, Symbol, TupleSymbol, link, template
from arrows.engine.values import Recursion, each
from arrows.inference import Typed
from arrows.typesys import types as T


def emit_pipe(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    for part in writer.compositions.steps(typed.parts):
        symbol = yield writer.walk(part, symbol)
    return symbol


def emit_fan(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    items = yield each(writer.walk(part, symbol) for part in typed.parts)
    return TupleSymbol(tuple(items))


def emit_graph(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    assert isinstance(typed.form, Graph)
    wires = [symbol]
    for node, part in zip(typed.form.nodes, typed.parts, strict=True):
        wires.append((yield writer.walk(part, (yield _source(wires, node.source)))))
    result: Symbol = yield _source(wires, typed.form.result)
    return result


def _source(wires: list[Symbol], source: Source) -> Recursion[Symbol]:
    """What a node reads: a wire, or a tuple of wires."""
    if isinstance(source, int):
        return wires[source]
    return TupleSymbol(tuple((yield each(_source(wires, item) for item in source))))


def emit_choice(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    form = typed.form
    assert isinstance(form, Choice)
    cases = list(typed.parts)
    if form.key is None:
        key = writer.pack((yield writer.walk(cases.pop(0), symbol)))
    else:
        key = f"{writer.refer('FN', form.key)}({writer.pack(symbol)})"
    table = writer.refer("CASES", {value: number for number, value in enumerate(form.keys)})
    number = writer.assign("c", f"{table}[{key}]")
    # What the branches have in common is known when all of them are written, so their lines wait.
    branches: list[Symbol] = []
    blocks: list[list[str | KeyLine]] = []
    for case in cases:
        outer, writer.body.lines = writer.body.lines, []
        writer.body.nesting += 2
        branches.append(writer.coerced((yield writer.walk(case, symbol)), typed.output))
        writer.body.nesting -= 2
        blocks.append(writer.body.lines)
        writer.body.lines = outer
    merged = writer.merged(branches)
    with writer.block(f"match {number}:"):
        for place, (lines, branch) in enumerate(zip(blocks, branches, strict=True), 1):
            with writer.block(f"case {place - 1 if place < len(cases) else '_'}:"):
                writer.body.lines += lines
                writer.assign_parts(merged, branch)
    return merged


def _function(
    writer: ExpressionWriter, key: Hashable, body: Typed, input: T.Type, output: T.Type
) -> Recursion[tuple[str, Symbol, Symbol]]:
    """A function of a block that may be called in several places, written where it is met first: its name,
    and the patterns of what it takes and gives."""
    if key not in writer.functions:
        name = writer.fresh("block")
        argument, result = template(input, writer.flow), template(output, writer.flow)
        writer.functions[key] = name, argument, result
        with writer.function(name):
            value = yield writer.walk(body, writer.unpacked("x", argument))
            value = writer.coerced(value, output)
            link(result, value, writer.flow)
            writer.put(f"return {writer.pack(value)}")
    return writer.functions[key]


def emit_recursion(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    knot = typed.knot
    assert knot is not None
    name, argument, result = yield _function(writer, id(knot), knot.body, knot.input, knot.output)
    symbol = writer.coerced(symbol, knot.input)
    link(argument, symbol, writer.flow)
    return writer.call(f"{name}({writer.pack(symbol)})", result)


def emit_shared(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    """Remembers results by the identity of the object, in all places where the block stands.

    The object is kept with its result, so that no other object gets its ``id`` during the example.
    """
    key = id(typed.form), typed.output
    name, _, result = yield _function(writer, key, typed.parts[0], typed.input, typed.output)
    memo, given = f"MEMO_{name}", writer.assign("o", writer.pack(symbol))
    writer.names.setdefault(memo, {})
    known = writer.assign("r", f"{memo}.get(id({given}))")
    with writer.block(f"if {known} is None:"):
        value = writer.pack(writer.call(f"{name}({given})", ObjectSymbol("")))
        writer.put(f"{known} = {memo}[id({given})] = ({given}, {value})")
    return writer.unpacked(f"{known}[1]", result)
