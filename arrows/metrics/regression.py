"""Numbers: how far predictions are from what they should be."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from arrows.metrics.exact_sum import ExactSum
from arrows.metrics.metric import StreamingMetric, host_array, require_same_count
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError


class _MeanOfDistances(StreamingMetric):
    """The mean of a distance over all numbers, in float64, summed without rounding."""

    name: str

    def __init__(self) -> None:
        self.sum = ExactSum()

    def update(self, predicted: object, correct: object, /) -> None:
        left, right = (_real(host_array(values)) for values in (predicted, correct))
        require_same_count(left, right)
        if left.size != right.size:  # [n] beside [n, 1] would spread to [n, n]
            raise ArrowValueError(f"predictions {list(left.shape)} and correct answers {list(right.shape)}")
        with np.errstate(over="ignore", invalid="ignore"):
            self.sum.add(self.distance(left.ravel() - right.ravel()))

    def merge(self, other: Self, /) -> None:
        self.sum.merge(other.sum)

    def figures(self) -> dict[str, float]:
        return {self.name: self.sum.mean}

    @abstractmethod
    def distance(self, difference: HostArray) -> HostArray:
        """The distance that a difference makes."""


class MeanSquaredError(_MeanOfDistances):
    """The mean of squared differences, over all numbers of all examples.

    Example:
        >>> error = MeanSquaredError()
        >>> error.update([1.0, 2.0], [1.0, 4.0])
        >>> error.figures()
        {'mean squared error': 2.0}
    """

    name = "mean squared error"

    def distance(self, difference: HostArray) -> HostArray:
        return difference * difference


class MeanAbsoluteError(_MeanOfDistances):
    """The mean of absolute differences, over all numbers of all examples.

    Example:
        >>> error = MeanAbsoluteError()
        >>> error.update([1.0, 2.0], [1.0, 4.0])
        >>> error.figures()
        {'mean absolute error': 1.0}
    """

    name = "mean absolute error"

    def distance(self, difference: HostArray) -> HostArray:
        return np.abs(difference)


def _real(array: HostArray) -> HostArray:
    if array.dtype.kind not in "iubf":
        raise ArrowTypeError(f"predictions and correct answers should be numbers, not {array.dtype}")
    return array.astype(np.float64)
