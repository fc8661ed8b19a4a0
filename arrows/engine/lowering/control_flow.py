"""`Pipe`, `Fan`, `Graph`, `Choice`, `Reference` and `Shared`: which blocks run, and on what."""

from __future__ import annotations

from arrows.combinators import Choice, Graph, Source
from arrows.engine.lowering.expression_writer import ExpressionWriter, KeyLine, Walk
from arrows.engine.lowering.symbols import ObjectSymbol, Symbol, TupleSymbol, bare, link, template
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


# More cases than these are functions picked from a table: a long ``elif`` chain is slow, and nests in the
# compiler.
_MOST_INLINE_CASES = 4


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
    emit = _emit_table if len(cases) > _MOST_INLINE_CASES else _emit_branches
    result: Symbol = yield emit(writer, number, cases, typed.output, symbol)
    return result


def _emit_branches(
    writer: ExpressionWriter, number: str, cases: list[Typed], output: T.Type, symbol: Symbol
) -> Walk:
    # What the branches have in common is known when all of them are written, so their lines wait.
    branches: list[Symbol] = []
    blocks: list[list[str | KeyLine]] = []
    for case in cases:
        outer, writer.body.lines = writer.body.lines, []
        writer.body.nesting += 1
        branches.append(writer.coerced((yield writer.walk(case, symbol)), output))
        writer.body.nesting -= 1
        blocks.append(writer.body.lines)
        writer.body.lines = outer
    merged = writer.merged(branches)
    for place, (branch, lines) in enumerate(zip(branches, blocks, strict=True)):
        last = place and place == len(cases) - 1
        with writer.block("else:" if last else f"{'elif' if place else 'if'} {number} == {place}:"):
            writer.body.lines.extend(lines)
            writer.assign_parts(merged, branch)
    return merged


def _emit_table(
    writer: ExpressionWriter, number: str, cases: list[Typed], output: T.Type, symbol: Symbol
) -> Walk:
    result = template(output, writer.flow)
    names = []
    for case in cases:
        names.append(writer.fresh("case"))
        with writer.function(names[-1]):
            value = yield writer.walk(case, writer.unpacked("x", bare(symbol)))
            value = writer.coerced(value, output)
            link(result, value, writer.flow)
            writer.put(f"return {writer.pack(value)}")
    table = writer.fresh("TABLE")
    writer.finished.append(f"{table} = ({', '.join(names)},)")
    return writer.call(f"{table}[{number}]({writer.pack(symbol)})", result)


def emit_recursion(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    """Writes the call of a recursive block's function, and the function where it is met first."""
    knot = typed.knot
    assert knot is not None
    if id(knot) not in writer.recursions:
        name = writer.fresh("knot")
        argument, result = template(knot.input, writer.flow), template(knot.output, writer.flow)
        writer.recursions[id(knot)] = name, argument, result
        with writer.function(name):
            value = yield writer.walk(knot.body, writer.unpacked("x", argument))
            value = writer.coerced(value, knot.output)
            link(result, value, writer.flow)
            writer.put(f"return {writer.pack(value)}")
    name, argument, result = writer.recursions[id(knot)]
    symbol = writer.coerced(symbol, knot.input)
    link(argument, symbol, writer.flow)
    return writer.call(f"{name}({writer.pack(symbol)})", result)


def emit_shared(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    """Remembers results by the identity of the object, in a function of its own: the block may stand in
    several places.

    The object is kept with its result, so that no other object gets its ``id`` during the example.
    """
    key = (id(typed.form), typed.output)
    if key not in writer.memos:
        name, memo = writer.fresh("shared"), writer.refer("MEMO", {})
        result = template(typed.output, writer.flow)
        writer.memos[key] = name, result
        with writer.function(name):
            writer.put(f"f = {memo}.get(id(x))")
            with writer.block("if f is None:"):
                value = yield writer.walk(typed.parts[0], ObjectSymbol("x"))
                value = writer.coerced(value, typed.output)
                link(result, value, writer.flow)
                writer.put(f"f = {memo}[id(x)] = (x, {writer.pack(value)})")
            writer.put("return f[1]")
    name, result = writer.memos[key]
    return writer.call(f"{name}({writer.pack(symbol)})", result)
