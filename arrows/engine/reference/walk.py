"""The frame of a walk over one example: which form means what, how it fails, when it counts as endless."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any, NoReturn

from arrows.combinators import AnyBlock, InputTransform, attributes, has_attributes
from arrows.engine.reference.field_reads import fields_of
from arrows.engine.reference.semantics import Semantics
from arrows.engine.values import ExamplePath, IteratorReplay, Recursion, describe, trampoline
from arrows.inference import Knot, Typed
from arrows.typesys import types as T
from arrows.typesys.errors import InputError, input_message
from arrows.typesys.quoting import QUOTED, shortened

# Endless recursion must end before memory does: a level of recursion holds a few generators, some 2 KB in
# all.
_LEVELS = 500_000
RAISED = 300  # characters of what a user's function raised

Found = tuple[Any, ExamplePath]  # a value of the walk and where it was found


def most_levels(max_nodes: int) -> int:
    """How deep calls of recursive blocks may nest: the one rule of every path over an example.

    Args:
        max_nodes: how many calls there may be at all.

    >>> most_levels(1000), most_levels(10**7), most_levels(10**8)
    (1000, 500000, 5000000)
    """
    return min(max_nodes, max(_LEVELS, max_nodes // 20))


def too_many_nodes(max_nodes: int) -> str:
    """The reason in words."""
    return f"endless: more than {max_nodes:,} nodes; raise max_nodes if it is meant"


class Walk:
    """One walk over one example.

    Attributes:
        at_once: the meanings of the forms without parts.
        in_steps: the meanings of the forms with parts, as generators for the trampoline.
    """

    def __init__(self, algebra: Semantics, number: int | None, max_nodes: int) -> None:
        self.algebra = algebra
        self.number = number
        self.max_nodes = max_nodes
        self.max_levels = most_levels(max_nodes)
        self.root: Typed | None = None
        self.nodes = 0
        self.calls = 0
        self.active: list[tuple[Knot, Any, ExamplePath]] = []  # the knots that have been entered and not left
        self.cases: dict[int, dict[Any, int]] = {}
        self.check_at = 2  # the depth at which cycles are looked for next
        self.memo: dict[tuple[int, T.Type, int], tuple[Any, Found | None]] = {}
        self.again = IteratorReplay()
        self.values: dict[int, Found] = {}  # what stands at several places, within what runs again
        self.at_once: dict[type[AnyBlock], Callable[[Typed, Any, ExamplePath], Found]] = {}
        self.in_steps: dict[type[AnyBlock], Callable[[Typed, Any, ExamplePath], Recursion[Any]]] = {}

    def run(self, typed: Typed, example: Any) -> Any:
        self.root = typed
        found = self.now(typed, example, ExamplePath()) or trampoline(
            self.later(typed, example, ExamplePath())
        )
        return found[0]

    def now(self, typed: Typed, value: Any, where: ExamplePath) -> Found | None:
        """What a form without parts gives, or one that stands elsewhere too; None for others with parts."""
        if typed.places > 1 and (found := self.values.get(id(typed))) is not None:
            return found
        form = type(typed.form)
        method = self.at_once.get(form) or _of_base(self.at_once, form)
        if method is None:
            return None
        found = method(typed, value, where)
        if typed.places > 1:
            self.values[id(typed)] = found
        return found

    def later(self, typed: Typed, value: Any, where: ExamplePath) -> Recursion[Any]:
        """What a form with parts gives, to be run by `yield`: `self.now(...) or (yield self.later(...))`."""
        form = type(typed.form)
        method = self.in_steps.get(form) or _of_base(self.in_steps, form)
        if method is None:
            raise NotImplementedError(f"no meaning is known of the form {form.__name__}")
        steps = method(typed, value, where)
        return steps if typed.places == 1 else self._kept(typed, steps)

    def _kept(self, typed: Typed, steps: Recursion[Any]) -> Recursion[Any]:
        found = self.values[id(typed)] = yield steps
        return found

    def visit(self, typed: Typed) -> None:
        """Counts a node."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self.endless(typed, f"more than {self.max_nodes:,} nodes")

    def enter(self, typed: Typed) -> None:
        """Counts a call of a recursive block that has just been put on `active`."""
        self.calls += 1
        if self.calls > self.max_nodes:
            self.endless(typed, f"more than {self.max_nodes:,} calls of recursive blocks")
        if len(self.active) > self.max_levels:
            self.endless(typed, f"more than {self.max_levels:,} levels of recursion")

    def elements(self, typed: Typed, value: Any, where: ExamplePath) -> Iterator[Any]:
        """Whatever a Map or Fold goes over, element by element."""
        return self.over(typed, typed.input, value, where)

    def over(
        self, typed: Typed, of: T.Type, value: Any, where: ExamplePath, *, whole: bool = True
    ) -> Iterator[Any]:
        """The elements of a value of type `of`; `whole`: all of them will be asked for."""
        if not isinstance(of, T.Input):
            yield from value
            return
        if whole and _length(value) > self.max_nodes:
            self.too_long(typed, where)
        try:
            elements = self.again(value)
        except Exception as error:  # noqa: BLE001 (an object's own __iter__ may raise anything)
            self.fail(typed, where, f"expected a sequence, got {describe(value)}", error)
        for number in count():
            try:
                element = next(elements)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 (the user's own iterator)
                self.fail(typed, where, raised(error), error)
            if number >= self.max_nodes:
                self.too_long(typed, where)
            yield element

    def too_long(self, typed: Typed, where: ExamplePath) -> NoReturn:
        """There are more elements than there may be nodes."""
        reason = f"endless: more than {self.max_nodes:,} elements; raise max_nodes if it is meant"
        self.fail(typed, where, reason, None)

    def find_cycle(self, typed: Typed) -> None:
        """A knot entered again on the very objects it is busy with never ends, for functions are pure."""
        seen: dict[Any, ExamplePath] = {}
        for knot, value, where in self.active:
            key = (id(knot), _identity(knot.input, value))
            if key in seen:
                self.fail(typed, where, _came_back(knot.input, seen[key], where), None)
            seen[key] = where

    def endless(self, typed: Typed, what: str) -> NoReturn:
        where = self.active[-1][2] if self.active else ExamplePath()
        self.fail(typed, where, f"endless: {what}; raise max_nodes if it is meant", None)

    def fail(self, typed: Typed, where: ExamplePath, reason: str, cause: BaseException | None) -> NoReturn:
        form = typed.form
        simple = not form.parts  # what has parts would print them all
        block = form.label if simple or form.name is not None else form.kind
        at = self._occurrence(typed)
        raise InputError(input_message(self.number, str(where), reason, block, form.site, at)) from cause

    def _occurrence(self, typed: Typed) -> str:
        """Where in the expression a block stands that the place in the data cannot tell from its likes.

        So it is where a function takes fields out of objects in ways that are not known, and one line of the
        source makes several blocks.
        """
        if self.root is None:
            return ""
        found = list(self.root.walk())
        like = [x for x in found if x.form.site == typed.form.site and x.form.label == typed.form.label]
        vague = any(isinstance(x.form, InputTransform) and not fields_of(x.form.function) for x in found)
        return str(typed.path) if vague and len(like) > 1 else ""


def _length(value: Any) -> int:
    """How many elements an object says that it has; 0 if it does not say."""
    try:
        return len(value)
    except OverflowError:  # a range of more than a machine word
        return sys.maxsize
    except Exception:  # noqa: BLE001 (an object's own __len__ may raise anything; to iterate over it tells)
        return 0


def _of_base(table: dict[type[AnyBlock], Any], form: type[AnyBlock]) -> Any:
    """The entry of the core form that `form` is a subclass of, noted for the next time; else None."""
    found = next((table[base] for base in form.__mro__ if base in table), None)
    if found is not None:
        table[form] = found
    return found


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


def _came_back(of: T.Type, first: ExamplePath, again: ExamplePath) -> str:
    """Why a recursion that is entered again on the same value of type `of` has no end, in words."""
    if not any(isinstance(part, T.Input) for part in _parts(of)):
        return "endless: the recursion came back to the same lengths, and nothing else could end it"
    if _keys(first) != _keys(again):
        return f"the data is cyclic: this is the object at {str(first) or 'the root'}"
    return (
        "endless: the recursion came back to the same object without going into a part of it, "
        "as GetItem, Map or Fold would"
    )


def _parts(of: T.Type) -> Iterator[T.Type]:
    """A type and all the types in it."""
    todo = [of]
    while todo:
        of = todo.pop()
        yield of
        todo.extend(of.children)


def _keys(where: ExamplePath) -> list[tuple[Any, ...]]:
    """The places of a value, or of the items of one that was put together: by keys, without blocks' names."""
    places = [where] if where.items is None else where.items
    return [tuple(place.keys) for place in places]


def raised(error: BaseException) -> str:
    """An exception in words."""
    text = shortened(str(error), RAISED)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def no_item(key: Any, value: Any, error: Exception) -> str:
    """Why an object gave no item, in words."""
    if isinstance(key, slice):
        return f"expected a list or another sequence that has slices, got {describe(value)}"
    if isinstance(value, dict) and isinstance(error, KeyError):
        if not value:
            return f"there is no {key!r} in an empty dict"
        keys = (shortened(repr(other), QUOTED) for other in list(value))
        return f"there is no {key!r} among the keys {_listed(keys)}"
    names = attributes(value)
    if isinstance(error, AttributeError) and has_attributes(value) and key not in names:
        if names:
            return f"there is no {key!r} among the attributes {_listed(names)} of {describe(value)}"
        return f"expected something with the item {key!r}, got {describe(value)}"
    if isinstance(error, IndexError):
        return f"there is no item {key!r} in {describe(value)}"
    if isinstance(error, TypeError):
        return f"expected something with the item {key!r}, got {describe(value)}"
    return f"the item {key!r}: {raised(error)}"


def _listed(names: Iterable[str]) -> str:
    """At most eight names."""
    known = list(islice(names, 9))
    return ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
