"""`Map`, `Zip`, `Broadcast`, folds and access to elements: what goes over a sequence or picks from it."""

from __future__ import annotations

from itertools import repeat

from arrows.combinators import (
    InferredZeros,
    Item,
    Loop,
    NoItem,
    Nth,
    Zip,
    take,
    take_of,
    take_or_default,
    without_zero,
)
from arrows.engine.lowering.expression_writer import ExpressionWriter, Walk
from arrows.engine.lowering.sites import (
    VOID,
    EndlessSymbol,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TupleSymbol,
    bare,
    link,
    template,
    viewed,
)
from arrows.engine.values import grouped, nth
from arrows.inference import Typed
from arrows.typesys import types as T


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
        return EndlessSymbol(((yield writer.walk(part, symbol.element)),))
    code, pattern = elements(writer, symbol)
    results, item = writer.assign("l", "[]"), writer.fresh("e")
    with writer.block(f"for {item} in {code}:"):
        value = yield writer.walk(part, writer.unpacked(item, pattern))
        writer.put(f"{results}.append({writer.pack(value)})")
    return ListSymbol(results, bare(value))


def emit_broadcast(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    return EndlessSymbol((symbol,))


def emit_zip(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Zip)
    strict = typed.form.strict
    if not isinstance(symbol, TupleSymbol):
        columns = f"*ITEMS({writer.pack(symbol)})"
        columns = f"*EVEN({columns})" if strict else columns
        return ListSymbol(writer.assign("l", f"ZIPPED({columns})"), ObjectSymbol(""))
    codes: list[str] = []
    patterns: list[Symbol] = []
    for item in symbol.items:
        if isinstance(item, EndlessSymbol):
            codes.append(f"{writer.refer('REPEAT', repeat)}({writer.pack(item.element)})")
            patterns.append(item.element)
        else:
            code, pattern = elements(writer, item)
            codes.append(writer.pack(item) if isinstance(item, ObjectSymbol) else code)
            patterns.append(pattern)
    if all(isinstance(item, EndlessSymbol) for item in symbol.items):
        return EndlessSymbol((TupleSymbol(tuple(patterns)),))
    finite = [i for i, item in enumerate(symbol.items) if not isinstance(item, EndlessSymbol)]
    if strict and len(finite) > 1:
        columns = writer.assign("l", f"EVEN({', '.join(codes[i] for i in finite)})")
        for place, i in enumerate(finite):
            codes[i] = f"{columns}[{place}]"
    row = TupleSymbol(tuple(bare(pattern) for pattern in patterns))
    return ListSymbol(writer.assign("l", f"ZIPPED({', '.join(codes)})"), row)


def emit_loop(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    form = typed.form
    step, start = typed.parts
    assert isinstance(form, Loop)
    output_type, state_type = typed.output, typed.output
    if not form.folds:
        assert isinstance(typed.output, T.Tuple)
        outputs_type, state_type = typed.output.items
        assert isinstance(outputs_type, T.Sequence)
        output_type = outputs_type.element
    start_input: Symbol = VOID
    if form.initial_state_from_input:
        assert isinstance(symbol, TupleSymbol)
        symbol, start_input = symbol.items
    state: Symbol = yield _start_state(writer, start, start_input, state_type)
    code, pattern = elements(writer, symbol)
    if form.reverse:
        code = f"{code if isinstance(symbol, ListSymbol) else f'list({code})'}[::-1]"
    outputs = "" if form.folds else writer.assign("l", "[]")
    item = writer.fresh("e")
    with writer.block(f"for {item} in {code}:"):
        pair = writer.unpacked(item, pattern), state
        value: Symbol = yield writer.walk(step, TupleSymbol(pair[::-1] if form.folds else pair))
        output: Symbol | None = None
        if not form.by_state:
            assert isinstance(value, TupleSymbol)
            output, value = value.items
            output = writer.coerced(output, output_type)
        value = writer.coerced(value, state_type)
        link(state, value, writer.flow)
        if output is None:
            output = value.items[0] if isinstance(value, TupleSymbol) and value.items else value
        if outputs:  # the output may be the state before, so it is kept before the state changes
            writer.put(f"{outputs}.append({writer.pack(output)})")
        writer.assign_parts(state, value)
    if form.folds:
        return state
    if form.reverse:
        writer.put(f"{outputs}.reverse()")
    return TupleSymbol((ListSymbol(outputs, bare(output)), state))


def _start_state(writer: ExpressionWriter, start: Typed, symbol: Symbol, type: T.Type) -> Walk:
    """Writes the first state; returns the names of the state, which comes from the start or from a step."""
    value = writer.coerced((yield writer.walk(start, symbol)), type)
    state = writer.merged([value, template(type, writer.flow)])
    writer.assign_parts(state, value)
    return state


def emit_reduce(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    """Combines neighbours in rounds until one is left: a balanced tree, so ``n`` elements take few steps."""
    combine, default = typed.parts
    type = typed.output
    code, element = elements(writer, symbol)
    # What is left of a round: elements of the input, or what was combined from them.
    result = writer.merged([viewed(element, type), template(type, writer.flow)])
    pattern = bare(result)
    row, next_row = writer.assign("l", f"list({code})"), writer.fresh("l")
    left, right = writer.fresh("e"), writer.fresh("e")
    with writer.block(f"while len({row}) > 1:"):
        writer.put(f"{next_row} = []")
        with writer.block(f"for {left}, {right} in zip({row}[::2], {row}[1::2]):"):
            pair = writer.unpacked(left, pattern), writer.unpacked(right, pattern)
            value = writer.coerced((yield writer.walk(combine, TupleSymbol(pair))), type)
            link(result, value, writer.flow)
            writer.put(f"{next_row}.append({writer.pack(value)})")
        writer.put(f"if len({row}) & 1: {next_row}.append({row}[-1])")
        writer.put(f"{row} = {next_row}")
    with writer.block(f"if {row}:"):
        writer.assign_parts(result, writer.unpacked(f"{row}[0]", pattern))
    with writer.block("else:"):
        if isinstance(default.form, InferredZeros) and without_zero(type) is not None:
            writer.put("raise ValueError")
        else:
            value = writer.coerced((yield writer.walk(default, VOID)), type)
            link(result, value, writer.flow)
            writer.assign_parts(result, value)
    return result


def emit_item(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Item)
    key = typed.form.key
    if isinstance(symbol, EndlessSymbol):
        return symbol
    if isinstance(symbol, TupleSymbol):
        if isinstance(key, slice):
            return TupleSymbol(symbol.items[key])
        assert isinstance(typed.input, T.Tuple)
        place = typed.form.place(typed.input)
        assert place is not None
        return symbol.items[place]
    literal = repr(key) if type(key) in (str, int) else writer.refer("KEY", key)
    if isinstance(symbol, ListSymbol):
        code = f"{symbol.code}[{literal}]"
        if typed.form.arity is not None:
            return writer.unpacked(symbol.code, TupleSymbol((symbol.element,) * typed.form.arity))
        if isinstance(key, slice):
            return ListSymbol(writer.assign("l", code), symbol.element)
        return writer.unpacked(writer.assign("e", code), symbol.element)
    container = writer.pack(symbol)
    if typed.form.default is not NoItem.ERROR:
        writer.names["TAKE_OR"] = take_or_default
        default = writer.refer("DEFAULT", typed.form.default)
        return writer.assign_object(f"TAKE_OR({container}, {literal}, {default})")
    if typed.form.arity is not None:
        writer.names["TAKE_OF"] = take_of
        return writer.assign_object(f"TAKE_OF({container}, {literal}, {typed.form.arity})")
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
    assert isinstance(typed.form, Nth)
    writer.names["NTH"] = nth
    code, pattern = (items.code, items) if isinstance(items, ObjectSymbol) else elements(writer, items)
    taken = writer.assign("e", f"NTH({code}, {writer.pack(place)}, {typed.form.from_end})")
    return writer.unpacked(taken, bare(pattern))


def emit_group_by(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(symbol, TupleSymbol)
    codes, patterns = zip(*(elements(writer, item) for item in symbol.items), strict=True)
    writer.names["GROUPED"] = grouped
    return ListSymbol(writer.assign("l", f"GROUPED({', '.join(codes)})"), ListSymbol("", bare(patterns[0])))
