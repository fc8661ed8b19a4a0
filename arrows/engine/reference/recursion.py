"""`Fix` and `Reference`: calls of recursive blocks, and how a recursion without end is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion
from arrows.inference import Typed
from arrows.typesys import types as T


def call(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    knot = typed.knot
    assert knot is not None
    if knot.fix is typed and knot.outer:
        path = path.named(knot.name)
    walk.active.append((knot, value, path))
    walk.count_call(typed)
    if len(walk.active) >= walk.check_at:
        _find_cycle(walk, typed)
        walk.check_at *= 2  # so that all checks together cost no more than the last one
    outer, walk.repeated = walk.repeated, {}
    result: Located = yield walk.visit(knot.body, value, path)
    walk.repeated = outer
    walk.active.pop()
    return result


def _find_cycle(walk: Walk, typed: Typed) -> None:
    """A knot entered again on the very objects that it is busy with never ends, for functions are pure."""
    seen: dict[tuple[int, tuple[int, ...]], ExamplePath] = {}
    for knot, value, path in walk.active:
        key = (id(knot), _identity(knot.input, value))
        if key in seen:
            walk.fail(typed, path, _explain_cycle(knot.input, seen[key], path), None)
        seen[key] = path


def _identity(type: T.Type, value: Any) -> tuple[int, ...]:
    """What can steer a recursion: the objects in a value and the lengths of its sequences; no tensor can."""
    numbers = []
    todo = [(type, value)]
    while todo:
        type, value = todo.pop()
        if isinstance(type, T.Input):
            numbers.append(id(value))
        elif isinstance(type, T.Tuple):
            todo.extend(zip(type.items, value, strict=True))
        elif isinstance(type, T.Sequence):
            numbers.append(len(value))
            todo.extend((type.element, element) for element in value)
    return tuple(numbers)


def _explain_cycle(type: T.Type, first: ExamplePath, again: ExamplePath) -> str:
    """Why a recursion that is entered again on the same value of a type has no end."""
    if not any(isinstance(part, T.Input) for part in _parts(type)):
        return "endless: the recursion came back to the same lengths, and nothing else could end it"
    if _keys(first) != _keys(again):
        return f"the data is cyclic: this is the object at {str(first) or 'the root'}"
    return (
        "endless: the recursion came back to the same object without going into a part of it, "
        "as GetItem, Map or Fold would"
    )


def _parts(type: T.Type) -> Iterator[T.Type]:
    """A type and all the types in it."""
    todo = [type]
    while todo:
        part = todo.pop()
        yield part
        todo.extend(part.children)


def _keys(path: ExamplePath) -> list[list[str]]:
    """The keys on the way to a value, or to each item of a tuple that was put together."""
    return [place.keys for place in ([path] if path.items is None else path.items)]
