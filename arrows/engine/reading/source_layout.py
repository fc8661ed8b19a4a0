"""Where each node's sources start, and how long its sequences are: the layout of `Wirings.sources`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.engine.planning import ApplyOperation, Plan


@dataclass(frozen=True, slots=True)
class Extents:
    """The layout of the sources of some nodes.

    Attributes:
        first_source: where each node's sources start, ``[nodes]``.
        length: how many each has.
        counts: the lengths of the sequences that nodes take, one after another.
        first_count: where each node's counts start.
    """

    first_source: np.ndarray
    length: np.ndarray
    counts: np.ndarray
    first_count: np.ndarray


def extents(plan: Plan, site: np.ndarray, counts: np.ndarray) -> Extents:
    """Lays out the sources of nodes: those of one row, then the elements of each sequence, once a tensor
    leaf.

    Args:
        plan: the model's plan.
        site: the site of each node.
        counts: as in `Wirings`.
    """
    length = plan.sites.arity[site].astype(np.int32)
    first_count = _starts(plan.sites.domains[site])
    if len(counts):
        operations = plan.sites.operation[site]
        for operation in plan.operations:
            if isinstance(operation, ApplyOperation):
                (mine,) = (operations == operation.index).nonzero()
                for number, width in enumerate(operation.widths):
                    length[mine] += counts[first_count[mine] + number] * width
    return Extents(_starts(length), length, counts, first_count)


def index_type(most: int) -> type[np.signedinteger]:
    """The smaller element type that numbers up to ``most`` fit in."""
    return np.int32 if most < 2**31 else np.int64


def _starts(lengths: np.ndarray) -> np.ndarray:
    starts: np.ndarray = np.cumsum(lengths, dtype=index_type(int(lengths.sum())))
    starts -= lengths
    return starts


def starts_of_runs(values: np.ndarray) -> np.ndarray:
    """Where runs of equal values start.

    >>> starts_of_runs(np.array([4, 4, 7, 4])).tolist(), starts_of_runs(np.array([])).tolist()
    ([0, 2, 3], [])
    """
    if len(values) == 0:
        return np.zeros(0, np.int64)
    (changes,) = (values[1:] != values[:-1]).nonzero()
    starts = np.zeros(len(changes) + 1, np.int64)
    np.add(changes, 1, out=starts[1:])
    return starts


def range_of(rows: np.ndarray) -> int:
    """The first of some numbers if they go on by one, else -1; 0 if there are none: `ranges_of`, one piece.

    >>> range_of(np.array([3, 4, 5])), range_of(np.array([3, 5, 5])), range_of(np.array([], int))
    (3, -1, 0)
    """
    count = len(rows)
    if count == 0:
        return 0
    first = int(rows[0])
    if int(rows[-1]) - first != count - 1 or (count > 2 and (rows[1:] != rows[:-1] + 1).any()):
        return -1
    return first


def ended(starts: np.ndarray, stop: int) -> np.ndarray:
    """Where pieces start, and the last one stops: `np.append`, three times as fast on a few numbers.

    >>> ended(np.array([0, 2]), 5).tolist()
    [0, 2, 5]
    """
    ends = np.empty(len(starts) + 1, starts.dtype)
    ends[:-1], ends[-1] = starts, stop
    return ends


def ranges_of(rows: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """For each piece of an array, its first number if it goes on by one to the end of the piece, else -1; 0
    for an empty piece.

    >>> ranges_of(np.array([3, 4, 7, 8, 8]), np.array([0, 2, 2, 4]), np.array([2, 2, 4, 5])).tolist()
    [3, 0, 7, 8]
    >>> ranges_of(np.array([3, 5, 5]), np.array([0]), np.array([3])).tolist()
    [-1]
    """
    if len(rows) == 0:
        return np.zeros(len(starts), np.intp)
    steps = stops - starts - 1
    found: np.ndarray = rows[np.minimum(starts, len(rows) - 1)]
    found[rows[stops - 1] - found != steps] = -1
    # Few pieces that are no range end where one would. Where there are candidates, all numbers are looked at.
    if ((found >= 0) & (steps > 1)).any():
        breaks = np.zeros(len(rows), np.int32)
        np.cumsum(rows[1:] != rows[:-1] + 1, out=breaks[1:])
        found[breaks[stops - 1] != breaks[np.minimum(starts, len(rows) - 1)]] = -1
    found[steps < 0] = 0
    return found


def lengths_of(offsets: np.ndarray) -> np.ndarray:
    """From where pieces start (and the last ends) to their lengths: `np.diff`, four times as fast on a few
    numbers.

    >>> lengths_of(np.array([0, 2, 2, 5])).tolist()
    [2, 0, 3]
    """
    lengths: np.ndarray = offsets[1:] - offsets[:-1]
    return lengths
