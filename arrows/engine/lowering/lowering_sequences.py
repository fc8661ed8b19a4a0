"""Writes the code of the forms over sequences: loops over Python lists of value ids."""

from __future__ import annotations

from collections.abc import Generator
from itertools import repeat
from typing import Any

import numpy as np

from arrows import combinators as core
from arrows.combinators import NoDefault, without_zero
from arrows.engine.lowering.node_code import NodeWriter
from arrows.engine.lowering.symbols import (
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
from arrows.engine.values import nth
from arrows.inference import Typed
from arrows.typesys import types as T

Walk = Generator[Any, Any, Any]  # returns a Symbol; what it yields for is a Walk as well


class SequenceWriter(NodeWriter):
    """Writes the forms over sequences; their parts are written by `walk`."""

    def walk(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of any occurrence."""
        raise NotImplementedError

    def elements(self, symbol: Symbol) -> tuple[str, Symbol]:
        """The Python iterable of a sequence, and the pattern of its elements."""
        match symbol:
            case ListSymbol(code=code, element=element):
                return code, element
            case TupleSymbol(items=items):
                return self.pack(symbol), bare(self.merged(list(items)))
            case _:
                return f"ITEMS({self.pack(symbol)})", ObjectSymbol("")

    def over_elements(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes a form that goes over elements."""
        match typed.form:
            case core.Map():
                return (yield self.map(typed, symbol))
            case core.Fold():
                return (yield self.fold(typed, symbol))
            case core.Reduce():
                return (yield self.reduce(typed, symbol))
            case core.Scan() as form:
                return (yield self.scan(form, typed, symbol))
            case _:
                raise AssertionError("this form goes over no elements")

    def of_elements(self, typed: Typed, symbol: Symbol) -> Symbol:
        """Writes a form that has no parts and runs nothing on the elements."""
        match typed.form:
            case core.Broadcast():
                return EndlessSymbol(symbol)
            case core.Length():
                return self.length(typed, symbol)
            case core.Nth():
                return self.nth(typed, symbol)
            case core.Unroll(length=length):
                return self.unroll(length, symbol)
            case _:
                return self.zip(symbol)

    def length(self, typed: Typed, symbol: Symbol) -> Symbol:
        of = typed.output
        assert isinstance(of, T.Tensor)
        if isinstance(symbol, TupleSymbol):
            return self.constant(of, np.asarray(len(symbol.items)))
        number = f"len({self.pack(symbol)})"
        return self.read(typed, ObjectSymbol(self.assign("o", f"float({number})" if of.floating else number)))

    def nth(self, typed: Typed, symbol: Symbol) -> Symbol:
        if isinstance(symbol, TupleSymbol):
            items, place = symbol.items
        else:
            both = self.assign("o", self.pack(symbol))
            items, place = ObjectSymbol(f"{both}[0]"), ObjectSymbol(f"{both}[1]")
        like: Symbol = ObjectSymbol("")
        if isinstance(items, ObjectSymbol):
            code = items.code
        else:
            code, like = self.elements(items)
        self.names["NTH"] = nth
        name = self.assign("e", f"NTH({code}, {self.pack(place)})")
        return self.unpacked(name, like)

    def unroll(self, length: int, symbol: Symbol) -> Symbol:
        if not isinstance(symbol, ListSymbol):
            return symbol
        return self.unpacked(symbol.code, TupleSymbol((symbol.element,) * length))

    def map(self, typed: Typed, symbol: Symbol) -> Walk:
        (element,) = typed.parts
        if isinstance(symbol, EndlessSymbol):
            return EndlessSymbol((yield self.walk(element, symbol.element)))
        code, like = self.elements(symbol)
        out, item = self.assign("l", "[]"), self.fresh("e")
        self.put(f"for {item} in {code}:")
        self.body.nesting += 1
        value = yield self.walk(element, self.unpacked(item, like))
        self.put(f"{out}.append({self.pack(value)})")
        self.body.nesting -= 1
        return ListSymbol(out, bare(value))

    def fold(self, typed: Typed, symbol: Symbol) -> Walk:
        step, start = typed.parts
        first = self.coerced((yield self.walk(start, VOID)), typed.output)
        # The state may come from the start or from the step before.
        state = self.merged([first, template(typed.output, self.sites.flow)])
        self.give(state, first)
        code, like = self.elements(symbol)
        item = self.fresh("e")
        self.put(f"for {item} in {code}:")
        self.body.nesting += 1
        value = yield self.walk(step, TupleSymbol((state, self.unpacked(item, like))))
        value = self.coerced(value, typed.output)
        link(state, value, self.sites.flow)
        self.give(state, value)
        self.body.nesting -= 1
        return state

    def reduce(self, typed: Typed, symbol: Symbol) -> Walk:
        combine, default = typed.parts
        of = typed.output
        code, like = self.elements(symbol)
        # What is left of a round: elements of the input, or what was made of them.
        result = self.merged([viewed(like, of), template(of, self.sites.flow)])
        pattern = bare(result)
        row, after = self.assign("l", f"list({code})"), self.fresh("l")
        one, other = self.fresh("e"), self.fresh("e")
        self.put(f"while len({row}) > 1:")
        self.body.nesting += 1
        self.put(f"{after} = []")
        self.put(f"for {one}, {other} in zip({row}[::2], {row}[1::2]):")
        self.body.nesting += 1
        pair = self.unpacked(one, pattern), self.unpacked(other, pattern)
        value = self.coerced((yield self.walk(combine, TupleSymbol(pair))), of)
        link(result, value, self.sites.flow)
        self.put(f"{after}.append({self.pack(value)})")
        self.body.nesting -= 1
        self.put(f"if len({row}) & 1: {after}.append({row}[-1])")
        self.put(f"{row} = {after}")
        self.body.nesting -= 1
        self.put(f"if {row}:")
        self.body.nesting += 1
        self.give(result, self.unpacked(f"{row}[0]", pattern))
        self.body.nesting -= 1
        self.put("else:")
        self.body.nesting += 1
        if isinstance(default.form, NoDefault) and without_zero(of) is not None:
            self.put("raise ValueError")
        else:
            value = self.coerced((yield self.walk(default, VOID)), of)
            link(result, value, self.sites.flow)
            self.give(result, value)
        self.body.nesting -= 1
        return result

    def scan(self, form: core.Scan[Any, Any, Any], typed: Typed, symbol: Symbol) -> Walk:
        step, start = typed.parts
        assert isinstance(typed.output, T.Tuple)
        of_outputs, of_state = typed.output.items
        assert isinstance(of_outputs, T.Sequence)
        given: Symbol = VOID
        if form.start_from_input:
            assert isinstance(symbol, TupleSymbol)
            symbol, given = symbol.items
        first = self.coerced((yield self.walk(start, given)), of_state)
        state = self.merged([first, template(of_state, self.sites.flow)])
        self.give(state, first)
        code, like = self.elements(symbol)
        if form.reverse:
            code = f"{code if isinstance(symbol, ListSymbol) else f'list({code})'}[::-1]"
        out, item = self.assign("l", "[]"), self.fresh("e")
        self.put(f"for {item} in {code}:")
        self.body.nesting += 1
        value = yield self.walk(step, TupleSymbol((self.unpacked(item, like), state)))
        if form.by_state:
            value = self.coerced(value, of_state)
            output = value.items[0] if isinstance(value, TupleSymbol) else value
        else:
            assert isinstance(value, TupleSymbol)
            output, value = value.items
            output, value = self.coerced(output, of_outputs.element), self.coerced(value, of_state)
        link(state, value, self.sites.flow)
        # The output may be the state before, so it is kept before the state changes.
        self.put(f"{out}.append({self.pack(output)})")
        self.give(state, value)
        self.body.nesting -= 1
        if form.reverse:
            self.put(f"{out}.reverse()")
        return TupleSymbol((ListSymbol(out, bare(output)), state))

    def zip(self, symbol: Symbol) -> Symbol:
        if not isinstance(symbol, TupleSymbol):
            return ListSymbol(self.assign("l", f"ZIPPED(*ITEMS({self.pack(symbol)}))"), ObjectSymbol(""))
        codes: list[str] = []
        elements: list[Symbol] = []
        for item in symbol.items:
            if isinstance(item, EndlessSymbol):
                codes.append(f"{self.name('REPEAT', repeat)}({self.pack(item)})")
                elements.append(item.element)
            else:
                code, like = self.elements(item)
                codes.append(self.pack(item) if isinstance(item, ObjectSymbol) else code)
                elements.append(like)
        if all(isinstance(item, EndlessSymbol) for item in symbol.items):
            return EndlessSymbol(TupleSymbol(tuple(elements)))
        pattern = TupleSymbol(tuple(bare(element) for element in elements))
        return ListSymbol(self.assign("l", f"ZIPPED({', '.join(codes)})"), pattern)
