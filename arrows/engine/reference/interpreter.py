"""The walk of a typed expression over one example: what each form means.

What the forms mean is written down here once: in which order they run, what they hand on, how they fail.
What a tensor *is* is left to a `Semantics`: the reference computes arrays, a check computes nothing.  The
walk keeps its own stack, so expressions and data may be as deep as memory allows, and it follows the data, so
that every failure says where in the example it happened.
"""

from __future__ import annotations

from typing import Any

from arrows.combinators import (
    Apply,
    Choice,
    Constant,
    Fan,
    Fix,
    Graph,
    Item,
    Metric,
    Pipe,
    Read,
    Reference,
    Shared,
    Source,
    Tap,
    Transform,
    Unfit,
    take,
)
from arrows.engine.reference.field_reads import fields_of
from arrows.engine.reference.semantics import Semantics
from arrows.engine.reference.walk import Found, no_item, raised
from arrows.engine.reference.walk_sequences import SequenceWalk
from arrows.engine.values import ExamplePath, LeafError, Recursion, describe_key
from arrows.inference import Typed
from arrows.ops import ShapeError
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowValueError

MAX_NODES = 10**7


def interpret(
    typed: Typed, example: Any, algebra: Semantics, *, number: int | None = None, max_nodes: int = MAX_NODES
) -> Any:
    """Walks a typed expression over one example.

    Args:
        typed: the expression, as `infer` gives it.
        example: a Python object (a value of `typed.input`).
        algebra: what tensors are.
        number: the example's place in its batch, for messages.
        max_nodes: how many blocks may run on tensors, or how many calls of recursive blocks there may be,
            before the walk counts as endless.

    Returns:
        The result, as a value of the walk (see `Semantics`).

    Raises:
        InputError: the example does not fit, a user's function failed on it (its error is chained), or there
            is no end to it.
    """
    return _FullWalk(algebra, number, max_nodes).run(typed, example)


