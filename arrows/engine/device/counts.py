"""What a device has done: how often it launched, and how often host and device exchanged data or waited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from arrows.ops.arrays import HostArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a device has done so far; the difference of two counts is what it did in between.

    Attributes:
        launches: kernels, matrix products, and calls of the array module, of its operators and methods that
            give a new array or write to one.  Views, empty arrays and memory without content cost none.
            CuPy may launch more than one kernel for a call, such as a sort.
        uploads: copies from the host to the device.
        downloads: copies from the device to the host; the host waits for each.
        synchronizations: other calls that wait until the device has finished.

    >>> Counts(launches=3, uploads=1) - Counts(launches=1)
    Counts(launches=2, uploads=1, downloads=0, synchronizations=0)
    """

    launches: int = 0
    uploads: int = 0
    downloads: int = 0
    synchronizations: int = 0

    def __sub__(self, earlier: Counts) -> Counts:
        launches, uploads, downloads, synchronizations = (
            now - before for now, before in zip(astuple(self), astuple(earlier), strict=True)
        )
        return Counts(
            launches=launches, uploads=uploads, downloads=downloads, synchronizations=synchronizations
        )


@dataclass(slots=True)
class Counter:
    """Counts what a device does; the attributes are those of `Counts`."""

    launches: int = 0
    uploads: int = 0
    downloads: int = 0
    synchronizations: int = 0

    def wrote(self, array: HostArray) -> HostArray:
        """Counts the launch that writes an array, which is returned; an empty one needs none."""
        if array.size:
            self.launches += 1
        return array

    def computed(self, result: object, operands: Sequence[object]) -> None:
        """Counts a launch for each array of a result of NumPy, unless it is a view of an operand."""
        if isinstance(result, np.generic):
            self.launches += 1
        elif isinstance(result, np.ndarray):
            arrays = (operand for operand in operands if isinstance(operand, np.ndarray))
            if not any(np.may_share_memory(result, array) for array in arrays):
                self.wrote(result)
        elif isinstance(result, (tuple, list)):
            for item in result:
                self.computed(item, operands)

    def counts(self) -> Counts:
        """What has been counted so far."""
        return Counts(
            launches=self.launches,
            uploads=self.uploads,
            downloads=self.downloads,
            synchronizations=self.synchronizations,
        )
