"""Where tensors are made and written out: `Apply`, `Constant`, `Read` and `SideOutput`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import count

from arrows.arrays import HostArray
from arrows.combinators import Apply, Constant, Read, SideOutput, Tap
from arrows.engine.lowering.expression_writer import ExpressionWriter, KeyLine
from arrows.engine.lowering.sites import (
    VOID,
    ListSymbol,
    Port,
    Site,
    Symbol,
    TensorSymbol,
    TupleSymbol,
    bare,
    columns,
    template,
)
from arrows.engine.lowering.streams import ValueStreams
from arrows.engine.values import Recursion, each, recursive, trampoline
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T


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
