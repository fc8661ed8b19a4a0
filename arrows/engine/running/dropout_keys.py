"""The keys of chance: one 64-bit number for each node that has dropout.

A key is a hash of (seed, step, example id, site, node number within the example), so a mask does not depend
on the batch that an example stands in, on its place there, or on the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrows.engine.reading.mixing import GOLDEN, scramble
from arrows.engine.scheduling.merge import Merged
from arrows.engine.scheduling.prepared_set import WiredBatch


@dataclass(frozen=True, slots=True)
class DropoutSeed:
    """What the masks of one call depend on besides the nodes.

    Attributes:
        seed: the model's.
        step: how many training calls the model has had.
        ids: a number for each example, ``[examples]``.
    """

    seed: int
    step: int
    ids: np.ndarray

    def part(self, first: int, count: int) -> DropoutSeed:
        """The same for some of the examples."""
        return DropoutSeed(self.seed, self.step, self.ids[first : first + count])


def dropout_keys(chosen: WiredBatch, merged: Merged, operation: int, chance: DropoutSeed) -> np.ndarray:
    """The keys of an operation's nodes, in the order of its rows (uint64).

    Args:
        chosen: the batch.
        merged: its schedule.
        operation: the operation's number.
        chance: see there.
    """
    example, number = merged.nodes(operation)
    sites = chosen.wirings.site
    site = sites.values[sites.offsets[chosen.indices[example]] + number]
    start = np.array([chance.seed % 2**64, chance.step % 2**64], np.uint64)
    keys = _mixed(np.full(len(number), _mixed(start[:1])[0]) ^ start[1])
    keys = _mixed(keys ^ chance.ids.astype(np.uint64)[example])
    keys = _mixed(keys ^ site.astype(np.uint64))
    return _mixed(keys ^ number.astype(np.uint64))


def _mixed(words: np.ndarray) -> np.ndarray:
    """One step of SplitMix64's counter, scrambled."""
    return scramble(words + GOLDEN)
