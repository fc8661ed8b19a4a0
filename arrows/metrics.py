"""Figures that say how good predictions are: exact, and the same in whatever batches the data come.

A metric counts what `update` shows it, batch by batch, and `figures` gives numbers by name, as
`train(evaluate=)` takes them; nothing is rounded before the last division.

>>> accuracy = Accuracy()
>>> for predicted, correct in (([2, 0], [2, 1]), ([1, 1], [1, 1])):
...     accuracy.update(predicted, correct)
>>> accuracy
Accuracy(accuracy 0.750)
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from arrows.arrays import HostArray
from arrows.engine import Ragged, to_numpy
from arrows.typesys import ArrowTypeError, ArrowValueError, defined, likely_name, missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.metrics", name, lambda: likely_name(name, __all__), sys._getframe(1))


class StreamingMetric(ABC):
    """Counts how predictions and correct answers agree.

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
    def figures(self) -> dict[str, float]:
        """The figures by name; NaN for those of nothing."""

    def __repr__(self) -> str:
        words = ", ".join(f"{name} {value:.3f}" for name, value in self.figures().items())
        return f"{type(self).__name__}({words})"


class Accuracy(StreamingMetric):
    """The share of correct classes.

    Args:
        ignore_index: answers of this number are not counted, those of padding or without a label, say.

    `update` takes the numbers of the predicted classes, `[n]`, or the scores of all classes, `[n, classes]`,
    of which the greatest is the prediction (the first of several); and the numbers of the correct classes.

    Example:
        >>> accuracy = Accuracy()
        >>> accuracy.update(np.array([[0.1, 0.9], [0.8, 0.2]]), [1, 1])
        >>> accuracy.update([2, 0], [2, 1])
        >>> accuracy.figures()
        {'accuracy': 0.5}
    """

    def __init__(self, *, ignore_index: int | None = None) -> None:
        self.ignore_index = ignore_index
        self.right = self.count = 0

    def update(self, predicted: object, correct: object, /) -> None:
        classes, answers = _classes(predicted, correct, self.ignore_index)
        self.right += int((classes == answers).sum())
        self.count += len(answers)

    def figures(self) -> dict[str, float]:
        return {"accuracy": _ratio(self.right, self.count)}


