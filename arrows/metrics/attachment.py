"""Dependency parses: how many words are attached to their heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Self

from arrows.engine import Ragged
from arrows.metrics.metric import StreamingMetric, host_array, ratio, require_same_count
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError


class AttachmentScores(StreamingMetric):
    """The shares of words with the right head (UAS), and with the right head and relation (LAS).

    Each argument of `update` is one column: heads are whole numbers, relations are numbers or names.  It
    is an array `[words]`, a `Ragged`, or a list or tuple of sentences, each an array, a list or a tuple.

    Source: Buchholz and Marsi, "CoNLL-X shared task on multilingual dependency parsing", 2006.  All words
    count, punctuation too.

    Example:
        >>> scores = AttachmentScores()
        >>> scores.update([[2, 0]], [[2, 0]], [["det", "root"]], [["nsubj", "root"]])
        >>> scores.figures()
        {'UAS': 1.0, 'LAS': 0.5}
    """

    def __init__(self) -> None:
        self.words = self.attached = self.labelled = 0
        self._has_relations = False

    def update(
        self,
        predicted: object,
        correct: object,
        /,
        relations: object = None,
        correct_relations: object = None,
    ) -> None:
        """Counts a batch.

        Args:
            predicted: the head of each word that a model gave.
            correct: the right heads, in the same order.
            relations: the relation of each word that a model gave; None to count heads alone.
            correct_relations: the right relations.

        Raises:
            ArrowTypeError: heads that are no whole numbers, or relations on one side alone; nothing has been
                counted then.
            ArrowValueError: columns of different lengths, or sentences of different lengths; likewise.
        """
        if (relations is None) != (correct_relations is None):
            raise ArrowTypeError("relations are either predicted and known, or neither")
        columns = {"predicted heads": predicted, "correct heads": correct}
        if relations is not None:
            columns |= {"predicted relations": relations, "correct relations": correct_relations}
        _require_same_sentences(columns)
        heads, right_heads = (_heads(name, columns[name]) for name in ("predicted heads", "correct heads"))
        require_same_count(heads, right_heads)
        right = labelled = heads == right_heads
        if relations is not None:
            names, right_names = host_array(relations).ravel(), host_array(correct_relations).ravel()
            for column in (names, right_names):
                require_same_count(column, heads)
            names_kind, right_kind = names.dtype.kind, right_names.dtype.kind
            if len(names) and names_kind != right_kind and {names_kind, right_kind} & set("US"):
                raise ArrowTypeError(
                    "relations are all numbers or all names, texts or bytes, predicted and correct ones"
                )
            labelled = right & (names == right_names)
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


def _heads(name: str, values: object) -> HostArray:
    """The heads of all words in a row."""
    heads = host_array(values).ravel()
    if len(heads) and heads.dtype.kind not in "iu":
        raise ArrowTypeError(
            f"{name} should be whole numbers, not {heads.dtype}; relations are arguments of their own: "
            "update(heads, right_heads, relations, right_relations)"
        )
    return heads


def _require_same_sentences(columns: Mapping[str, object]) -> None:
    """Refuses columns that are given by sentence, and whose sentences differ in length."""
    lengths = {name: found for name, values in columns.items() if (found := _lengths(values)) is not None}
    for (name, first), (other, second) in pairwise(lengths.items()):
        if len(first) != len(second):
            raise ArrowValueError(f"{name} of {len(first)} sentences, and {other} of {len(second)}")
        for number, (left, right) in enumerate(zip(first, second, strict=True)):
            if left != right:
                raise ArrowValueError(f"sentence {number} has {left} {name} and {right} {other}")


def _lengths(values: object) -> Sequence[int] | None:
    """How many words each sentence has; None if the words are not given by sentence."""
    if isinstance(values, Ragged) and not isinstance(values.values, Ragged):
        lengths: list[int] = values.lengths.tolist()
        return lengths
    if not isinstance(values, (list, tuple)):
        return None
    found = [_length(sentence) for sentence in values]
    known = [length for length in found if length is not None]
    return known if len(known) == len(found) else None


def _length(sentence: object) -> int | None:
    """How many words a sentence has; None if it is no row of words."""
    if isinstance(sentence, (list, tuple)):
        return None if any(isinstance(x, (list, tuple)) or _shape(x) for x in sentence) else len(sentence)
    shape = _shape(sentence)
    return shape[0] if len(shape) == 1 else None


def _shape(value: object) -> tuple[int, ...]:
    shape: tuple[int, ...] = getattr(value, "shape", ())
    return shape
