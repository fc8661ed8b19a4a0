"""Layers without names, which go by their kind and their order in the expression: `FC_1`, `FC_2`.

Two of them with the same shapes change places, and so weights, when the expression is written in another
order. Where each was made is kept with their weights, so that this is noticed on loading if they were made on
lines of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeGuard

from arrows.training.arguments import escaped, is_whole
from arrows.training.parameters import Trainable, notation
from arrows.typesys.errors import Message, Side, message

MOST = 6  # layers that a message names


def unnamed_layers(model: Trainable) -> dict[str, tuple[str, int]]:
    """The layers of a model that have no names of their own, with file and line where each was made.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(2) >> ar.FC(2) >> ar.FC(1, name="last"))
    >>> list(unnamed_layers(model))
    ['FC_1']
    """
    owner_of = getattr(model.params, "owner", None)
    if owner_of is None:
        return {}
    found: dict[str, tuple[str, int]] = {}
    for parameter in model.params:
        owner = owner_of(parameter)[0]
        site = getattr(owner, "site", None)
        if getattr(owner, "name", None) is None and site is not None and site.line:
            found[parameter.rpartition("/")[0]] = os.path.basename(site.file), site.line
    return found


def alike_layers(model: Trainable) -> str | None:
    """What to say of a model whose layers without names could take each other's weights; None if none could.

    >>> import arrows as ar
    >>> print(alike_layers(ar.compile(ar.Vector(2) >> (ar.FC(2) & ar.FC(2)))))
    FC_1, FC_2: these layers have the same shapes and no names of their own. If ...
    """
    shapes = _shapes(model)
    alike: dict[tuple[str, ...], list[str]] = {}
    for layer in unnamed_layers(model):
        alike.setdefault((layer.rpartition("_")[0], *shapes[layer]), []).append(layer)
    layers = next((layers for layers in alike.values() if len(layers) > 1), None)
    if layers is None:
        return None
    listed = ", ".join(layers[:MOST]) + (", ..." if len(layers) > MOST else "")
    return (
        f"{listed}: these layers have the same shapes and no names of their own. If the expression is "
        "written in another order, they may take each other's weights unseen when the file is loaded; give "
        "each a name, as in name='mu'"
    )


def is_table(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value of a file is what `unnamed_layers` gives.

    >>> is_table({"FC_1": ["model.py", 3]}), is_table({"FC_1": "model.py:3"})
    (True, False)
    """
    return isinstance(value, dict) and all(
        isinstance(place, list) and len(place) == 2 and isinstance(place[0], str) and is_whole(place[1])
        for place in value.values()
    )


def changed_order(path: object, saved: Mapping[str, Any], model: Trainable) -> Message | None:
    """What to say of a file if layers without names have changed places since; None if nothing shows it.

    Args:
        path: the file.
        saved: what `unnamed_layers` gave when it was written.
        model: whose parameters have the same names and shapes as the file's.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(2) >> (ar.FC(2) & ar.FC(2)))
    >>> changed_order("model.safetensors", unnamed_layers(model), model) is None
    True
    """
    now, shapes = unnamed_layers(model), _shapes(model)
    # Only layers of one kind and one shape can take each other's weights unnoticed, and only lines of one
    # file have an order.
    alike: dict[tuple[Any, ...], list[tuple[int, int, str]]] = {}
    for layer, (file, line) in now.items():
        if layer in saved:
            file_then, line_then = saved[layer]
            key = layer.rpartition("_")[0], *shapes[layer], file_then, file
            alike.setdefault(key, []).append((line_then, line, layer))
    suspects = [layer for places in alike.values() if _turned(places) for _, _, layer in places]
    if not suspects:
        return None
    sides = [
        Side(layer, "made at {}:{} then, at {}:{} now".format(escaped(file), line, *now[layer]))
        for layer in suspects[:MOST]
        for file, line in [saved[layer]]
    ]
    return message(
        f"{path} may not fit the model: layers without names have changed places",
        sides,
        reason="weights of a layer without a name go by its place in the expression, and the layers that "
        "have these places now were made in another order than those that were saved",
        hint="give every layer a name; to load this file, the name that its weights have in it, as in "
        f"name={suspects[0]!r}",
    )


def _shapes(model: Trainable) -> dict[str, list[str]]:
    shapes: dict[str, list[str]] = {}
    for parameter, array in model.params.items():
        layer, _, part = parameter.rpartition("/")
        shapes.setdefault(layer, []).append(f"{part} {notation(array)}")
    return shapes


def _turned(places: list[tuple[int, int, str]]) -> bool:
    """Whether of two layers the one that was made on the earlier line is now made on the later one."""
    highest = before = 0  # lines now: of all up to the last line then, and of all on earlier lines than that
    last = None
    for then, now, _ in sorted(places):
        if then != last:
            before, last = highest, then
        if now < before:
            return True
        highest = max(highest, now)
    return False
