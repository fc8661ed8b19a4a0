"""`Pipe`, `Fan` and `Graph`: how the results of blocks pass to other blocks."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Graph, Source
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion
from arrows.inference import Typed


def pipe(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    for part in typed.parts:
        value, path = yield walk.visit(part, value, path)
    return value, path


def fan(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    results, paths = [], []
    for part in typed.parts:
        result, result_path = yield walk.visit(part, value, path)
        results.append(result)
        paths.append(result_path)
    return tuple(results), path.joined(tuple(paths))


def graph(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Graph)
    wires: list[Located] = [(value, path)]
    for node, part in zip(form.nodes, typed.parts, strict=True):
        wires.append((yield walk.visit(part, *_read(node.source, wires, path))))
    return _read(form.output, wires, path)


def _read(source: Source, wires: list[Located], path: ExamplePath) -> Located:
    """The value of a source: that of a wire, or a tuple of sources' values, nested as deep as they are."""
    if isinstance(source, int):
        return wires[source]
    done: list[Located] = []
    todo: list[tuple[Source, bool]] = [(source, False)]
    while todo:
        part, items_done = todo.pop()
        if isinstance(part, int):
            done.append(wires[part])
        elif items_done:
            items = done[len(done) - len(part) :]
            del done[len(done) - len(part) :]
            done.append((tuple(item for item, _ in items), path.joined(tuple(place for _, place in items))))
        else:
            todo.append((part, True))
            todo.extend((item, False) for item in reversed(part))
    return done[0]
