"""`Pipe`, `Fan`, `Graph`, `Choice`, `Reference` and `Shared`: which blocks run, and on what."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Choice, Graph, Source, Unfit
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion, describe_error, describe_key, each
from arrows.inference import Typed
from arrows.typesys import types as T


def pipe(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    for part in typed.parts:
        value, path = yield walk.visit(part, value, path)
    return value, path


def fan(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    return _together((yield each(walk.visit(part, value, path) for part in typed.parts)), path)


def graph(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Graph)
    wires: list[Located] = [(value, path)]
    for node, part in zip(form.nodes, typed.parts, strict=True):
        wires.append((yield walk.visit(part, *(yield _read(node.source, wires, path)))))
    result: Located = yield _read(form.result, wires, path)
    return result


def _read(source: Source, wires: list[Located], path: ExamplePath) -> Recursion[Located]:
    """The value of a source: that of a wire, or a tuple of sources' values."""
    if isinstance(source, int):
        return wires[source]
    return _together((yield each(_read(item, wires, path) for item in source)), path)


def _together(items: list[Located], path: ExamplePath) -> Located:
    """A tuple put together at `path` from values that stand below it."""
    return tuple(item for item, _ in items), path.joined(tuple(place for _, place in items))


def choice(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Choice)
    cases = list(typed.parts)
    if form.key is None:
        selector = cases.pop(0)
        key, _ = yield walk.visit(selector, value, path)
    else:
        try:
            key = form.key(value)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            raised = f"the key function raised {describe_error(error)}"
            walk.fail(typed, path, str(error) if isinstance(error, Unfit) else raised, error)
    numbers = walk.case_numbers.get(id(form))
    if numbers is None:
        numbers = walk.case_numbers[id(form)] = {key: i for i, key in enumerate(form.keys)}
    try:
        case = cases[numbers[key]]
    except Exception as error:  # noqa: BLE001 (a key's own __hash__ or __eq__ may raise anything)
        keys = ", ".join(map(describe_key, form.keys[:8])) + (", ..." if len(form.keys) > 8 else "")
        walk.fail(typed, path, f"there is no case for the key {describe_key(key)}; there are {keys}", error)
    result: Located = yield walk.visit(case, value, path)
    return result


def call(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
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
            first = str(seen[key]) or "the root"
            walk.fail(typed, path, f"endless: the recursion is back at the value of {first}", None)
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


def shared(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
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
