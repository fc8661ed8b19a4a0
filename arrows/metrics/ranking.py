"""Rankings: the area under the receiver operating characteristic."""

from __future__ import annotations

from typing import Self

import numpy as np

from arrows.metrics.metric import StreamingMetric, host_array, ratio, require_same_count
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError

_SORTED_AT_ONCE = 65_536


class RocAuc(StreamingMetric):
    """The area under the ROC curve: how often a positive example has a greater score than a negative one.

    Equal scores count one half.  Exact, for it keeps each score that came (16 bytes for one) with how many
    examples of either class had it.

    Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic
    (ROC) curve", Radiology 143, 1982.

    Example:
        >>> auc = RocAuc()
        >>> auc.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
        >>> auc.figures()
        {'ROC AUC': 0.75}
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[HostArray, HostArray]] = []
        self._scores = np.zeros(0)  # each one once, ascending
        self._counts = np.zeros((2, 0), np.int64)  # of negatives and positives of each

    def update(self, predicted: object, correct: object, /) -> None:
        """Counts a batch.

        Args:
            predicted: scores, `[n]`, or `[n, 1]`; greater ones for the positive class.
            correct: 1 or True for a positive example, 0 or False for a negative one.
        """
        scores, answers = host_array(predicted), host_array(correct).ravel()
        if scores.shape not in ((len(scores),), (len(scores), 1)) or scores.dtype.kind not in "iubf":
            raise ArrowTypeError(f"scores should be numbers [n], not {scores.dtype}{list(scores.shape)}")
        require_same_count(scores, answers)
        if not np.isin(answers, (0, 1)).all():
            raise ArrowValueError("the correct answers should be 0 or 1")
        if np.isnan(scores.astype(np.float64)).any():
            raise ArrowValueError("a score is not a number (NaN), so it has no rank")
        positive = answers.astype(bool)
        self._wait(scores.ravel().astype(np.float64), np.stack([~positive, positive]).astype(np.int64))

    def merge(self, other: Self, /) -> None:
        other._count()
        self._wait(other._scores, other._counts)

    def figures(self) -> dict[str, float]:
        self._count()
        negatives, positives = self._counts
        below = np.cumsum(negatives) - negatives
        pairs = int(positives @ (2 * below + negatives))  # twice those in the right order
        return {"ROC AUC": ratio(pairs, 2 * int(positives.sum()) * int(negatives.sum()))}

    def _wait(self, scores: HostArray, counts: HostArray) -> None:
        """Counts scores later, as many at once as were counted before: each is sorted a few times in all."""
        self._waiting.append((scores, counts))
        if sum(len(scores) for scores, _ in self._waiting) > max(len(self._scores), _SORTED_AT_ONCE):
            self._count()

    def _count(self) -> None:
        columns = [(self._scores, self._counts), *self._waiting]
        self._waiting = []
        self._scores, places = np.unique(
            np.concatenate([scores for scores, _ in columns]), return_inverse=True
        )
        self._counts, counts = np.zeros((2, len(self._scores)), np.int64), [counts for _, counts in columns]
        for total, numbers in zip(self._counts, np.concatenate(counts, axis=1), strict=True):
            np.add.at(total, places, numbers)
