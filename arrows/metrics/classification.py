"""Classes: the share of correct ones, how often each is taken for which, and F1 by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from arrows.metrics.metric import StreamingMetric, host_array, ratio, require_same_count
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError


class Accuracy(StreamingMetric):
    """The share of correct classes.

    Args:
        ignore: answers of this number are not counted, those of padding or without a label, say.

    `update` takes the numbers of the predicted classes, `[n]`, or the scores of all classes, `[n, classes]`,
    of which the greatest is the prediction (the first of several); and the numbers of the correct classes.

    Example:
        >>> import numpy as np
        >>> accuracy = Accuracy()
        >>> accuracy.update(np.array([[0.1, 0.9], [0.8, 0.2]]), [1, 1])
        >>> accuracy.update([2, 0], [2, 1])
        >>> accuracy.figures()
        {'accuracy': 0.5}
    """

    def __init__(self, *, ignore: int | None = None) -> None:
        self.ignore = _number_or_none(ignore)
        self.right = self.count = 0

    def update(self, predicted: object, correct: object, /) -> None:
        classes, answers = class_numbers(predicted, correct, self.ignore)
        self.right += int((classes == answers).sum())
        self.count += len(answers)

    def merge(self, other: Self, /) -> None:
        self.right += other.right
        self.count += other.count

    def figures(self) -> dict[str, float]:
        return {"accuracy": ratio(self.right, self.count)}


class ConfusionMatrix(StreamingMetric):
    """How often examples of each class are taken for each.

    Args:
        classes: how many classes there are, or their names.
        ignore: answers of this number are not counted.

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
        >>> matrix.figures()["accuracy"]
        0.6666666666666666
    """

    def __init__(self, classes: int | Sequence[str], *, ignore: int | None = None) -> None:
        self.names = class_names(classes)
        self.ignore = _number_or_none(ignore)
        self.counts = np.zeros((len(self.names), len(self.names)), np.int64)

    def update(self, predicted: object, correct: object, /) -> None:
        n = len(self.names)
        classes, answers = class_numbers(predicted, correct, self.ignore)
        for name, numbers in (("a predicted class", classes), ("a correct class", answers)):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
                wrong = numbers[(numbers < 0) | (numbers >= n)][0]
                raise ArrowValueError(f"{name} is {wrong}, and the {n} classes are 0 to {n - 1}")
        self.counts += np.bincount(answers * n + classes, minlength=n * n).reshape(n, n)

    def merge(self, other: Self, /) -> None:
        if other.names != self.names:
            raise ArrowValueError("two confusion matrices of other classes cannot be merged")
        self.counts += other.counts

    def figures(self) -> dict[str, float]:
        """The accuracy, and the mean F1 of the classes that were predicted or correct at least once."""
        f1 = [value for value in self.f1().values() if value == value]
        mean = sum(f1) / len(f1) if f1 else float("nan")
        return {"accuracy": ratio(int(self.counts.trace()), int(self.counts.sum())), "macro F1": mean}

    def precision(self) -> dict[str, float]:
        """For each class, the share of correct ones among those predicted."""
        return self._shares(self.counts.sum(axis=0))

    def recall(self) -> dict[str, float]:
        """For each class, the share of those predicted among the correct ones."""
        return self._shares(self.counts.sum(axis=1))

    def f1(self) -> dict[str, float]:
        """For each class, the harmonic mean of precision and recall; NaN for one that never came."""
        either = self.counts.sum(axis=0) + self.counts.sum(axis=1)
        return {
            name: ratio(2 * right, both)
            for name, right, both in zip(
                self.names, self.counts.diagonal().tolist(), either.tolist(), strict=True
            )
        }

    def _shares(self, totals: HostArray) -> dict[str, float]:
        right = self.counts.diagonal().tolist()
        return {name: ratio(r, n) for name, r, n in zip(self.names, right, totals.tolist(), strict=True)}

    def __str__(self) -> str:
        cells = [["", *self.names]]
        cells += [[name, *map(str, row)] for name, row in zip(self.names, self.counts.tolist(), strict=True)]
        first = max(len(row[0]) for row in cells)
        width = max(len(cell) for row in cells for cell in row[1:])
        lines = ["  ".join([row[0].ljust(first), *(cell.rjust(width) for cell in row[1:])]) for row in cells]
        return "\n".join(line.rstrip() for line in lines)


class ClassF1(ConfusionMatrix):
    """F1 by class, and their mean.

    Args:
        classes: how many classes there are, or their names.
        ignore: answers of this number are not counted.

    Example:
        >>> f1 = ClassF1(["cat", "dog"])
        >>> f1.update([0, 1, 1, 1], [0, 1, 1, 0])
        >>> {name: round(value, 3) for name, value in f1.figures().items()}
        {'F1 cat': 0.667, 'F1 dog': 0.8, 'macro F1': 0.733}
    """

    def figures(self) -> dict[str, float]:
        by_class = {f"F1 {name}": value for name, value in self.f1().items()}
        return {**by_class, "macro F1": super().figures()["macro F1"]}


def class_names(classes: object) -> tuple[str, ...]:
    """The names of classes, given as such or by their number."""
    if isinstance(classes, str) or not isinstance(classes, (int, np.integer, Sequence)):
        raise ArrowTypeError(f"classes must be a number or a list of names, not {classes!r}")
    names = tuple(map(str, classes if isinstance(classes, Sequence) else range(classes)))
    if not names or len(set(names)) != len(names):
        raise ArrowValueError(f"there must be at least one class, and each has another name: {classes!r}")
    return names


def _number_or_none(ignore: object) -> int | None:
    """The number of the answers that are not counted, if there is one."""
    if ignore is None:
        return None
    if not isinstance(ignore, (int, np.integer)):
        raise ArrowTypeError(f"ignore must be a whole number or None, not {ignore!r}")
    return int(ignore)


def class_numbers(predicted: object, correct: object, ignore: int | None) -> tuple[HostArray, HostArray]:
    """The predicted and the correct classes, without those to ignore."""
    scores, answers = host_array(predicted), host_array(correct)
    require_same_count(scores, answers)
    one_score = False
    for name, array, most in (("the predictions", scores, 2), ("the correct answers", answers, 1)):
        if array.ndim > most or array.ndim == 0:
            shape = "[n] or [n, classes]" if most == 2 else "[n]"
            raise ArrowTypeError(f"{name} should have the shape {shape}, not {list(array.shape)}")
    if scores.ndim == 2:
        if not scores.shape[1]:
            raise ArrowTypeError("the predictions have scores of no class")
        one_score = scores.shape[1] == 1 and scores.dtype.kind == "f"
        # A column of class numbers is as good as a row.
        scores = scores[:, 0] if scores.shape[1] == 1 and not one_score else scores.argmax(axis=1)
    for name, array in (("the predictions", scores), ("the correct answers", answers)):
        if array.dtype.kind not in "iub":
            raise ArrowTypeError(
                f"{name} should be numbers of classes, of an integer type, not {array.dtype}; "
                "scores of classes go in one array [n, classes], and (score > 0) is a class of two"
            )
    counted = np.ones(len(answers), bool) if ignore is None else answers != ignore
    scores, answers = scores[counted].astype(np.int64), answers[counted].astype(np.int64)
    if one_score and answers.any():
        raise ArrowTypeError(
            "the predictions are one score each, [n, 1], and the answers are of several classes; of two "
            "classes, (score > 0) is one"
        )
    return scores, answers
