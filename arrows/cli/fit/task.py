"""What a model is to predict, classes or a number, and how good its predictions are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.cli.fit.examples import DataSplit, Example
from arrows.documents import category
from arrows.metrics import ConfusionMatrix, MeanAbsoluteError, MeanSquaredError
from arrows.models import DocumentModel, document_classifier, document_regressor
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import quoted, shortened

FEW = 10  # so many different whole numbers are classes, unless the user says otherwise
MOST_CLASSES = 1000
LEAST = 10  # examples to learn from
# An accuracy of n examples has a standard error of up to 0.5 / sqrt(n): 0.035 of 200, and epochs differ by
# less.  The log-likelihood counts how sure each answer is, and so moves with every step.
FEW_TO_CHOOSE = 200
FEW_TO_MEASURE = 50  # the standard error is 0.07 then
LARGEST = 1e150  # a number to predict: float64 does not hold the squares of larger ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A wrong prediction.

    Attributes:
        example: of which.
        predicted: what the model said.
        wrong: how wrong it is: the probability of the predicted class, or the distance.
    """

    example: Example
    predicted: str
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """One of several classes.

    Attributes:
        names: of the classes.
        shares: of each among the examples to learn from, above 0.
        best_by: "accuracy", or "log-likelihood" where few examples validate: the mean logarithm of the
            probability that the model gives to the right class, the loss with the other sign.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    best_by: str = "accuracy"

    def __str__(self) -> str:
        return f"one of {len(self.names)} classes ({shortened(', '.join(self.names), 100)})"

    def model(self, decisions: dict[str, Any], keys: Sequence[str], dropout: float) -> DocumentModel:
        return document_classifier(decisions, list(keys), list(self.names), dropout=dropout)

    def numbers(self, examples: Sequence[Example]) -> HostArray:
        """The number of each example's class."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers[category(example.label)] for example in examples], np.int64)

    def matrix(self, scores: HostArray, examples: Sequence[Example]) -> ConfusionMatrix:
        """How often examples of each class are taken for each."""
        matrix = ConfusionMatrix(self.names)
        matrix.update(scores, self.numbers(examples))
        return matrix

    def figures(self, scores: HostArray, examples: Sequence[Example]) -> dict[str, float]:
        figures = self.matrix(scores, examples).figures()
        if len(examples):
            right = _log_shares(scores)[np.arange(len(examples)), self.numbers(examples)]
            figures["log-likelihood"] = float(right.mean())
        if len(self.names) == 2:
            figures["ROC AUC"] = roc_auc(scores[:, 1] - scores[:, 0], self.numbers(examples) == 1)
        return figures

    def baseline(self, examples: Sequence[Example]) -> dict[str, float]:
        return self.figures(np.tile(np.log(self.shares), (len(examples), 1)), examples)

    def misses(self, scores: HostArray, examples: Sequence[Example]) -> list[Miss]:
        shares = np.exp(_log_shares(scores))
        correct, predicted = self.numbers(examples), scores.argmax(axis=1)
        wrong = [n for n in range(len(examples)) if predicted[n] != correct[n]]
        wrong.sort(key=lambda n: (float(shares[n, correct[n]]), examples[n].place))
        return [
            Miss(
                example=examples[n],
                predicted=self.names[predicted[n]],
                wrong=float(shares[n, predicted[n]]),
            )
            for n in wrong
        ]


def roc_auc(scores: HostArray, positive: HostArray) -> float:
    """How often a positive example has a greater score than a negative one; NaN where one kind is missing.

    Equal scores count one half.

    >>> roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    negatives, positives = np.sort(scores[~positive]), scores[positive]
    below, to = (np.searchsorted(negatives, positives, side=side) for side in ("left", "right"))
    pairs = 2 * len(negatives) * len(positives)
    return int((below + to).sum()) / pairs if pairs else float("nan")


def _log_shares(scores: HostArray) -> HostArray:
    """The logarithms of the probabilities, float64, that scores `[n, classes]` stand for."""
    below = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    logarithms: HostArray = below - np.log(np.exp(below).sum(axis=1, keepdims=True))
    return logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number.

    Attributes:
        mean, deviation: of the examples to learn from.
    """

    mean: float
    deviation: float
    best_by: str = "R squared"

    def __str__(self) -> str:
        return f"a number (mean {self.mean:.4g}, standard deviation {self.deviation:.4g})"

    def model(self, decisions: dict[str, Any], keys: Sequence[str], dropout: float) -> DocumentModel:
        return document_regressor(decisions, list(keys), self.mean, self.deviation, dropout=dropout)

    def numbers(self, examples: Sequence[Example]) -> HostArray:
        """The label of each example."""
        return np.array([float(example.label) for example in examples])

    def figures(self, scores: HostArray, examples: Sequence[Example]) -> dict[str, float]:
        correct = self.numbers(examples)
        squared, absolute = MeanSquaredError(), MeanAbsoluteError()
        for metric in (squared, absolute):
            metric.update(scores, correct)
        error = squared.figures()["mean squared error"]
        # Equal labels have no spread; with that of those to learn from, epochs still compare.
        spread = float(correct.var()) or self.deviation**2
        return {
            "R squared": 1.0 - error / spread,
            "root mean squared error": error**0.5,
            **absolute.figures(),
        }

    def baseline(self, examples: Sequence[Example]) -> dict[str, float]:
        return self.figures(np.full(len(examples), self.mean), examples)

    def misses(self, scores: HostArray, examples: Sequence[Example]) -> list[Miss]:
        distances = np.abs(scores - self.numbers(examples))
        order = sorted(range(len(examples)), key=lambda n: (-float(distances[n]), examples[n].place))
        return [
            Miss(example=examples[n], predicted=f"{scores[n]:.4g}", wrong=float(distances[n])) for n in order
        ]


