"""Transposes of gathers, planned at merge: how the gradients of operands come to the rows they were read
from.

An operation keeps the gradients of its operands, those of one slab in one array (`Places`), until they are
needed.  Rows that the operation's own component made *pull* theirs: before a step runs backwards, each of its
rows has had its readers run, and takes their gradients in one gather, without a search for repeats.  All
other rows (words, leaves, constants' neighbours of earlier components) get theirs *pushed* when the component
is done, in one sum over all its steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrows.engine.reading import lengths_of, range_of, ranges_of, stable_order, starts_of_runs, with_stop


@dataclass(frozen=True, slots=True)
class Push:
    """Sums of gradients that are added to rows.

    Attributes:
        order: places in the array of gradients, sorted by the row they go to; piece by piece.
        rows: the distinct rows, ascending in each piece.
        starts: for each of ``rows``, where its places start in its piece of ``order``.
        bounds: where each piece's rows start in ``rows``.
        places: where each piece's places start in ``order``.
        longest: the most places of a row.
        ranges: if no row has more than one, for each piece its first row and its first place, each where
            they are a range in this order, else -1.
    """

    order: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    bounds: list[int]
    places: list[int]
    longest: int
    ranges: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pull:
    """What the rows of one output take from one array of gradients.

    Attributes:
        index: for each row, the place of its gradient; rows without have that of a row of zeros.
        spans: for each step, the first and last of its rows that have one, and the place of the first where
            the places are a range, else -1.
        more: for rows that are read again: the other places, with pieces by step.
    """

    index: np.ndarray
    spans: list[tuple[int, int, int]]
    more: Push | None


def plan_push(order: np.ndarray, rows: np.ndarray, piece: np.ndarray, pieces: int) -> Push | None:
    """Plans the sums of gradients by row.

    Args:
        order: places of gradients.
        rows: for each, the row it goes to.
        piece: for each, its piece.
        pieces: how many there are.

    Returns:
        None where there is nothing to add.
    """
    if len(order) == 0:
        return None
    span = int(rows.max()) + 1
    key = rows if pieces == 1 else piece * np.int64(span) + rows
    least = int(lengths_of(key).min(initial=1))
    if least < 0:
        by_key = stable_order(key, pieces * span)
        order, key = order[by_key], key[by_key]
    at = np.arange(len(key)) if least > 0 else starts_of_runs(key)
    longest = int(lengths_of(with_stop(at, len(key))).max()) if len(at) < len(key) else 1
    key = key[at]
    if pieces == 1:
        bounds, places = [0, len(at)], [0, len(order)]
    else:
        found, key = np.divmod(key, span)
        cuts = np.searchsorted(found, np.arange(pieces + 1))
        ends = with_stop(at, len(order))[cuts]
        at, bounds, places = at - ends[found], cuts.tolist(), ends.tolist()
    ranges = []
    if longest == 1:
        ranges = [(range_of(key[b:y]), range_of(order[b:y])) for b, y in pairwise(bounds)]
    return Push(order, key, at, bounds, places, longest, ranges)


def plan_pull(
    inverse: np.ndarray, zero: int, bounds: np.ndarray, again: tuple[np.ndarray, np.ndarray] | None
) -> Pull | None:
    """Plans what the rows of one output take.

    Args:
        inverse: for each row, the place of its gradient, or ``zero``.
        zero: the place of a row of zeros.
        bounds: where each step's rows start.
        again: places and rows of the gradients that rows get besides, if any.

    Returns:
        None where no row has any.
    """
    there = inverse != zero
    (at,) = there.nonzero()
    if len(at) == 0:
        return None
    count = np.searchsorted(at, bounds)
    some = count[1:] > count[:-1]
    first = np.where(some, at[np.minimum(count[:-1], len(at) - 1)], 0)
    stop = np.where(some, at[np.maximum(count[1:] - 1, 0)] + 1, 0)
    # In a range nothing is missing: places go on by one, and zeros have the same place.
    view = ranges_of(inverse, first, stop)
    spans = list(zip(first.tolist(), stop.tolist(), view.tolist(), strict=True))
    more = None
    if again is not None:
        places, rows = again
        more = plan_push(places, rows, np.searchsorted(bounds, rows, side="right") - 1, len(bounds) - 1)
    return Pull(inverse, spans, more)
