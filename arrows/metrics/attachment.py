"""Dependency parses: how many words are attached to their heads."""

from __future__ import annotations

from typing import Self

from arrows.metrics.metric import StreamingMetric, host_array, ratio, require_same_count
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError


class AttachmentScores(StreamingMetric):
    """The shares of words with the right head (UAS), and with the right head and relation (LAS).

    `update` takes the heads of words, or a pair of heads and relations; as arrays, ragged values, or lists of
    lists.  Heads are numbers, relations numbers or names.

    Source: Buchholz and Marsi, "CoNLL-X shared task on multilingual dependency parsing", 2006.  All words
    count, punctuation too.

    Example:
        >>> scores = AttachmentScores()
        >>> scores.update(([[2, 0]], [["det", "root"]]), ([[2, 0]], [["nsubj", "root"]]))
        >>> scores.figures()
        {'UAS': 1.0, 'LAS': 0.5}
    """

    def __init__(self) -> None:
        self.words = self.attached = self.labelled = 0
        self._has_relations = False

    def update(self, predicted: object, correct: object, /) -> None:
        (heads, relations), (right_heads, right_relations) = _parse(predicted), _parse(correct)
        if (relations is None) != (right_relations is None):
            raise ArrowTypeError("relations are either predicted and known, or neither: (heads, relations)")
        require_same_count(heads, right_heads)
        right = heads == right_heads
        labelled = right
        if relations is not None and right_relations is not None:
            require_same_count(relations, right_relations)
            require_same_count(heads, relations)
            labelled = right & (relations == right_relations)
            self._has_relations = True
        self.words += len(heads)
        self.attached += int(right.sum())
        self.labelled += int(labelled.sum())

    def merge(self, other: Self, /) -> None:
        self.words += other.words
        self.attached += other.attached
        self.labelled += other.labelled
        self._has_relations |= other._has_relations

    def figures(self) -> dict[str, float]:
        """UAS, and LAS where there were relations."""
        figures = {"UAS": ratio(self.attached, self.words)}
        if self._has_relations:
            figures["LAS"] = ratio(self.labelled, self.words)
        return figures


def _parse(values: object) -> tuple[HostArray, HostArray | None]:
    """The heads, and the relations if there are any."""
    if isinstance(values, tuple) and len(values) == 2:
        return host_array(values[0]).ravel(), host_array(values[1]).ravel()
    return host_array(values).ravel(), None
