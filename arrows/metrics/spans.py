"""Spans of tags, such as the names in a text: how many are found whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from arrows.engine import Ragged
from arrows.metrics.classification import class_names, class_numbers
from arrows.metrics.metric import StreamingMetric, ratio
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError

_BEGINS, _ENDS = ("B", "S", "U"), ("E", "L", "S", "U")


class SpanF1(StreamingMetric):
    """Precision, recall and F1 of spans: a span is right if its begin, its end and its kind are.

    Tags are `O` outside of spans, and `B-kind` at the begin and `I-kind` inside of one (IOB2); where they are
    also `E-` or `L-` at the end and `S-` or `U-` for a span of one element (IOBES, BILOU), these count as
    such.  An `I-kind` or `E-kind` that no span of the kind precedes begins one, as in `conlleval`.

    Args:
        tags: the names of the tags, in the order of their numbers.

    Source: Tjong Kim Sang and Buchholz, "Introduction to the CoNLL-2000 shared task: chunking", 2000.

    `update` takes a `Ragged` of tag numbers or of scores `[..., tags]`, or a list of lists of numbers or
    names; a sequence is a sentence.

    Example:
        >>> spans = SpanF1(["O", "B-place", "I-place", "B-person"])
        >>> spans.update([[1, 2, 0, 3]], [[1, 0, 0, 3]])
        >>> spans.figures()
        {'span precision': 0.5, 'span recall': 0.5, 'span F1': 0.5}
        >>> spans.f1()
        {'place': 0.0, 'person': 1.0}
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags = class_names(tags)
        self._numbers = {tag: number for number, tag in enumerate(self.tags)}
        parts = [_split(tag) for tag in self.tags]
        self.kinds = tuple(dict.fromkeys(kind for _, kind in parts if kind is not None))
        self._kind = np.array([-1 if kind is None else self.kinds.index(kind) for _, kind in parts])
        self._begins = np.array([prefix in _BEGINS for prefix, _ in parts])
        self._ends = np.array([prefix in _ENDS for prefix, _ in parts])
        self._counts = np.zeros((3, len(self.kinds)), np.int64)  # right, predicted, correct

    def update(self, predicted: object, correct: object, /) -> None:
        (left, left_offsets), (right, right_offsets) = (self._sentences(x) for x in (predicted, correct))
        lengths = (np.diff(left_offsets), np.diff(right_offsets))
        if len(lengths[0]) != len(lengths[1]):
            raise ArrowValueError(
                f"{len(lengths[0])} predicted sentences, and {len(lengths[1])} correct ones"
            )
        if (lengths[0] != lengths[1]).any():
            n = int((lengths[0] != lengths[1]).argmax())
            raise ArrowValueError(
                f"sentence {n} has {lengths[0][n]} predicted tags and {lengths[1][n]} correct"
            )
        numbers = class_numbers(left, right, None)
        for name, tags in zip(("a predicted tag", "a correct tag"), numbers, strict=True):
            if len(tags) and not 0 <= tags.min() <= tags.max() < len(self.tags):
                wrong = tags[(tags < 0) | (tags >= len(self.tags))][0]
                raise ArrowValueError(f"{name} is {wrong}, and the tags are 0 to {len(self.tags) - 1}")
        spans = [self._spans(tags, left_offsets) for tags in numbers]
        together, times = np.unique(np.concatenate(spans), axis=0, return_counts=True)
        for row, kinds in enumerate((together[times == 2, 2], spans[0][:, 2], spans[1][:, 2])):
            self._counts[row] += np.bincount(kinds, minlength=len(self.kinds))

    def merge(self, other: Self, /) -> None:
        if other.tags != self.tags:
            raise ArrowValueError("spans of other tags cannot be merged")
        self._counts += other._counts

    def figures(self) -> dict[str, float]:
        """Of all spans together."""
        right, predicted, correct = self._counts.sum(axis=1).tolist()
        return {
            "span precision": ratio(right, predicted),
            "span recall": ratio(right, correct),
            "span F1": ratio(2 * right, predicted + correct),
        }

    def f1(self) -> dict[str, float]:
        """F1 for each kind of spans; NaN for one that never came."""
        rows = zip(self.kinds, *self._counts.tolist(), strict=True)
        return {kind: ratio(2 * right, predicted + correct) for kind, right, predicted, correct in rows}

    def _sentences(self, values: object) -> tuple[object, HostArray]:
        """All tags in a row, and where each sentence begins."""
        if isinstance(values, Ragged):
            while isinstance(values.values, Ragged):  # texts of sentences, say
                values = values.values
            return values.values, values.offsets
        if not isinstance(values, (list, tuple)) or not all(
            isinstance(x, (list, tuple, np.ndarray)) for x in values
        ):
            raise ArrowTypeError("tags come by sentence: a Ragged, or a list of lists of tags")
        flat = [self._number(tag) for sentence in values for tag in sentence]
        return flat, np.cumsum([0, *map(len, values)])

    def _number(self, tag: object) -> object:
        if isinstance(tag, (list, tuple)) or getattr(tag, "shape", ()) != ():
            raise ArrowTypeError("a sentence is a list of tags, each a number or a name, not of lists")
        if not isinstance(tag, str):
            return tag
        if tag not in self._numbers:
            raise ArrowValueError(f"{tag!r} is none of the tags {', '.join(self.tags)}")
        return self._numbers[tag]

    def _spans(self, tags: HostArray, offsets: HostArray) -> HostArray:
        """The begin, the end and the kind of each span, `[spans, 3]`."""
        kind, inside = self._kind[tags], self._kind[tags] >= 0
        starts = np.zeros(len(tags) + 1, bool)
        starts[offsets] = True  # of a sentence
        changes = starts[: len(tags)] | self._begins[tags]
        changes[1:] |= (kind[1:] != kind[:-1]) | self._ends[tags[:-1]]
        begin = np.flatnonzero(changes & inside)
        # A span goes on to where another begins, where a tag is outside, or the sentence ends.
        stops = np.append(np.flatnonzero(changes | ~inside), len(tags))
        end = stops[np.searchsorted(stops, begin, side="right")]
        return np.stack([begin, end, kind[begin]], axis=1)


def _split(tag: str) -> tuple[str, str | None]:
    """The prefix and the kind of a tag."""
    prefix, dash, kind = tag.partition("-")
    if tag == "O":
        return tag, None
    if not dash or prefix not in {"B", "I", "E", "L", "S", "U"}:
        raise ArrowValueError(f"the tag {tag!r} is neither 'O' nor 'B-kind', 'I-kind' and the like")
    return prefix, kind
