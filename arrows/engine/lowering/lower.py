"""Writes the function that lowers one example: a typed expression becomes straight Python code.

The code is written once for a model.  It does what an interpreter of the expression would do for each
example, but the structure of the expression is gone from it: no dispatch on forms, no dictionary of values,
and no object for a node.  Each visit of a site appends the site's number, the value ids that it reads and its
depth key to lists.  A recursive block becomes a generator function that yields the calls it wants made
(`drive` keeps their stack), so data may be as deep as memory allows.

While the code is written, symbols stand for the values (`arrows.engine.lowering.expression_writer`), and the
walk records which site can feed which (`arrows.engine.lowering.sites`).

Names in the written code: ``x`` is a function's input, ``v3`` a value id, ``n3`` the first value id of a
node, ``o3`` an object, ``l3`` a list, ``k3`` a depth key; ``S K SRC CNT`` are the streams of the wiring,
``RAW3 RES3 LEN3 MET3 LAB3 VISIT OBJ3`` those of inputs, results, metrics and taps; ``ITEMS`` goes over the
user's containers, ``ZIPPED`` over several at a time.  Three things are put in once all sites are known and
planned: ``@W`` (the shift from node to value id), ``@C3@`` (a constant's value id) and the depth keys.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import count, repeat

from arrows import combinators as core
from arrows.arrays import HostArray
from arrows.combinators import (
    AnyBlock,
    Apply,
    Choice,
    Constant,
    Graph,
    InferredZeros,
    Item,
    Loop,
    NoItem,
    Nth,
    Read,
    SideOutput,
    Source,
    Tap,
    Zip,
    take,
    take_of,
    take_or_default,
    without_zero,
)
from arrows.engine.lowering.expression_writer import (
    VOID,
    Emitter,
    EndlessSymbol,
    ExpressionWriter,
    ListSymbol,
    ObjectSymbol,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    Walk,
    bare,
    columns,
    link,
    template,
    viewed,
)
from arrows.engine.lowering.sites import (
    KeyLine,
    Lowered,
    Port,
    Site,
    ValueStreams,
)
from arrows.engine.reference import drawing_occurrences
from arrows.engine.values import Recursion, each, grouped, nth, recursive, trampoline
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T

# Which blocks run, and on what


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


# What goes over a sequence, or picks from it


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


# Where tensors are made and written out


def emit_constant(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    assert isinstance(typed.form, Constant)
    if typed.form.trainable:
        return emit_apply(writer, typed, TupleSymbol(()))
    return constant(writer, typed.output, typed.form.value)


@recursive
def constant(writer: ExpressionWriter, type: T.Type, value: HostArray | None) -> Recursion[Symbol]:
    """A constant of the expression; None means zeros."""
    match type:
        case T.Tensor():
            number, place = writer.sites.constant(type, value)
            return TensorSymbol(f"@C{number}@", place, number)
        case T.Tuple(items=items):
            parts = yield each(constant.call(writer, item, None) for item in items)
            return TupleSymbol(tuple(parts))
        case T.Sequence(element=element):
            return ListSymbol("[]", template(element, writer.flow))
        case _:
            return VOID


def emit_read(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    """Writes the call of a function, and the node of a Python object that becomes a tensor."""
    form, type = typed.form, typed.output
    assert isinstance(form, Read)
    if form.function is not None:
        symbol = writer.assign_object(f"{writer.refer('FN', form.function)}({writer.pack(symbol)})")
    if not isinstance(type, T.Tensor):
        return symbol
    stream = writer.streams.read(type)
    site = writer.sites.add("read", (type,), occurrence=typed)
    value = writer.pack(symbol)
    if type.shape == () and type.dtype.startswith(("int", "uint", "float")):
        # Most leaves are plain numbers; their range is checked when the stream becomes an array.
        plain = "float" if type.dtype.startswith("float") else "int"
        writer.put(f"RAW{stream}({value} if type({value}) is {plain} else CONVERT{stream}({value}))")
    else:
        writer.put(f"RAW{stream}(CONVERT{stream}({value}))")
    return TensorSymbol(_node(writer, site, (), ()), writer.sites.place(site, 0))


def emit_apply(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    """Writes the node of an operation on tensors and sequences of tensors."""
    trace = typed.trace
    assert trace is not None
    rows, ports, constants, sequences, ids = _operands(trace, symbol)
    lengths = [f"len({code})" for code in sequences]
    if isinstance(typed.form, Apply) and typed.form.no_elements:
        for length in lengths:
            writer.put(f"if not {length}: raise ValueError")
    lists = [writer.assign("l", code) for code in ids]
    outputs = tuple(var.type for var in trace.results if var.rows < 0)
    site = writer.sites.add(
        "apply", outputs, occurrence=typed, ports=tuple(ports), constants=tuple(constants)
    )
    first = _node(writer, site, tuple(rows), tuple(lists))
    if len(rows) == 1:
        writer.put(f"SRC_append({rows[0]})")
    elif rows:
        writer.put(f"SRC_extend(({', '.join(rows)}))")
    for length in lengths:
        writer.put(f"CNT_append({length})")
    for name in lists:
        writer.put(f"SRC_extend({name})")
    return _results(writer, typed, site, first, lengths)


def _operands(
    trace: Trace, symbol: Symbol
) -> tuple[list[str], list[Port], list[tuple[int, int]], list[str], list[str]]:
    """What an operation reads at one site.

    Returns:
        The code of the value ids of one row; the ports, those of one row first, then those of each sequence;
        the operands that are always the same constant, as (leaf, constant); the code of each sequence; and
        for each of their ports that of its list of value ids.
    """
    bindable, leaf = _bindable(trace), 0
    rows: list[str] = []
    ports: list[Port] = []
    constants: list[tuple[int, int]] = []
    sequences: list[str] = []
    lists: list[tuple[Port, str]] = []
    pending = [symbol]
    while pending:
        match pending.pop():
            case TensorSymbol(code=code, place=place, constant=number):
                if number is not None and leaf in bindable:
                    constants.append((leaf, number))
                else:
                    rows.append(code)
                    ports.append(Port(leaf, place))
                leaf += 1
            case TupleSymbol(items=items):
                pending.extend(reversed(items))
            case ListSymbol(code=code, element=element):
                for path, place in columns(element):
                    port = Port(leaf, place, len(sequences))
                    lists.append((port, f"[e{path} for e in {code}]" if path else code))
                    leaf += 1
                sequences.append(code)
            case _:
                raise AssertionError("an operation takes tensors")
    return rows, [*ports, *(port for port, _ in lists)], constants, sequences, [ids for _, ids in lists]


def _bindable(trace: Trace) -> set[int]:
    """The input leaves that may become constants of the operation: all that are not spread over a
    sequence."""
    spread = {
        var for equation in trace.equations if equation.primitive.segmented for var in equation.operands
    }
    return {leaf for leaf, var in enumerate(trace.inputs) if var.rows < 0 and var not in spread}


def _node(writer: ExpressionWriter, site: Site, rows: tuple[str, ...], lists: tuple[str, ...]) -> str:
    """Writes one node of ``site``; returns the name of its first value id."""
    key = writer.fresh("k")
    writer.body.lines.append(KeyLine(indent=writer.indent, name=key, site=site.index, rows=rows, lists=lists))
    number = writer.assign("n", "len(S) << @W")
    writer.put(f"S_append({site.index})")
    writer.put(f"K_append({key})")
    return number


def _results(writer: ExpressionWriter, typed: Typed, site: Site, first: str, lengths: list[str]) -> Symbol:
    """Returns what an operation gives: rows are value ids of its node, sequences are nodes of their own.

    The nodes of a sequence's elements have the key of the operation's node, so that sorting keeps them in
    the order of its rows.
    """
    results = site.trace.results
    elements: dict[int, tuple[Site, str]] = {}
    for domain in sorted({var.rows for var in results if var.rows >= 0}):
        types = tuple(var.type for var in results if var.rows == domain)
        element = writer.sites.add("element", types, parent=site.index, domain=domain)
        start = writer.assign("n", "len(S)")
        writer.put(f"S_extend([{element.index}] * {lengths[domain]})")
        writer.put(f"K_extend([K[-1]] * {lengths[domain]})")
        elements[domain] = element, start
    leaves = deque(results)
    counts: Counter[int] = Counter()  # by site, the outputs that have a symbol

    @recursive
    def build(type: T.Type) -> Recursion[Symbol]:
        match type:
            case T.Tensor():
                rows = leaves.popleft().rows
                owner = site if rows < 0 else elements[rows][0]
                output = counts[owner.index]
                counts[owner.index] += 1
                if rows >= 0:
                    code = f"(j << @W) + {output}"
                else:
                    code = f"({first} + {output})" if output else first
                return TensorSymbol(code, writer.sites.place(owner, output))
            case T.Tuple(items=items):
                return TupleSymbol(tuple((yield each(map(build.call, items)))))
            case T.Sequence(element=element):
                domain = leaves[0].rows
                pattern = yield build.call(element)
                start = elements[domain][1]
                stop = f"{start} + {lengths[domain]}"
                ids = writer.assign("l", f"[{writer.pack(pattern)} for j in range({start}, {stop})]")
                return ListSymbol(ids, bare(pattern))
            case _:
                raise AssertionError("an operation gives tensors")

    return build(typed.output)


def emit_side_output(writer: ExpressionWriter, typed: Typed, symbol: Symbol) -> Symbol:
    form, label, type = typed.form, "None", typed.input
    assert isinstance(form, SideOutput)
    if isinstance(form, Tap):
        site, tapped = writer.streams.tap(form, type)
        writer.put(f"VISIT({site})")
        if isinstance(tapped.values, int):
            writer.put(f"OBJ{tapped.values}({writer.pack(symbol)})")
        else:
            write_values(writer, symbol, tapped.values)
        return symbol
    if isinstance(symbol, TupleSymbol) and isinstance(type, T.Tuple):
        symbol, labelling = symbol.items
        label, type = writer.pack(labelling), type.items[0]
    assert isinstance(symbol, TensorSymbol) and isinstance(type, T.Tensor)
    number, stream = writer.streams.metric(form.key, type, symbol.place)
    writer.put(f"MET{number}({symbol.code})")
    if stream.labelled:
        writer.put(f"LAB{number}({label})")
    return VOID


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
        case T.Sequence(element=element), ListSymbol(code=code, element=pattern):
            writer.put(f"LEN{next(levels)}(len({code}))")
            name = writer.fresh("e")
            with writer.block(f"for {name} in {code}:"):
                yield _write_values(writer, writer.unpacked(name, pattern), element, leaves, levels)
                writer.put("pass")


# The table

EMITTERS: dict[type[AnyBlock], Emitter] = {
    core.Pipe: emit_pipe,
    core.Fan: emit_fan,
    core.Graph: emit_graph,
    core.Choice: emit_choice,
    core.Reference: emit_recursion,
    core.Map: emit_map,
    core.Zip: emit_zip,
    core.Broadcast: emit_broadcast,
    core.Loop: emit_loop,
    core.Reduce: emit_reduce,
    core.Item: emit_item,
    core.Nth: emit_nth,
    core.GroupBy: emit_group_by,
    core.Apply: emit_apply,
    core.Constant: emit_constant,
    core.Read: emit_read,
    core.SideOutput: emit_side_output,
    core.Shared: emit_shared,
}
"""For each core form, the function that writes the code of an occurrence on a value."""


def lower(root: Typed) -> Lowered:
    """Writes the lowering function of a typed expression."""
    writer = ExpressionWriter(EMITTERS, root)
    with writer.function("main", generator=False) as main:
        write_values(writer, trampoline(writer.walk(root, ObjectSymbol("x"))), writer.streams.result)
    return Lowered(
        lines=writer.finished,
        main_yields=main.is_generator,
        names=writer.names,
        streams=writer.streams,
        sites=writer.sites.sites,
        constants=writer.sites.constants,
        reaching=writer.flow.solve(),
        draws=_draws(root, writer.sites.sites),
    )


def _draws(root: Typed, sites: Sequence[Site]) -> Mapping[int, int]:
    numbers = drawing_occurrences(root)
    return {
        site.index: numbers[id(site.typed)]
        for site in sites
        if site.kind == "apply" and id(site.typed) in numbers
    }
