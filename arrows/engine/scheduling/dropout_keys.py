"""Dropout keys: one 64-bit number for each node that has dropout, from which its mask is hashed.

A key is a hash of (seed, step, example id, site, number of the node within its example). So a mask depends
neither on the batch that an example is in, nor on its place there, nor on the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.engine.scheduling.merge import Merged
from arrows.engine.scheduling.prepared_set import WiredBatch
from arrows.ops.arrays import HostArray
from arrows.ops.splitmix import GOLDEN, finalise


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


def dropout_keys(batch: WiredBatch, merged: Merged, operation: int, dropout: DropoutSeed) -> HostArray:
    """The dropout keys of an operation's nodes, in the order of its rows (uint64)."""
    example, number = merged.nodes(operation)
    sites = batch.wirings.site
    site = sites.values[sites.offsets[batch.indices[example]] + number]
    keys = np.full(len(number), dropout.seed % 2**64, np.uint64)
    for words in (np.uint64(dropout.step % 2**64), dropout.ids[example], site, number):
        keys = _next(keys) ^ words.astype(np.uint64)
    return _next(keys)


def _next(words: HostArray) -> HostArray:
    """One step of SplitMix64."""
    return finalise(np, words + np.uint64(GOLDEN))
