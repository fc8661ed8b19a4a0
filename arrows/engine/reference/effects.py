"""`Metric`, `Tap` and `Shared`: side outputs, and what is computed once for an object."""

from __future__ import annotations

from typing import Any

from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion
from arrows.inference import Typed
from arrows.typesys import types as T


def metric(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    label = None
    if isinstance(typed.input, T.Tuple):
        value, label = value
    walk.semantics.metric(typed, value, label)
    return None, path


def tap(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    walk.semantics.tap(typed, value)
    return value, path


def shared(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    (part,) = typed.parts
    # By block, not by place: a block that stands in two places is one memo, if it has one type in both.
    key = (id(typed.form), typed.output, id(value))
    if key not in walk.shared_results:
        # The object is kept, so that no other object gets its identity meanwhile.
        walk.shared_results[key] = (value, None)
        outer, walk.repeated = walk.repeated, {}
        result: Located = yield walk.visit(part, value, path)
        walk.repeated = outer
        walk.shared_results[key] = (value, result)
        return result
    _, finished = walk.shared_results[key]
    if finished is None:
        walk.fail(typed, path, "the data is cyclic: this object contains itself", None)
    return finished
