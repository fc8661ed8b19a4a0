"""What the blocks over sequences mean, in a walk over one example."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from arrows.combinators import (
    Broadcast,
    Fold,
    Length,
    Map,
    NoDefault,
    Nth,
    Reduce,
    Scan,
    Unroll,
    Zip,
    without_zero,
)
from arrows.engine.reference.semantics import Endless, Semantics
from arrows.engine.reference.walk import Found, Walk
from arrows.engine.values import ExamplePath, LeafError, Recursion, describe, no_element, nth
from arrows.inference import Typed
from arrows.typesys import types as T


class SequenceWalk(Walk):
    """The meanings of the forms over sequences."""

    def __init__(self, algebra: Semantics, number: int | None, max_nodes: int) -> None:
        super().__init__(algebra, number, max_nodes)
        self.at_once |= {Broadcast: self.broadcast, Length: self.length, Nth: self.nth, Zip: self.zip}
        self.at_once |= {Unroll: self.unroll}
        self.in_steps |= {Fold: self.fold, Map: self.map, Reduce: self.reduce, Scan: self.scan}

    def broadcast(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        return Endless(value), where

    def length(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        self.visit(typed)
        try:
            number = len(value)
        except Exception as error:  # noqa: BLE001 (an object's own __len__ may raise anything)
            self.fail(typed, where, f"expected something with a length, got {describe(value)}", error)
        try:
            return self.algebra.read(typed, number), where
        except LeafError as error:
            self.fail(typed, where, f"the length {error}", error)

    def nth(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        try:
            items, place = value[0], value[1]
        except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
            reason = f"expected the pair of a sequence and a place, got {describe(value)}"
            self.fail(typed, where, reason, error)
        try:
            return nth(items, place), where.down(0).down(place)
        except Exception as error:  # noqa: BLE001 (as above)
            self.fail(typed, where.down(0), no_element(items, place, error), error)

    def unroll(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        form = typed.form
        assert isinstance(form, Unroll)
        if len(value) != form.length:
            count = f"{form.length} element{'s' if form.length > 1 else ''}"
            self.fail(typed, where, f"expected {count}, got {len(value)}", None)
        return tuple(value), where

    def zip(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        here = ExamplePath(where.parent, where.step)  # what comes out has other items than what goes in
        if isinstance(typed.input, T.Input):
            columns = [
                self.over(typed, T.Input(), column, where.down(i), whole=False)
                for i, column in enumerate(self.elements(typed, value, where))
            ]
            return list(zip(*columns)), here  # noqa: B905 (it ends with the shortest)
        assert isinstance(typed.input, T.Tuple)
        if all(isinstance(column, Endless) for column in value):
            return Endless(tuple(column.element for column in value)), here
        columns = [
            repeat(column.element)
            if isinstance(column, Endless)
            else self.over(typed, of, column, where.down(i), whole=False)
            for i, (of, column) in enumerate(zip(typed.input.items, value, strict=True))
        ]
        return list(zip(*columns)), here  # noqa: B905 (it ends with the shortest)

    def map(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        (part,) = typed.parts
        if isinstance(value, Endless):
            element, _ = self.now(part, value.element, where) or (
                yield self.later(part, value.element, where)
            )
            return Endless(element), where
        results, around = [], self.values
        for i, element in enumerate(self.elements(typed, value, where)):
            self.values = {}
            result, _ = self.now(part, element, where.down(i)) or (
                yield self.later(part, element, where.down(i))
            )
            results.append(result)
        self.values = around
        return results, where

    def fold(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        step, start = typed.parts
        state, place = self.now(start, None, where) or (yield self.later(start, None, where))
        around = self.values
        for i, element in enumerate(self.elements(typed, value, where)):
            self.values = {}
            below = where.down(i)
            pair, both = (state, element), below.over((place, below))
            state, place = self.now(step, pair, both) or (yield self.later(step, pair, both))
        self.values = around
        return state, where

    def reduce(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        combine, default = typed.parts
        row = [(x, where.down(i)) for i, x in enumerate(self.elements(typed, value, where))]
        if not row:
            if isinstance(default.form, NoDefault) and without_zero(typed.output) is not None:
                zero = f"no zero of {typed.output} to give instead"
                self.fail(typed, where, f"there are no elements to reduce, and {zero}", None)
            return self.now(default, None, where) or (yield self.later(default, None, where))
        around = self.values
        while len(row) > 1:
            after = []
            for (one, here), (other, there) in zip(row[::2], row[1::2], strict=False):
                self.values = {}
                pair, both = (one, other), where.over((here, there))
                after.append(self.now(combine, pair, both) or (yield self.later(combine, pair, both)))
            row = after + row[len(row) // 2 * 2 :]
        self.values = around
        return row[0]

    def scan(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        form, of = typed.form, typed.output
        assert isinstance(form, Scan) and isinstance(of, T.Tuple)
        step, start = typed.parts
        container, given, above = typed.input, None, where
        if form.start_from_input:
            assert isinstance(container, T.Tuple)
            container, (value, given), where, above = container.items[0], value, where.down(0), where.down(1)
        state, place = self.now(start, given, above) or (yield self.later(start, given, above))
        elements = list(enumerate(self.over(typed, container, value, where)))
        outputs, around = [], self.values
        for i, element in reversed(elements) if form.reverse else elements:
            self.values = {}
            below = where.down(i)
            pair, both = (element, state), below.over((below, place))
            found, place = self.now(step, pair, both) or (yield self.later(step, pair, both))
            if form.by_state:
                output, state = found[0] if isinstance(of.items[1], T.Tuple) else found, found
            else:
                output, state = found
                place = place.items[1] if place.items is not None else place
            outputs.append(output)
        self.values = around
        return (outputs[::-1] if form.reverse else outputs, state), where.over((where, where))
