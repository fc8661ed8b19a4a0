"""What a model is to predict, classes or a number, and how good its predictions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.cli.fit.examples import Example, Parts
from arrows.documents import category_name
from arrows.metrics import ConfusionMatrix, MeanAbsoluteError, MeanSquaredError
from arrows.models import DocumentModel, document_classifier, document_regressor
from arrows.typesys import ArrowValueError, InputError, counted, quoted, shortened

FEW = 10  # so many different whole numbers are classes, unless the user says otherwise
MOST_CLASSES = 1000
LEAST = 10  # examples to learn from
# An accuracy of n examples has a standard error of up to 0.5 / sqrt(n): 0.035 of 200, and epochs differ by
# less.  The log-likelihood counts how sure each answer is, and so moves with every step.
FEW_TO_CHOOSE = 200


@dataclass(frozen=True, slots=True)
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

    def answers(self, examples: Sequence[Example]) -> HostArray:
        """The number of each example's class."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers[category_name(example.label)] for example in examples], np.int64)

    def guess(self, count: int) -> HostArray:
        """The scores that are best for so many examples if no document is read."""
        return np.tile(np.log(self.shares), (count, 1))

    def matrix(self, scores: HostArray, examples: Sequence[Example]) -> ConfusionMatrix:
        """How often examples of each class are taken for each."""
        matrix = ConfusionMatrix(self.names)
        matrix.update(scores, self.answers(examples))
        return matrix

    def figures(self, scores: HostArray, examples: Sequence[Example]) -> dict[str, float]:
        answers = self.answers(examples)
        right = _log_shares(scores)[np.arange(len(examples)), answers]
        figures = self.matrix(scores, examples).figures() | {"log-likelihood": float(right.mean())}
        if len(self.names) == 2:
            figures["ROC AUC"] = roc_auc(scores[:, 1] - scores[:, 0], answers == 1)
        return figures

    def misses(self, scores: HostArray, examples: Sequence[Example]) -> list[tuple[Example, str, float]]:
        """The wrong predictions, the worst first, with the probability of the class that is predicted."""
        shares, answers, predicted = (
            np.exp(_log_shares(scores)),
            self.answers(examples),
            scores.argmax(axis=1),
        )
        wrong = np.flatnonzero(predicted != answers).tolist()
        wrong.sort(key=lambda n: (float(shares[n, answers[n]]), examples[n].place))
        return [(examples[n], self.names[predicted[n]], float(shares[n].max())) for n in wrong]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number.

    Attributes:
        mean, std: of the examples to learn from.
    """

    mean: float
    std: float
    best_by: str = "R squared"

    def __str__(self) -> str:
        return f"a number (mean {self.mean:.4g}, standard deviation {self.std:.4g})"

    def model(self, decisions: dict[str, Any], keys: Sequence[str], dropout: float) -> DocumentModel:
        return document_regressor(decisions, list(keys), self.mean, self.std, dropout=dropout)

    def answers(self, examples: Sequence[Example]) -> HostArray:
        """The label of each example."""
        return np.array([float(example.label) for example in examples])

    def guess(self, count: int) -> HostArray:
        """The prediction that is best for so many examples if no document is read."""
        return np.full(count, self.mean)

    def figures(self, scores: HostArray, examples: Sequence[Example]) -> dict[str, float]:
        answers, squared, absolute = self.answers(examples), MeanSquaredError(), MeanAbsoluteError()
        for metric in (squared, absolute):
            metric.update(scores, answers)
        error = squared.figures()["mean squared error"]
        # Equal labels have no spread; with that of those to learn from, epochs still compare.
        r_squared = 1.0 - error / (float(answers.var()) or self.std**2)
        return {"R squared": r_squared, "root mean squared error": error**0.5, **absolute.figures()}

    def misses(self, scores: HostArray, examples: Sequence[Example]) -> list[tuple[Example, str, float]]:
        """The predictions, the worst first, with their distances from the labels."""
        distances = np.abs(scores - self.answers(examples)).tolist()
        order = sorted(range(len(examples)), key=lambda n: (-distances[n], examples[n].place))
        return [(examples[n], f"{scores[n]:.4g}", distances[n]) for n in order]


Task = Classes | Quantity
"""What is predicted."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a model does on a part of the examples.

    Attributes:
        examples: of the part.
        scores: the model's, of each.
        figures: how good these are.
        baseline: the same figures of the best guess that reads no document.
        spread: the standard deviation of each figure over folds.
    """

    examples: Sequence[Example]
    scores: HostArray
    figures: Mapping[str, float]
    baseline: Mapping[str, float]
    spread: Mapping[str, float]

    @classmethod
    def of(cls, task: Task, examples: Sequence[Example], scores: HostArray) -> Result:
        """What a model does on examples that gives them these scores."""
        baseline = task.figures(task.guess(len(examples)), examples)
        return cls(examples, scores, task.figures(scores, examples), baseline, {})

    @classmethod
    def of_folds(cls, folds: Sequence[Result]) -> Result:
        """The means over folds."""
        figures = {name: [fold.figures[name] for fold in folds] for name in folds[0].figures}
        return cls(
            [example for fold in folds for example in fold.examples],
            np.concatenate([fold.scores for fold in folds]),
            {name: float(np.mean(values)) for name, values in figures.items()},
            {name: float(np.mean([fold.baseline[name] for fold in folds])) for name in figures},
            {name: float(np.std(values, ddof=1)) for name, values in figures.items()},
        )


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


def task_of(parts: Parts, wanted: str | None, field: str, *, validating: int) -> Task:
    """What to predict, from the labels: texts, truth values and few whole numbers are classes.

    Args:
        parts: the examples.
        wanted: "classes" or "number", or None.
        field: the label's field, for messages.
        validating: how many examples decide which epoch is the best.

    Raises:
        InputError: labels of several types, one label alone, too many classes, or too few examples.
        ArrowValueError: a number is wanted, and labels are none.
    """
    examples, train = [example for part in parts.values() for example in part], parts["train"]
    if len(train) < LEAST or not validating:
        different = len({example.digest for example in examples})
        alike = f"; only {different:,} differ in more than the label, and equal ones are in the same part"
        raise InputError(
            f"of {counted(len(examples), 'example')}, {len(train):,} are to learn from and {validating:,} to "
            f"validate by; at least {LEAST} and 1 are needed{alike * (2 * different < len(examples))}"
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
    counts = Counter(category_name(example.label) for example in examples)
    if len(counts) == 1:
        only = quoted(next(iter(counts)))
        raise InputError(f"the label {quoted(field)} is the same in all {len(examples):,} examples: {only}")
    few = len(counts) <= FEW and all(isinstance(example.label, int) for example in examples)
    if wanted == "number" or (wanted is None and numeric and not few):
        values = np.array([float(example.label) for example in train])
        return Quantity(float(values.mean()), float(values.std()) or 1.0)
    if len(counts) > MOST_CLASSES or 2 * len(counts) > len(examples):
        raise InputError(
            f"the label {quoted(field)} has {len(counts):,} different values in {len(examples):,} examples, "
            f"too many for classes{'; --task number predicts it as a number' * numeric}"
        )
    classes = tuple(sorted(counts, key=float if [*kinds] == ["a number"] else str))
    seen = Counter(category_name(example.label) for example in train)
    # A class that none is to be learnt from has a probability, though a small one.
    shares = tuple((seen[name] + 1) / (len(train) + len(classes)) for name in classes)
    return Classes(classes, shares, "accuracy" if validating >= FEW_TO_CHOOSE else "log-likelihood")


def figures_text(figures: Mapping[str, float]) -> str:
    """Figures on a line."""
    return ", ".join(f"{name} {figure_text(value)}" for name, value in figures.items())


def figure_text(value: float) -> str:
    """A figure to four digits; a dash where it has no value, as the ROC AUC of one class."""
    return f"{value:.4g}" if value == value else "-"
