"""Keys of random draws: the same numbers whoever computes them, the reference or a batch.

A key is a hash of (seed, step, example id, number of the occurrence among those that draw, number of its
visit within the example).  The reference and lowering visit an example in one order, so they count alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arrows.arrays import HostArray
from arrows.inference import Typed
from arrows.ops import GOLDEN, finalise

_SALT = 0x8CB92BA72F3D8DD7
"""Keeps the keys of draws from those of dropout."""


def drawing_occurrences(root: Typed) -> Mapping[int, int]:
    """The numbers of the occurrences that draw, by their identity."""
    drawing = (typed for typed in root.walk() if typed.trace is not None and typed.trace.draws)
    return {id(typed): number for number, typed in enumerate(drawing)}


def draw_keys(seed: int, step: int, ids: HostArray, occurrences: HostArray, visits: HostArray) -> HostArray:
    """The keys of visits.

    Args:
        seed, step: of the model.
        ids: of the examples.
        occurrences: numbers of the occurrences that draw.
        visits: how often each was visited before in the example.

    Returns:
        Keys, uint64.

    >>> draw_keys(0, 0, *np.array([[0, 0], [0, 0], [0, 1]])).shape
    (2,)
    """
    return node_keys(seed + _SALT, step, ids, occurrences, visits)


def node_keys(seed: int, step: int, *numbers: HostArray) -> HostArray:
    """Hashes of a model's seed and step and of some numbers of each node (uint64), by steps of SplitMix64."""
    keys = np.full(len(numbers[0]), seed % 2**64, np.uint64)
    for words in (np.array([step % 2**64], np.uint64), *numbers):
        keys = finalise(np, keys + np.uint64(GOLDEN)) ^ words.astype(np.uint64)
    return finalise(np, keys + np.uint64(GOLDEN))
