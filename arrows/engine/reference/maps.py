"""`Map`, `Zip` and `Broadcast`: what is done to every element by itself."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from arrows.engine.reference.semantics import Endless
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion
from arrows.inference import Typed
from arrows.typesys import types as T


def map_elements(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
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
    here = ExamplePath(path.parent, path.step)  # the result has other items than the input
    if isinstance(typed.input, T.Input):
        columns = [
            walk.elements(typed, T.Input(), column, path.child(i), whole=False)
            for i, column in enumerate(walk.elements(typed, typed.input, value, path))
        ]
        return list(zip(*columns, strict=False)), here  # it ends with the shortest column
    assert isinstance(typed.input, T.Tuple)
    if all(isinstance(column, Endless) for column in value):
        return Endless(tuple(column.element for column in value)), here
    columns = [
        repeat(column.element)
        if isinstance(column, Endless)
        else walk.elements(typed, of, column, path.child(i), whole=False)
        for i, (of, column) in enumerate(zip(typed.input.items, value, strict=True))
    ]
    return list(zip(*columns, strict=False)), here


def broadcast(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    return Endless(value), path
