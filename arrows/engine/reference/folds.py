"""`Fold`, `Reduce` and `Scan`: steps that hand a state from element to element."""

from __future__ import annotations

from typing import Any

from arrows.combinators import NoDefault, Scan, without_zero
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion
from arrows.inference import Typed
from arrows.typesys import types as T


def fold(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    step, start = typed.parts
    state, state_path = yield walk.visit(start, None, path)
    outer = walk.repeated
    for i, element in enumerate(walk.elements(typed, typed.input, value, path)):
        walk.repeated = {}
        below = path.child(i)
        state, state_path = yield walk.visit(step, (state, element), below.joined((state_path, below)))
    walk.repeated = outer
    return state, path


def reduce(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    """A balanced tree of pairs, level by level; an odd last element waits for the next level."""
    combine, default = typed.parts
    elements = walk.elements(typed, typed.input, value, path)
    level: list[Located] = [(element, path.child(i)) for i, element in enumerate(elements)]
    if not level:
        if isinstance(default.form, NoDefault) and without_zero(typed.output) is not None:
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


def scan(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    form, output_type = typed.form, typed.output
    assert isinstance(form, Scan) and isinstance(output_type, T.Tuple)
    step, start = typed.parts
    container, first, first_path = typed.input, None, path
    if form.start_from_input:
        assert isinstance(container, T.Tuple)
        container, (value, first) = container.items[0], value
        path, first_path = path.child(0), path.child(1)
    state, state_path = yield walk.visit(start, first, first_path)
    elements = list(enumerate(walk.elements(typed, container, value, path)))
    outputs, outer = [], walk.repeated
    for i, element in reversed(elements) if form.reverse else elements:
        walk.repeated = {}
        below = path.child(i)
        result, state_path = yield walk.visit(step, (element, state), below.joined((below, state_path)))
        if form.by_state:
            output, state = result[0] if isinstance(output_type.items[1], T.Tuple) else result, result
        else:
            output, state = result
            state_path = state_path.items[1] if state_path.items is not None else state_path
        outputs.append(output)
    walk.repeated = outer
    return (outputs[::-1] if form.reverse else outputs, state), path.joined((path, path))
