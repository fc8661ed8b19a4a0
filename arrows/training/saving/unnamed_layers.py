"""Layers without names, which are known by their class and their order in the expression: `FC_1`, `FC_2`.

Two of them with the same shapes swap their weights when the expression is written in another order. So a file
also keeps the line of code that made each layer. If the layers were made on different lines, loading notices
that they have changed places.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from arrows.safetensors_file import is_whole
from arrows.training.parameters import Described, Trainable, notation
from arrows.typesys.errors import Message, Side, message
from arrows.typesys.quoting import escaped

MOST = 6  # layers that a message names

Sites: TypeAlias = Mapping[str, tuple[str, int]]
"""Layer -> file and line of the code that made it."""


def unnamed_layers(model: Trainable) -> dict[str, tuple[str, int]]:
    """The layers of a model that the user has not named, with the file and line that made each."""
    owner_of = getattr(model.params, "owner", None)
    if owner_of is None:
        return {}
    sites: dict[str, tuple[str, int]] = {}
    for parameter in model.params:
        owner = owner_of(parameter)[0]
        site = getattr(owner, "site", None)
        if getattr(owner, "name", None) is None and site is not None and site.line:
            sites[parameter.rpartition("/")[0]] = os.path.basename(site.file), site.line
    return sites


def alike_layers(model: Trainable) -> str | None:
    """A warning for a model whose unnamed layers could take each other's weights; None if none could."""
    for layers in _alike(unnamed_layers(model), model.params):
        return (
            f"{_listed(layers)}: these layers have the same shapes and no names of their own. If the "
            "expression is written in another order, they may take each other's weights unnoticed when the "
            "file is loaded; give each a name, as in name='mu'"
        )
    return None


def confusable(
    path: Path, saved: Sites, entries: Mapping[str, Described], coming: set[str]
) -> Message | None:
    """An error for a file whose layers are not known apart before they are called; None if they are.

    Args:
        path: the file.
        saved: its layers without names.
        entries: its parameters.
        coming: the names of those whose layers have not been called yet.
    """
    for layers in _alike(saved, entries):
        if not coming.isdisjoint(name for name in entries if name.rpartition("/")[0] in layers):
            return message(
                f"cannot load {path} before the layers {_listed(layers)} have been called",
                reason="these layers have the same shapes and no names of their own, and which is which is "
                "known by the order of their first calls",
                hint="give each a name before training, as in name='mu'; or compute an example before "
                "loading",
            )
    return None


def sites_of(table: object) -> Sites | None:
    """Reads the result of `unnamed_layers` back from parsed JSON; None if that is something else."""
    if not isinstance(table, dict):
        return None
    sites = {}
    for layer, site in table.items():
        match site:
            case [str(file), int(line)] if is_whole(line):
                sites[layer] = file, line
            case _:
                return None
    return sites


def changed_order(path: Path, saved: Sites, model: Trainable) -> Message | None:
    """The error for a file whose unnamed layers have changed places since; None if nothing shows that.

    The caller has checked that the parameters of the model have the names and shapes of those in the file.
    """
    now, shapes = unnamed_layers(model), _shapes(model.params)
    # Only layers of the same class and shapes can swap weights unnoticed, and only lines of one file have an
    # order.
    alike: dict[tuple[str, ...], list[tuple[int, int, str]]] = {}
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
        reason="the weights of a layer without a name belong to its place in the expression, and the layers "
        "that have these places now were made in another order than those that were saved",
        hint="give every layer a name; to load this file, give each the name that its weights have in it, as "
        f"in name={suspects[0]!r}",
    )


def _alike(layers: Iterable[str], params: Mapping[str, Described]) -> list[list[str]]:
    """Layers of one class with the same shapes, wherever there are several."""
    shapes = _shapes(params)
    alike: dict[tuple[str, ...], list[str]] = {}
    for layer in layers:
        alike.setdefault((layer.rpartition("_")[0], *shapes.get(layer, ())), []).append(layer)
    return [layers for layers in alike.values() if len(layers) > 1]


def _listed(layers: list[str]) -> str:
    return ", ".join(layers[:MOST]) + (", ..." if len(layers) > MOST else "")


def _shapes(params: Mapping[str, Described]) -> dict[str, list[str]]:
    shapes: dict[str, list[str]] = {}
    for parameter, array in params.items():
        layer, _, part = parameter.rpartition("/")
        shapes.setdefault(layer, []).append(f"{part} {notation(array)}")
    return shapes


def _turned(places: list[tuple[int, int, str]]) -> bool:
    """Whether two layers have swapped order: the one made on the earlier line then is now made on the later.

    Args:
        places: (line then, line now, layer). Layers made on the same line have no order among them.
    """
    highest = before = 0  # the greatest line now, of all layers so far and of those from earlier lines then
    previous = None
    for then, now, _ in sorted(places):
        if then != previous:
            before, previous = highest, then
        if now < before:
            return True
        highest = max(highest, now)
    return False
