"""Recursions without an end: every way through them calls them again, whatever the data."""

from __future__ import annotations

from collections.abc import Sequence

from arrows.combinators import Choice, Fold, Map, Reduce, Scan
from arrows.inference.occurrences import Occurrence


def endless(nodes: Sequence[Occurrence]) -> Occurrence | None:
    """The first recursive block that cannot end; None if all can.

    A case that does not call it, or a sequence that may be empty, is an end.

    Args:
        nodes: of an expression, those of a block after its own.
    """
    knots = [node for node in nodes if node.knot is node]
    if not knots:
        return None
    ends: dict[int, bool] = {}
    known = -1
    while known != sum(ends.get(id(knot), False) for knot in knots):
        known = sum(ends.get(id(knot), False) for knot in knots)
        for node in reversed(nodes):
            ends[id(node)] = _ends(node, ends)
    return next((knot for knot in knots if not ends[id(knot)]), None)


def _ends(node: Occurrence, ends: dict[int, bool]) -> bool:
    if node.knot is not None and node.knot is not node:
        return ends.get(id(node.knot), False)
    parts = [ends[id(part)] for part in node.parts]
    form = node.form
    if isinstance(form, Choice):
        key = 1 if form.key is None else 0
        return all(parts[:key]) and any(parts[key:])
    if isinstance(form, (Map, Fold, Scan, Reduce)):
        return True
    return all(parts)
