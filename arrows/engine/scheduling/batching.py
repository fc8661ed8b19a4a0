"""How much of a batch runs at a time: so many examples, or as many as have so many nodes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError


@dataclass(frozen=True, slots=True)
class ByNodes:
    """Batches of as many nodes as fit: for ``train(batch_size=ByNodes(20_000))``.

    A node is one visit of an operation, or a value that is read (`Prepared.nodes`), so the time and memory of
    a batch hardly depend on how large its examples are. PyTorch users know it as `max_tokens`.  The loss of a
    batch is the mean over its examples, however many there are.

    Args:
        nodes: the most in a batch; a larger example is a batch of its own.

    Raises:
        ArrowTypeError, ArrowValueError: that is no positive whole number.

    >>> ByNodes(20_000)
    ByNodes(nodes=20000)
    """

    nodes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", checked_count("ByNodes: nodes", self.nodes))


AtOnce: TypeAlias = int | ByNodes | None
"""How much of a batch runs at a time: so many examples, as many as have so many nodes, or all."""


def batch_stops(size: int | ByNodes, nodes: HostArray, batches: int = 1) -> HostArray:
    """Where batches end, or pools of so many batches, of examples that have so many nodes, in this order.

    >>> sizes = np.array([4, 4, 4, 20, 1])
    >>> batch_stops(ByNodes(10), sizes).tolist(), batch_stops(2, sizes).tolist()
    ([2, 3, 4, 5], [2, 4, 5])
    """
    if not isinstance(size, ByNodes):
        count = len(nodes)
        step = min(size * batches, max(count, 1))
        return np.minimum(np.arange(step, count + step, step, dtype=np.intp), count)
    ends = np.cumsum(nodes)
    stops: list[int] = []
    start = 0
    while start < len(nodes):
        before = int(ends[start - 1]) if start else 0
        start = max(int(np.searchsorted(ends, before + size.nodes * batches, side="right")), start + 1)
        stops.append(start)
    return np.array(stops, np.intp)


def checked_count(argument: str, value: object, also: str = "") -> int:
    """A number of things, of which there is at least one; ``also`` says in messages what else is taken.

    Raises:
        ArrowTypeError, ArrowValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArrowTypeError(f"{argument} must be a whole number{also}, not {value!r}")
    if value < 1:
        raise ArrowValueError(f"{argument} is {value}, and should be 1 or more")
    return int(value)
