"""What all metrics have in common, and how they read predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import Self

import numpy as np

from arrows.engine import Ragged, to_numpy
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError


class StreamingMetric(ABC):
    """Counts how predictions and correct answers agree.

    >>> from arrows.metrics import Accuracy
    >>> isinstance(Accuracy(), StreamingMetric)
    True
    """

    @abstractmethod
    def update(self, predicted: object, correct: object, /) -> None:
        """Counts a batch.

        Args:
            predicted: what a model gave: an array of any device, a `Ragged`, or lists.
            correct: the answers, in the same order.

        Raises:
            ArrowTypeError: values of another kind than the metric counts; nothing has been counted then.
            ArrowValueError: not as many answers as predictions, or values out of range; likewise.
        """

    @abstractmethod
    def merge(self, other: Self, /) -> None:
        """Counts what another metric of the same kind has counted."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """The figures by name; NaN for those of nothing."""

    def __repr__(self) -> str:
        words = ", ".join(f"{name} {value:.3f}" for name, value in self.figures().items())
        return f"{type(self).__name__}({words})"


def ratio(numerator: int, denominator: int) -> float:
    """A share; NaN of nothing."""
    return numerator / denominator if denominator else float("nan")


def host_array(values: object) -> HostArray:
    """Predictions or answers as one host array; sequences one after the other, and lists of lists likewise.

    >>> host_array([[1, 2], [3]])
    array([1, 2, 3])
    """
    if not isinstance(values, (list, tuple)):
        array = _brought_down(values)
        if not array.ndim:
            raise ArrowTypeError(f"a metric reads many values at once, not {array.item()!r}; a list will do")
        return array
    numbers: list[object] = []
    waiting: list[object] = [values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting.extend(reversed(item))
        elif hasattr(item, "dtype") or isinstance(item, Ragged):
            numbers.extend(_brought_down(item).ravel().tolist())
        else:
            numbers.append(item)
    return np.array(numbers) if numbers else np.zeros(0, np.int64)


def _brought_down(values: object) -> HostArray:
    """All elements of an array of any device, or of a ragged value, as a host array."""
    try:
        array = to_numpy(values)
    except TypeError:
        array = None
    while isinstance(array, Ragged):
        array = array.values
    if not isinstance(array, np.ndarray):
        raise ArrowTypeError(f"a metric reads arrays, ragged values and lists, not {type(values).__name__}")
    return array


def require_same_count(predicted: Sized, correct: Sized) -> None:
    """Refuses another number of answers than of predictions."""
    if len(predicted) != len(correct):
        raise ArrowValueError(
            f"{len(predicted)} predictions and {len(correct)} correct answers; scores of classes go in one "
            "array [n, classes]"
        )
