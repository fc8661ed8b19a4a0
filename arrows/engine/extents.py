"""Where each node's sources start, and how long its sequences are: the layout of `Wirings.sources`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arrows.engine.plan import Plan


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
    length = plan.site_arity[site].astype(np.int64)
    domains = plan.site_domains[site]
    first_count = np.cumsum(domains) - domains
    if len(counts):
        operations = plan.site_operation[site]
        for operation in plan.operations:
            if operation.domains:
                mine = np.flatnonzero(operations == operation.index)
                for number, width in enumerate(operation.widths):
                    length[mine] += counts[first_count[mine] + number] * width
    return Extents(np.cumsum(length) - length, length, counts, first_count)


def lengths_of(offsets: np.ndarray) -> np.ndarray:
    """From where pieces start (and the last ends) to their lengths: `np.diff`, four times as fast on a few
    numbers.

    >>> lengths_of(np.array([0, 2, 2, 5])).tolist()
    [2, 0, 3]
    """
    lengths: np.ndarray = offsets[1:] - offsets[:-1]
    return lengths
