"""`Map`, `Zip` and `Broadcast`: sequences made element by element."""

from __future__ import annotations

from itertools import repeat

from arrows.engine.lowering.expression_writer import ExpressionWriter, Walk
from arrows.engine.lowering.symbols import (
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TupleSymbol,
    bare,
)
from arrows.inference import Typed


def elements(writer: ExpressionWriter, symbol: Symbol) -> tuple[str, Symbol]:
    """The Python iterable of a sequence, and the pattern of its elements."""
    match symbol:
        case ListSymbol(code=code, element=element):
            return code, element
        case TupleSymbol(items=items):
            return writer.pack(symbol), bare(writer.merged(items))
        case _:
            return f"ITEMS({writer.pack(symbol)})", ObjectSymbol("")


def emit_map(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    (part,) = typed.parts
    if isinstance(symbol, EndlessSymbol):
        return EndlessSymbol((yield writer.walk(part, symbol.element)))
    code, pattern = elements(writer, symbol)
    results, item = writer.assign("l", "[]"), writer.fresh("e")
    with writer.block(f"for {item} in {code}:"):
        value = yield writer.walk(part, writer.unpacked(item, pattern))
        writer.put(f"{results}.append({writer.pack(value)})")
    return ListSymbol(results, bare(value))


def emit_broadcast(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    return EndlessSymbol(symbol)


def emit_zip(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    if not isinstance(symbol, TupleSymbol):
        return ListSymbol(writer.assign("l", f"ZIPPED(*ITEMS({writer.pack(symbol)}))"), ObjectSymbol(""))
    codes: list[str] = []
    patterns: list[Symbol] = []
    for item in symbol.items:
        if isinstance(item, EndlessSymbol):
            codes.append(f"{writer.refer('REPEAT', repeat)}({writer.pack(item)})")
            patterns.append(item.element)
        else:
            code, pattern = elements(writer, item)
            codes.append(writer.pack(item) if isinstance(item, ObjectSymbol) else code)
            patterns.append(pattern)
    if all(isinstance(item, EndlessSymbol) for item in symbol.items):
        return EndlessSymbol(TupleSymbol(tuple(patterns)))
    row = TupleSymbol(tuple(bare(pattern) for pattern in patterns))
    return ListSymbol(writer.assign("l", f"ZIPPED({', '.join(codes)})"), row)