class _FullWalk(SequenceWalk):
    """The meanings of all other forms."""

    def __init__(self, algebra: Semantics, number: int | None, max_nodes: int) -> None:
        super().__init__(algebra, number, max_nodes)
        self.fields: dict[int, tuple[Any, ...]] = {}  # by identity of a form, what its function reads
        self.at_once |= {
            Apply: self.apply,
            Constant: self.constant,
            Item: self.item,
            Metric: self.metric,
            Read: self.read,
            Tap: self.tap,
            Transform: self.transform,
        }
        self.in_steps |= {
            Choice: self.choice,
            Fan: self.fan,
            Fix: self.call,
            Graph: self.graph,
            Pipe: self.pipe,
            Reference: self.call,
            Shared: self.shared,
        }

    # ------------------------------------------------------------------ forms that run at once

    def apply(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        self.visit(typed)
        form = typed.form
        assert isinstance(form, Apply)
        least, most = form.counts
        if isinstance(typed.input, T.Sequence) and not least <= len(value) <= (most or len(value)):
            self.fail(typed, where, form.miscounted(len(value)), None)
        try:
            return self.algebra.apply(typed, value), where
        except ArrowValueError:  # a parameter or a kernel is wrong, not the example
            raise
        except (ArithmeticError, LookupError, ShapeError, ValueError) as error:
            self.fail(typed, where, raised(error), error)

    def constant(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        if typed.trace is not None:
            self.visit(typed)
        return self.algebra.constant(typed), where

    def read(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        self.visit(typed)
        try:
            return self.algebra.read(typed, value), where
        except LeafError as error:
            self.fail(typed, where, str(error), error)

    def transform(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        form = typed.form
        assert isinstance(form, Transform)
        try:
            found = form.function(value)
        except Unfit as error:
            self.fail(typed, where, str(error), error)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            self.fail(typed, where, raised(error), error)
        fields = self.fields.get(id(form))
        if fields is None:
            fields = self.fields[id(form)] = fields_of(form.function)
        for key in fields:
            where = where.down(key)
        return found, where

    def item(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        form = typed.form
        assert isinstance(form, Item)
        key = form.key
        below = where.down(key)
        if isinstance(typed.input, T.Broadcast):
            return value, where
        if isinstance(typed.input, T.Tuple):
            if isinstance(key, slice):
                items = where.items
                return value[key], where if items is None else where.over(items[key])
            place = typed.input.index(key)
            return value[place], where.down(place) if where.items is not None else below
        try:
            return take(value, key), below
        except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
            self.fail(typed, where, no_item(key, value, error), error)

    def metric(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        self.visit(typed)
        if isinstance(typed.input, T.Tuple):
            value, label = value
            self.algebra.metric(typed, value, label)
        else:
            self.algebra.metric(typed, value, None)
        return None, where

    def tap(self, typed: Typed, value: Any, where: ExamplePath) -> Found:
        self.visit(typed)
        self.algebra.tap(typed, value)
        return value, where

    # ------------------------------------------------------------------ forms with parts

    def pipe(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        for part in typed.parts:
            value, where = self.now(part, value, where) or (yield self.later(part, value, where))
        return value, where

    def fan(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        values, places = [], []
        for part in typed.parts:
            result, place = self.now(part, value, where) or (yield self.later(part, value, where))
            values.append(result)
            places.append(place)
        return tuple(values), where.over(tuple(places))

    def graph(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        form = typed.form
        assert isinstance(form, Graph)
        wires: list[Found] = [(value, where)]
        for node, part in zip(form.nodes, typed.parts, strict=True):
            given, place = _source(node.source, wires, where)
            wires.append(self.now(part, given, place) or (yield self.later(part, given, place)))
        return _source(form.output, wires, where)

    def choice(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        form = typed.form
        assert isinstance(form, Choice)
        if form.key is None:
            selector, *cases = typed.parts
            key, _ = self.now(selector, value, where) or (yield self.later(selector, value, where))
        else:
            cases = list(typed.parts)
            try:
                key = form.key(value)
            except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
                self.fail(typed, where, f"the key function raised {raised(error)}", error)
        try:
            number = self.numbers(form)[key]
        except Exception as error:  # noqa: BLE001 (a key's own __hash__ or __eq__ may raise anything)
            if not isinstance(error, (KeyError, TypeError)):
                self.fail(
                    typed, where, f"the key {describe_key(key)} cannot be looked up: {raised(error)}", error
                )
            known = ", ".join(map(describe_key, form.keys[:8])) + (", ..." if len(form.keys) > 8 else "")
            self.fail(
                typed, where, f"there is no case for the key {describe_key(key)}; there are {known}", error
            )
        return self.now(cases[number], value, where) or (yield self.later(cases[number], value, where))

    def numbers(self, form: Choice[Any, Any]) -> dict[Any, int]:
        """The number of the case of each key."""
        numbers = self.cases.get(id(form))
        if numbers is None:
            numbers = self.cases[id(form)] = {key: i for i, key in enumerate(form.keys)}
        return numbers

    def call(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        knot = typed.knot
        assert knot is not None
        if knot.fix is typed and knot.outer:
            where = where.named(knot.name)
        self.active.append((knot, value, where))
        self.enter(typed)
        if len(self.active) >= self.check_at:
            self.find_cycle(typed)
            self.check_at *= 2
        around, self.values = self.values, {}
        found = self.now(knot.body, value, where) or (yield self.later(knot.body, value, where))
        self.values = around
        self.active.pop()
        return found

    def shared(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        (part,) = typed.parts
        # By block, not by place: a block that stands in two places is one memo, if it has one type in both.
        key = (id(typed.form), typed.output, id(value))
        known = self.memo.get(key)
        if known is None:
            self.memo[key] = (value, None)  # the object is kept alive, so that its id stays its own
            around, self.values = self.values, {}
            found = self.now(part, value, where) or (yield self.later(part, value, where))
            self.values = around
            self.memo[key] = (value, found)
            return found
        if known[1] is None:
            self.fail(typed, where, "the data is cyclic: this object contains itself", None)
        return known[1]


def _source(source: Source, wires: list[Found], where: ExamplePath) -> Found:
    """What a node reads: a wire, or a nested tuple of wires."""
    if isinstance(source, int):
        return wires[source]
    done: list[Found] = []
    todo: list[tuple[Source, bool]] = [(source, False)]
    while todo:
        part, ready = todo.pop()
        if isinstance(part, int):
            done.append(wires[part])
        elif ready:
            items = done[len(done) - len(part) :]
            del done[len(done) - len(part) :]
            done.append((tuple(item[0] for item in items), where.over(tuple(item[1] for item in items))))
        else:
            todo.append((part, True))
            todo.extend((item, False) for item in reversed(part))
    return done[0]