class ConfusionMatrix(StreamingMetric):
    """How often examples of each class are taken for each; precision, recall and F1 by class.

    Args:
        classes: how many classes there are, or their names.
        ignore_index: answers of this number are not counted.

    Attributes:
        names: of the classes.
        counts: integers `[correct, predicted]`.

    Raises:
        ArrowTypeError, ArrowValueError: no classes, or two of one name.

    Printed, it is a table: a line for each correct class, a column for each predicted one.

    Example:
        >>> matrix = ConfusionMatrix(["cat", "dog"])
        >>> matrix.update([0, 1, 1], [0, 0, 1])
        >>> print(matrix)
             cat  dog
        cat    1    1
        dog    0    1
        >>> matrix.figures()["accuracy"], matrix.precision()
        (0.6666666666666666, {'cat': 1.0, 'dog': 0.5})
    """

    def __init__(self, classes: int | Sequence[str], *, ignore_index: int | None = None) -> None:
        self.names = _class_names(classes)
        self.ignore_index = ignore_index
        self.counts = np.zeros((len(self.names), len(self.names)), np.int64)

    def update(self, predicted: object, correct: object, /) -> None:
        n = len(self.names)
        classes, answers = _classes(predicted, correct, self.ignore_index)
        _require_below(n, "class", f"{n} classes", classes, answers)
        self.counts += np.bincount(answers * n + classes, minlength=n * n).reshape(n, n)

    def figures(self) -> dict[str, float]:
        """The accuracy, and the mean F1 of the classes that were predicted or correct at least once."""
        f1 = [value for value in self.f1().values() if value == value]
        mean = sum(f1) / len(f1) if f1 else math.nan
        return {"accuracy": _ratio(self.counts.trace(), self.counts.sum()), "macro F1": mean}

    def precision(self) -> dict[str, float]:
        """For each class, the share of correct ones among those predicted."""
        return self._shares(1, self.counts.sum(axis=0))

    def recall(self) -> dict[str, float]:
        """For each class, the share of those predicted among the correct ones."""
        return self._shares(1, self.counts.sum(axis=1))

    def f1(self) -> dict[str, float]:
        """For each class, the harmonic mean of precision and recall; NaN for one that never came."""
        return self._shares(2, self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def _shares(self, times: int, totals: HostArray) -> dict[str, float]:
        right = times * self.counts.diagonal()
        return {name: _ratio(r, n) for name, r, n in zip(self.names, right, totals, strict=True)}

    def __str__(self) -> str:
        cells = [["", *self.names]]
        cells += [[name, *map(str, row)] for name, row in zip(self.names, self.counts.tolist(), strict=True)]
        first = max(len(row[0]) for row in cells)
        width = max(len(cell) for row in cells for cell in row[1:])
        lines = ["  ".join([row[0].ljust(first), *(cell.rjust(width) for cell in row[1:])]) for row in cells]
        return "\n".join(line.rstrip() for line in lines)


class MeanSquaredError(StreamingMetric):
    """The mean of squared differences, over all numbers of all examples.

    It keeps each difference, in float64, and sums all of them at once without rounding (`math.fsum`).

    Example:
        >>> error = MeanSquaredError()
        >>> error.update([1.0, 2.0], [1.0, 4.0])
        >>> error.figures()
        {'mean squared error': 2.0}
    """

    name, power = "mean squared error", 2

    def __init__(self) -> None:
        self.differences: list[HostArray] = []

    def update(self, predicted: object, correct: object, /) -> None:
        (left, right), _ = _columns({"predictions": predicted, "correct answers": correct})
        for array in (left, right):
            if array.dtype.kind not in "iubf":
                raise ArrowTypeError(f"predictions and correct answers should be numbers, not {array.dtype}")
        if left.size != right.size:  # [n] beside [n, 1] would spread to [n, n]
            raise ArrowValueError(f"predictions {list(left.shape)} and correct answers {list(right.shape)}")
        with np.errstate(over="ignore", invalid="ignore"):
            self.differences.append(np.abs(left.ravel().astype(np.float64) - right.ravel()) ** self.power)

    def figures(self) -> dict[str, float]:
        differences = np.concatenate([np.zeros(0), *self.differences])
        try:
            return {self.name: math.fsum(differences) / (len(differences) or math.nan)}
        except OverflowError:
            return {self.name: math.inf}


class MeanAbsoluteError(MeanSquaredError):
    """The mean of absolute differences, over all numbers of all examples.

    Example:
        >>> error = MeanAbsoluteError()
        >>> error.update([1.0, 2.0], [1.0, 4.0])
        >>> error.figures()
        {'mean absolute error': 1.0}
    """

    name, power = "mean absolute error", 1


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
        arrays = dict(zip(columns, _columns(columns)[0], strict=True))
        for name, array in arrays.items():
            if array.ndim > 1:
                raise ArrowTypeError(f"{name} should be one number for each word, not {list(array.shape)}")
        for name in ("predicted heads", "correct heads"):
            if len(arrays[name]) and arrays[name].dtype.kind not in "iu":
                raise ArrowTypeError(
                    f"{name} should be whole numbers, not {arrays[name].dtype}; relations are arguments of "
                    "their own: update(heads, right_heads, relations, right_relations)"
                )
        right = labelled = arrays["predicted heads"] == arrays["correct heads"]
        if relations is not None:
            names, right_names = arrays["predicted relations"], arrays["correct relations"]
            kinds = names.dtype.kind + right_names.dtype.kind
            if len(names) and kinds[0] != kinds[1] and {*kinds} & {*"US"}:
                raise ArrowTypeError(
                    "relations are all numbers or all names, texts or bytes, predicted and correct ones"
                )
            labelled = right & (names == right_names)
            self._has_relations = True
        self.words += len(right)
        self.attached += int(right.sum())
        self.labelled += int(labelled.sum())

    def figures(self) -> dict[str, float]:
        """UAS, and LAS where there were relations."""
        figures = {"UAS": _ratio(self.attached, self.words)}
        if self._has_relations:
            figures["LAS"] = _ratio(self.labelled, self.words)
        return figures


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
        self.tags = _class_names(tags)
        for tag in self.tags:
            if tag != "O" and (tag[1:2] != "-" or tag[0] not in "BIELSU"):
                raise ArrowValueError(f"the tag {tag!r} is neither 'O' nor 'B-kind', 'I-kind' and the like")
        self.kinds = tuple(dict.fromkeys(tag[2:] for tag in self.tags if tag != "O"))
        self._counts = [Counter[str](), Counter[str](), Counter[str]()]  # right, predicted, correct

    def update(self, predicted: object, correct: object, /) -> None:
        arrays, lengths = _columns({"predicted tags": predicted, "correct tags": correct})
        if None in lengths:
            raise ArrowTypeError("tags come by sentence: a Ragged, or a list of lists of tags")
        numbers = _classes(self._numbers(arrays[0]), self._numbers(arrays[1]), None)
        _require_below(len(self.tags), "tag", "tags", *numbers)
        stops: HostArray = np.cumsum(lengths[0] or [])
        left, right = (set(self._spans(array.tolist(), set(stops.tolist()))) for array in numbers)
        for counter, spans in zip(self._counts, (left & right, left, right), strict=True):
            counter.update(kind for _, _, kind in spans)

    def figures(self) -> dict[str, float]:
        """Of all spans together."""
        right, predicted, correct = (counter.total() for counter in self._counts)
        precision, recall = _ratio(right, predicted), _ratio(right, correct)
        f1 = _ratio(2 * right, predicted + correct)
        return {"span precision": precision, "span recall": recall, "span F1": f1}

    def f1(self) -> dict[str, float]:
        """F1 for each kind of spans; NaN for one that never came."""
        right, predicted, correct = self._counts
        return {kind: _ratio(2 * right[kind], predicted[kind] + correct[kind]) for kind in self.kinds}

    def _numbers(self, tags: HostArray) -> HostArray:
        """The numbers of tags, which are given as such or by name."""
        if tags.dtype.kind != "U":
            return tags
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        unknown = next((tag for tag in tags.tolist() if tag not in numbers), None)
        if unknown is not None:
            raise ArrowValueError(f"{unknown!r} is none of the tags {', '.join(self.tags)}")
        return np.array([numbers[tag] for tag in tags.tolist()], np.int64)

    def _spans(self, tags: Sequence[int], ends: Container[int]) -> Iterator[tuple[int, int, str]]:
        """The begin, the end and the kind of each span; `ends` are those of the sentences."""
        begin, before = 0, "O"  # of the span that goes on, and the tag before
        for place, tag in enumerate([*(self.tags[number] for number in tags), "O"]):
            begins = place in ends or before[0] in "OELSU" or tag[0] in "BSU" or tag[2:] != before[2:]
            if before != "O" and (begins or tag == "O"):
                yield begin, place, before[2:]
            if begins:
                begin = place
            before = tag


def _ratio(numerator: int, denominator: int) -> float:
    """A share; NaN of nothing."""
    return int(numerator) / int(denominator) if denominator else math.nan


def _columns(columns: Mapping[str, object]) -> tuple[list[HostArray], list[list[int] | None]]:
    """Predictions and answers as arrays, sentences one after the other, and how many words each sentence has.

    Raises:
        ArrowValueError: columns of different lengths, or of sentences of different lengths.
    """
    read = {name: _column(values) for name, values in columns.items()}
    by_sentence = [(name, lengths) for name, (_, lengths) in read.items() if lengths is not None]
    for (name, lengths), (other, others) in pairwise(by_sentence):
        for number, (left, right) in enumerate(zip_longest(lengths, others, fillvalue=0)):
            if left != right:
                raise ArrowValueError(f"sentence {number} has {left} {name} and {right} {other}")
    for (name, (array, _)), (other, (following, _)) in pairwise(read.items()):
        if len(array) != len(following):
            raise ArrowValueError(
                f"{len(array)} {name} and {len(following)} {other}; scores of classes go in one "
                "array [n, classes]"
            )
    return [array for array, _ in read.values()], [lengths for _, lengths in read.values()]


def _column(values: object) -> tuple[HostArray, list[int] | None]:
    """One column as an array, and how many words each sentence has; None if they do not come by sentence."""
    array: object
    if isinstance(values, Ragged):
        flat, inner = _column(values.values)
        return flat, values.lengths.tolist() if inner is None else inner
    if isinstance(values, (list, tuple)):
        if any(isinstance(item, (list, tuple, Ragged)) or getattr(item, "shape", ()) for item in values):
            parts = [_column(item) for item in values]
            arrays = [array for array, _ in parts if len(array)] or [np.zeros(0, np.int64)]
            return np.concatenate(arrays), [n for array, inner in parts for n in inner or [len(array)]]
        return (np.array(values), None) if values else (np.zeros(0, np.int64), [])
    try:
        array = to_numpy(values)
    except TypeError:
        array = values
    if not isinstance(array, np.ndarray):
        raise ArrowTypeError(f"a metric reads arrays, ragged values and lists, not {type(values).__name__}")
    if not array.ndim:
        raise ArrowTypeError(f"a metric reads many values at once, not {array.item()!r}; a list will do")
    return array, None


def _require_below(count: int, one: str, several: str, predicted: HostArray, correct: HostArray) -> None:
    """Refuses numbers of classes that there are not."""
    for name, numbers in (("predicted", predicted), ("correct", correct)):
        wrong = numbers[(numbers < 0) | (numbers >= count)]
        if len(wrong):
            raise ArrowValueError(f"a {name} {one} is {wrong[0]}, and the {several} are 0 to {count - 1}")


def _class_names(classes: object) -> tuple[str, ...]:
    """The names of classes, given as such or by their number."""
    if isinstance(classes, str) or not isinstance(classes, (int, np.integer, Sequence)):
        raise ArrowTypeError(f"classes must be a number or a list of names, not {classes!r}")
    names = tuple(map(str, classes if isinstance(classes, Sequence) else range(classes)))
    if not names or len(set(names)) != len(names):
        raise ArrowValueError(f"there must be at least one class, and each has another name: {classes!r}")
    return names


def _classes(predicted: object, correct: object, ignore: int | None) -> tuple[HostArray, HostArray]:
    """The predicted and the correct classes, without those to ignore."""
    (scores, answers), _ = _columns({"predictions": predicted, "correct answers": correct})
    if scores.ndim > 2 or answers.ndim > 1 or scores.shape[1:] == (0,):
        raise ArrowTypeError(
            "the predictions should have the shape [n] or [n, classes], and the correct answers [n], not "
            f"{list(scores.shape)} and {list(answers.shape)}"
        )
    if scores.ndim == 2:  # a column of class numbers is as good as a row
        scores = scores[:, 0] if scores.shape[1] == 1 else scores.argmax(axis=1)
    for name, array in (("the predictions", scores), ("the correct answers", answers)):
        if array.dtype.kind not in "iub":
            raise ArrowTypeError(
                f"{name} should be numbers of classes, of an integer type, not {array.dtype}; "
                "scores of classes go in one array [n, classes], and (score > 0) is a class of two"
            )
    counted = np.ones(len(answers), bool) if ignore is None else answers != ignore
    return scores[counted].astype(np.int64), answers[counted].astype(np.int64)


__all__ = list(defined(globals()))
