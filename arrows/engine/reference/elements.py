"""`Item`, `Nth`, `Length` and `Unroll`: access to single elements, and how many there are."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Item, Unroll, take
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, LeafError, describe, explain_no_element, explain_no_item, nth
from arrows.inference import Typed
from arrows.typesys import types as T


def item(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    form = typed.form
    assert isinstance(form, Item)
    key = form.key
    if isinstance(typed.input, T.Broadcast):  # all elements of an endless sequence are the same
        return value, path
    if isinstance(typed.input, T.Tuple):
        if isinstance(key, slice):
            return value[key], path if path.items is None else path.joined(path.items[key])
        place = typed.input.index(key)
        return value[place], path.child(key if path.items is None else place)
    try:
        return take(value, key), path.child(key)
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, explain_no_item(value, key, error), error)


def nth_element(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    try:
        elements, place = value[0], value[1]
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, f"expected the pair of a sequence and a place, got {describe(value)}", error)
    path = path.child(0)
    try:
        return nth(elements, place), path.child(place)
    except Exception as error:  # noqa: BLE001 (as above)
        walk.fail(typed, path, explain_no_element(elements, place, error), error)


def length(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    try:
        count = len(value)
    except Exception as error:  # noqa: BLE001 (an object's own __len__ may raise anything)
        walk.fail(typed, path, f"expected something with a length, got {describe(value)}", error)
    try:
        return walk.semantics.read(typed, count), path
    except LeafError as error:
        walk.fail(typed, path, f"the length {error}", error)


def unroll(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    form = typed.form
    assert isinstance(form, Unroll)
    if len(value) != form.length:
        count = f"{form.length} element{'s' if form.length > 1 else ''}"
        walk.fail(typed, path, f"expected {count}, got {len(value)}", None)
    return tuple(value), path
