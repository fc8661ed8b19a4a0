"""`Map`, `Zip`, `Broadcast`, folds and access to elements: what goes over a sequence or picks from it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from arrows.combinators import (
    InferredZeros,
    Item,
    Loop,
    NoItem,
    Nth,
    Unfit,
    Zip,
    take,
    take_of,
    take_or_default,
    without_zero,
)
from arrows.engine.reference.walk import Endless, Located, Walk
from arrows.engine.values import (
    ExamplePath,
    Recursion,
    describe,
    explain_no_element,
    explain_no_item,
    hint_for_item,
    nth,
)
from arrows.inference import Typed
from arrows.typesys import types as T


def map_elements(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    (part,) = typed.parts
    if isinstance(value, Endless):
        element, _ = yield walk.visit(part, value.element, path)
        return Endless(element), path
    results, outer = [], walk.repeated
    for i, element in enumerate(walk.elements(typed, typed.input, value, path)):
        walk.repeated = {}
        result, _ = yield walk.visit(part, element, path.child(i))
        results.append(result)
    walk.repeated = outer
    return results, path


def zip_columns(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    if isinstance(typed.input, T.Input):
        columns = [
            walk.elements(typed, T.Input(), column, path.child(i), whole=False)
            for i, column in enumerate(walk.elements(typed, typed.input, value, path))
        ]
        return _rows(walk, typed, columns, path), ExamplePath(path.parent, path.step)
    assert isinstance(typed.input, T.Tuple)
    places = tuple((path.child(i), not isinstance(x, Endless)) for i, x in enumerate(value))
    here = ExamplePath(path.parent, path.step, columns=places)
    if all(isinstance(column, Endless) for column in value):
        return Endless(tuple(column.element for column in value)), here
    columns = [
        repeat(column.element)
        if isinstance(column, Endless)
        else walk.elements(typed, type, column, path.child(i), whole=False)
        for i, (type, column) in enumerate(zip(typed.input.items, value, strict=True))
    ]
    return _rows(walk, typed, columns, path), here


def _rows(walk: Walk, typed: Typed, columns: list[Iterator[Any]], path: ExamplePath) -> list[tuple[Any, ...]]:
    """The rows of columns, which end with the shortest, unless they must be of one length."""
    assert isinstance(typed.form, Zip)
    if not typed.form.strict:
        return list(zip(*columns, strict=False))
    rows: list[tuple[Any, ...]] = []
    finite = [i for i, column in enumerate(columns) if not isinstance(column, repeat)]
    while True:
        row = [next(column, _END) for column in columns]
        over = [i for i in finite if row[i] is _END]
        if len(over) == len(finite):
            return rows
        if over:
            first, second = over[0], next(i for i in finite if i not in over)
            names = typed.input.labels if isinstance(typed.input, T.Tuple) else None
            a, b = (f"item {i if names is None else repr(names[i])}" for i in (first, second))
            count = f"{len(rows)} element{'s' * (len(rows) != 1)}"
            reason = f"the sequences have different lengths: {a} has {count}, and {b} more"
            walk.fail(typed, path, reason, None, typed.form.uneven)
        rows.append(tuple(row))


_END = object()


def broadcast(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    return Endless(value), path


def reduce(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    """A balanced tree of pairs, level by level; an odd last element waits for the next level."""
    combine, default = typed.parts
    elements = walk.elements(typed, typed.input, value, path)
    level: list[Located] = [(element, path.child(i)) for i, element in enumerate(elements)]
    if not level:
        if isinstance(default.form, InferredZeros) and without_zero(typed.output) is not None:
            zero = f"no zero of {typed.output} to give instead"
            walk.fail(typed, path, f"there are no elements to reduce, and {zero}", None)
        result: Located = yield walk.visit(default, None, path)
        return result
    outer = walk.repeated
    while len(level) > 1:
        above: list[Located] = []
        for (left, left_path), (right, right_path) in zip(level[::2], level[1::2], strict=False):
            walk.repeated = {}
            above.append((yield walk.visit(combine, (left, right), path.joined((left_path, right_path)))))
        level = above + level[len(level) // 2 * 2 :]
    walk.repeated = outer
    return level[0]


def loop(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Loop)
    step, start = typed.parts
    container, first, first_path = typed.input, None, path
    if form.initial_state_from_input:
        assert isinstance(container, T.Tuple)
        container, (value, first) = container.items[0], value
        path, first_path = path.child(0), path.child(1)
    state, state_path = yield walk.visit(start, first, first_path)
    elements = list(enumerate(walk.elements(typed, container, value, path)))
    outputs, outer, turn = [], walk.repeated, -1 if form.folds else 1
    for i, element in reversed(elements) if form.reverse else elements:
        walk.repeated = {}
        below = path.child(i)
        pair, paths = (element, state)[::turn], (below, state_path)[::turn]
        result, state_path = yield walk.visit(step, pair, below.joined(paths))
        if form.by_state:
            output, state = result[0] if isinstance(start.output, T.Tuple) else result, result
        else:
            output, state = result
            state_path = state_path.items[1] if state_path.items is not None else state_path
        outputs.append(output)
    walk.repeated = outer
    if form.folds:
        return state, path
    return (outputs[::-1] if form.reverse else outputs, state), path.joined((path, path))


def item(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    form = typed.form
    assert isinstance(form, Item)
    key = form.key
    if isinstance(typed.input, T.Broadcast):  # all elements of an endless sequence are the same
        return value, path
    if isinstance(typed.input, T.Tuple):
        if isinstance(key, slice):
            return value[key], path if path.items is None else path.joined(path.items[key])
        place = form.place(typed.input)
        assert place is not None
        return value[place], path.child(key if path.items is None else place)
    try:
        if form.default is not NoItem.ERROR:
            return take_or_default(value, key, form.default), path.child(key)
        if form.arity is None:
            return take(value, key), path.child(key)
        taken = take_of(value, key, form.arity)
        return (tuple(taken), path) if isinstance(key, slice) else (taken, path.child(key))
    except Unfit as error:
        walk.fail(typed, path, str(error), error)
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, explain_no_item(value, key, error), error, hint_for_item(value, key))


def nth_element(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    try:
        elements, place = value[0], value[1]
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, f"expected the pair of a sequence and a place, got {describe(value)}", error)
    assert isinstance(typed.form, Nth)
    try:
        return nth(elements, place, typed.form.from_end), path.child(0).child(place)
    except Exception as error:  # noqa: BLE001 (as above)
        where = path.child(0 if typed.form.from_end else 1)
        walk.fail(typed, where, explain_no_element(elements, place, error), error)


def group_by(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    assert isinstance(typed.input, T.Tuple)
    elements, places, groups = (
        list(walk.elements(typed, type, part, path.child(i)))
        for i, (type, part) in enumerate(zip(typed.input.items, value, strict=True))
    )
    if len(elements) != len(places):
        walk.fail(typed, path, f"there are {len(elements)} elements, and {len(places)} places", None)
    result: list[list[Any]] = [[] for _ in groups]
    for i, (element, place) in enumerate(zip(elements, places, strict=True)):
        try:
            nth(result, place, False).append(element)
        except Exception as error:  # noqa: BLE001 (an object's own __index__ may raise anything)
            walk.fail(typed, path.child(1).child(i), explain_no_element(groups, place, error), error)
    return result, ExamplePath(path.parent, path.step)
