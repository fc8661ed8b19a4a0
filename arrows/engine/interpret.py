"""The generic walk of a typed expression over one example.

What the forms mean is written down here once: in which order they run, what they hand on, how they fail.
What a tensor *is* is left to an `Algebra`: the reference computes arrays, a check computes nothing.  The walk
keeps its own stack, so expressions and data may be as deep as memory allows, and follows the data, so that
every failure says where in the example it happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NoReturn

from arrows.combinators.apply import Apply
from arrows.combinators.block import Block
from arrows.combinators.choice import Choice
from arrows.combinators.compose import Pipe
from arrows.combinators.constant import Constant
from arrows.combinators.effects import Metric, Shared
from arrows.combinators.fanout import Fan
from arrows.combinators.inputs import Item, Read, Transform
from arrows.combinators.notation import Graph
from arrows.combinators.recursion import Fix, Reference
from arrows.combinators.scans import Scan
from arrows.combinators.sequences import Fold, Map
from arrows.combinators.typed import Knot, Typed
from arrows.combinators.wires import Source
from arrows.combinators.zips import Zip
from arrows.engine.algebra import Algebra, Endless
from arrows.engine.leaves import LeafError, describe
from arrows.engine.trampoline import Steps, trampoline
from arrows.engine.where import Where
from arrows.ops.errors import ShapeError
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowValueError, InputError, input_message

MAX_NODES = 10**7

# Endless recursion must end before memory does: a level of recursion holds a few generators, some 2 KB in
# all.
NODES_PER_LEVEL = 20


def interpret(
    typed: Typed, example: Any, algebra: Algebra, *, number: int | None = None, max_nodes: int = MAX_NODES
) -> Any:
    """Walks a typed expression over one example.

    Args:
        typed: the expression, as `infer` gives it.
        example: a Python object (a value of `typed.input`).
        algebra: what tensors are.
        number: the example's place in its batch, for messages.
        max_nodes: how many blocks may run on tensors or knots may be entered before the walk counts as
            endless.

    Returns:
        The result, as a value of the walk (see `Algebra`).

    Raises:
        InputError: the example does not fit, a user's function failed on it (its error is chained), or there
            is no end to it.
    """
    return _Walk(algebra, number, max_nodes).run(typed, example)


Found = tuple[Any, Where]  # a value of the walk and where it was found


class _Walk:
    """One walk over one example."""

    def __init__(self, algebra: Algebra, number: int | None, max_nodes: int) -> None:
        self.algebra = algebra
        self.number = number
        self.max_nodes = max_nodes
        self.nodes = 0
        self.active: list[tuple[Knot, Any, Where]] = []  # the knots that have been entered and not left
        self.cases: dict[int, dict[Any, int]] = {}
        self.check_at = 2  # the depth at which cycles are looked for next
        self.memo: dict[tuple[int, T.Type, int], tuple[Any, Found | None]] = {}
        self.at_once: dict[type[Block[Any, Any]], Callable[[Typed, Any, Where], Found]] = {
            Apply: self.apply,
            Constant: self.constant,
            Item: self.item,
            Metric: self.metric,
            Read: self.read,
            Transform: self.transform,
            Zip: self.zip,
        }
        self.in_steps: dict[type[Block[Any, Any]], Callable[[Typed, Any, Where], Steps]] = {
            Choice: self.choice,
            Fan: self.fan,
            Fix: self.call,
            Fold: self.fold,
            Graph: self.graph,
            Map: self.map,
            Pipe: self.pipe,
            Reference: self.call,
            Scan: self.scan,
            Shared: self.shared,
        }

    def run(self, typed: Typed, example: Any) -> Any:
        found = self.now(typed, example, Where()) or trampoline(self.later(typed, example, Where()))
        return found[0]

    def now(self, typed: Typed, value: Any, where: Where) -> Found | None:
        """What a form without parts gives; None for a form with parts."""
        form = type(typed.form)
        method = self.at_once.get(form) or _of_base(self.at_once, form)
        return None if method is None else method(typed, value, where)

    def later(self, typed: Typed, value: Any, where: Where) -> Steps:
        """What a form with parts gives, to be run by `yield`: `self.now(...) or (yield self.later(...))`."""
        form = type(typed.form)
        method = self.in_steps.get(form) or _of_base(self.in_steps, form)
        if method is None:
            raise NotImplementedError(f"no meaning is known of the form {form.__name__}")
        return method(typed, value, where)

    def visit(self, typed: Typed) -> None:
        """Counts a node."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self.endless(typed)

    # ------------------------------------------------------------------ forms that run at once

    def apply(self, typed: Typed, value: Any, where: Where) -> Found:
        self.visit(typed)
        try:
            return self.algebra.apply(typed, value), where
        except ArrowValueError:  # a parameter or a kernel is wrong, not the example
            raise
        except (ArithmeticError, LookupError, ShapeError, ValueError) as error:
            self.fail(typed, where, _raised(error), error)

    def constant(self, typed: Typed, value: Any, where: Where) -> Found:
        return self.algebra.constant(typed), where

    def read(self, typed: Typed, value: Any, where: Where) -> Found:
        self.visit(typed)
        try:
            return self.algebra.read(typed, value), where
        except LeafError as error:
            self.fail(typed, where, str(error), error)

    def transform(self, typed: Typed, value: Any, where: Where) -> Found:
        form = typed.form
        assert isinstance(form, Transform)
        try:
            return form.function(value), where
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            self.fail(typed, where, _raised(error), error)

    def item(self, typed: Typed, value: Any, where: Where) -> Found:
        form = typed.form
        assert isinstance(form, Item)
        key = form.key
        below = where.down(key)
        if isinstance(typed.input, T.Broadcast):
            return value.element, where
        if isinstance(typed.input, T.Tuple):
            if isinstance(key, slice):
                items = where.items
                return value[key], where if items is None else where.over(items[key])
            place = typed.input.index(key)
            return value[place], where.down(place) if where.items is not None else below
        try:
            return value[key], below
        except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
            self.fail(typed, where, _no_item(key, value, error), error)

    def metric(self, typed: Typed, value: Any, where: Where) -> Found:
        self.visit(typed)
        if isinstance(typed.input, T.Tuple):
            value, label = value
            self.algebra.metric(typed, value, label)
        else:
            self.algebra.metric(typed, value, None)
        return None, where

    def zip(self, typed: Typed, value: Any, where: Where) -> Found:
        here = Where(where.parent, where.step)  # what comes out has other items than what goes in
        if isinstance(typed.input, T.Input):
            columns = [
                self.over(typed, T.Input(), column, where.down(i))
                for i, column in enumerate(self.elements(typed, value, where))
            ]
            return list(zip(*columns)), here  # noqa: B905 (it ends with the shortest)
        assert isinstance(typed.input, T.Tuple)
        if all(isinstance(column, Endless) for column in value):
            return Endless(tuple(column.element for column in value)), here
        columns = [
            repeat(column.element)
            if isinstance(column, Endless)
            else self.over(typed, of, column, where.down(i))
            for i, (of, column) in enumerate(zip(typed.input.items, value, strict=True))
        ]
        return list(zip(*columns)), here  # noqa: B905 (it ends with the shortest)

    # ------------------------------------------------------------------ forms with parts

    def pipe(self, typed: Typed, value: Any, where: Where) -> Steps:
        for part in typed.parts:
            value, where = self.now(part, value, where) or (yield self.later(part, value, where))
        return value, where

    def fan(self, typed: Typed, value: Any, where: Where) -> Steps:
        values, places = [], []
        for part in typed.parts:
            result, place = self.now(part, value, where) or (yield self.later(part, value, where))
            values.append(result)
            places.append(place)
        return tuple(values), where.over(tuple(places))

    def graph(self, typed: Typed, value: Any, where: Where) -> Steps:
        form = typed.form
        assert isinstance(form, Graph)
        wires: list[Found] = [(value, where)]
        for node, part in zip(form.nodes, typed.parts, strict=True):
            given, place = _source(node.source, wires, where)
            wires.append(self.now(part, given, place) or (yield self.later(part, given, place)))
        return _source(form.output, wires, where)

    def choice(self, typed: Typed, value: Any, where: Where) -> Steps:
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
                self.fail(typed, where, f"the key function raised {_raised(error)}", error)
        try:
            number = self.numbers(form)[key]
        except (KeyError, TypeError) as error:
            known = ", ".join(map(repr, form.keys[:8])) + (", ..." if len(form.keys) > 8 else "")
            self.fail(typed, where, f"there is no case for the key {describe(key)}; there are {known}", error)
        return self.now(cases[number], value, where) or (yield self.later(cases[number], value, where))

    def numbers(self, form: Choice[Any, Any]) -> dict[Any, int]:
        """The number of the case of each key."""
        numbers = self.cases.get(id(form))
        if numbers is None:
            numbers = self.cases[id(form)] = {key: i for i, key in enumerate(form.keys)}
        return numbers

    def call(self, typed: Typed, value: Any, where: Where) -> Steps:
        knot = typed.knot
        assert knot is not None
        self.visit(typed)
        if isinstance(typed.form, Fix):
            where = where.named(knot.name)
        self.active.append((knot, value, where))
        depth = len(self.active)
        if depth >= self.check_at:
            self.find_cycle(typed)
            self.check_at *= 2
        if depth * NODES_PER_LEVEL > self.max_nodes:
            self.endless(typed)
        found = self.now(knot.body, value, where) or (yield self.later(knot.body, value, where))
        self.active.pop()
        return found

    def map(self, typed: Typed, value: Any, where: Where) -> Steps:
        (part,) = typed.parts
        if isinstance(value, Endless):
            element, _ = self.now(part, value.element, where) or (
                yield self.later(part, value.element, where)
            )
            return Endless(element), where
        results = []
        for i, element in enumerate(self.elements(typed, value, where)):
            result, _ = self.now(part, element, where.down(i)) or (
                yield self.later(part, element, where.down(i))
            )
            results.append(result)
        return results, where

    def fold(self, typed: Typed, value: Any, where: Where) -> Steps:
        step, start = typed.parts
        state, place = self.now(start, None, where) or (yield self.later(start, None, where))
        for i, element in enumerate(self.elements(typed, value, where)):
            below = where.down(i)
            pair, both = (state, element), below.over((place, below))
            state, place = self.now(step, pair, both) or (yield self.later(step, pair, both))
        return state, where

    def scan(self, typed: Typed, value: Any, where: Where) -> Steps:
        form, of = typed.form, typed.output
        assert isinstance(form, Scan) and isinstance(of, T.Tuple)
        step, start = typed.parts
        state, place = self.now(start, None, where) or (yield self.later(start, None, where))
        elements = list(enumerate(self.elements(typed, value, where)))
        outputs = []
        for i, element in reversed(elements) if form.reverse else elements:
            below = where.down(i)
            pair, both = (element, state), below.over((below, place))
            found, place = self.now(step, pair, both) or (yield self.later(step, pair, both))
            if form.by_state:
                output, state = found[0] if isinstance(of.items[1], T.Tuple) else found, found
            else:
                output, state = found
                place = place.items[1] if place.items is not None else place
            outputs.append(output)
        return (outputs[::-1] if form.reverse else outputs, state), where.over((where, where))

    def shared(self, typed: Typed, value: Any, where: Where) -> Steps:
        (part,) = typed.parts
        # By block, not by place: a block that stands in two places is one memo, if it has one type in both.
        key = (id(typed.form), typed.output, id(value))
        known = self.memo.get(key)
        if known is None:
            self.memo[key] = (value, None)  # the object is kept alive, so that its id stays its own
            found = self.now(part, value, where) or (yield self.later(part, value, where))
            self.memo[key] = (value, found)
            return found
        if known[1] is None:
            self.fail(typed, where, "the data is cyclic: this object contains itself", None)
        return known[1]

    def elements(self, typed: Typed, value: Any, where: Where) -> Iterator[Any]:
        """Whatever a Map or Fold goes over, element by element."""
        return self.over(typed, typed.input, value, where)

    def over(self, typed: Typed, of: T.Type, value: Any, where: Where) -> Iterator[Any]:
        """The elements of a value of type `of`."""
        if not isinstance(of, T.Input):
            yield from value
            return
        try:
            elements = iter(value)
        except Exception as error:  # noqa: BLE001 (an object's own __iter__ may raise anything)
            self.fail(typed, where, f"expected a sequence, got {describe(value)}", error)
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 (the user's own iterator)
                self.fail(typed, where, _raised(error), error)
            self.visit(typed)
            yield element

    # ------------------------------------------------------------------ what goes wrong

    def find_cycle(self, typed: Typed) -> None:
        """A knot entered again on the very objects it is busy with never ends, for functions are pure."""
        seen: dict[Any, Where] = {}
        for knot, value, where in self.active:
            key = (id(knot), _identity(knot.input, value))
            if key in seen:
                self.fail(
                    typed, where, f"the data is cyclic: this is the object at {_place(seen[key])}", None
                )
            seen[key] = where

    def endless(self, typed: Typed) -> NoReturn:
        where = self.active[-1][2] if self.active else Where()
        what = f"more than {self.max_nodes:,} nodes"
        if len(self.active) * NODES_PER_LEVEL > self.max_nodes:
            what = f"{len(self.active):,} levels of recursion"
        self.fail(typed, where, f"endless: {what}; raise max_nodes if it is meant", None)

    def fail(self, typed: Typed, where: Where, reason: str, cause: BaseException | None) -> NoReturn:
        form = typed.form
        simple = not form.parts  # what has parts would print them all
        block = form.label if simple or form.name is not None else form.kind
        raise InputError(input_message(self.number, str(where), reason, block, form.site)) from cause


def _of_base(table: dict[type[Block[Any, Any]], Any], form: type[Block[Any, Any]]) -> Any:
    """The entry of the core form that `form` is a subclass of, noted for the next time; else None."""
    found = next((table[base] for base in form.__mro__ if base in table), None)
    if found is not None:
        table[form] = found
    return found


def _source(source: Source, wires: list[Found], where: Where) -> Found:
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


def _identity(type: T.Type, value: Any) -> tuple[int, ...]:
    """What can steer a recursion: the objects in a value and the lengths of its sequences; no tensor can."""
    found = []
    todo = [(type, value)]
    while todo:
        type, value = todo.pop()
        if isinstance(type, T.Input):
            found.append(id(value))
        elif isinstance(type, T.Tuple):
            todo.extend(zip(type.items, value, strict=True))
        elif isinstance(type, T.Sequence):
            found.append(len(value))
            todo.extend((type.element, element) for element in value)
    return tuple(found)


def _place(where: Where) -> str:
    return str(where) or "the root"


def _raised(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _no_item(key: Any, value: Any, error: Exception) -> str:
    if isinstance(key, slice):
        return f"expected a list or another sequence that has slices, got {describe(value)}"
    if isinstance(value, dict) and isinstance(error, KeyError):
        keys = ", ".join(map(repr, list(value)[:8])) + (", ..." if len(value) > 8 else "")
        if not value:
            return f"there is no {key!r} in an empty dict"
        return f"there is no {key!r} among the keys {keys}"
    if isinstance(error, IndexError):
        return f"there is no item {key!r} in {describe(value)}"
    if isinstance(error, TypeError):
        return f"expected something with the item {key!r}, got {describe(value)}"
    return f"the item {key!r}: {_raised(error)}"
