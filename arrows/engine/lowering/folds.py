"""`Fold`, `Reduce` and `Scan`: forms that combine the elements of a sequence one after another."""

from __future__ import annotations

from arrows.combinators import NoDefault, Scan, without_zero
from arrows.engine.lowering.expression_writer import ExpressionWriter, Walk
from arrows.engine.lowering.maps import elements
from arrows.engine.lowering.symbols import (
    VOID,
    ListSymbol,
    Symbol,
    TupleSymbol,
    bare,
    link,
    template,
    viewed,
)
from arrows.inference import Typed
from arrows.typesys import types as T


def emit_fold(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    step, start = typed.parts
    state: Symbol = yield _start_state(writer, start, VOID, typed.output)
    code, pattern = elements(writer, symbol)
    item = writer.fresh("e")
    with writer.block(f"for {item} in {code}:"):
        value = yield writer.walk(step, TupleSymbol((state, writer.unpacked(item, pattern))))
        value = writer.coerced(value, typed.output)
        link(state, value, writer.flow)
        writer.assign_parts(state, value)
    return state


def emit_scan(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Walk:
    form = typed.form
    step, start = typed.parts
    assert isinstance(form, Scan) and isinstance(typed.output, T.Tuple)
    output_type, state_type = typed.output.items
    assert isinstance(output_type, T.Sequence)
    start_input: Symbol = VOID
    if form.start_from_input:
        assert isinstance(symbol, TupleSymbol)
        symbol, start_input = symbol.items
    state: Symbol = yield _start_state(writer, start, start_input, state_type)
    code, pattern = elements(writer, symbol)
    if form.reverse:
        code = f"{code if isinstance(symbol, ListSymbol) else f'list({code})'}[::-1]"
    outputs, item = writer.assign("l", "[]"), writer.fresh("e")
    with writer.block(f"for {item} in {code}:"):
        value: Symbol = yield writer.walk(step, TupleSymbol((writer.unpacked(item, pattern), state)))
        if form.by_state:
            value = writer.coerced(value, state_type)
            output = value.items[0] if isinstance(value, TupleSymbol) else value
        else:
            assert isinstance(value, TupleSymbol)
            output, value = value.items
            output = writer.coerced(output, output_type.element)
            value = writer.coerced(value, state_type)
        link(state, value, writer.flow)
        # The output may be the state before, so it is kept before the state changes.
        writer.put(f"{outputs}.append({writer.pack(output)})")
        writer.assign_parts(state, value)
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
        if isinstance(default.form, NoDefault) and without_zero(type) is not None:
            writer.put("raise ValueError")
        else:
            value = writer.coerced((yield writer.walk(default, VOID)), type)
            link(result, value, writer.flow)
            writer.assign_parts(result, value)
    return result
