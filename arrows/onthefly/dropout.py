"""Dropout keys on the fly: masks do not depend on what runs together, nor on what is read in between."""

from __future__ import annotations

import numpy as np

from arrows.ops.arrays import HostArray
from arrows.ops.splitmix import GOLDEN, finalise


def dropout_keys(seed: int, step: int, calls: HostArray) -> HostArray:
    """A 64-bit key for each call: a hash of seed, step, instance and the call's number in its instance.

    Args:
        seed: the network's.
        step: how many steps the network has made.
        calls: the instance and the number of each call, ``[calls, 2]`` (uint64).

    >>> dropout_keys(0, 0, np.array([[0, 0], [0, 1]], np.uint64)).shape
    (2,)
    """
    keys = np.full(len(calls), seed % 2**64, np.uint64)
    for words in (np.uint64(step % 2**64), calls[:, 0], calls[:, 1]):
        keys = finalise(np, keys + np.uint64(GOLDEN)) ^ words
    return finalise(np, keys + np.uint64(GOLDEN))