Task = Classes | Quantity
"""What is predicted."""


def task_of(
    examples: Sequence[Example], split: DataSplit, wanted: str | None, field: str, *, validating: int
) -> Task:
    """What to predict, from the labels: texts, truth values and few whole numbers are classes.

    Args:
        examples: all of them.
        split: the same in parts.
        wanted: "classes" or "number", or None.
        field: the label's field, for messages.
        validating: how many examples decide which epoch is the best.

    Raises:
        InputError: labels of several types, one label alone, too many classes, a number that is too large,
            or too few examples.
        ArrowValueError: a number is wanted, and labels are none.
    """
    if len(split.train) < LEAST or not validating:
        different = len({example.digest for example in examples})
        raise InputError(
            f"of {counted(len(examples), 'example')}, {len(split.train):,} are to learn from and "
            f"{validating:,} to validate by; at least {LEAST} and 1 are needed"
            + (
                f"; only {different:,} differ in more than the label, and equal ones are in the same part"
                if 2 * different < len(examples)
                else ""
            )
        )
    names = {bool: "a truth value", str: "a text", int: "a number", float: "a number"}
    kinds: dict[str, Example] = {}
    for example in examples:
        kinds.setdefault(names[type(example.label)], example)
    if len(kinds) > 1 and wanted != "classes":
        where = " and ".join(f"{name} in {example.place}" for name, example in kinds.items())
        raise InputError(f"the label {quoted(field)} is {where}; --task classes takes each value as a class")
    numeric = "a number" in kinds
    if wanted == "number" and not numeric:
        raise ArrowValueError(f"--task number, and the label {quoted(field)} is {next(iter(kinds))}")
    counts = Counter(category(example.label) for example in examples)
    whole = all(isinstance(example.label, int) for example in examples)
    if len(counts) == 1:
        raise InputError(
            f"the label {quoted(field)} is the same in all {len(examples):,} examples: "
            f"{quoted(next(iter(counts)))}"
        )
    if wanted == "number" or (wanted is None and numeric and not (whole and len(counts) <= FEW)):
        large = next((example for example in examples if abs(float(example.label)) > LARGEST), None)
        if large is not None:
            raise InputError(
                f"{large.place}: the label {quoted(field)} is {float(large.label):.4g}; to be predicted, a "
                f"number should be from {-LARGEST:g} to {LARGEST:g}, or a class (--task classes)"
            )
        values = np.array([float(example.label) for example in split.train])
        deviation = float(values.std())
        return Quantity(mean=float(values.mean()), deviation=deviation if deviation > 0 else 1.0)
    if len(counts) > MOST_CLASSES or 2 * len(counts) > len(examples):
        raise InputError(
            f"the label {quoted(field)} has {len(counts):,} different values in {len(examples):,} examples, "
            f"too many for classes{'; --task number predicts it as a number' if numeric else ''}"
        )
    classes = tuple(sorted(counts, key=_natural))
    seen = Counter(category(example.label) for example in split.train)
    # A class that none is to be learnt from has a probability, though a small one.
    total = len(split.train) + len(classes)
    return Classes(
        names=classes,
        shares=tuple((seen[name] + 1) / total for name in classes),
        best_by="accuracy" if validating >= FEW_TO_CHOOSE else "log-likelihood",
    )


def _natural(name: str) -> tuple[float, str]:
    """Sorts numbers by size, before texts."""
    try:
        number = float(name)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number, name)


def figures_text(figures: Mapping[str, float]) -> str:
    """Figures on a line."""
    return ", ".join(f"{name} {figure_text(value)}" for name, value in figures.items())


def figure_text(value: float) -> str:
    """A figure to four digits; a dash where it has no value, as the ROC AUC of one class."""
    return f"{value:.4g}" if value == value else "-"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "example"), counted(1200, "example")
    ('1 example', '1,200 examples')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
