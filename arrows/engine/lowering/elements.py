"""`Item`, `Nth`, `Length` and `Unroll`: what is read off a tuple or a sequence."""

from __future__ import annotations

import numpy as np

from arrows.combinators import Item, Unroll, take
from arrows.engine.lowering.apply import constant, emit_read
from arrows.engine.lowering.expression_writer import ExpressionWriter
from arrows.engine.lowering.maps import elements
from arrows.engine.lowering.symbols import (
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TupleSymbol,
)
from arrows.engine.values import nth
from arrows.inference import Typed
from arrows.typesys import types as T


def emit_item(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Item)
    key = typed.form.key
    if isinstance(symbol, TupleSymbol):
        items, labels = symbol.items, symbol.labels
        if isinstance(key, slice):
            return TupleSymbol(items[key], None if labels is None else labels[key])
        return items[labels.index(key)] if labels is not None and key in labels else items[key]
    literal = repr(key) if type(key) in (str, int) else writer.refer("KEY", key)
    if isinstance(symbol, EndlessSymbol):
        return symbol
    if isinstance(symbol, ListSymbol):
        code = f"{symbol.code}[{literal}]"
        if isinstance(key, slice):
            return ListSymbol(writer.assign("l", code), symbol.element)
        return writer.unpacked(writer.assign("e", code), symbol.element)
    container = writer.pack(symbol)
    if type(key) is not str:
        return writer.assign_object(f"{container}[{literal}]")
    # Most records are dicts, so their subscript stands in the code; `take` looks at what else there is.
    writer.names["TAKE"] = take
    return writer.assign_object(
        f"{container}[{literal}] if type({container}) is dict else TAKE({container}, {literal})"
    )


def emit_nth(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    if isinstance(symbol, TupleSymbol):
        items, place = symbol.items
    else:
        pair = writer.assign("o", writer.pack(symbol))
        items, place = ObjectSymbol(f"{pair}[0]"), ObjectSymbol(f"{pair}[1]")
    pattern: Symbol = ObjectSymbol("")
    if isinstance(items, ObjectSymbol):
        code = items.code
    else:
        code, pattern = elements(writer, items)
    writer.names["NTH"] = nth
    return writer.unpacked(writer.assign("e", f"NTH({code}, {writer.pack(place)})"), pattern)


def emit_length(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    type = typed.output
    assert isinstance(type, T.Tensor)
    if isinstance(symbol, TupleSymbol):
        return constant(writer, type, np.asarray(len(symbol.items)))
    length = f"len({writer.pack(symbol)})"
    return emit_read(writer, typed, writer.assign_object(f"float({length})" if type.floating else length))


def emit_unroll(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Unroll)
    if not isinstance(symbol, ListSymbol):
        return symbol
    return writer.unpacked(symbol.code, TupleSymbol((symbol.element,) * typed.form.length))
