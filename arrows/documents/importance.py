"""Which field matters: the loss when the values of a field are exchanged among documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from arrows.documents.blocks import json_type
from arrows.documents.build import LEFT_OUT
from arrows.documents.schema import ROOT, below

_MISSING = object()


def field_losses(
    loss: Callable[[list[Any]], float],
    documents: Sequence[object],
    decisions: Mapping[str, Mapping[str, Any]],
    *,
    repeats: int = 3,
    seed: int = 0,
) -> dict[str, float]:
    """The loss of a model when the values of a field are exchanged at random, for each field that it reads.

    A field that matters makes the loss larger.  Of fields that carry the same information, each can replace
    the others, so that none of them seems to matter.  The elements of arrays are exchanged among all arrays,
    and a field that an object lacks may go to another.  Breiman, "Random Forests", Machine Learning 45, 2001,
    section 10.

    Args:
        loss: the mean loss of documents in this order, which are plain JSON.
        documents: those to measure by; they stay as they are.
        decisions: how the model reads them, `Proposal.decisions`.
        repeats: how many random orders the losses are the mean of.
        seed: these depend on it.

    Returns:
        By path, the loss; first, as `$`, that of the documents as they are.

    >>> import arrows as ar
    >>> documents = [{"age": n, "name": "x"} for n in range(100)]
    >>> decisions = ar.infer_block(documents, kinds={"name": "category"}).decisions
    >>> loss = lambda mixed: sum(abs(document["age"] - n) for n, document in enumerate(mixed)) / 100
    >>> losses = ar.documents.field_losses(loss, documents, decisions)
    >>> losses["$"], losses["age"] > 20, losses["name"]
    (0.0, True, 0.0)
    """
    copies = json.loads(json.dumps(documents))
    losses = {ROOT: loss(copies)}
    places: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for path, holder, key in _fields(copies, decisions):
        places.setdefault(path, []).append((holder, key))
    for path, row in decisions.items():
        if path not in places or row["kind"] == LEFT_OUT:
            continue
        values = [holder.get(key, _MISSING) for holder, key in places[path]]
        random, found = np.random.default_rng(seed), list[float]()
        for _ in range(repeats):
            _put(places[path], [values[number] for number in random.permutation(len(values))])
            found.append(loss(copies))
        _put(places[path], values)
        losses[path] = float(np.mean(found))
    return losses


def _put(places: Sequence[tuple[dict[str, Any], str]], values: Sequence[object]) -> None:
    for (holder, key), value in zip(places, values, strict=True):
        if value is _MISSING:
            holder.pop(key, None)
        else:
            holder[key] = value


def _fields(
    documents: Sequence[object], decisions: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each object with each field that is decided on, and the path of that."""
    waiting: list[tuple[str, Any]] = [(ROOT, document) for document in documents]
    while waiting:
        path, value = waiting.pop()
        if value is None:
            continue
        row = decisions.get(path, {})
        if row.get("kind") == "mixed":
            row = decisions.get(f"{path} ({json_type(value)})", {})
        if row.get("kind") == "again":
            path = row["path"]
            row = decisions[path]
            path = path.removesuffix(" (array)").removesuffix(" (object)")
        if row.get("kind") == "array" and isinstance(value, list):
            waiting += [(f"{path}[]", element) for element in value]
        if row.get("kind") == "object" and isinstance(value, dict):
            for key in row["fields"]:
                field = below(path, key)
                yield field, value, key
                waiting.append((field, value.get(key)))
