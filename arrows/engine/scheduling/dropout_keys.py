"""Dropout keys: one 64-bit number for each node that has dropout, from which its mask is hashed.

A key is a hash of (seed, step, example id, site, number of the node within its example). So a mask depends
neither on the batch that an example is in, nor on its place there, nor on the schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.scheduling.merge import Merged
from arrows.engine.scheduling.prepared_set import WiredBatch
from arrows.engine.values import draw_keys, node_keys


@dataclass(frozen=True, slots=True)
class DropoutSeed:
    """The numbers that the dropout masks of a call depend on, beside the nodes.

    Attributes:
        seed: the model's.
        step: how many training calls the model has had.
        ids: a number for each example, ``[examples]``.
    """

    seed: int
    step: int
    ids: HostArray

    def part(self, first: int, count: int) -> DropoutSeed:
        """The same for ``count`` examples, from the ``first`` on."""
        return DropoutSeed(self.seed, self.step, self.ids[first : first + count])


def dropout_keys(
    batch: WiredBatch,
    merged: Merged,
    operation: int,
    dropout: DropoutSeed,
    draws: Mapping[int, int] = MappingProxyType({}),
) -> HostArray:
    """The dropout keys of an operation's nodes, in the order of its rows (uint64).

    Args:
        batch, merged: the batch.
        operation: the operation.
        dropout: what the keys depend on beside the nodes.
        draws: where the operation draws random numbers: by site, the number of its occurrence among those
            that draw.  Its keys are then those that the reference makes.
    """
    example, number = merged.nodes(operation)
    sites = batch.wirings.site
    site = sites.values[sites.offsets[batch.indices[example]] + number]
    if draws:
        occurrences = np.zeros(max(draws) + 1, np.int64)
        occurrences[list(draws)] = list(draws.values())
        visits = _visits(example, site, number)
        return draw_keys(dropout.seed, dropout.step, dropout.ids[example], occurrences[site], visits)
    return node_keys(dropout.seed, dropout.step, dropout.ids[example], site, number)


def _visits(example: HostArray, site: HostArray, number: HostArray) -> HostArray:
    """How often each node's site was visited before in the example."""
    order = np.lexsort((number, site, example))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(example[order]) != 0) | (np.diff(site[order]) != 0)
    places = np.arange(len(order))
    visits = np.empty_like(places)
    visits[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return visits
