"""`Metric` and `Tap`, which write values into streams on their way, and `Shared`, which remembers results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from arrows.combinators import Metric, Tap
from arrows.engine.lowering.expression_writer import DEEPEST_NESTING, ExpressionWriter, Walk
from arrows.engine.lowering.streams import ObjectTap, ValueStreams
from arrows.engine.lowering.symbols import (
    VOID,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    link,
    template,
)
from arrows.engine.values import Recursion, trampoline
from arrows.inference import Typed
from arrows.typesys import types as T


def emit_metric(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Metric)
    label, type = "None", typed.input
    if isinstance(symbol, TupleSymbol) and isinstance(type, T.Tuple):
        symbol, labelling = symbol.items
        label, type = writer.pack(labelling), type.items[0]
    assert isinstance(symbol, TensorSymbol) and isinstance(type, T.Tensor)
    number, stream = writer.streams.metric(typed.form.metric, type, symbol.place)
    writer.put(f"MET{number}({symbol.code})")
    if stream.labelled:
        writer.put(f"LAB{number}({label})")
    return VOID


def emit_tap(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Tap)
    site, stream = writer.streams.tap(typed.form, typed.input)
    writer.put(f"VISIT({site})")
    if isinstance(stream, ObjectTap):
        writer.put(f"OBJ{stream.stream}({writer.pack(symbol)})")
    else:
        write_values(writer, symbol, stream.values)
    return symbol


def write_values(writer: ExpressionWriter, symbol: Symbol, values: ValueStreams) -> None:
    """Writes value ids for each tensor leaf, and lengths for each level of sequences, into streams."""
    trampoline(
        _write_values(writer, symbol, values.type, count(values.leaves.start), count(values.levels.start))
    )


def _write_values(
    writer: ExpressionWriter, symbol: Symbol, type: T.Type, leaves: Iterator[int], levels: Iterator[int]
) -> Recursion[None]:
    match type, symbol:
        case T.Tensor(), TensorSymbol(code=code, place=place):
            leaf = next(leaves)
            writer.put(f"RES{leaf}({code})")
            writer.streams.link_leaf(leaf, place)
        case T.Tuple(items=items), TupleSymbol(items=symbols):
            for item, value in zip(items, symbols, strict=True):
                yield _write_values(writer, value, item, leaves, levels)
        case T.Sequence(element=element), ListSymbol() as sequence:
            yield _write_sequence(writer, sequence, element, leaves, levels)


def _write_sequence(
    writer: ExpressionWriter,
    symbol: ListSymbol,
    element: T.Type,
    leaves: Iterator[int],
    levels: Iterator[int],
) -> Recursion[None]:
    if writer.body.nesting > DEEPEST_NESTING:
        name = writer.fresh("part")
        with writer.function(name):
            yield _write_sequence(writer, ListSymbol("x", symbol.element), element, leaves, levels)
            writer.put("return")
        writer.call(f"{name}({symbol.code})", VOID)
        return
    writer.put(f"LEN{next(levels)}(len({symbol.code}))")
    item = writer.fresh("e")
    with writer.block(f"for {item} in {symbol.code}:"):
        yield _write_values(writer, writer.unpacked(item, symbol.element), element, leaves, levels)
        writer.put("pass")


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
